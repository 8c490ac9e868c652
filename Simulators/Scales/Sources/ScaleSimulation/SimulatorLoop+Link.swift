import Glibc
import ScaleProtocols
import ScaleStandIns

/// Connects and disconnects hosts.
extension SimulatorLoop {
    mutating func dialWhenDue() {
        guard case .connect(let address) = options.link, !isLinked, !isAway, uptime >= dialAt else { return }
        dialAt = uptime + .seconds(1)
        do throws(SimulatorError) { begin(try address.connect()) } catch { report(.unreachable("\(error)")) }
    }

    mutating func accept() {
        guard let listener = listenerNumber else { return }
        let number = Glibc.accept(listener, nil, nil)
        if number >= 0 { begin(LinkDescriptor(owning: number)) }
    }

    mutating func begin(_ connection: LinkDescriptor) {
        connection.setNonBlocking()
        var yes: Int32 = 1
        // Chunks of a frame must arrive as chunks. On a unix socket the option does not exist and is not needed.
        setsockopt(connection.number, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
        socket = connection
        linked()
    }

    mutating func linked() {
        isLinked = true
        unsent = []
        report(.connected)
        give(.linkOpened)
    }

    mutating func serve(_ events: Int16) {
        if events & Int16(POLLOUT) != 0 { flush() }
        guard isLinked, events & Int16(POLLIN | POLLHUP | POLLERR) != 0 else { return }
        guard let bytes = readLink() else { return hangUp() }
        guard !bytes.isEmpty else { return }
        report(.wire(.host, bytes))
        lastTraffic = uptime
        give(.received(bytes))
    }

    mutating func hearDatagrams() {
        while !hasEnded, let (bytes, from) = datagrams?.receive() {
            if isAway { continue }
            sender = from
            if !isLinked { linked() }
            report(.wire(.host, bytes))
            lastTraffic = uptime
            give(.received(bytes))
        }
    }

    func readLink() -> [UInt8]? {
        (terminal?.master ?? socket)?.read().value(orLater: [])
    }

    /// Ends the link, from this side or after the other side has gone.
    mutating func hangUp() {
        guard isLinked else { return }
        (isLinked, unsent, socket) = (false, [], nil)
        dialAt = uptime + .seconds(1)
        report(.disconnected)
        give(.linkClosed)
    }

    /// Notices when a program opens the terminal.
    ///
    /// It renews the terminal after this side has ended a link, because the other end would not notice otherwise.
    mutating func watchTerminal() throws(SimulatorError) {
        guard isTerminal, !isLinked, !isAway else { return }
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

    mutating func drop() {
        hangUp()
        terminal = nil
    }
}
