import Samples

/// Some records of an export, as text, those that are stored together in groups.
public struct ExportBatch: Sendable {
    public var groups: [[[UInt8]]] = []
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
        groups.append([record])
        marks.append(mark)
    }
}
