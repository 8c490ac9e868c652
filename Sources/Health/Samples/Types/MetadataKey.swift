import JSON

/// A metadata key that HealthKit documents, and the kind of its value.
public struct MetadataKey: Hashable, Sendable {
    /// The kind of a value, in JSON.
    public enum Content: Hashable, Sendable {
        /// A text.
        case string
        /// A finite number without a unit.
        case number
        /// `true` or `false`.
        case boolean
        /// RFC 3339 with an offset.
        case date
        /// An object of `value` and `unit`. Any unit of the same dimension is accepted, or any unit at all if this is `nil`.
        case quantity(unit: String?)
        /// One of these numbers, or its name.
        case enumeration([CategoryValue])
    }

    /// HealthKit's constant without `HK` or `HKMetadataKey` and with a lower-case first letter: `foodType`.
    public let name: String
    /// The required kind of value.
    public let content: Content

    /// Every key, sorted by name.
    public static let all: [MetadataKey] = entries.map(\.key)

    private static let entries: [(key: MetadataKey, names: [String], requiredOn: TypeID?)] =
        TableReader.lines(of: metadataKeyTable).map { fields in
            guard fields.count == 6, let content = Content(fields[1], unit: fields[2], values: fields[3]) else {
                preconditionFailure("a line of the generated metadata table is malformed: \(fields)")
            }
            return (
                MetadataKey(name: fields[0], content: content), TableReader.list(fields[4]),
                fields[5].isEmpty ? nil : TypeID(known: fields[5])
            )
        }
    private static let byName = Dictionary(
        uniqueKeysWithValues: entries.flatMap { entry in ([entry.key.name] + entry.names).map { ($0, entry.key) } })
    private static let byType = Dictionary(grouping: entries.filter { $0.requiredOn != nil }) { $0.requiredOn }
        .mapValues { $0.map(\.key) }

    /// Finds a key by its name, or by HealthKit's constant with or without `MetadataKey`.
    public static func named(_ text: String) -> MetadataKey? { byName[text] }

    /// The canonical spelling: ``name`` for HealthKit's keys, and the text itself for all others.
    public static func name(of text: String) -> String { byName[text]?.name ?? text }

    /// The keys that a sample of the type must have.
    public static func required(on type: TypeID) -> [MetadataKey] { byType[type] ?? [] }
}

extension MetadataKey.Content {
    fileprivate init?(_ kind: String, unit: String, values: String) {
        switch kind {
        case "string": self = .string
        case "number": self = .number
        case "boolean": self = .boolean
        case "date": self = .date
        case "quantity": self = .quantity(unit: TableReader.optional(unit))
        case "enum":
            self = .enumeration(
                TableReader.list(values).compactMap { entry in
                    let parts = entry.split(separator: "=")
                    return parts.count == 2 ? Int(parts[0]).map { CategoryValue(raw: $0, name: String(parts[1])) } : nil
                })
        default: return nil
        }
    }

    /// Whether `value` has this kind.
    func takes(_ value: JSONTree) -> Bool {
        switch self {
        case .string: return value.text != nil
        case .number: return value.double?.isFinite == true
        case .boolean: return value.truth != nil
        case .date: return value.text.map { (try? Timestamp(parsing: $0)) != nil } ?? false
        case .quantity(let own):
            guard let members = value.members, Set(members.map(\.name)) == ["value", "unit"], members.count == 2,
                value["value"]?.double?.isFinite == true, let text = value["unit"]?.text,
                let unit = try? HealthUnit(text)
            else { return false }
            return own.flatMap { try? HealthUnit($0) }.map(unit.isCompatible) ?? true
        case .enumeration(let values):
            return values.contains { $0.raw == value.integer && value.integer != nil || $0.name == value.text }
        }
    }

    /// For messages: `true or false`.
    var description: String {
        switch self {
        case .string: "a string"
        case .number: "a number"
        case .boolean: "true or false"
        case .date: "a time with an offset, such as 2024-03-15T07:30:05+01:00"
        case .quantity(let unit):
            "{\"value\":number,\"unit\":\(unit.map { "\"\($0)\" or a unit of the same dimension" } ?? "a unit")}"
        case .enumeration(let values):
            "one of "
                + values.prefix(12).map { "\($0.raw ?? 0) \($0.name)" }.joined(separator: ", ")
                + (values.count > 12 ? " and so on" : "")
        }
    }
}

/// The values under HealthKit's keys in a sample's metadata, each checked; the hub does not interpret other keys.
public struct KnownMetadata: Sendable {
    /// An invalid value: a sentence for people that names the member but not the value.
    public struct InvalidMetadata: Error, Hashable, Sendable, CustomStringConvertible {
        /// One line for people: the member and the expected value, never the actual value.
        public let description: String
    }

    /// HealthKit's identifier and version of a replaceable sample: both, or neither.
    public let sync: (identifier: String, version: Int64)?
    private let texts: [String: String]

    /// Reads and checks the metadata of a sample of this type.
    ///
    /// - Throws: ``InvalidMetadata`` if a value has the wrong kind, if a key that the type requires is missing, or if the sample has only one of
    ///   identifier and version.
    public init(_ metadata: JSONObject?, of type: TypeID) throws(InvalidMetadata) {
        var values: [MetadataKey: (spelling: String, value: JSONTree)] = [:]
        for entry in metadata.map({ KnownMetadata.entries($0) }) ?? [] {
            let (spelling, key, value) = (entry.spelling, entry.key, entry.value)
            guard key.content.takes(value) else {
                throw InvalidMetadata(description: "metadata.\(spelling): expected \(key.content.description)")
            }
            if let other = values[key], other.value != value, key.name.hasPrefix("sync") {
                throw InvalidMetadata(
                    description: "metadata.\(spelling): contradicts metadata.\(other.spelling); send one")
            }
            values[key] = (spelling, value)
        }
        for key in MetadataKey.required(on: type) where values[key] == nil {
            throw InvalidMetadata(
                description:
                    "metadata.\(key.name): missing; a \(type) must say it: \(key.content.description)")
        }
        func value(_ name: String) -> JSONTree? { MetadataKey.named(name).flatMap { values[$0]?.value } }
        switch (value("syncIdentifier")?.text, value("syncVersion")) {
        case (nil, nil): sync = nil
        case (let identifier?, let number?):
            guard let version = number.integer else {
                throw InvalidMetadata(description: "metadata.syncVersion: expected an integer")
            }
            sync = (identifier, Int64(version))
        default:
            throw InvalidMetadata(
                description: "metadata: syncIdentifier and syncVersion come together; send both, or neither")
        }
        texts = Dictionary(
            values.compactMap { key, found in found.value.text.map { (key.name, $0) } }, uniquingKeysWith: { $1 })
    }

    /// The text under one of HealthKit's keys, in any spelling that the source used.
    public func text(_ name: String) -> String? { texts[MetadataKey.name(of: name)] }

    /// The values under HealthKit's keys, in their original order.
    private static func entries(_ metadata: JSONObject) -> [(spelling: String, key: MetadataKey, value: JSONTree)] {
        var found: [(spelling: String, key: MetadataKey, value: JSONTree)] = []
        Array(metadata.text.utf8).withUnsafeBytes { bytes in
            guard var scanner = try? JSONScanner(bytes), scanner.take(UInt8(ascii: "{")) else { return }
            while let name = try? scanner.name(), let value = try? scanner.value() {
                if let spelling = JSONText.string(name, in: bytes), let key = MetadataKey.named(spelling),
                    let tree = JSONTree(Array(bytes[value.start..<value.end]))
                {
                    found.append((spelling, key, tree))
                }
                guard scanner.take(UInt8(ascii: ",")) else { return }
            }
        }
        return found
    }
}

extension Sample {
    /// Whether the metadata has HealthKit's identifier and version: then an equal version is a repeat, whatever its content.
    public var isSynchronized: Bool {
        // Almost no sample has them, and this runs for each repeat, so look at the text first.
        guard let metadata, metadata.text.contains("yncIdentifier") else { return false }
        return (try? KnownMetadata(metadata, of: type))?.sync != nil
    }
}
