public import JSON
public import Samples

/// A decoded SAMPLES body (Protocol §5.1).
public struct SamplesMessage: Sendable {
    /// The client's number of the batch, 0…2⁵³−1.
    public var batch: Int64
    /// Whether it is history, which is stored as usual but not published record by record.
    public var isBackfill: Bool
    /// A result per record, in the order they were sent.
    public var records: [Result<Record, RecordRejection>]
    /// The payload frame of a record, by the record's index; both count from 0.
    public var payloads: [Int: Int]
}

/// Decodes records from sources: the hub's side of the record codec.
///
/// It reuses its memory for each record: make one per session and keep it. Do not share it between threads. A faulty record never makes it
/// fail; the fault becomes the record's rejection. It makes one pass over the bytes, in linear time.
public struct RecordDecoder {
    /// Maximum size of a record in bytes as it is sent, from `{` to `}`.
    public static let maximumRecordBytes = 65_536
    /// Maximum number of records in a batch.
    public static let maximumBatchRecords = 1_000

    let plugin: String
    let validation: RecordValidation
    /// Whether HealthKit's keys in the metadata are checked; false for a part of a record, which has only some of them.
    package var judgesMetadata = true
    var scan = RecordScan()
    var memory = DecoderMemory()

    /// - Parameters:
    ///   - plugin: the session's plugin kind; it becomes the source of every record.
    ///   - registry: the types, including those that the session has declared.
    public init(plugin: String, registry: TypeRegistry = .standard) {
        self.plugin = plugin
        validation = RecordValidation(registry: registry)
    }

    /// Reads a SAMPLES body.
    ///
    /// - Parameter payloadFrames: the number of payload frames that came with it.
    /// - Throws: `json`, `field`, or `limit` for more records than a batch may have; with the batch as `ref` if it could be read.
    public mutating func samples(
        _ body: UnsafeRawBufferPointer, payloadFrames: Int = 0
    ) throws(WireError) -> SamplesMessage {
        var body = SamplesBody(payloadFrames: payloadFrames, bytes: body)
        do throws(JSONSyntaxError) { try body.read(with: &self) } catch {
            throw WireError(.json, "SAMPLES: \(error)")
        }
        return try body.message()
    }

    /// Reads one record.
    ///
    /// - Throws: an error if `bytes` as a whole are not JSON.
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

/// The values that a decoder keeps between records, because those of a batch are much alike.
struct DecoderMemory {
    /// The last value made from a member, and the text of that member.
    struct Last<Value> {
        private var text: [UInt8] = []
        /// The scanned member, wherever it was.
        private var found: JSONValue?
        private var value: Value?
        /// Maximum size of a text to keep.
        private let most: Int

        init(most: Int) { self.most = most }

        func value(of bytes: UnsafeRawBufferPointer) -> Value? {
            text.withUnsafeBytes { $0.hasSameBytes(as: bytes) } ? value : nil
        }

        /// Skips the value at the scanner's position and returns it, if it equals the kept one.
        func again(_ scanner: inout JSONScanner) -> JSONValue? {
            found.flatMap { scanner.value(again: text, $0) }
        }

        /// - Parameter found: the member's place in `text`.
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
    /// The last metadata that had no fault and no identity, and their type.
    private var plainMetadata: (object: JSONObject?, type: TypeID)?
    /// The nearest ids of unknown types.
    ///
    /// Looking for one takes about a millisecond, so the number for each session is limited.
    private var suggestions: [String: TypeID?] = [:]
    private static let maximumSuggestions = 16

    /// Skips the value of a member at the scanner's position and returns it, if it equals the kept one.
    ///
    /// Metadata are half of a record, and usually equal those of the record before.
    func again(_ member: RecordMember, _ scanner: inout JSONScanner) -> JSONValue? {
        switch member {
        case .metadata: metadata.again(&scanner)
        case .source: source.again(&scanner)
        case .type: type.again(&scanner)
        default: nil
        }
    }

    /// Whether these metadata of this type are known to be valid and without an identity.
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

/// The members of a SAMPLES body while the decoder reads it.
///
/// Unknown members are ignored; of repeated members the last counts.
struct SamplesBody {
    let payloadFrames: Int
    let bytes: UnsafeRawBufferPointer

    private var batch: Int64?
    private var isBackfill = false
    private var records: [Result<Record, RecordRejection>] = []
    private var recordCount = 0
    private var payloads: [Int: Int] = [:]
    private var faults: [String: String] = [:]

    init(payloadFrames: Int, bytes: UnsafeRawBufferPointer) {
        self.payloadFrames = payloadFrames
        self.bytes = bytes
        for name in ["batch", "records"] { faults[name] = "missing; expected \(SamplesBody.expectation(name))" }
    }

    private static func expectation(_ name: String) -> String {
        switch name {
        case "batch": "an integer from 0 to 9007199254740991"
        case "records": "an array of 1 to \(RecordDecoder.maximumBatchRecords) records"
        default: "true or false"
        }
    }

    mutating func read(with decoder: inout RecordDecoder) throws(JSONSyntaxError) {
        var scanner = try JSONScanner(bytes)
        scanner.skipSpace()
        try scanner.expect(UInt8(ascii: "{"))
        scanner.skipSpace()
        if !scanner.take(UInt8(ascii: "}")) {
            repeat {
                scanner.skipSpace()
                try member(&scanner, with: &decoder)
                scanner.skipSpace()
            } while scanner.take(UInt8(ascii: ","))
            try scanner.expect(UInt8(ascii: "}"))
        }
        try scanner.finish()
    }

    /// The message, after everything has been read.
    func message() throws(WireError) -> SamplesMessage {
        for name in ["batch", "backfill", "records"] {
            if let fault = faults[name] { throw WireError(.field, "SAMPLES.\(name): \(fault)", ref: batch) }
        }
        guard recordCount <= RecordDecoder.maximumBatchRecords else {
            throw WireError(
                .limit,
                "SAMPLES.records: \(recordCount) records; at most \(RecordDecoder.maximumBatchRecords) are allowed",
                closed: true, ref: batch)
        }
        return SamplesMessage(batch: batch ?? 0, isBackfill: isBackfill, records: records, payloads: payloads)
    }

    private mutating func member(
        _ scanner: inout JSONScanner, with decoder: inout RecordDecoder
    ) throws(JSONSyntaxError) {
        let name = try scanner.name()
        switch JSONText.string(name, in: bytes) {
        case "records" where scanner.next == UInt8(ascii: "["): try readRecords(&scanner, with: &decoder)
        case "records": note("records", try scanner.value(), isFit: false)
        case "batch":
            let value = try scanner.value()
            let number = value.kind == .number ? NumberReader.integer(value, in: bytes) : nil
            batch = number.flatMap { (0...9_007_199_254_740_991).contains($0) ? $0 : nil }
            note("batch", value, isFit: batch != nil)
        case "backfill":
            let value = try scanner.value()
            isBackfill = value.kind == .true
            note("backfill", value, isFit: value.kind == .true || value.kind == .false)
        default: _ = try scanner.value()
        }
    }

    private mutating func note(_ name: String, _ value: JSONValue, isFit: Bool) {
        faults[name] = isFit ? nil : "expected \(SamplesBody.expectation(name)), found \(value.kind.description)"
    }

    private mutating func readRecords(
        _ scanner: inout JSONScanner, with decoder: inout RecordDecoder
    ) throws(JSONSyntaxError) {
        records.removeAll(keepingCapacity: true)
        payloads.removeAll()
        recordCount = 0
        // A record usually has at least 128 bytes; shorter ones make the array grow.
        records.reserveCapacity(min(RecordDecoder.maximumBatchRecords, bytes.count / 128))
        try scanner.expect(UInt8(ascii: "["))
        scanner.skipSpace()
        if !scanner.take(UInt8(ascii: "]")) {
            repeat {
                scanner.skipSpace()
                recordCount += 1
                if recordCount > RecordDecoder.maximumBatchRecords {
                    _ = try scanner.value()  // Only counted: the batch is refused.
                } else {
                    var payload: Int?
                    records.append(try decoder.record(&scanner, payloadFrames: payloadFrames, payload: &payload))
                    if let payload { payloads[recordCount - 1] = payload }
                }
                scanner.skipSpace()
            } while scanner.take(UInt8(ascii: ","))
            try scanner.expect(UInt8(ascii: "]"))
        }
        faults["records"] = recordCount > 0 ? nil : "expected \(SamplesBody.expectation("records")), found none"
    }
}
