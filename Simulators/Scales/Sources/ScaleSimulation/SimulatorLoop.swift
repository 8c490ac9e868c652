import Glibc
import ScaleFrames

/// The one thread of a simulator: waits for the link, for commands and for time, and carries bytes between the link
/// and the scale.
struct SimulatorLoop {
    private var device: HS3Device
    private let options: ScaleSimulator.Options
    private let report: @Sendable (SimulatorEvent) -> Void

    private var listener: Descriptor?
    private var terminal: PseudoTerminal?
    private var socket: Descriptor?
    /// Whether a host is on the link.
    private var isLinked = false
    /// What the link has not taken yet.
    private var unsent: [UInt8] = []
    private var hangUpAfter: Int?
    private var dialAt = Duration.zero

    private let startedAt = ContinuousClock.now
    private var plan: ArraySlice<PlannedCommand>
    private var firstSession: Duration?
    private var hasEnded = false
    private var isDoneReported = false
    private var lastTraffic = Duration.zero

    /// A host that takes no bytes is hung up on beyond this.
    private static let unsentLimit = 65536

    init(
        _ options: ScaleSimulator.Options, _ link: OpenedLink,
        _ report: @escaping @Sendable (SimulatorEvent) -> Void
    ) {
        (self.options, self.report) = (options, report)
        (device, plan, hangUpAfter) = (options.device, options.plan[...], options.hangUpAfter)
        switch link {
        case .listener(let opened): listener = opened
        case .dialling: break
        case .terminal(let opened): terminal = opened
        }
    }

    private var uptime: Duration { ContinuousClock.now - startedAt }
    private var now: ScaleMoment { ScaleMoment(uptime: uptime, wall: options.clock.wall) }

    mutating func run(_ bell: Bell, _ commands: () -> [SimulatorCommand]) throws(SimulatorError) {
        while !hasEnded {
            dialWhenDue()
            wait(bell)
            for command in commands() where !hasEnded { try carryOut(command) }
            if hasEnded { break }
            try watchTerminal()
            if let deadline = device.deadline, uptime >= deadline { try give(.tick) }
            while !hasEnded, let next = plan.first, let firstSession, uptime >= firstSession + next.after {
                plan.removeFirst()
                try carryOut(next.command)
            }
            reportWhenDone()
        }
        if isLinked { report(.disconnected) }
        if case .listen(let address) = options.link, case .unix(let path) = address.place { unlink(path) }
    }

    // MARK: Waiting

    private mutating func wait(_ bell: Bell) {
        var files = [pollfd(fd: bell.descriptor.number, events: Int16(POLLIN), revents: 0)]
        let link = linkNumber
        if isTerminal, !isLinked {
            // A terminal nobody has opened is always "ready"; it is looked at in `watchTerminal` instead.
        } else if let link {
            let wanted = isLinked && !unsent.isEmpty ? POLLIN | POLLOUT : POLLIN
            files.append(pollfd(fd: link, events: Int16(wanted), revents: 0))
        } else if let listener = listenerNumber {
            files.append(pollfd(fd: listener, events: Int16(POLLIN), revents: 0))
        }
        guard poll(&files, nfds_t(files.count), timeout) > 0 else { return }
        if files[0].revents != 0 { bell.silence() }
        guard files.count > 1, files[1].revents != 0 else { return }
        if link == nil { accept() } else { serve(files[1].revents) }
    }

    private var isTerminal: Bool { options.link == .pty }
    private var listenerNumber: Int32? { listener?.number }
    private var linkNumber: Int32? { (terminal?.master ?? socket)?.number }

    /// Milliseconds until something is due, −1 where nothing is.
    private var timeout: Int32 {
        var due: [Duration] = []
        if let deadline = device.deadline { due.append(deadline) }
        if let next = plan.first, let firstSession { due.append(firstSession + next.after) }
        if case .connect = options.link, !isLinked { due.append(dialAt) }
        if let doneAt { due.append(doneAt) }
        // Nothing in the kernel tells when somebody opens a terminal.
        if isTerminal, !isLinked { due.append(uptime + .milliseconds(20)) }
        guard let first = due.min() else { return -1 }
        let left = (first - uptime).components
        return Int32(max(0, min(60_000, left.seconds * 1000 + left.attoseconds / 1_000_000_000_000_000 + 1)))
    }

    // MARK: The link

    private mutating func dialWhenDue() {
        guard case .connect(let address) = options.link, !isLinked, uptime >= dialAt else { return }
        dialAt = uptime + .seconds(1)
        do throws(SimulatorError) { begin(try address.connect()) } catch { report(.unreachable("\(error)")) }
    }

    private mutating func accept() {
        guard let listener = listenerNumber else { return }
        let number = Glibc.accept(listener, nil, nil)
        if number >= 0 { begin(Descriptor(owning: number)) }
    }

    private mutating func begin(_ connection: Descriptor) {
        connection.setNonBlocking()
        var yes: Int32 = 1
        // Pieces of a frame shall arrive as pieces. On a unix socket the option does not exist and is not needed.
        setsockopt(connection.number, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
        socket = connection
        linked()
    }

    private mutating func linked() {
        isLinked = true
        unsent = []
        report(.connected)
        perform(device.handle(.linkOpened, at: now))
    }

    private mutating func serve(_ events: Int16) {
        if events & Int16(POLLOUT) != 0 { flush() }
        guard isLinked, events & Int16(POLLIN | POLLHUP | POLLERR) != 0 else { return }
        guard let bytes = readLink() else { return hangUp() }
        guard !bytes.isEmpty else { return }
        report(.wire(.host, bytes))
        lastTraffic = uptime
        perform(device.handle(.received(bytes), at: now))
    }

    private func readLink() -> [UInt8]? {
        (terminal?.master ?? socket)?.read()
    }

    /// Ends the link from this side or after the other side has gone.
    private mutating func hangUp() {
        guard isLinked else { return }
        (isLinked, unsent, socket) = (false, [], nil)
        dialAt = uptime + .seconds(1)
        report(.disconnected)
        perform(device.handle(.linkClosed, at: now))
    }

    /// Notices when somebody opens the terminal, and renews it after a link was dropped from this side, since
    /// nothing else makes the other end notice.
    private mutating func watchTerminal() throws(SimulatorError) {
        guard isTerminal, !isLinked else { return }
        if terminal == nil {
            let renewed = try PseudoTerminal()
            report(.listening(renewed.path, deviceId: options.deviceId))
            terminal = renewed
        }
        guard let number = linkNumber else { return }
        var file = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
        _ = poll(&file, 1, 0)
        if file.revents & Int16(POLLHUP) == 0 { linked() }
    }

    private mutating func drop() {
        hangUp()
        terminal = nil
    }

    // MARK: The scale

    private mutating func give(_ input: HS3Device.Input) throws(SimulatorError) {
        perform(device.handle(input, at: now))
    }

    private mutating func carryOut(_ command: SimulatorCommand) throws(SimulatorError) {
        switch command {
        case .stepOn(let tenths, let time): try give(.weigh(tenthsOfKilogram: tenths, at: time))
        case .store(let tenths, let time): try give(.store(tenthsOfKilogram: tenths, at: time))
        case .fail(let raw): try give(.fail(raw))
        case .disconnect: drop()
        case .restart: try give(.restart)
        case .clock(let seconds): try give(.moveClock(seconds: seconds))
        case .fault(let fault): hangUpAfter = fault.apply(to: &device.faults) ?? hangUpAfter
        case .noFaults: (device.faults, hangUpAfter) = (HS3Device.Faults(), nil)
        case .quit: hasEnded = true
        }
    }

    private mutating func perform(_ actions: [HS3Device.Action]) {
        for action in actions {
            switch action {
            case .send(let bytes): write(bytes)
            case .hangUp: drop()
            case .event(let event):
                if event == .sessionOpened, firstSession == nil { firstSession = uptime }
                report(.scale(event))
            }
        }
    }

    private mutating func write(_ bytes: [UInt8]) {
        guard isLinked else { return }
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

    private mutating func flush() {
        guard !unsent.isEmpty else { return }
        let waiting = unsent[...]
        guard let taken = (terminal?.master ?? socket)?.write(waiting) else { return hangUp() }
        unsent.removeFirst(taken)
    }

    /// When all is done if nothing more comes: half a second after the last byte, since a host asks for the memory
    /// only after several others.
    private var doneAt: Duration? {
        guard !isDoneReported, firstSession != nil, plan.isEmpty, device.isIdle else { return nil }
        return lastTraffic + .milliseconds(500)
    }

    private mutating func reportWhenDone() {
        guard let doneAt, uptime >= doneAt else { return }
        isDoneReported = true
        report(.done)
        if options.endsWhenDone { hasEnded = true }
    }
}
