import HubSettings
import HubStore
import HubWire
import Samples

/// Lets the store maintain figures of whole hours for types with many samples, in small steps, with at most a tenth of the time.
struct RollupMaintenance: Sendable {
    let store: Store
    let committer: Committer
    let clock: HubClock
    /// A hub that has just started serves waiting clients first.
    var beginning = Duration.seconds(30)
    var interval = Duration.seconds(60)
    /// The length of a rest as a multiple of the last step's time; at least `pause`.
    var rest = 9
    var pause = Duration.milliseconds(20)

    /// Maximum number of steps of one person and type in one turn, so that days that change all the time do not block the others.
    private static let pieces = 2_000

    /// Maximum number of records that may wait for the store during a step; if there are more, they go first.
    private static let backlog = 500

    /// - Parameter commands: provides the current persons and sources of `hub.conf`, and the declared types.
    func run(until leaving: Latch, for commands: Commands) async {
        await leaving.wait(upTo: beginning)
        while !leaving.isRaised {
            // A store that fails is reported elsewhere.
            try? await followOnce(
                await commands.facts.priorities, await commands.knownTypes, await commands.zones, until: leaving)
            await leaving.wait(upTo: interval)
        }
    }

    /// One turn for all persons and types.
    func followOnce(
        _ priorities: [PrioritySection], _ types: TypeRegistry, _ zones: [String: String], until leaving: Latch
    ) async throws(StoreError) {
        try await repeatedly(until: leaving) { () throws(StoreError) in try await store.removeEndedRollups() }
        for candidate in try await store.rollupCandidates() {
            guard let type = types.resolve(candidate.type.rawValue), let style = type.aggregation, let unit = type.unit
            else { continue }
            let person = candidate.person
            var query = StatisticsQuery(of: person.uid, type.id, unit: unit, style)
            query.priority = priorities.sources(of: type.id, person.name)
            let (asked, phase) = (query, Self.phase(of: zones[person.name] ?? "UTC", at: clock.now()))
            try await repeatedly(until: leaving) { () throws(StoreError) in
                try await store.rollUp(asked, phase: phase, now: clock.now())
            }
        }
    }

    private func repeatedly(
        until leaving: Latch, _ piece: () async throws(StoreError) -> Bool
    ) async throws(StoreError) {
        var (isOver, left) = (false, Self.pieces)
        while !leaving.isRaised, !isOver, left > 0, store.damage == nil {
            guard committer.waitingRecords <= Self.backlog else {
                await leaving.wait(upTo: pause)
                continue
            }
            let begun = ContinuousClock.now
            isOver = try await !piece()
            left -= 1
            if !isOver { await leaving.wait(upTo: max(pause, (ContinuousClock.now - begun) * rest)) }
        }
    }

    /// Minutes after a whole hour of UTC at which an hour of a zone begins.
    static func phase(of zone: String, at time: Int64) -> Int64 {
        let offset = Intervals(.day, zone: zone)?.local(time).offsetMinutes ?? 0
        return (60 - Int64(offset) % 60) % 60
    }
}
