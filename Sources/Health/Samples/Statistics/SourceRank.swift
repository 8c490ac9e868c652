/// The order of precedence of the sources of one person and type in statistics.
public struct SourceRank: Sendable {
    /// Kinds of plugins, or `kind/device`, the best first.
    private let priority: [String]

    /// A rank combines the source's number with its group (in units of ``group``) and its index in `priority` (in units of ``place``).
    private static let (group, place): (Int64, Int64) = (1 << 32, 1 << 34)

    /// An order of precedence.
    ///
    /// - Parameter priority: kinds of plugins, or `kind/device`, the best first.
    public init(_ priority: [String]) { self.priority = priority }

    /// The rank of a source; the lowest rank counts first.
    ///
    /// The rank is less than 2^53, so that every program can read it.
    ///
    /// - Parameters:
    ///   - source: the source.
    ///   - number: the source's number in the store, which grows in the order in which sources sent their first records.
    public func rank(of source: Source, number: Int64) -> Int64 {
        let named = source.device.map { "\(source.plugin)/\($0)" }
        let place = priority.firstIndex { $0 == named || $0 == source.plugin } ?? priority.count
        // Sums include the other sources, so they come first. Entries by hand only fill the gaps, so they come last.
        let group: Int64 = source.isSumAccount ? 0 : source.plugin == Source.byHand ? 2 : 1
        return number + group * SourceRank.group + Int64(place) * SourceRank.place
    }

    /// The number of the source with this rank.
    public static func number(of rank: Int64) -> Int64 { rank & (group - 1) }
}
