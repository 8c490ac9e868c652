import HubStore
import HubWire
import Logging
import Samples

/// The state of sinks, in numbers and in one sentence.
extension Deliveries {
    func statuses(_ reading: StoreStatus) -> [SinkStatus] { reading.sinks.map { status($0, reading) } }

    private func status(_ overview: SinkOverview, _ reading: StoreStatus) -> SinkStatus {
        let (id, account) = (overview.state.id, overview.state.account)
        func text(_ time: Int64?) -> String? { time.map { Timestamp(microseconds: $0).text } }
        var judged = judge(overview)
        if judged.isWell, judged.note == nil, let note = missingDays(overview, reading) { judged = (false, note) }
        return SinkStatus(
            name: "\(id)", instance: id.instance, isOpen: pumps[id] != nil, isWell: judged.isWell,
            note: judged.note, wanted: account.wanted, delivered: account.delivered, pending: account.pending,
            retrying: account.retrying, refused: account.refused, superseded: account.superseded,
            skipped: account.skipped, cursor: overview.state.cursor.description,
            isCounting: overview.isCounting ? true : nil, oldestPending: text(overview.oldestPending),
            nextRetry: text(overview.nextRetry.map(door.facts.waits.shown)),
            lastDelivered: text(overview.lastDelivered), lastFailure: text(overview.lastFailure?.at),
            lastFailureReason: overview.lastFailure?.reason,
            skips: Dictionary(
                overview.skips.map { ("\($0.key)", $0.value) }, uniquingKeysWith: { first, _ in first }))
    }

    /// Why a sink that waits for day values gets none of some types, although there are samples to make them from.
    private func missingDays(_ overview: SinkOverview, _ reading: StoreStatus) -> String? {
        let filter = overview.terms.filter
        guard pumps[overview.state.id] != nil, filter.kinds == [.day], let wanted = filter.types else { return nil }
        let open = reading.sinks.filter { pumps[$0.state.id] != nil && $0.state.id != overview.state.id }
        let missing = wanted.filter { type in
            guard reading.types.samples.contains(type.rawValue), !reading.types.days.contains(type.rawValue) else {
                return false
            }
            // A program that is still reading samples of this type may be about to make its first day.
            return !open.contains { sink in
                sink.terms.filter.types?.contains(type) == true && sink.terms.filter.kinds != [.day]
                    && (sink.isCounting || sink.state.account.pending + sink.state.account.retrying > 0)
            }
        }.map(\.rawValue).sorted()
        guard !missing.isEmpty else { return nil }
        let kinds = door.facts.plugins.filter { $0.kind == DayProducers.usualKind }
        let remedy = DayProducers.remedy(
            reading.types.days.union(missing), maker: kinds.first(where: \.enabled)?.name,
            disabled: kinds.first { !$0.enabled }?.name)
        return
            "no instance computes day values of \(missing.joined(separator: ", ")), which it waits for: \(remedy), then hub apply"
    }

    /// A sink counts as stuck if it has delivered nothing for this long, and its oldest record has waited longer.
    private static let patience: Int64 = 60_000_000

    private func judge(_ overview: SinkOverview) -> (isWell: Bool, note: String?) {
        let (id, account) = (overview.state.id, overview.state.account)
        let waiting = account.pending + account.retrying
        let isOpen = pumps[id] != nil
        if !isOpen, let reason = unrequestedReason(id) {
            return (
                waiting == 0, "\(reason.why), \(Self.records(waiting)): \(reason.repair)hub forget-sink \(id) drops it"
            )
        }
        if let reason = overview.state.paused {
            let commands = door.facts.instances[id.instance]?.commands
            // A plugin without its own log-in command takes its credentials from hub.conf.
            let repair =
                commands?.contains { $0.name == "login" } == false
                ? "correct [plugin.\(id.instance)] in hub.conf, then hub apply" : "hub login \(id.instance)"
            return (
                false,
                "its log-in has failed\(since(overview)): \(reason); \(Self.records(waiting))"
                    // Most plugins include the remedy in their reason.
                    + (reason.contains(repair) ? "" : "; \(repair)")
            )
        }
        if let fault = faults[id] { return (false, fault) }
        if overview.isCounting {
            return (true, "its waiting records are being counted: \(Self.records(waiting)) so far")
        }
        if !isOpen, door.facts.watchers.contains(where: { $0.instance == id.instance }) {
            return (true, waiting == 0 ? nil : "\(Self.records(waiting)) for the next run of \(id.instance)")
        }
        if !isOpen {
            return (waiting == 0, "no session asks for it, \(Self.records(waiting)); is \(id.instance) running?")
        }
        if account.retrying > 0 {
            let next =
                overview.nextRetry.map {
                    ", again at \(Timestamp(microseconds: door.facts.waits.shown($0)).text)"
                } ?? ""
            let reason = overview.lastFailure.map { ": \($0.reason)" } ?? ""
            return (true, "\(account.retrying) to be tried again\(since(overview))\(next)\(reason)")
        }
        if let failure = overview.lastFailure, account.refused > 0, failure.at >= overview.lastDelivered ?? .min {
            return (
                false,
                "\(account.refused) refused, the last at \(Timestamp(microseconds: failure.at).text): \(failure.reason)"
            )
        }
        guard account.pending > 0 else { return (true, nil) }
        let latest = max(overview.lastDelivered ?? .min, overview.oldestPending ?? .min)
        guard door.facts.clock.now() - latest < Self.patience || pumps[id]?.open.isEmpty == true else {
            return (
                false,
                "\(Self.records(account.pending)) since \(Timestamp(microseconds: latest).text): it does not answer"
            )
        }
        return (true, "\(Self.records(account.pending))")
    }

    /// Why no session can ask for a sink, with the remedy other than dropping it; `nil` if its instance is in `hub.conf` and enabled.
    private func unrequestedReason(_ id: SinkID) -> (why: String, repair: String)? {
        let table = "[plugin.\(id.instance)]"
        guard door.facts.instances[id.instance] == nil else { return nil }
        guard let plugin = door.facts.plugins.first(where: { $0.name == id.instance }) else {
            return ("no \(table) of hub.conf asks for it any more", "")
        }
        return plugin.enabled
            ? ("\(table) of hub.conf has errors", "hub check lists them; ")
            : ("\(table) of hub.conf has enabled = false", "set it to true and hub apply if it is wanted again; ")
    }

    private func since(_ overview: SinkOverview) -> String {
        overview.lastFailure.map { ", last at \(Timestamp(microseconds: $0.at).text)" } ?? ""
    }

    private static func records(_ count: Int64) -> String { count == 1 ? "1 record waits" : "\(count) records wait" }
}

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
        let time = door.facts.waits.now()
        // A sink whose log-in has failed waits for a person.
        let delays = sinks.filter { $0.state.paused == nil }.compactMap { sink -> Int64? in
            let account = sink.state.account
            if account.pending > 0 { return 0 }
            return account.retrying > 0 ? max(0, (sink.nextRetry ?? time) - time) : nil
        }
        guard let least = delays.min() else { return .nothing }
        return least == 0
            ? .now : .after(door.facts.clock.realDuration(forVirtual: .microseconds(least)))
    }

    /// Whether an instance has asked for deliveries, and none can be made now.
    func isIdle(_ instance: String) -> Bool {
        let own = pumps.filter { $0.key.instance == instance }
        let time = door.facts.waits.now()
        return !own.isEmpty && own.allSatisfy { id, pump in pump.isCaughtUp(waitTime: time) && isSettled(id) }
    }
}
