import HubWire
import JSON
import Samples

/// One input of libFuzzer: any bytes as a SAMPLES body, as one record and as a stored record.
///
/// Ends the process if a law of the codec does not hold.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = UnsafeRawBufferPointer(start: start, count: count)
    var decoder = RecordDecoder(plugin: "fuzz")
    if let message = try? decoder.samples(bytes, payloadFrames: 1) {
        for case .success(let record) in message.records { check(record) }
    }
    if case .success(let record) = try? decoder.record(bytes) { check(record) }
    var reader = StoredRecordDecoder()
    if let stored = try? reader.record(bytes) {
        let printed = encoded { RecordEncoder.append(stored, to: &$0) }
        let again = try? printed.withUnsafeBytes { bytes throws(RecordRejection) in try reader.record(bytes) }
        precondition(again == stored, "a stored record changes when it is written and read again")
        precondition(printed == encoded { RecordEncoder.append(stored, to: &$0) })
    }
    return 0
}

private func check(_ record: Record) {
    var decoder = RecordDecoder(plugin: "fuzz")
    let printed = encoded { RecordEncoder.append(record, to: &$0) }
    let again = try? printed.withUnsafeBytes { bytes throws(JSONSyntaxError) in try decoder.record(bytes) }
    precondition(again == .success(record), "a record changes when it is written and read again")
    _ = try? RecordValidation().canonical(of: record)
}

private func encoded(_ append: (inout [UInt8]) -> Void) -> [UInt8] {
    var output: [UInt8] = []
    append(&output)
    return output
}
