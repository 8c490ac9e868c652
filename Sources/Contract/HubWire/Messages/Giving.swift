import JSON
import Samples

/// SAMPLES as text, with the records not parsed (Protocol §5.1).
///
/// Clients write their batches with it, and relays read them with it. A hub reads the same bytes in one pass with the record codec instead.
public struct SamplesEnvelope: Hashable, Sendable {
    /// The client's number of the batch, 0…2⁵³−1.
    public var batch: Int64
    /// Whether it is history, which is stored as usual but not published record by record.
    public var isBackfill: Bool
    public var records: RawRecords

    public init(batch: Int64, isBackfill: Bool = false, records: RawRecords) {
        (self.batch, self.isBackfill, self.records) = (batch, isBackfill, records)
    }
}

extension SamplesEnvelope: BodyCoding {
    init(reading object: ObjectReader) throws(WireError) {
        batch = try object.integer("batch")
        records = try object.records("records")
        guard !records.isEmpty else {
            throw object.fault("records", "an array of at least one record", object.value("records"))
        }
        isBackfill = try object.truthIfPresent("backfill") ?? false
    }

    func write(to body: inout ObjectWriter) {
        body.member("batch", integer: batch)
        body.member("backfill", truth: isBackfill ? true : nil)
        body.member("records", records: records)
    }
}

/// The result for one record of a batch (R5.3).
public enum RecordResult: Hashable, Sendable {
    /// It is now on disk as version `sequence`; people know it by `number`.
    case stored(number: Int64, sequence: Int64)
    /// The hub already has it, with these numbers.
    case duplicate(number: Int64, sequence: Int64)
    /// It was not stored; do not send it again unchanged.
    case rejected(RecordRejection.Code, reason: String)
}

/// STORED: the hub's answer to a batch, after the commit (Protocol §5.1).
public struct Stored: Hashable, Sendable {
    public var batch: Int64
    /// One per record, in order.
    public var results: [RecordResult]
    /// The additional credit for the client.
    public var credit: Credit

    public init(batch: Int64, results: [RecordResult], credit: Credit) {
        (self.batch, self.results, self.credit) = (batch, results, credit)
    }
}

extension Stored: BodyCoding {
    init(reading object: ObjectReader) throws(WireError) {
        batch = try object.integer("batch")
        if let plain = object.value("results").flatMap({ PlainResults($0, in: object.bytes) }) {
            results = plain.results
        } else {
            results = try object.objects("results")
        }
        credit = try object.object("credit")
    }

    func write(to body: inout ObjectWriter) {
        body.member("batch", integer: batch)
        body.member("results", objects: results)
        body.member("credit", object: credit)
    }
}

extension RecordResult: BodyCoding {
    private enum Word: String, CaseIterable { case stored, duplicate, rejected }

    init(reading object: ObjectReader) throws(WireError) {
        switch try object.word("result", as: Word.self) {
        case .stored: self = .stored(number: try object.integer("number"), sequence: try object.integer("seq"))
        case .duplicate: self = .duplicate(number: try object.integer("number"), sequence: try object.integer("seq"))
        case .rejected:
            self = .rejected(
                RecordRejection.Code(received: try object.text("code")), reason: try object.text("reason"))
        }
    }

    func write(to body: inout ObjectWriter) {
        switch self {
        case .stored(let number, let sequence):
            body.members(PlainResults.stored, number, PlainResults.sequence, sequence)
        case .duplicate(let number, let sequence):
            body.members(PlainResults.duplicate, number, PlainResults.sequence, sequence)
        case .rejected(let code, let reason):
            body.member("result", text: Word.rejected.rawValue)
            body.member("code", text: code.rawValue)
            body.member("reason", text: reason)
        }
    }
}

/// The results of a batch without rejections, in exactly the form in which this hub writes them.
///
/// An import reads one for each of its records: parsing them like any other object would cost as much as making the record did.
struct PlainResults {
    static let stored: StaticString = #""result":"stored","number":"#
    static let duplicate: StaticString = #""result":"duplicate","number":"#
    static let sequence: StaticString = #","seq":"#

    private(set) var results: [RecordResult] = []
    private let bytes: UnsafeRawBufferPointer
    private var position: Int

    /// - Parameter value: a value that was scanned, so it is known to be JSON.
    /// - Returns: `nil` for any other form, which may still be valid.
    init?(_ value: JSONValue, in bytes: UnsafeRawBufferPointer) {
        guard value.kind == .array else { return nil }
        (self.bytes, position) = (UnsafeRawBufferPointer(rebasing: bytes[..<value.end]), value.start)
        // The shortest result has 41 bytes.
        results.reserveCapacity((value.end - value.start) / 41 + 1)
        guard take("[") else { return nil }
        if take("]") { return }
        repeat {
            guard let result = result() else { return nil }
            results.append(result)
        } while take(",")
        guard take("]"), position == value.end else { return nil }
    }

    private mutating func result() -> RecordResult? {
        guard take("{") else { return nil }
        let isStored = take(Self.stored)
        guard isStored || take(Self.duplicate), let number = integer(), take(Self.sequence), let sequence = integer(),
            take("}")
        else { return nil }
        return isStored ? .stored(number: number, sequence: sequence) : .duplicate(number: number, sequence: sequence)
    }

    private mutating func take(_ text: StaticString) -> Bool {
        let count = text.utf8CodeUnitCount
        guard position + count <= bytes.count else { return false }
        let place = UnsafeRawBufferPointer(rebasing: bytes[position..<(position + count)])
        guard place.isSame(as: UnsafeRawBufferPointer(start: text.utf8Start, count: count)) else { return false }
        position += count
        return true
    }

    /// An integer within ``ObjectReader/safeIntegers``, without sign, fraction or exponent.
    private mutating func integer() -> Int64? {
        let first = position
        var number: Int64 = 0
        while position < bytes.count, bytes[position] &- 0x30 <= 9 {
            // Sixteen digits fit easily.
            guard position - first < 16 else { return nil }
            number = number * 10 + Int64(bytes[position] - 0x30)
            position += 1
        }
        return position > first && ObjectReader.safeIntegers.contains(number) ? number : nil
    }
}
