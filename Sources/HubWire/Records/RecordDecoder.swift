public import JSON
public import Samples

/// A SAMPLES body as values (Protocol §5.1).
public struct SamplesMessage: Sendable {
    /// The client's number of the batch, 0…2⁵³−1.
    public var batch: Int64
    /// History: stored as ever, but not published record by record.
    public var isBackfill: Bool
    /// A result per record, in the order they were sent.
    public var records: [Result<Record, RecordRejection>]
    /// The payload frame of a record, by the record's index; both count from 0.
    public var payloads: [Int: Int]
}

/// Reads what sources send: the hub's side of the record codec.
///
/// Keeps memory of its own that it uses again for each record; make one per session and keep it. Not to be shared
/// between threads. Never fails on a record: what is wrong with one becomes its rejection. One pass over the bytes,
/// linear in their number.
public struct RecordDecoder {
    /// The most bytes of a record as it is sent, from `{` to `}`.
    public static let maximumRecordBytes = 65_536
    /// The most records of a batch.
    public static let maximumBatchRecords = 1_000

    let plugin: String
    let validation: RecordValidation
    /// Whether HealthKit's keys in the metadata are judged; not of a part of a record, which has only some of them.
    package var judgesMetadata = true
    var scan = RecordScan()
    var memory = DecoderMemory()

    /// - Parameters:
    ///   - plugin: the session's plugin kind, which becomes the source of every record.
    ///   - registry: the types, with those that the session has declared.
    public init(plugin: String, registry: TypeRegistry = .standard) {
        self.plugin = plugin
        validation = RecordValidation(registry: registry)
    }

    /// Reads a SAMPLES body.
    /// - Parameter payloadFrames: how many payload frames came with it.
    /// - Throws: `json`, `field`, or `limit` for more records than a batch may have; with the batch as `ref` where it
    /// could be read.
    public mutating func samples(
        _ body: UnsafeRawBufferPointer, payloadFrames: Int = 0
    ) throws(WireError) -> SamplesMessage {
        var body = SamplesBody(payloadFrames: payloadFrames, bytes: body)
        do throws(JSONSyntaxError) { try body.read(with: &self) } catch {
            throw WireError(.json, "SAMPLES: \(error)")
        }
        return try body.message()
    }

    /// Reads a JSON array of records.
    /// - Throws: when `array` as a whole is not a JSON array.
    public mutating func records(
        _ array: UnsafeRawBufferPointer
    ) throws(JSONSyntaxError) -> [Result<Record, RecordRejection>] {
        var results: [Result<Record, RecordRejection>] = []
        var payload: Int?
        var scanner = try JSONScanner(array)
        scanner.skipSpace()
        try scanner.expect(UInt8(ascii: "["))
        scanner.skipSpace()
        if !scanner.take(UInt8(ascii: "]")) {
            repeat {
                scanner.skipSpace()
                results.append(try record(&scanner, payloadFrames: 0, payload: &payload))
                scanner.skipSpace()
            } while scanner.take(UInt8(ascii: ","))
            try scanner.expect(UInt8(ascii: "]"))
        }
        try scanner.finish()
        return results
    }

    /// Reads one record.
    /// - Throws: when `bytes` as a whole are not JSON.
    public mutating func record(
        _ bytes: UnsafeRawBufferPointer
    ) throws(JSONSyntaxError) -> Result<Record, RecordRejection> {
        var scanner = try JSONScanner(bytes)
        scanner.skipSpace()
        var payload: Int?
        let result = try record(&scanner, payloadFrames: 0, payload: &payload)
        try scanner.finish()
        return result
    }
}

/// What a decoder remembers between records, since those of a batch are much alike.
struct DecoderMemory {
    /// What was last made of a member, and the member as it was written.
    struct Last<Value> {
        private var text: [UInt8] = []
        /// The member as it was found, wherever that was.
        private var found: JSONValue?
        private var value: Value?
        /// A longer text is not kept.
        private let most: Int

        init(most: Int) { self.most = most }

        func value(of bytes: UnsafeRawBufferPointer) -> Value? {
            text.withUnsafeBytes { $0.hasSameBytes(as: bytes) } ? value : nil
        }

        /// Passes the value at which `scanner` stands, where it is the one that is remembered.
        func again(_ scanner: inout JSONScanner) -> JSONValue? {
            found.flatMap { scanner.value(again: text, $0) }
        }

        /// - Parameter found: where it stands in `text`.
        mutating func remember(_ value: Value, at found: JSONValue, in text: UnsafeRawBufferPointer) {
            guard found.end - found.start <= most else { return }
            self.text.removeAll(keepingCapacity: true)
            self.text.append(contentsOf: UnsafeRawBufferPointer(rebasing: text[found.start..<found.end]))
            (self.value, self.found) = (value, found)
        }
    }

    var source = Last<Source>(most: 1_024)
    var type = Last<(id: TypeID, entry: HealthType?)>(most: 1_024)
    var metadata = Last<JSONObject>(most: JSONObject.maximumBytes)
    /// The metadata last judged, in which nothing is wrong and no identity, and of which type they were.
    private var plainMetadata: (object: JSONObject?, type: TypeID)?
    /// Nearest ids of unknown types.
    ///
    /// Looking for one takes about a millisecond, so that a session gets only a few.
    private var suggestions: [String: TypeID?] = [:]
    private static let maximumSuggestions = 16

    /// Passes the value of a member at which `scanner` stands, where it is the one that is remembered: a record's metadata are half of it,
    /// and those of the record before are the same.
    func again(_ member: RecordMember, _ scanner: inout JSONScanner) -> JSONValue? {
        switch member {
        case .metadata: metadata.again(&scanner)
        case .source: source.again(&scanner)
        case .type: type.again(&scanner)
        default: nil
        }
    }

    /// Whether these metadata of this type are known to be right, and without an identity.
    func isPlain(_ metadata: JSONObject?, of type: TypeID) -> Bool {
        plainMetadata.map { $0.type == type && $0.object == metadata } ?? false
    }

    mutating func remember(plain metadata: JSONObject?, of type: TypeID) { plainMetadata = (metadata, type) }

    mutating func suggestion(for name: String, in registry: TypeRegistry) -> TypeID? {
        if let known = suggestions[name] { return known }
        guard suggestions.count < DecoderMemory.maximumSuggestions else { return nil }
        let nearest = registry.suggestion(for: name)
        suggestions[name] = .some(nearest)
        return nearest
    }
}
