public import Samples

/// HELLO: a client introduces itself (Protocol §4.2).
public struct Hello: Hashable, Sendable {
    /// How long the client intends to stay; only `run` replaces an older session of the instance.
    public enum Mode: String, Hashable, Sendable, CaseIterable { case run, once, check }

    /// The major versions that the client speaks.
    public var protocols: [Int]
    /// The configured plugin, of the form ``PeerName``.
    public var instance: String
    /// The plugin kind, of the same form: `source.plugin` of every record and the source segment of topics.
    public var plugin: String
    /// The program's own version, for people.
    public var version: String
    public var mode: Mode
    /// Types it asks to read; `*` means all.
    ///
    /// `nil` if the client does not say.
    public var reads: [String]?
    /// Types it asks to write; `*` means all.
    ///
    /// `nil` if the client does not say.
    public var writes: [String]?
    /// Types that the registry does not know.
    public var declares: [TypeDeclaration]

    public init(
        protocols: [Int] = ProtocolVersion.spoken, instance: String, plugin: String, version: String, mode: Mode = .run,
        reads: [String]? = nil, writes: [String]? = nil, declares: [TypeDeclaration] = []
    ) {
        (self.protocols, self.instance, self.plugin, self.version) = (protocols, instance, plugin, version)
        (self.mode, self.reads, self.writes, self.declares) = (mode, reads, writes, declares)
    }
}

/// A type of the families `hc.` or `x.` that a plugin declares (Protocol §4.2).
public struct TypeDeclaration: Hashable, Sendable, Codable {
    /// Begins with `hc.` or `x.`.
    public var id: String
    /// The kind of its records.
    public var kind: SampleKind
    /// The only unit of a quantity; the registry checks it.
    public var unit: String?
    /// How several values of a period are combined; for a quantity.
    public var aggregation: AggregationStyle?

    public init(id: String, kind: SampleKind, unit: String? = nil, aggregation: AggregationStyle? = nil) {
        (self.id, self.kind, self.unit, self.aggregation) = (id, kind, unit, aggregation)
    }
}

extension Hello: BodyCoding {
    init(reading object: ObjectReader) throws(WireError) {
        let offered: [Int64] = try object.required("protocol", "an array of integers, such as [1]", show: .text) {
            value throws(WireError) in
            try object.elements(of: "protocol", value, "an integer", object.integer)
        }
        protocols = offered.map { Int($0) }
        // A client of another major version may use another form for the rest of HELLO, so check this first.
        guard ProtocolVersion.common(with: protocols) != nil else { throw Self.noCommonVersion }
        instance = try Self.peerName("instance", object)
        plugin = try Self.peerName("plugin", object)
        version = try object.name("version", "at most \(Self.versionBytes) bytes without control characters") {
            $0.utf8.count <= Self.versionBytes && $0.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
        }
        mode = try object.wordIfPresent("mode", as: Mode.self) ?? .run
        reads = try Self.types("reads", object)
        writes = try Self.types("writes", object)
        declares = try object.objectsIfPresent("declares") ?? []
    }

    /// The limits on the parts of a HELLO that the hub keeps during the session.
    static let (versionBytes, typeBytes, types) = (64, 128, 1_024)

    private static func types(_ name: String, _ object: ObjectReader) throws(WireError) -> [String]? {
        guard object.value(name) != nil else { return nil }
        let ids = try object.texts(name)
        guard ids.count <= types, ids.allSatisfy({ $0.utf8.count <= typeBytes }) else {
            throw WireError(
                .field, "HELLO.\(name): expected at most \(types) ids of at most \(typeBytes) bytes, found \(ids.count)"
            )
        }
        return ids
    }

    static var noCommonVersion: WireError {
        let versions = ProtocolVersion.spoken.map { String($0) }.joined(separator: " and ")
        return WireError(.version, "HELLO.protocol: this hub speaks version \(versions) of the protocol", closed: true)
    }

    private static func peerName(_ name: String, _ object: ObjectReader) throws(WireError) -> String {
        let text: String = try object.required(name, PeerName.expected, object.string)
        guard PeerName.isValid(text) else {
            var error = object.fault(name, PeerName.expected, object.value(name), show: .text, code: .instance)
            error.closed = true
            throw error
        }
        return text
    }

    func write(to body: inout ObjectWriter) {
        body.member("protocol", integers: protocols.map { Int64($0) })
        body.member("instance", text: instance)
        body.member("plugin", text: plugin)
        body.member("version", text: version)
        body.member("mode", text: mode.rawValue)
        body.member("reads", texts: reads)
        body.member("writes", texts: writes)
        body.member("declares", objects: declares.isEmpty ? nil : declares)
    }
}

extension TypeDeclaration: BodyCoding {
    init(reading object: ObjectReader) throws(WireError) {
        id = try object.name("id", "an id that begins with \"hc.\" or \"x.\"") {
            $0.hasPrefix("hc.") || $0.hasPrefix("x.")
        }
        kind = try object.word("kind", as: SampleKind.self)
        unit = try object.textIfPresent("unit")
        aggregation = try object.wordIfPresent("aggregation", as: AggregationStyle.self)
    }

    func write(to body: inout ObjectWriter) {
        body.member("id", text: id)
        body.member("kind", text: kind.rawValue)
        body.member("unit", text: unit)
        body.member("aggregation", text: aggregation?.rawValue)
    }
}
