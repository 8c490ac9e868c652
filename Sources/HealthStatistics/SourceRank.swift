public import Samples

/// The order in which the sources of one person and type count in statistics.
public struct SourceRank: Sendable {
    /// Kinds of plugins, or `kind/device`, the best first.
    private let priority: [String]

    /// A rank is the number of a source, its group at ``group`` and its place among `priority` at ``place``.
    private static let (group, place): (Int64, Int64) = (1 << 32, 1 << 34)

    public init(_ priority: [String]) { self.priority = priority }

    /// Where a source is: the lowest counts first.
    ///
    /// Less than 2^53, so that every program can read it.
    ///
    /// - Parameter number: that of the source in the store, which grows in the order in which the first records came.
    public func rank(of source: Source, number: Int64) -> Int64 {
        let named = source.device.map { "\(source.plugin)/\($0)" }
        let place = priority.firstIndex { $0 == named || $0 == source.plugin } ?? priority.count
        // Sums have in them what the others say; what a person has entered fills what they leave.
        let group: Int64 = source.isOfSums ? 0 : source.plugin == Source.byHand ? 2 : 1
        return number + group * SourceRank.group + Int64(place) * SourceRank.place
    }

    /// The number of the source of which a rank is.
    public static func number(of rank: Int64) -> Int64 { rank & (group - 1) }
}
