import HubWire
import PhonePayloads
import Samples

/// One input of libFuzzer: a byte that chooses the sender and its settings, and the body that it posts.
///
/// Ends the process if the hub would not read a record back as it was, or if two records have the same key.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    guard let start, count > 0 else { return 0 }
    let body = UnsafeRawBufferPointer(start: start + 1, count: count - 1)
    let choice = Int(start[0])
    let formats: [PhoneFormat] = [
        .healthAutoExport, .healthConnectWebhook, .healthConnectGateway(type: "SleepSession"),
        .healthConnectGateway(type: "HeartRate"), .openScale, .openScaleHistory(user: "1"), .bleScaleSync,
        .bleScaleLines, .plain, .healthConnectGateway(type: "Weight"),
    ]
    var context = PhoneContext(
        plugin: "fuzz", device: "phone", person: choice & 1 == 0 ? "me" : nil, zone: "Europe/Berlin",
        arrival: 1_770_800_000_000_000, grouping: [nil, "Minutes", "Hours", "Days"][choice / 10 % 4])
    context.takesComputed = choice & 2 == 0
    guard var reader = try? PhoneBody(body, format: formats[choice % 10], context: context) else { return 0 }
    var (history, ledger) = (OffsetHistory(), OpenScaleLedger())
    var decoder = RecordDecoder(plugin: "fuzz", registry: PhoneTypes.registry)
    while let piece = reader.next() {
        var records = piece.records + piece.kept
        _ = history.settle(&records, arrival: context.arrival)
        for step in piece.scaleSteps {
            for key in ledger.gone(by: step) { precondition(RecordKey(key) != nil, "a key in the ledger is not valid") }
            ledger.apply(step)
        }
        for record in records { check(record, &decoder) }
        for rejection in piece.rejected { precondition(!rejection.code.isEmpty && !rejection.reason.isEmpty) }
    }
    precondition(
        OffsetHistory(history.text) == history, "the history of offsets changes when it is written and read again")
    precondition(
        OpenScaleLedger(ledger.text).text == ledger.text,
        "the ledger of a scale changes when it is written and read again")
    return 0
}

private func check(_ record: PhoneRecord, _ decoder: inout RecordDecoder) {
    // The plugin kit refuses these times with a reason.
    if case .sample(let sample) = record.record {
        guard sample.start.isRepresentable, sample.end.isRepresentable else { return }
    }
    var bytes: [UInt8] = []
    RecordEncoder.append(record.record, to: &bytes)
    let again = try? bytes.withUnsafeBytes { bytes in try decoder.record(bytes) }
    if case .success(let read)? = again {
        precondition(read == record.record, "a record changes when it is written and read again")
    } else {
        precondition(again != nil, "a record is not JSON")
    }
}
