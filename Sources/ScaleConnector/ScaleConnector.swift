public import PluginKit
import ScaleFrames
import ScaleLinks

/// One scale, served over its link for as long as the plugin runs: takes its weighings, has the hub keep them, and only then
/// acknowledges them.
///
/// One task does it all, event by event. While records are being written it reads no further, so the scale waits as well.
/// The link is opened only while whoever measures is verified.
public struct ScaleConnector {
    /// When to come back from ``run(until:)``.
    public enum Goal: Sendable {
        /// Never, but for a stop.
        case stopped
        /// One session stands and its memory is transferred.
        case memoryTransferred
    }

    let hub: PluginContext
    let setup: ScaleSetup
    let desk: ScaleDesk
    private let clock: LocalClock
    private let rule: String
    private var dialogue: any ScaleDialogue
    private var runner: LinkRunner?
    var reports: ScaleReports
    var cloud: (any ScaleCloud)?

    /// The scale whose records are given; nil until it is known.
    private var device: String?
    private var known: KnownWeighings
    /// By how many seconds the scale's clock was wrong when the session opened, and is now; nil before it has said its time.
    private var deviation: (found: Int?, now: Int?) = (nil, nil)
    /// By position.
    private var users: [UInt32?] = []
    /// The user whose measurement is held open.
    private var openUser: UInt32?
    /// The weight while the impedance of the weighing was measured that has not been kept yet.
    private var impedanceWeight: Int?
    private var isConnected = false
    /// What the scale was asked for last, until it answers.
    private var asked: (request: ScaleDesk.Request, reason: String?)?
    /// Until when the verification holds, in microseconds since 1970.
    private var verifiedUntil: Int64?

    private let startedAt = ContinuousClock.now
    private var inputs: [ScaleInput] = []

    /// Reads what is known of the scale.
    ///
    /// - Throws: ``PluginFailure``.
    public init(
        _ hub: PluginContext, _ setup: ScaleSetup, desk: ScaleDesk, cloud: (any ScaleCloud)? = nil
    ) async throws {
        (self.hub, self.setup, self.desk, self.cloud) = (hub, setup, desk, cloud)
        (clock, rule) = setup.clock(persons: hub.persons.map(\.zone))
        known = KnownWeighings(rule: rule)
        do {
            let remembered = try await hub.state.text(Self.deviceKey)
            device = setup.device ?? remembered
        } catch {
            throw PluginFailure(.state, "\(error)")
        }
        dialogue = setup.dialogue(device)
        reports = ScaleReports(hub: hub, model: setup.model, device: device)
        try await readKnown()
        try await readOrders()
    }

    /// What the scale was told last, where the settings say nothing else.
    ///
    /// The user matters before the scale is heard: it may still be telling of a weighing that began before this program did.
    private mutating func readOrders() async throws {
        do {
            let unit = try await hub.state.integer(ScaleSetup.unitKey).flatMap { UInt8(exactly: $0) }
            if setup.remembersUnit, let unit = unit.flatMap({ ScaleDisplayUnit(rawValue: $0) }) {
                _ = dialogue.handle(.command(.display(unit)), at: now)
            }
            let user = try await hub.state.integer(Self.userKey).flatMap { UInt32(exactly: $0) }
            openUser = setup.measures ?? user
            if setup.measures == nil, let user { _ = dialogue.handle(.command(.measure(serial: user)), at: now) }
        } catch {
            throw PluginFailure(.state, "\(error)")
        }
    }

    private static let userKey = "openUser"

    private static let deviceKey = "device"

    private mutating func readKnown() async throws {
        guard let device else { return }
        do {
            let saved = try await hub.state.bytes("weighings-\(device)") ?? []
            known = KnownWeighings(rule: rule, saved: saved, under: try await hub.state.text("rule-\(device)"))
        } catch {
            throw PluginFailure(.state, "\(error)")
        }
    }

    private var now: ScaleMoment {
        ScaleMoment(uptime: ContinuousClock.now - startedAt, wall: clock.wall(at: hub.clock.now()))
    }

    /// Serves the scale until the goal is reached or the task is cancelled; then everything is closed.
    ///
    /// - Throws: ``GiveError`` where a record can never be given, which is this plugin's own fault; ``PluginFailure`` where a
    ///   single pass may not measure.
    public mutating func run(until goal: Goal) async throws {
        while let until = try await verify(goal) {
            verifiedUntil = until.moment
            if try await serve(until: goal) { return }
        }
    }

    /// Serves the scale while the verification holds; true when all is done.
    private mutating func serve(until goal: Goal) async throws -> Bool {
        let runner: LinkRunner
        do throws(ScaleLinkError) { runner = try LinkRunner(setup.link, pause: setup.pause) } catch {
            throw PluginFailure(.failed, "\(error)")
        }
        self.runner = runner
        desk.open { runner.wake() }
        hub.logger.info("waiting for the scale", metadata: ["link": "\(runner.link)"])
        var isDone = true
        do {
            while let event = await runner.next() {
                try await follow(event, of: runner)
                if goal == .memoryTransferred, dialogue.isMeasuring { break }
                if let verifiedUntil, hub.clock.now() >= verifiedUntil {
                    isDone = false
                    break
                }
            }
            try await handle(.stop)
        } catch {
            await end(runner)
            throw error
        }
        await end(runner)
        return isDone
    }

    /// Lets go of the link; the thread behind it has closed everything afterwards.
    private mutating func end(_ runner: LinkRunner) async {
        desk.close()
        runner.stop()
        while await runner.next() != nil {}
        _ = dialogue.handle(.linkClosed, at: now)
        self.runner = nil
        isConnected = false
        if let asked { answer(asked.request, .nobody) }
    }

    private mutating func follow(_ event: LinkRunner.Event, of runner: LinkRunner) async throws {
        switch event {
        case .opened:
            try await handle(.caller(runner.caller))
            try await handle(.linkOpened)
        case .received(let bytes): try await handle(.received(bytes))
        case .alarm: try await handle(.tick)
        case .closed(let reason):
            if let reason { hub.logger.info("\(reason)") }
            reports.wasMeasuring = dialogue.isMeasuring
            try await handle(.linkClosed)
        case .unreachable(let error): await reports.unreachable(error)
        }
        while isConnected, asked == nil, let request = desk.takeNext() {
            asked = (request, nil)
            try await handle(.command(request.command))
        }
        runner.setAlarm(at: dialogue.deadline.map { startedAt + $0 })
    }

    /// Hands `input` to the dialogue and does what it asks, and what follows from that.
    private mutating func handle(_ input: ScaleInput) async throws {
        inputs.append(input)
        while !inputs.isEmpty {
            for action in dialogue.handle(inputs.removeFirst(), at: now) {
                switch action {
                case .send(let bytes): runner?.send(bytes)
                case .search(let bytes): runner?.search(bytes)
                case .settle: runner?.settle()
                case .close: runner?.hangUp()
                case .deliver(let delivery):
                    // Only after this is true may the scale forget: `.kept` is what sends the acknowledgement.
                    inputs.append(try await keep(delivery) ? .kept(delivery.token) : .notKept(delivery.token))
                case .event(let event):
                    try await note(event)
                    await reports.report(event)
                }
            }
        }
    }

    private mutating func note(_ event: ScaleEvent) async throws {
        switch event {
        case .connected:
            isConnected = true
            if device == nil, let id = dialogue.deviceID { try await adopt(id) }
        case .disconnected: (isConnected, deviation, impedanceWeight, users) = (false, (nil, nil), nil, [])
        case .clock(_, let skew): deviation = (skew, skew)
        case .clockSet: deviation.now = 0
        case .impedanceWeight(let tenths): impedanceWeight = tenths
        // It is known already, and has been seen again.
        case .memoryRecord(let reading, isRepeat: true), .stableWeight(let reading, isRepeat: true),
            .bodyComposition(let reading, isRepeat: true), .cloudRecord(let reading, isRepeat: true):
            known.touch(.init(reading))
        case .userList(let list):
            users = list
            await openMeasurement()
            if let asked, case .listUsers = asked.request.command { answer(asked.request, .users(list)) }
        case .userResult(let isDone), .commandResult(let isDone):
            if let asked { answer(asked.request, isDone ? .done : .refused(asked.reason)) }
        case .deviceError(let error):
            if [.userManagement, .authorisation, .busy].contains(error.errorClass) { asked?.reason = error.sentence }
        case .commandRefused(let reason): asked?.reason = reason
        default: break
        }
    }

    private mutating func answer(_ request: ScaleDesk.Request, _ answer: ScaleDesk.Answer) {
        asked = nil
        request.answer.resume(returning: answer)
    }

    /// The first scale that answers is this plugin's from now on: another one has records of its own.
    private mutating func adopt(_ id: String) async throws {
        device = id
        reports.device = id
        do {
            try await hub.state.set(Self.deviceKey, to: .text(id))
        } catch {
            hub.logger.warning("the scale's id cannot be kept; it is asked for again next time: \(error)")
        }
        try await readKnown()
    }

    /// Where nobody has said whose measurement to hold open, it is that of the only user there is.
    private mutating func openMeasurement() async {
        let present = users.compactMap(\.self)
        let serial = setup.measures ?? (present.count == 1 ? present[0] : nil)
        reports.slot = serial.flatMap { serial in users.firstIndex { $0 == serial } }
        guard serial != openUser else { return }
        openUser = serial
        guard setup.measures == nil else { return }
        inputs.append(.command(.measure(serial: serial)))
        do {
            try await hub.state.set(Self.userKey, to: serial.map { StateValue.integer(Int64($0)) })
        } catch {
            hub.logger.warning("whose measurement is open cannot be kept: \(error)")
        }
    }
}

// MARK: - Keeping

extension ScaleConnector {
    /// Whether all readings of `delivery` are durable now.
    private mutating func keep(_ delivery: ScaleDelivery) async throws -> Bool {
        guard let device else {
            hub.logger.warning("weighings are not acknowledged, because nobody knows yet which scale they are of")
            return false
        }
        let mapping = WeighingMapping(
            source: hub.source(device: device), clock: clock, isGroup: setup.model == .hs5,
            muscleUnit: setup.muscleUnit)
        // The memory was filled while the clock was as wrong as it was found; what is weighed now is dated by the clock of
        // now, which has been set.
        let deviation = delivery.source == .memory ? self.deviation.found : self.deviation.now
        var (next, samples, undated) = (known, [Sample](), [KnownWeighings.Key]())
        for reading in delivery.readings {
            let key = KnownWeighings.Key(reading)
            let old = known[key]
            // A weight alone may have been shown and recorded before its composition came.
            if let old, old.isSettled, old.isComposed || !reading.isComposed {
                next.touch(key)
                continue
            }
            guard let wall = reading.time else {
                if old?.isUndated != true { undated.append(key) }
                next.note(.init(key: key, isUndated: true))
                continue
            }
            let entry = entry(of: reading, delivery.source, key, wall, old, &next, mapping, deviation)
            samples += mapping.samples(weighing(of: reading, entry, wall))
            next.note(entry)
        }
        guard try await save(samples, next, device) else { return false }
        known = next
        if delivery.source == .weighing { impedanceWeight = nil }
        for key in undated { await reports.undated(key) }
        return true
    }

    /// What is remembered of a reading that is given now.
    private func entry(
        of reading: ScaleReading, _ source: ScaleDelivery.Source, _ key: KnownWeighings.Key, _ wall: WallTime,
        _ old: KnownWeighings.Entry?,
        _ next: inout KnownWeighings, _ mapping: WeighingMapping, _ deviation: Int?
    ) -> KnownWeighings.Entry {
        // The first judgement stays, unless there was none because the date could not be read.
        var entry = old.flatMap { $0.isUndated ? nil : $0 } ?? KnownWeighings.Entry(key: key)
        entry.isSettled = true
        (entry.tenthsOfKilogram, entry.isComposed) = (reading.tenthsOfKilogram, reading.isComposed)
        if old == nil || old?.isUndated == true {
            if reading.isDatedByHost {
                entry.hostTime = clock.instant(of: wall, near: hub.clock.now())
            } else {
                entry.isClockSuspect = mapping.isClockSuspect(wall, deviation: deviation, now: hub.clock.now())
            }
            // A HS3 has the same bytes for a weighing of now and for the copy in its memory.
            if source == .weighing, setup.model != .hs3 {
                (entry.liveWall, entry.impedanceWeight) = (wall.secondsSince2000, impedanceWeight)
            } else if source != .weighing, var twin = next.twin(of: reading) {
                entry.twin = twin.key
                (entry.hostTime, entry.liveWall) = (twin.hostTime, twin.liveWall)
                (entry.isClockSuspect, entry.impedanceWeight) = (twin.isClockSuspect, twin.impedanceWeight)
                twin.isTwin = true
                next.note(twin)
            }
        }
        return entry
    }

    /// A copy of a weighing has the identity, the time and the impedance of the weighing it is a copy of.
    private func weighing(
        of reading: ScaleReading, _ entry: KnownWeighings.Entry, _ own: WallTime
    ) -> Weighing {
        let wall = entry.twin == nil ? own : entry.liveWall.flatMap { WallTime(secondsSince2000: $0) } ?? own
        return Weighing(
            key: (entry.twin ?? entry.key).text,
            time: entry.hostTime.map(Weighing.Time.host) ?? .scale(wall, isSuspect: entry.isClockSuspect),
            tenthsOfKilogram: reading.tenthsOfKilogram, composition: reading.composition, user: reading.user,
            slot: reading.user.flatMap { user in users.firstIndex { $0 == user } },
            impedanceWeight: entry.impedanceWeight, raw: reading.isComposed ? reading.raw : nil)
    }

    /// Puts the records into the spool and what is known into the state, in one commit.
    private func save(_ samples: [Sample], _ next: KnownWeighings, _ device: String) async throws -> Bool {
        guard next != known else { return true }
        let changes: [String: StateValue?] = [
            "weighings-\(device)": .bytes(next.bytes), "rule-\(device)": .text(next.rule),
        ]
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
