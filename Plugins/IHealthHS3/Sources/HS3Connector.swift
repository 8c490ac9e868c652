import PluginKit
import ScaleFrames
import ScaleLinks

/// One scale, served over its link for as long as the plugin runs: takes its weighings, has the hub keep them, and only then
/// acknowledges them.
///
/// One task does it all, event by event. While records are being written it reads no further, so the scale waits as well.
struct HS3Connector {
    /// When to come back from ``run(until:)``.
    enum Goal {
        /// Never, but for a stop.
        case stopped
        /// One session stands and its memory is transferred.
        case memoryTransferred
    }

    private let hub: PluginContext
    private let runner: LinkRunner
    private let mapping: WeightMapping
    private let stateKeys: (known: String, rule: String)
    private var host: HS3Host
    private var known: KnownWeighings
    private var reports: HS3Reports

    /// By how many seconds the scale's clock is wrong now; nil before it has said its time.
    private var deviation: Int?
    private let startedAt = ContinuousClock.now
    private var inputs: [HS3Host.Input] = []

    /// Reads what is known of the scale and begins to connect.
    ///
    /// - Throws: ``PluginFailure``.
    init(_ hub: PluginContext, _ settings: HS3Settings, pause: Duration = .seconds(1)) async throws {
        self.hub = hub
        let (clock, rule) = settings.clock(persons: hub.persons.map(\.zone))
        mapping = WeightMapping(source: hub.source(device: settings.device), clock: clock)
        reports = HS3Reports(hub: hub, device: settings.device)
        host = HS3Host(settings: settings.host)
        stateKeys = ("known-\(settings.device)", "rule-\(settings.device)")
        let saved: (bytes: [UInt8], rule: String?)
        do {
            saved = (try await hub.state.bytes(stateKeys.known) ?? [], try await hub.state.text(stateKeys.rule))
        } catch {
            throw PluginFailure(.state, "\(error)")
        }
        known = KnownWeighings(rule: rule, saved: saved.bytes, under: saved.rule)
        do throws(ScaleLinkError) { runner = try LinkRunner(settings.link, pause: pause) } catch {
            throw PluginFailure(.failed, "\(error)")
        }
    }

    private var now: ScaleMoment {
        ScaleMoment(uptime: ContinuousClock.now - startedAt, wall: mapping.clock.wall(at: hub.clock.now()))
    }

    /// Serves the scale until the goal is reached or the task is cancelled; then everything is closed.
    ///
    /// - Throws: ``GiveError`` where a record can never be given, which is this plugin's own fault.
    mutating func run(until goal: Goal) async throws {
        hub.logger.info("waiting for the scale", metadata: ["link": "\(runner.link)"])
        do {
            while let event = await runner.next() {
                try await follow(event)
                if goal == .memoryTransferred, host.isMeasuring { break }
            }
            try await handle(.stop)
        } catch {
            await end()
            throw error
        }
        await end()
    }

    /// Lets go of the link; the thread behind it has closed everything afterwards.
    private func end() async {
        runner.stop()
        while await runner.next() != nil {}
    }

    private mutating func follow(_ event: LinkRunner.Event) async throws {
        switch event {
        case .opened: try await handle(.linkOpened)
        case .received(let bytes): try await handle(.received(bytes))
        case .alarm: try await handle(.tick)
        case .closed(let reason):
            if let reason { hub.logger.info("\(reason)") }
            deviation = nil
            reports.wasMeasuring = host.isMeasuring
            try await handle(.linkClosed)
        case .unreachable(let error): await reports.unreachable(error)
        }
    }

    /// Hands `input` to the dialogue and does what it asks, and what follows from that.
    private mutating func handle(_ input: HS3Host.Input) async throws {
        inputs.append(input)
        while !inputs.isEmpty {
            for action in host.handle(inputs.removeFirst(), at: now) {
                switch action {
                case .send(let bytes): runner.send(bytes)
                case .close: runner.hangUp()
                case .deliver(let delivery):
                    // Only after this is true may the scale forget: `.kept` is what sends the acknowledgement.
                    inputs.append(try await keep(delivery) ? .kept(delivery.token) : .notKept(delivery.token))
                case .event(let event):
                    note(event)
                    await reports.report(event)
                }
            }
        }
        runner.setAlarm(at: host.deadline.map { startedAt + $0 })
    }

    private mutating func note(_ event: HS3Host.Event) {
        switch event {
        case .clock(_, let skew): deviation = skew
        case .connected(clockSet: true): deviation = 0
        // It is known already, and has been seen again.
        case .memoryRecord(let reading, isRepeat: true), .stableWeight(let reading, isRepeat: true):
            known.touch(reading.key)
        default: break
        }
    }

    /// Whether all readings of `delivery` are durable now.
    private mutating func keep(_ delivery: HS3Host.Delivery) async throws -> Bool {
        // The memory was filled while the clock was as wrong as it was found; what is weighed now is dated by the clock of
        // now, which has been set.
        let deviation = delivery.source == .memory ? delivery.skewSeconds : self.deviation
        var (next, samples, undated) = (known, [Sample](), [HS3RecordKey]())
        for reading in delivery.readings {
            let old = known[reading.key]
            if old?.isSettled == true {
                next.touch(reading.key)
                continue
            }
            guard let wall = reading.time else {
                if old?.isUndated != true { undated.append(reading.key) }
                next.note(.init(key: reading.key, isUndated: true))
                continue
            }
            // The first judgement stays, unless there was none because the date could not be read.
            let isSuspect =
                old.flatMap { $0.isUndated ? nil : $0.isClockSuspect }
                ?? mapping.isClockSuspect(wall, deviation: deviation, now: hub.clock.now())
            if let sample = mapping.sample(reading, at: wall, isClockSuspect: isSuspect) { samples.append(sample) }
            next.note(.init(key: reading.key, isClockSuspect: isSuspect))
        }
        guard try await save(samples, next) else { return false }
        known = next
        for key in undated { await reports.undated(key) }
        return true
    }

    /// Puts the records into the spool and what is known into the state, in one commit.
    private func save(_ samples: [Sample], _ next: KnownWeighings) async throws -> Bool {
        guard next != known else { return true }
        let changes: [String: StateValue?] = [stateKeys.known: .bytes(next.bytes), stateKeys.rule: .text(next.rule)]
        do {
            if samples.isEmpty {
                try await hub.state.transaction { transaction in
                    for (key, value) in changes { try transaction.set(key, to: value) }
                }
            } else {
                try await hub.give(samples, saving: changes)
            }
            return true
        } catch let error as GiveError where !error.mayRetry {
            throw error
        } catch {
            // The scale repeats what is not acknowledged, and shows its memory again in the next session.
            hub.logger.warning("weighings are not acknowledged, because they cannot be kept: \(error)")
            return false
        }
    }
}
