/// A record as text, which may come into a group yet.
struct MadeRecord {
    let type: TypeEntry
    let kind: ExportBatch.Mark
    let start: Int64
    let end: Int64
    /// Without a group.
    let bytes: [UInt8]
    /// Where its key begins, and where the key's closing quote is.
    let keyStart: Int
    let keyEnd: Int
    /// Stands for the key in memory.
    let mark: UInt64

    var key: ArraySlice<UInt8> { bytes[keyStart..<keyEnd] }

    /// - Parameters:
    ///   - group: as JSON has it, without quotes.
    ///   - occurrence: where several records have one identity, which of them it is.
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
