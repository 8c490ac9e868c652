/// A finished record as text, which may still be added to a group.
struct FinishedRecord {
    let type: TypeEntry
    let kind: ExportBatch.Mark
    let start: Int64
    let end: Int64
    /// The record without a group.
    let bytes: [UInt8]
    /// The positions of the key's first byte and of its closing quote.
    let keyStart: Int
    let keyEnd: Int
    /// A hash that represents the key in memory.
    let mark: UInt64

    var key: ArraySlice<UInt8> { bytes[keyStart..<keyEnd] }

    /// - Parameters:
    ///   - group: the group's key as JSON, without quotes.
    ///   - occurrence: the number of this record among records with the same identity.
    func record(in group: [UInt8]?, occurrence: Int = 1) -> [UInt8] {
        guard group != nil || occurrence > 1 else { return bytes }
        var record: [UInt8] = []
        record.reserveCapacity(bytes.count + 32 + (group?.count ?? 0))
        record += bytes[..<keyEnd]
        if occurrence > 1 { record += " \(occurrence)".utf8 }
        record.append(0x22)
        if let group {
            record += Array(#","group":""#.utf8)
            record += group
            record.append(0x22)
        }
        record += bytes[(keyEnd + 1)...]
        return record
    }
}
