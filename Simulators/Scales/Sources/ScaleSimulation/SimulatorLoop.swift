import Glibc
import ScaleProtocols
import ScaleStandIns

/// The single thread of a simulator: waits for the link, for commands and for deadlines, and transfers bytes between link and scale.
struct SimulatorLoop {
    var device: any ScaleStandIn
    let options: ScaleSimulator.Options
    let report: @Sendable (SimulatorEvent) -> Void

    var listener: LinkDescriptor?
    var terminal: PseudoTerminal?
    var socket: LinkDescriptor?
    var datagrams: LinkDescriptor?
    /// The sender of the last datagram.
    var sender: SocketAddress?
    /// Whether a host is connected.
    var isLinked = false
    /// Bytes that the link has not accepted yet.
    var unsent: [UInt8] = []
    var hangUpAfter: Int?
    var dialAt = Duration.zero
    /// Whether the scale is out of reach.
    var isAway = false

    let startedAt = ContinuousClock.now
    /// The remaining commands; among simultaneous ones the first comes first.
    var plan: [PlannedCommand]
    var firstSession: Duration?
    var firstTransfer: Duration?
    var hasEnded = false
    var isDoneReported = false
    var lastTraffic = Duration.zero

    /// A host that leaves more unread bytes than this is disconnected.
    static let unsentLimit = 65536

    init(
        _ options: ScaleSimulator.Options, _ link: OpenedLink,
        _ report: @escaping @Sendable (SimulatorEvent) -> Void
    ) {
        (self.options, self.report) = (options, report)
        (device, plan, hangUpAfter) = (options.device, options.plan, options.hangUpAfter)
        switch link {
        case .listener(let opened): listener = opened
        case .dialling: break
        case .terminal(let opened): terminal = opened
        case .datagrams(let opened): datagrams = opened
        }
    }

    var uptime: Duration { ContinuousClock.now - startedAt }
    var now: ScaleMoment { ScaleMoment(uptime: uptime, wall: options.clock.wall) }

    mutating func run(_ wakeup: Wakeup, _ commands: () -> [SimulatorCommand]) throws(SimulatorError) {
        while !hasEnded {
            dialWhenDue()
            wait(wakeup)
            for command in commands() where !hasEnded { carryOut(command) }
            if hasEnded { break }
            try watchTerminal()
            if let deadline = device.deadline, uptime >= deadline { give(.tick) }
            while !hasEnded, let place = plan.firstIndex(where: { due($0).map { $0 <= uptime } ?? false }) {
                carryOut(plan.remove(at: place).command)
            }
            reportWhenDone()
        }
        if isLinked { report(.disconnected) }
        if case .listen(let address) = options.link, case .unix(let path) = address.place { unlink(path) }
    }

    // MARK: Waiting

    mutating func wait(_ wakeup: Wakeup) {
        var files = [pollfd(fd: wakeup.descriptor.number, events: Int16(POLLIN), revents: 0)]
        let link = linkNumber
        if let datagrams {
            files.append(pollfd(fd: datagrams.number, events: Int16(POLLIN), revents: 0))
        } else if isTerminal, !isLinked {
            // A terminal that no program has opened is always "ready"; `watchTerminal` checks it instead.
        } else if let link {
            let wanted = isLinked && !unsent.isEmpty ? POLLIN | POLLOUT : POLLIN
            files.append(pollfd(fd: link, events: Int16(wanted), revents: 0))
        } else if let listener = listenerNumber, !isAway {
            files.append(pollfd(fd: listener, events: Int16(POLLIN), revents: 0))
        }
        guard poll(&files, nfds_t(files.count), timeout) > 0 else { return }
        if files[0].revents != 0 { wakeup.clear() }
        guard files.count > 1, files[1].revents != 0 else { return }
        if datagrams != nil { hearDatagrams() } else if link == nil { accept() } else { serve(files[1].revents) }
    }

    var isTerminal: Bool { options.link == .pty }
    var listenerNumber: Int32? { listener?.number }
    var linkNumber: Int32? { (terminal?.master ?? socket)?.number }

    /// Milliseconds until the next deadline, −1 if there is none.
    var timeout: Int32 {
        var due: [Duration] = []
        if let deadline = device.deadline { due.append(deadline) }
        due += plan.compactMap { self.due($0) }
        if case .connect = options.link, !isLinked, !isAway { due.append(dialAt) }
        if let doneAt { due.append(doneAt) }
        // The kernel does not report when a program opens a terminal.
        if isTerminal, !isLinked, !isAway { due.append(uptime + .milliseconds(20)) }
        return Wakeup.timeout(due.min().map { $0 - uptime })
    }

    /// The time of a planned command; `nil` until its starting event has happened.
    private func due(_ planned: PlannedCommand) -> Duration? {
        let start = planned.since == .session ? firstSession : firstTransfer
        return start.map { $0 + planned.after }
    }

    // MARK: The scale

    mutating func give(_ input: StandInInput) { perform(device.handle(input, at: now)) }

    mutating func carryOut(_ command: SimulatorCommand) {
        switch command {
        case .stepOn(let tenths, let time, let user, let hasShoes):
            let body = hasShoes ? nil : HS5Record.Composition.invented(tenthsOfKilogram: tenths)
            let weighing = StandInWeighing(tenthsOfKilogram: tenths, composition: body, user: user, time: time)
            report(.weighing(weighing, isStored: false))
            give(.weigh(weighing))
        case .store(let tenths, let time, let user):
            let body = HS5Record.Composition.invented(tenthsOfKilogram: tenths)
            let weighing = StandInWeighing(tenthsOfKilogram: tenths, composition: body, user: user, time: time)
            report(.weighing(weighing, isStored: true))
            give(.store(weighing, at: time ?? now.wall))
        case .fail(let raw): give(.fail(raw))
        case .disconnect: drop()
        case .away:
            isAway = true
            drop()
        case .back: (isAway, dialAt) = (false, uptime)
        case .restart: give(.restart)
        case .clock(let seconds): give(.moveClock(seconds: seconds))
        case .fault(let fault) where fault.scales.isDisjoint(with: type(of: device).kind):
            report(.scale(.refused("this scale has no fault \(fault.name)")))
        case .fault(let fault): hangUpAfter = fault.begin(on: &device) ?? hangUpAfter
        case .noFaults:
            (device.faults, hangUpAfter) = (StandInFaults(), nil)
        case .quit: hasEnded = true
        }
    }

    mutating func perform(_ actions: [StandInAction]) {
        for action in actions {
            switch action {
            case .send(let bytes): write(bytes)
            case .hangUp: drop()
            case .event(let event):
                if event == .sessionOpened, firstSession == nil { firstSession = uptime }
                let isTransferred = event == .transferFinished || event == .transferStarted(0)
                if isTransferred, firstTransfer == nil { firstTransfer = uptime }
                report(.scale(event))
            }
        }
    }

    mutating func write(_ bytes: [UInt8]) {
        guard isLinked else { return }
        if let datagrams {
            report(.wire(.scale, bytes))
            lastTraffic = uptime
            if let sender { datagrams.send(bytes, to: sender) }
            return
        }
        var bytes = bytes
        var isLast = false
        if let left = hangUpAfter {
            bytes = Array(bytes.prefix(left))
            hangUpAfter = left - bytes.count
            isLast = hangUpAfter == 0
        }
        report(.wire(.scale, bytes))
        lastTraffic = uptime
        unsent += bytes
        flush()
        if isLast {
            hangUpAfter = nil
            report(.scale(.fault("hung up")))
            drop()
        } else if unsent.count > SimulatorLoop.unsentLimit {
            drop()
        }
    }

    mutating func flush() {
        guard !unsent.isEmpty else { return }
        let waiting = unsent[...]
        guard let taken = (terminal?.master ?? socket)?.write(waiting).value(orLater: 0) else { return hangUp() }
        unsent.removeFirst(taken)
    }

    /// When all is done if no more bytes arrive: half a second after the last byte, because a host asks for the memory only after several other
    /// requests.
    var doneAt: Duration? {
        guard !isDoneReported, firstSession != nil, plan.isEmpty, device.isIdle else { return nil }
        return lastTraffic + .milliseconds(500)
    }

    mutating func reportWhenDone() {
        guard let doneAt, uptime >= doneAt else { return }
        isDoneReported = true
        report(.done)
        if options.endsWhenDone { hasEnded = true }
    }
}
