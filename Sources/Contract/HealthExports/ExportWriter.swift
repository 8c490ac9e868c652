public import Samples

/// A record to export.
public struct ExportItem: Sendable {
    public var record: StoredRecord
    /// The JSON of the record as the hub printed it.
    public var json: [UInt8]
    /// The members of a correlation, for formats that write both as one object.
    public var members: [StoredRecord]

    /// Creates an item from a record and the JSON that the hub printed.
    public init(_ record: StoredRecord, json: [UInt8], members: [StoredRecord] = []) {
        (self.record, self.json, self.members) = (record, json, members)
    }
}

/// Writes records in one format, one after the other, into a buffer that the caller empties.
///
/// A writer counts the records that its format cannot represent; it never drops them silently.
public protocol ExportWriter {
    /// Writes the part before the first record.
    mutating func begin(_ output: inout [UInt8])
    mutating func write(_ item: ExportItem, to output: inout [UInt8])
    /// Writes the part after the last record.
    mutating func end(_ output: inout [UInt8])
    var account: ExportSummary { get }
}

extension ExportWriter {
    public mutating func begin(_ output: inout [UInt8]) {}
    public mutating func end(_ output: inout [UInt8]) {}
}

/// The number of records written, omitted and changed, with reasons.
public struct ExportSummary: Hashable, Sendable {
    /// Records that are in the file.
    public var written: Int64 = 0
    /// Records that were omitted, by reason.
    public var leftOut: [String: Int64] = [:]
    /// Changes made to records in the file, by kind of change.
    public var changed: [String: Int64] = [:]

    public init() {}

    public mutating func leaveOut(_ reason: String) { leftOut[reason, default: 0] += 1 }
    public mutating func change(_ what: String) { changed[what, default: 0] += 1 }
}
