import HubWire
import Logging
import Synchronization

extension BackOff {
    /// One second, doubled each time up to an hour, varied by a fifth so that sinks do not retry all at once.
    package static let ofDeliveries = BackOff(factor: 2, longest: .seconds(3_600), spread: 0.8...1.2)
}

/// Connects the author's `deliver` with the hub: turns subscriptions into messages and errors into results, with growing pauses.
struct DeliveryHandler: Sendable {
    private let sink: any SinkPlugin
    private let context: PluginContext
    private let memory = Memory()

    private final class Memory: Sendable {
        let wants = Mutex<[Want]>([])
        /// The back-off of each subscription.
        let backOffs = Mutex<[String: BackOff]>([:])
    }

    init(_ sink: any SinkPlugin, _ context: PluginContext) { (self.sink, self.context) = (sink, context) }

    // MARK: - Subscriptions

    /// Calls the author's `wants` for the current subscriptions.
    ///
    /// - Throws: ``PluginFailure`` with the name of an invalid subscription; the errors that the author throws.
    func requests(_ manifest: Manifest) async throws -> [WantRequest] {
        let wants = try await sink.wants(context)
        let names = wants.map(\.name)
        for (index, name) in names.enumerated() {
            if !PeerName.isValid(name) {
                throw PluginFailure(.manifest, "wants: \"\(name)\": expected \(PeerName.expected)")
            }
            if names[..<index].contains(name) { throw PluginFailure(.manifest, "wants: \(name): it is there twice") }
        }
        let abilities = manifest.sink ?? SinkAbilities()
        var takes = WantRequest.SinkAccepts()
        (takes.pastDates, takes.edits) = (abilities.takesPastDates, abilities.takesEdits)
        (takes.deletions, takes.filled) = (abilities.takesDeletions, abilities.takesFilledValues)
        memory.wants.withLock { $0 = wants }
        // Credit for one delivery more than can run at the same time, so that the next one is ready when one is done.
        let credit = Credit(records: abilities.batchRecords * (abilities.deliveriesAtOnce + 1), bytes: 1_048_576)
        return wants.map { want in
            WantRequest(
                want: want.name, types: want.types, kinds: want.kinds, persons: want.persons, takes: takes,
                account: want.account, start: want.start, batch: abilities.batchRecords,
                perHour: abilities.deliveriesPerHour, credit: credit)
        }
    }

    // MARK: - Deliveries

    @Sendable func deliver(_ name: String, _ records: [DeliveredRecord]) async -> DeliveryOutcome {
        guard let want = memory.wants.withLock({ $0.first { $0.name == name } }) else {
            return all(records, .retry(after: 0, reason: nil))
        }
        context.noteGiven()
        do {
            let results = try await sink.deliver(records, for: want, context)
            guard results.count == records.count else {
                return rest(
                    name, records, after: nil,
                    "the plugin gave \(results.count) results for \(records.count) records, which is a fault of the plugin"
                )
            }
            if results.contains(where: { if case .delivered = $0 { true } else { false } }) {
                memory.backOffs.withLock { $0[name] = nil }
            }
            return DeliveryOutcome(results: results)
        } catch let failure as DeliveryFailure {
            switch failure.kind {
            case .retry(let after): return rest(name, records, after: after, failure.reason)
            case .refused: return all(records, .refused(reason: failure.reason))
            case .unauthorized:
                context.logger.error("the log-in has failed", metadata: ["want": "\(name)", "reason": "\(failure)"])
                return all(records, .unauthorized(reason: failure.reason))
            }
        } catch is CancellationError {
            return all(records, .retry(after: 0, reason: "the plugin was stopped before it was done"))
        } catch {
            return rest(name, records, after: nil, "\(error)")
        }
    }

    private func all(_ records: [DeliveredRecord], _ result: DeliveryResult) -> DeliveryOutcome {
        DeliveryOutcome(results: records.map { _ in result })
    }

    /// Pauses the subscription after a failed delivery, because the next one would fail, too.
    private func rest(
        _ want: String, _ records: [DeliveredRecord], after: Duration?, _ reason: String
    ) -> DeliveryOutcome {
        let (next, isFirst) = memory.backOffs.withLock { backOffs in
            let next = backOffs[want, default: .ofDeliveries].next()
            return (next, backOffs[want]?.failures == 1)
        }
        // A target may ask for a delay of any length.
        let longest = DeliveryResult.retryBounds.upperBound
        let delay = Int64(min(max(0, (after ?? next) / .milliseconds(1)), Double(longest)))
        if isFirst {
            context.logger.warning("a delivery failed", metadata: ["want": "\(want)", "reason": "\(reason)"])
        }
        var outcome = all(records, .retry(after: delay, reason: reason))
        outcome.pause = delay
        return outcome
    }
}
