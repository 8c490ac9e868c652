import JSON
import Samples

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
