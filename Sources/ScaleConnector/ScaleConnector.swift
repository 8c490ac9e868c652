public import PluginKit
import ScaleProtocols
import ScaleLinks

/// One scale, served over its link for as long as the plugin runs: takes its weighings, has the hub keep them, and only then
/// acknowledges them.
///
/// One task does it all, event by event. While records are being written it reads no further, so the scale waits as well.
/// The link is open only while the person who measures is verified.
public struct ScaleConnector {
    /// When to come back from ``run(until:)``.
    public enum Goal: Sendable {
        /// Never, but for a stop.
        case stopped
        /// One session is open and its memory is transferred.
        case memoryTransferred
    }

    let hub: PluginContext
    let setup: ScaleSetup
    let queue: ScaleCommandQueue
    let clock: LocalClock
    let rule: String
    var dialogue: any ScaleDialogue
    private var runner: LinkRunner?
    private var door: HSLDoor?
    var reports: ScaleReports
    var cloud: (any ScaleCloud)?

    /// The scale whose records are given; nil until it is known.
    var device: String?
    var known: KnownWeighings
    /// By how many seconds the scale's clock was wrong when the session opened, and is now; nil before it has said its time.
    var deviation: (found: Int?, now: Int?) = (nil, nil)
    /// By position.
    var users: [UInt32?] = []
    /// The user whose measurement is held open.
    var openUser: UInt32?
    /// The weight while the impedance of the weighing was measured that has not been kept yet.
    var impedanceWeight: Int?
    private var isConnected = false
    /// What the scale was asked for last, until it answers.
    private var asked: (request: ScaleCommandQueue.Request, command: ScaleCommand, reason: String?)?
    /// Until when the verification holds; nil: until the plugin ends.
    private var verifiedUntil: ContinuousClock.Instant?

    private let startedAt = ContinuousClock.now
    /// What the dialogue has still to be told of what was done.
    var inputs: [ScaleInput] = []

    /// Reads what is known of the scale.
    ///
    /// - Throws: ``PluginFailure``.
    public init(
        _ hub: PluginContext, _ setup: ScaleSetup, queue: ScaleCommandQueue, cloud: (any ScaleCloud)? = nil
    ) async throws {
        (self.hub, self.setup, self.queue, self.cloud) = (hub, setup, queue, cloud)
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

    var now: ScaleMoment {
        ScaleMoment(uptime: ContinuousClock.now - startedAt, wall: clock.wall(at: hub.clock.now()))
    }

    /// Serves the scale until the goal is reached or the task is cancelled; then everything is closed.
    ///
    /// - Throws: ``GiveError`` where a record can never be given, which is this plugin's own fault; ``PluginFailure`` where a
    ///   single pass may not measure.
    public mutating func run(until goal: Goal) async throws {
        while let permission = try await verify(goal) {
            verifiedUntil = permission.end
            if try await serve(until: goal) { return }
        }
    }

    /// Serves the scale while the verification holds; true when all is done.
    private mutating func serve(until goal: Goal) async throws -> Bool {
        let runner: LinkRunner
        let door = HSLDoor(setup.link, dialogue)
        do throws(ScaleLinkError) {
            runner = try LinkRunner(setup.link, pause: setup.pause, admission: door)
        } catch {
            throw PluginFailure(.failed, "\(error)")
        }
        (self.runner, self.door) = (runner, door)
        queue.open { runner.wake() }
        hub.logger.info("waiting for the scale", metadata: ["link": "\(runner.link)"])
        setAlarm(of: runner)
        var isDone = true
        do {
            while let event = await runner.next() {
                try await follow(event, of: runner)
                if goal == .memoryTransferred, dialogue.isMeasuring { break }
                if let verifiedUntil, ContinuousClock.now >= verifiedUntil {
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
        queue.close()
        runner.stop()
        while await runner.next() != nil {}
        _ = dialogue.handle(.linkClosed, at: now)
        (self.runner, door) = (nil, nil)
        isConnected = false
        if let asked { answer(asked.request, .noScale) }
    }

    private mutating func follow(_ event: LinkRunner.Event, of runner: LinkRunner) async throws {
        switch event {
        case .opened: for input in runner.greeting(at: door) { try await handle(input) }
        case .contested: try await handle(.contested)
        case .remark(let text): await reports.report(.protocolWarning(.other(text)))
        case .received(let bytes): try await handle(.received(bytes))
        case .alarm: try await handle(.tick)
        case .closed(let reason):
            if let reason { hub.logger.info("\(reason)") }
            reports.wasMeasuring = dialogue.isMeasuring
            try await handle(.linkClosed)
        case .unreachable(let error): await reports.unreachable(error)
        }
        while let request = queue.takeNext(mayAsk: isConnected && asked == nil) {
            switch request.order {
            case .command(let command):
                asked = (request, command, nil)
                try await handle(.command(command))
            case .keep(let weighings): request.answer.resume(returning: try await keep(weighings))
            }
        }
        setAlarm(of: runner)
    }

    /// For what comes next: the dialogue's deadline, or the end of the verification.
    private func setAlarm(of runner: LinkRunner) {
        runner.setAlarm(at: [dialogue.deadline.map { startedAt + $0 }, verifiedUntil].compactMap(\.self).min())
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
                    let isKept = try await keep(delivery)
                    inputs.append(isKept ? .kept(delivery.token) : .notKept(delivery.token))
                case .event(let event):
                    try await note(event)
                    await reports.report(event)
                }
            }
        }
    }

    private mutating func note(_ event: ScaleEvent) async throws {
        impedanceWeight = event.impedanceWeight(after: impedanceWeight)
        switch event {
        case .connected:
            isConnected = true
            if device == nil, let id = dialogue.deviceID { try await adopt(id) }
        case .disconnected: (isConnected, deviation) = (false, (nil, nil))
        case .clock(_, let skew): deviation = (skew, skew)
        case .clockSet: deviation.now = 0
        // It is known already, and has been seen again.
        case .memoryRecord(let reading, isRepeat: true), .stableWeight(let reading, isRepeat: true),
            .bodyComposition(let reading, isRepeat: true), .cloudRecord(let reading, isRepeat: true):
            known.touch(.init(reading))
        case .userList(let list):
            await learn(list)
            await openMeasurement()
            if let asked, case .listUsers = asked.command { answer(asked.request, .users(list)) }
        case .userResult(let isDone), .commandResult(let isDone):
            if let asked { answer(asked.request, isDone ? .done : .refused(asked.reason)) }
        case .deviceError(let error):
            if [.userManagement, .authorisation, .busy].contains(error.errorClass) { asked?.reason = error.sentence }
        case .commandRefused(let reason): asked?.reason = reason
        default: break
        }
    }

    private mutating func answer(_ request: ScaleCommandQueue.Request, _ answer: ScaleCommandQueue.Answer) {
        asked = nil
        request.answer.resume(returning: answer)
    }
}

extension ScaleEvent {
    /// The impedance weight of the weighing that goes on, once this has happened.
    ///
    /// A weighing that begins, or one that has ended in an error, has none: it would get into the record of the next weighing.
    func impedanceWeight(after old: Int?) -> Int? {
        switch self {
        case .impedanceWeight(let tenths): tenths
        case .unstableWeight, .stableWeight, .deviceError, .disconnected: nil
        default: old
        }
    }
}
