import AppleExport
import HubWire
import Samples

/// One input of libFuzzer: the content of `<HealthData>`.
///
/// The hub must be able to read every record that is made of it. The same input must make the same records, however many are requested
/// at a time.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array("<HealthData>".utf8) + Array(UnsafeBufferPointer(start: start, count: count))
    let records = read(bytes, 1_000)
    precondition(read(bytes, 1) == records, "the records depend on how many are requested at a time")
    var decoder = RecordDecoder(plugin: "apple-health", registry: registry)
    for record in records {
        precondition(record.count <= RecordDecoder.maximumRecordBytes, "a record is too large")
        guard let result = try? record.withUnsafeBytes({ try decoder.record($0) }) else {
            preconditionFailure("a record is not JSON: \(String(decoding: record, as: UTF8.self))")
        }
        // The hub may refuse impossible values and incomplete groups. A malformed record is an error of the reader.
        guard case .failure(let rejection) = result else { continue }
        precondition(
            rejection.code == .value && ["impossible", "a day has no more"].contains { rejection.reason.contains($0) },
            "\(rejection): \(String(decoding: record, as: UTF8.self))")
    }
    return 0
}

private func read(_ bytes: [UInt8], _ size: Int) -> [[UInt8]] {
    var records: [[UInt8]] = []
    let package = ExportPackage(xml: bytes)
    guard let reader = try? ExportReader(package, options: ExportOptions(), scratch: "/dev/shm") else { return [] }
    while let batch = try? reader.next(size) {
        let all = batch.groups.records.map { Array($0) }
        precondition(all.count == batch.marks.count, "a record has no mark")
        records += all
    }
    return records
}

private let registry = ExportReader.declaredTypes.reduce(TypeRegistry.standard) {
    (try? $0.registering(HealthType(declaring: $1, kind: .other))) ?? $0
}
