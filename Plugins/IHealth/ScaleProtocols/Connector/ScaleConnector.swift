public import PluginKit

/// Serves one scale over its link while the plugin runs: receives its weighings, gives them to the hub, and acknowledges them afterwards.
///
/// One task does all the work, event by event. It does not read while records are being written, so the scale waits, too. The link is open only
/// while the person who measures is verified.
public struct ScaleConnector {
    /// When ``run(until:)`` returns.
    public enum Goal: Sendable {
        /// Only when the plugin stops.
        case stopped
        /// When one session is open and its memory has been transferred.
        case memoryTransferred
    }

    let hub: PluginContext
    let setup: ScaleSetup
    let queue: ScaleCommandQueue
    let clock: LocalClock
    let rule: String
    var dialogue: any ScaleDialogue
    private var runner: LinkRunner?
    var cloud: (any ScaleCloud)?

    /// The current scale, from which the last event came.
    var scale: ServedScale
    /// The other scales behind the same link, by id.
    private var others: [String: ServedScale] = [:]
    /// The last command to the scale, until it answers.
    private var asked: (request: ScaleCommandQueue.Request, command: ScaleCommand, device: String?, reason: String?)?
    /// The end of the verification; `nil` for the whole run of the plugin.
    private var verifiedUntil: ContinuousClock.Instant?

    private let startedAt = ContinuousClock.now
    /// Pending inputs that report results to the dialogue.
    var inputs: [ScaleInput] = []

    /// Reads the stored data of the scale.
    ///
    /// - Throws: ``PluginFailure``.
    public init(
        _ hub: PluginContext, _ setup: ScaleSetup, queue: ScaleCommandQueue, cloud: (any ScaleCloud)? = nil
    ) async throws {
        (self.hub, self.setup, self.queue, self.cloud) = (hub, setup, queue, cloud)
        (clock, rule) = setup.clock(persons: hub.persons.map(\.zone))
        let device: String?
        do {
            let remembered = try await hub.state.text(Self.deviceKey)
            device = setup.device ?? remembered
        } catch {
            throw PluginFailure(.state, "\(error)")
        }
        dialogue = setup.dialogue(device)
        scale = ServedScale(
            device: device, known: KnownWeighings(rule: rule),
            reports: ScaleReports(hub: hub, model: setup.model, device: device))
        try await readKnown()
        try await readOrders()
    }

    var now: ScaleMoment {
        ScaleMoment(uptime: ContinuousClock.now - startedAt, wall: clock.wall(at: hub.clock.now()))
    }

    /// Serves the scale until the goal is reached or the task is cancelled, and closes everything before it returns.
    ///
    /// - Throws: ``GiveError`` if a record can never be given, which is a bug of this plugin; ``PluginFailure`` if a single pass may not
    ///   measure.
    public mutating func run(until goal: Goal) async throws {
        while let permission = try await verify(goal) {
            verifiedUntil = permission.end
            if try await serve(until: goal) { return }
        }
    }

    /// Serves the scale while the verification is valid; returns true when the goal is reached.
    private mutating func serve(until goal: Goal) async throws -> Bool {
        let runner: LinkRunner
        do throws(ScaleLinkError) {
            runner = try LinkRunner(setup.link, pause: setup.pause, dialogue: dialogue)
        } catch {
            throw PluginFailure(.failed, "\(error)")
        }
        self.runner = runner
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

    /// Closes the link; its thread has closed everything when the call returns.
    private mutating func end(_ runner: LinkRunner) async {
        queue.close()
        runner.stop()
        while await runner.next() != nil {}
        _ = dialogue.handle(.linkClosed, at: now)
        self.runner = nil
        scale.isConnected = false
        for id in others.keys { others[id]?.isConnected = false }
        if let asked { answer(asked.request, .noScale) }
    }

    private mutating func follow(_ event: LinkRunner.Event, of runner: LinkRunner) async throws {
        switch event {
        case .opened:
            try await handle(heights)
            for input in runner.opening { try await handle(input) }
        case .contested: try await handle(.contested)
        case .remark(let text): await scale.reports.report(.protocolWarning(.other(text)))
        case .received(let bytes): try await handle(.received(bytes))
        case .alarm: try await handle(.tick)
        case .closed(let reason):
            if let reason { hub.logger.info("\(reason)") }
            let wasMeasuring = dialogue.isMeasuring
            scale.reports.wasMeasuring = wasMeasuring
            for id in others.keys { others[id]?.reports.wasMeasuring = wasMeasuring }
            try await handle(.linkClosed)
        case .unreachable(let error): await scale.reports.unreachable(error)
        }
        if let asked, queue.isWithdrawn(asked.request) { try await handle(.withdraw(of: asked.device)) }
        while let request = queue.takeNext(mayAsk: !connected.isEmpty && asked == nil) {
            switch request.order {
            case .command(let command, let device): try await ask(command, of: device, request)
            case .keep(let weighings, let device):
                try await turn(to: device)
                queue.answer(request, try await keep(weighings))
            }
        }
        setAlarm(of: runner)
    }

    /// The ids of the scales that can receive commands now; `nil` stands for one without an id.
    private var connected: [String?] {
        (scale.isConnected ? [scale.device] : []) + others.filter(\.value.isConnected).keys.sorted()
    }

    /// Passes a command to the addressed scale.
    private mutating func ask(
        _ command: ScaleCommand, of device: String?, _ request: ScaleCommandQueue.Request
    ) async throws {
        let (model, connected) = (setup.model.rawValue, connected)
        func list(_ ids: [String?]) -> String { ids.compactMap(\.self).sorted().joined(separator: ", ") }
        if let device, !connected.contains(device) {
            return queue.answer(
                request, .refused("\(model): no scale \(device) is connected, only \(list(connected))"))
        }
        // All scales display the same unit.
        if case .display = command {
            asked = (request, command, scale.device, nil)
            return try await handle(.command(command))
        }
        guard device != nil || connected.count == 1 else {
            return queue.answer(
                request,
                .refused(
                    "\(model): several scales are connected; say which: device=\(list(connected).replacing(", ", with: " or device="))"
                ))
        }
        let target = device ?? connected[0]
        asked = (request, command, target, nil)
        try await handle(.command(command, of: target))
    }

    /// Switches to another scale behind the link.
    ///
    /// The first scale that answers is remembered: its records are fetched from the cloud even before it connects again.
    private mutating func turn(to id: String) async throws {
        guard let device = scale.device else { return try await adopt(id) }
        guard device != id else { return }
        others[device] = scale
        if let other = others.removeValue(forKey: id) { return scale = other }
        scale = ServedScale(
            device: id, known: KnownWeighings(rule: rule),
            reports: ScaleReports(hub: hub, model: setup.model, device: id))
        try await readKnown()
        try await readOpenUser()
    }

    /// The heights of the persons who measure, from `hub.conf`.
    private var heights: ScaleInput {
        func height(_ person: Welcome.PersonEntry?) -> Int? { person?.profile?.height.map { Int($0.rounded()) } }
        let persons = hub.persons
        let anyone =
            setup.person.map { name in persons.first { $0.name == name } } ?? (persons.count == 1 ? persons[0] : nil)
        let pairs = scale.users.enumerated().compactMap { position, serial -> (UInt32, Int)? in
            guard let serial, let height = height(persons.first { $0.profile?.slot == position }) else { return nil }
            return (serial, height)
        }
        return .heights(
            anyone: height(anyone), bySerial: Dictionary(pairs, uniquingKeysWith: { first, _ in first }),
            of: scale.device)
    }

    /// Sets the alarm for the next event: the dialogue's deadline, or the end of the verification.
    private func setAlarm(of runner: LinkRunner) {
        runner.setAlarm(at: [dialogue.deadline.map { startedAt + $0 }, verifiedUntil].compactMap(\.self).min())
    }

    /// Passes `input` to the dialogue and performs the resulting actions, including those that follow from them.
    private mutating func handle(_ input: ScaleInput) async throws {
        inputs.append(input)
        while !inputs.isEmpty {
            for action in dialogue.handle(inputs.removeFirst(), at: now) {
                switch action {
                case .of(let id): try await turn(to: id)
                case .send(let bytes): runner?.send(bytes)
                case .search(let bytes): runner?.search(bytes)
                case .settle: runner?.settle()
                case .close: runner?.hangUp()
                case .deliver(let delivery):
                    // The scale may forget its readings only after this is true: `.kept` sends the acknowledgement.
                    let isKept = try await keep(delivery)
                    inputs.append(isKept ? .kept(delivery.token) : .notKept(delivery.token))
                case .event(let event):
                    try await note(event)
                    await scale.reports.report(event)
                }
            }
        }
    }

    private mutating func note(_ event: ScaleEvent) async throws {
        scale.impedanceWeight = event.impedanceWeight(after: scale.impedanceWeight)
        // An answer of another scale does not count.
        let asked = asked?.device == scale.device ? asked : nil
        switch event {
        case .connected:
            scale.isConnected = true
            if scale.device == nil, let id = dialogue.deviceID { try await adopt(id) }
        case .disconnected: (scale.isConnected, scale.deviation) = (false, (nil, nil))
        case .clock(_, let skew): scale.deviation = (skew, skew)
        case .clockSet: scale.deviation.now = 0
        // A known record has been seen again.
        case .memoryRecord(let reading, isRepeat: true), .stableWeight(let reading, isRepeat: true),
            .bodyComposition(let reading, isRepeat: true), .cloudRecord(let reading, isRepeat: true):
            scale.known.touch(.init(reading))
        case .userList(let list):
            await learn(list)
            inputs.append(heights)
            await openMeasurement()
            if let asked, case .listUsers = asked.command { answer(asked.request, .users(list)) }
        case .userResult(let isDone), .commandResult(let isDone):
            if let asked { answer(asked.request, isDone ? .done : .refused(asked.reason)) }
        case .deviceError(let error):
            guard asked != nil, [.userManagement, .authorisation, .busy].contains(error.errorClass) else { break }
            self.asked?.reason = error.sentence
        case .commandRefused(let reason): if asked != nil { self.asked?.reason = reason }
        default: break
        }
    }

    private mutating func answer(_ request: ScaleCommandQueue.Request, _ answer: ScaleCommandQueue.Answer) {
        asked = nil
        queue.answer(request, answer)
    }
}

extension ScaleEvent {
    /// The impedance weight of the weighing in progress after this event.
    ///
    /// A weighing that begins, or that has ended in an error, has none; otherwise its value would get into the record of the next weighing.
    func impedanceWeight(after old: Int?) -> Int? {
        switch self {
        case .impedanceWeight(let tenths): tenths
        case .unstableWeight, .stableWeight, .deviceError, .disconnected: nil
        default: old
        }
    }
}
