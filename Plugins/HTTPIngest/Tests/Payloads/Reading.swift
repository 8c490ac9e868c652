import Foundation
import HubWire
import JSON
import PhonePayloads
import Samples
import Testing

/// A body that was read completely.
struct Reading {
    var records: [PhoneRecord] = []
    var kept: [PhoneRecord] = []
    var rejected: [PhoneRejection] = []
    var ignored: [PhoneOmission] = []
    var steps: [OpenScaleStep] = []
    var received = 0
    var pieces = 0

    static let arrival: Int64 = 1_770_800_000_000_000

    static func context(_ change: (inout PhoneContext) -> Void = { _ in }) -> PhoneContext {
        var context = PhoneContext(plugin: "http-ingest", device: "phone", arrival: arrival)
        change(&context)
        return context
    }

    init(_ body: [UInt8], _ format: PhoneFormat, _ context: PhoneContext = Reading.context()) throws {
        try body.withUnsafeBytes { bytes in
            var reader = try PhoneBody(bytes, format: format, context: context)
            while let piece = reader.next() {
                records += piece.records
                kept += piece.kept
                rejected += piece.rejected
                ignored += piece.ignored
                steps += piece.scaleSteps
                received += piece.received
                pieces += 1
            }
        }
    }

    init(_ body: String, _ format: PhoneFormat, _ context: PhoneContext = Reading.context()) throws {
        try self.init(Array(body.utf8), format, context)
    }

    /// Reads one metric of Health Auto Export.
    init(metric name: String, _ units: String?, _ points: [String], grouping: String? = nil) throws {
        let unit = units.map { "\"units\":\"\($0)\"," } ?? ""
        try self.init(
            #"{"data":{"metrics":[{"name":"\#(name)",\#(unit)"data":[\#(points.joined(separator: ","))]}]}}"#,
            .healthAutoExport,
            Reading.context {
                $0.grouping = grouping
                $0.person = "mira"
            })
    }

    var samples: [Sample] {
        (records + kept).compactMap { record in
            guard case .sample(let sample) = record.record else { return nil }
            return sample
        }
    }

    var keys: [String] { samples.map(\.key.text) }

    /// Places and codes of the rejections.
    var faults: [String] { rejected.map { "\($0.place) \($0.code)" } }

    /// The record as a source sends it.
    static func json(_ record: Record) throws -> [String: Any] {
        var bytes: [UInt8] = []
        RecordEncoder.append(record, to: &bytes)
        return try #require(JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
    }

    private static func fault(of record: Record) -> RecordRejection? {
        do throws(RecordRejection) {
            _ = try RecordValidation(registry: PhoneTypes.registry).canonical(of: record)
            return nil
        } catch { return error }
    }

    /// The errors with which the hub would refuse these records.
    func verdicts() -> [String] {
        var decoder = RecordDecoder(plugin: "http-ingest", registry: PhoneTypes.registry)
        return (records + kept).compactMap { record in
            var bytes: [UInt8] = []
            RecordEncoder.append(record.record, to: &bytes)
            let result = bytes.withUnsafeBytes { try? decoder.record($0) }
            guard case .success(let read)? = result else {
                return "\(record.place): \(result.map { "\($0)" } ?? "no JSON")"
            }
            if let fault = Self.fault(of: read) { return "\(record.place): \(fault)" }
            return read == record.record ? nil : "\(record.place): it does not come back as it was"
        }
    }
}

/// Reads the files of `Fixtures`.
enum Fixture {
    static func bytes(_ name: String) throws -> [UInt8] {
        let url = try #require(Bundle.module.url(forResource: "Fixtures/\(name)", withExtension: nil))
        return Array(try Data(contentsOf: url))
    }

    static func json(_ name: String) throws -> [String: Any] {
        try #require(JSONSerialization.jsonObject(with: Data(try bytes(name))) as? [String: Any])
    }
}
