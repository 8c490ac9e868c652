public import Samples

/// The order in which the sources of one person and type count in statistics.
public struct SourceRank: Sendable {
    /// Kinds of plugins, or `kind/device`, the best first.
    private let priority: [String]

    /// Below it are the numbers of sources; above the numbers of those that are entered by hand, and above these the places among `priority`.
    private static let (byHand, place): (Int64, Int64) = (1 << 32, 1 << 33)

    public init(_ priority: [String]) { self.priority = priority }

    /// Where a source is: the lowest counts first.
    ///
    /// Less than 2^53, so that every program can read it.
    ///
    /// - Parameter number: that of the source in the store, which grows in the order in which the first records came.
    public func rank(of source: Source, number: Int64) -> Int64 {
        let named = source.device.map { "\(source.plugin)/\($0)" }
        let place = priority.firstIndex { $0 == named || $0 == source.plugin } ?? priority.count
        return number + (source.plugin == Source.byHand ? SourceRank.byHand : 0) + Int64(place) * SourceRank.place
    }

    /// The number of the source of which a rank is.
    public static func number(of rank: Int64) -> Int64 { rank & (byHand - 1) }
}
