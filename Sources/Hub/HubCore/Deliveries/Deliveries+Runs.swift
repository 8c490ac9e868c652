import HubStore
import HubWire
import Logging

/// Sinks whose programs run on a schedule.
extension Deliveries {
    /// When the sinks of an instance have something to deliver.
    enum Delay: Sendable, Hashable {
        case nothing, now
        case after(Duration)
    }

    /// When the next delivery to an instance is due; `nil` if it has no sink.
    func delay(for instance: String) async -> Delay? {
        let sinks: [SinkOverview]
        do throws(StoreError) {
            sinks = try await store.sinks().filter { $0.state.id.instance == instance }
        } catch {
            logger.error("sinks cannot be read", metadata: ["plugin": "\(instance)", "error": "\(error)"])
            return .after(.seconds(60))
        }
        guard !sinks.isEmpty else { return nil }
        let time = outlet.facts.waits.now()
        // A sink whose log-in has failed waits for a person.
        let delays = sinks.filter { $0.state.paused == nil }.compactMap { sink -> Int64? in
            let account = sink.state.account
            if account.pending > 0 { return 0 }
            return account.retrying > 0 ? max(0, (sink.nextRetry ?? time) - time) : nil
        }
        guard let least = delays.min() else { return .nothing }
        return least == 0
            ? .now : .after(outlet.facts.clock.realDuration(forVirtual: .microseconds(least)))
    }

    /// Whether an instance has asked for deliveries, and none can be made now.
    func isIdle(_ instance: String) -> Bool {
        let own = pumps.filter { $0.key.instance == instance }
        let time = outlet.facts.waits.now()
        return !own.isEmpty && own.allSatisfy { id, pump in pump.isCaughtUp(waitTime: time) && isSettled(id) }
    }
}
