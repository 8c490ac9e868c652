public import Samples

/// A record on its way out.
public struct ExportItem: Sendable {
    public var record: StoredRecord
    /// As the hub printed it.
    public var json: [UInt8]
    /// Of a correlation what belongs to it, for formats that write both in one piece.
    public var members: [StoredRecord]

    /// A record as the hub printed it.
    public init(_ record: StoredRecord, json: [UInt8], members: [StoredRecord] = []) {
        (self.record, self.json, self.members) = (record, json, members)
    }
}

/// Writes records in one format, one after the other, into a buffer that the caller empties.
///
/// What a format has no place for is counted, never dropped in silence.
public protocol ExportWriter {
    /// What stands before the first record.
    mutating func begin(_ output: inout [UInt8])
    mutating func write(_ item: ExportItem, to output: inout [UInt8])
    /// What stands after the last record.
    mutating func end(_ output: inout [UInt8])
    var account: ExportAccount { get }
}

extension ExportWriter {
    public mutating func begin(_ output: inout [UInt8]) {}
    public mutating func end(_ output: inout [UInt8]) {}
}

/// What was written, and what was not, with its reason.
public struct ExportAccount: Hashable, Sendable {
    /// Records that are in the file.
    public var written: Int64 = 0
    /// Records that are not, by reason.
    public var leftOut: [String: Int64] = [:]
    /// What was changed in records that are in the file, by what it was.
    public var changed: [String: Int64] = [:]

    public init() {}

    public mutating func leaveOut(_ reason: String) { leftOut[reason, default: 0] += 1 }
    public mutating func change(_ what: String) { changed[what, default: 0] += 1 }
}
