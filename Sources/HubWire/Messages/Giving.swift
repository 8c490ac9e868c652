import Samples

/// SAMPLES as text: the records unread (Protocol §5.1).
///
/// A client writes its batches by it, and relays read them by it. A hub reads the same bytes by the record codec instead, in one pass.
public struct SamplesEnvelope: Hashable, Sendable {
    /// The client's number of the batch, 0…2⁵³−1.
    public var batch: Int64
    /// History: stored as ever, but not published record by record.
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

/// What became of one record of a batch (R5.3).
public enum RecordResult: Hashable, Sendable {
    /// On disk now, under `number` for people, as version `sequence`.
    case stored(number: Int64, sequence: Int64)
    /// The hub has it already, as these.
    case duplicate(number: Int64, sequence: Int64)
    /// Not stored, and not to be sent again unchanged.
    case rejected(RecordRejection.Code, reason: String)
}

/// STORED: the hub's answer to a batch, after the commit (Protocol §5.1).
public struct Stored: Hashable, Sendable {
    public var batch: Int64
    /// One per record, in their order.
    public var results: [RecordResult]
    /// What the client may send in addition.
    public var credit: Credit

    public init(batch: Int64, results: [RecordResult], credit: Credit) {
        (self.batch, self.results, self.credit) = (batch, results, credit)
    }
}

extension Stored: BodyCoding {
    init(reading object: ObjectReader) throws(WireError) {
        batch = try object.integer("batch")
        results = try object.objects("results")
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
        case .stored(let number, let sequence): Self.write(.stored, number, sequence, to: &body)
        case .duplicate(let number, let sequence): Self.write(.duplicate, number, sequence, to: &body)
        case .rejected(let code, let reason):
            body.member("result", text: Word.rejected.rawValue)
            body.member("code", text: code.rawValue)
            body.member("reason", text: reason)
        }
    }

    private static func write(_ word: Word, _ number: Int64, _ sequence: Int64, to body: inout ObjectWriter) {
        body.member("result", text: word.rawValue)
        body.member("number", integer: number)
        body.member("seq", integer: sequence)
    }
}
