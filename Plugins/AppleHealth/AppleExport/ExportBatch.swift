public import HubWire
import JSON
import Samples

/// A batch of records of an export, as text; records that are stored together form a group.
public struct ExportBatch: Sendable {
    public var groups = GroupedRecords()
    /// The type and source of each record of `groups`, in the same order.
    public var marks: [Mark] = []
    /// The offset in the XML at the end of this batch.
    ///
    /// If reading resumes here, earlier records need not be sent again.
    public var offset: Int64 = 0

    public struct Mark: Hashable, Sendable {
        /// Indices in the lists of the ``AppleExportSummary``.
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
    /// The identity of a record made by this module, apart from its plugin.
    public static func identity(of record: ArraySlice<UInt8>) -> (device: String?, account: String?, key: String) {
        // The members come in this order, and no earlier text can look like one, because quotes within texts are escaped.
        let account = text(#""source":{"account":""#, of: record) ?? text(#"","account":""#, of: record)
        return (text(#""source":{"device":""#, of: record), account, text(#","key":""#, of: record) ?? "")
    }

    /// The type, start and source of a record, for a message.
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
