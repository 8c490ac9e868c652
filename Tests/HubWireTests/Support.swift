import HubWire
import JSON
import Platform
import Samples
import Testing

extension SeededGenerator {
    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }

    mutating func maybe<Value>(_ value: (inout SeededGenerator) -> Value) -> Value? {
        chance(40) ? value(&self) : nil
    }
}

/// The record in `text`, sent in a session of the plugin kind `kitchen-script`.
func decode(_ text: String, plugin: String = "kitchen-script") throws -> Result<Record, RecordRejection> {
    var decoder = RecordDecoder(plugin: plugin)
    return try Array(text.utf8).withUnsafeBytes { bytes throws(JSONSyntaxError) in try decoder.record(bytes) }
}

/// The rejection of the record in `text`, or `nil` if it is accepted.
func rejection(_ text: String) throws -> RecordRejection? { try decode(text).rejection }

extension Result where Failure == RecordRejection {
    var rejection: RecordRejection? { if case .failure(let rejection) = self { rejection } else { nil } }
}

/// The message in `text`.
func samples(_ text: String, payloadFrames: Int = 0) throws -> SamplesMessage {
    var decoder = RecordDecoder(plugin: "kitchen-script")
    return try Array(text.utf8).withUnsafeBytes { bytes throws(WireError) in
        try decoder.samples(bytes, payloadFrames: payloadFrames)
    }
}

func decodeStored(_ bytes: [UInt8]) throws -> StoredRecord {
    var decoder = StoredRecordDecoder()
    return try bytes.withUnsafeBytes { bytes throws(RecordRejection) in try decoder.record(bytes) }
}

func encoded(_ record: Record) -> [UInt8] {
    var output: [UInt8] = []
    RecordEncoder.append(record, to: &output)
    return output
}

func encoded(_ stored: StoredRecord) -> [UInt8] {
    var output: [UInt8] = []
    RecordEncoder.append(stored, to: &output)
    return output
}

func string(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

/// A weight of kitchen-script with `members` replaced or added, as JSON.
func weight(_ members: String = "") -> String {
    #"{"type":"weight","value":72.3,"unit":"kg","start":"2024-03-15T07:30:05+01:00","key":"20240315T063005Z""#
        + (members.isEmpty ? "" : ",\(members)") + "}"
}
