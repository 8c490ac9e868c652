import Samples

/// Collects the records of one route, which may not be adjacent, and places them after the workout of the route.
public struct RouteJoin {
    private let lookup: CorrelationJoin.Lookup
    /// Routes already written, by plugin and group.
    private var given: Set<[String]> = []

    /// - Parameter lookup: returns the records of a group of one plugin.
    public init(lookup: @escaping CorrelationJoin.Lookup) { self.lookup = lookup }

    /// Returns workouts, each followed by its route, and routes without a workout.
    ///
    /// A route is its first record with all records as members.
    public mutating func joined(_ run: [ExportItem]) throws -> [ExportItem] {
        var result: [ExportItem] = []
        for item in run {
            guard case .sample(let sample) = item.record.record, let group = sample.group else {
                result.append(item)
                continue
            }
            if case .workout = sample.value { result.append(item) }
            guard given.insert([sample.source.plugin, group]).inserted else { continue }
            let routes = try lookup(group, sample.source.plugin).filter {
                $0.type == .workoutRoute && $0.assignment.person == item.record.assignment.person
            }
            if let first = routes.first { result.append(ExportItem(first, json: [], members: routes)) }
        }
        return result
    }
}
