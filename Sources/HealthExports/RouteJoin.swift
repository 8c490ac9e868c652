import Samples

/// Puts the records of one route together, which may be several, and others between them.
public struct RouteJoin {
    private let lookup: CorrelationJoin.Lookup
    /// Routes that were given, by plugin and group.
    private var given: Set<[String]> = []

    /// - Parameter lookup: the records of a group of one plugin.
    public init(lookup: @escaping CorrelationJoin.Lookup) { self.lookup = lookup }

    /// The first record of each route, with all of its records as members; workouts as they are.
    public mutating func joined(_ run: [ExportItem]) throws -> [ExportItem] {
        var result: [ExportItem] = []
        for var item in run {
            if case .sample(let sample) = item.record.record, sample.type == .workoutRoute, let group = sample.group {
                guard given.insert([sample.source.plugin, group]).inserted else { continue }
                item.members = try lookup(group, sample.source.plugin).filter { $0.type == .workoutRoute }
            }
            result.append(item)
        }
        return result
    }
}
