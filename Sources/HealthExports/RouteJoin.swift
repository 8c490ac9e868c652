import Samples

/// Puts the records of one route together, which may be several with others between them, and to the workout that they are of.
public struct RouteJoin {
    private let lookup: CorrelationJoin.Lookup
    /// Routes that were given, by plugin and group.
    private var given: Set<[String]> = []

    /// - Parameter lookup: the records of a group of one plugin.
    public init(lookup: @escaping CorrelationJoin.Lookup) { self.lookup = lookup }

    /// Workouts, each with its route behind it: the first of its records, with all of them as members; and routes without a workout.
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
