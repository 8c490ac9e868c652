import AppleExport
import Foundation
import HubProcess
import HubWire
import Samples
import Testing

/// The path of an export beside these tests.
func fixture(_ name: String) throws -> String {
    try #require(Bundle.module.resourceURL).appending(path: "Exports/\(name)").path
}

extension TemporaryFolder {
    /// A zip made with Python's library; `program` knows it as `zip`, and runs in this folder.
    func zip(_ program: String, as name: String = "export.zip") async throws -> String {
        let script =
            "import zipfile, os\nos.chdir(\(quoted(path)))\nzip = zipfile.ZipFile(\(quoted(name)), 'w', zipfile.ZIP_DEFLATED)\n\(program)\nzip.close()\n"
        let result = await (try ChildProcess("/usr/bin/env", ["python3", "-c", script])).result()
        try #require(result.code == 0, "\(result.errors)")
        return path + "/" + name
    }

    private func quoted(_ text: String) -> String { "'\(text)'" }
}

/// An export as the hub reads it.
struct Reading {
    var samples: [Sample] = []
    var rejections: [RecordRejection] = []
    /// The groups of records as texts, in their order.
    var groups: [[String]] = []
    var account: AppleExportSummary

    /// - Parameter batch: the number of records to read at a time.
    init(_ path: String, _ options: ExportOptions = ExportOptions(), batch: Int = 100, from offset: Int64 = 0) throws {
        let scratch = FileManager.default.temporaryDirectory.path
        let reader = try ExportReader(path, options: options, scratch: scratch, resumeOffset: offset)
        self.account = reader.account
        try take(reader, batch)
        account = reader.account
    }

    /// Reads an export with these elements.
    init(of elements: String, _ options: ExportOptions = ExportOptions()) throws {
        let scratch = try TemporaryFolder()
        try self.init(try scratch.write(export(elements), to: "export.xml"), options)
    }

    private mutating func take(_ reader: ExportReader, _ count: Int) throws {
        var decoder = RecordDecoder(plugin: "apple-health", registry: try Reading.registry())
        while let batch = try reader.next(count) {
            #expect(batch.marks.count == batch.groups.records.count)
            for group in batch.groups {
                groups.append(group.map { String(decoding: $0, as: UTF8.self) })
                for bytes in group {
                    switch try bytes.withUnsafeBytes({ try decoder.record($0) }) {
                    case .success(.sample(let sample)): samples.append(sample)
                    case .success(let record): Issue.record("\(record) is not a sample")
                    case .failure(let rejection): rejections.append(rejection)
                    }
                }
            }
        }
    }

    static func registry() throws -> TypeRegistry {
        try ExportReader.declaredTypes.reduce(TypeRegistry.standard) {
            try $0.registering(try HealthType(declaring: $1, kind: .other))
        }
    }

    func samples(_ type: String) -> [Sample] { samples.filter { $0.type.rawValue == type } }

    /// The samples without repeats; the last version of each identity.
    var unique: [Sample] {
        var last: [String: Sample] = [:]
        for sample in samples { last["\(sample.source) \(sample.key.text)"] = sample }
        return Array(last.values)
    }

    func count(_ oddity: AppleExportSummary.Anomaly) -> Int { account.oddities[oddity]?.count ?? 0 }
}

extension Sample {
    /// The parsed metadata.
    var facts: [String: Any] {
        guard let metadata else { return [:] }
        return (try? JSONSerialization.jsonObject(with: Data(metadata.text.utf8))) as? [String: Any] ?? [:]
    }

    /// The value in the type's own unit.
    var canonical: Double? {
        guard case .quantity(let value, let unit) = value else { return nil }
        return try? TypeRegistry.standard.type(type)?.canonicalValue(value, unit: unit)
    }
}

/// The text of an export with these elements.
func export(_ elements: String, end: String = "</HealthData>\n") -> String {
    """
    <?xml version="1.0" encoding="UTF-8"?>
    <!DOCTYPE HealthData [
    <!-- HealthKit Export Version: 14 -->
    ]>
    <HealthData locale="en_US">
     <ExportDate value="2026-03-01 09:00:00 +0100"/>
    \(elements)
    \(end)
    """
}

func record(
    _ type: String = "HKQuantityTypeIdentifierStepCount", source: String = "Phone", unit: String? = "count",
    value: String? = "10", start: String = "2026-02-10 08:00:00 +0100", end: String? = nil, more: String = "",
    children: String? = nil
) -> String {
    let unit = unit.map { " unit=\"\($0)\"" } ?? ""
    let value = value.map { " value=\"\($0)\"" } ?? ""
    let head =
        " <Record type=\"\(type)\" sourceName=\"\(source)\"\(unit)\(value) startDate=\"\(start)\" endDate=\"\(end ?? start)\"\(more)"
    return children.map { "\(head)>\n\($0)\n </Record>\n" } ?? head + "/>\n"
}
