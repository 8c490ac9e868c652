public import HubWire
import JSON
import Samples

/// Some records of an export, as text, those that are stored together in groups.
public struct ExportBatch: Sendable {
    public var groups = GroupedRecords()
    /// For each record of `groups`, in their order, what it is of.
    public var marks: [Mark] = []
    /// How far the XML was read when all of it had been taken: what was given up to there need not be given again.
    public var offset: Int64 = 0

    public struct Mark: Hashable, Sendable {
        /// Places in the lists of the ``ExportAccount``.
        public var type: Int
        public var source: Int
    }

    public var count: Int { marks.count }

    mutating func append(_ record: [UInt8], _ mark: Mark) {
        groups.append(record)
        marks.append(mark)
    }
}

extension ExportBatch {
    /// What identifies a record that this module has made, but for its plugin.
    public static func identity(of record: ArraySlice<UInt8>) -> (device: String?, account: String?, key: String) {
        // Members in this order, and no text before them that could look like one: quotes within texts are escaped.
        let account = text(#""source":{"account":""#, of: record) ?? text(#"","account":""#, of: record)
        return (text(#""source":{"device":""#, of: record), account, text(#","key":""#, of: record) ?? "")
    }

    /// Type, start and source of a record, for a message.
    public static func description(
        of record: ArraySlice<UInt8>
    ) -> (type: String?, start: String?, device: String?) {
        (
            text(#"{"type":""#, of: record), text(#","start":""#, of: record),
            text(#""source":{"device":""#, of: record)
        )
    }

    private static func text(_ mark: StaticString, of record: ArraySlice<UInt8>) -> String? {
        record.withUnsafeBufferPointer { bytes in
            guard let start = bytes.baseAddress, let found = ByteSearch.find(mark, in: start, bytes.count) else {
                return nil
            }
            var (place, output): (Int, [UInt8]) = (found + mark.utf8CodeUnitCount, [0x22])
            while place < bytes.count, bytes[place] != 0x22 {
                if bytes[place] == 0x5C, place + 1 < bytes.count {
                    output.append(bytes[place])
                    place += 1
                }
                output.append(bytes[place])
                place += 1
            }
            return JSONTree(output + [0x22])?.text
        }
    }
}
