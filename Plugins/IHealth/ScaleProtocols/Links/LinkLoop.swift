import Glibc

/// The thread of a ``LinkRunner``: waits in `poll` for the link, for orders and for deadlines.
struct LinkLoop {
    private let link: ScaleLink
    private let mailbox: Mailbox
    private let wakeup: Wakeup
    private let shortestPause: Duration

    private var listener: LinkListener?
    /// Connections that have not proved themselves yet; `nil` if the first one that dials is let in.
    private var pending: PendingConnections?
    private var opening: Attempt?
    private var connection: LinkDescriptor?
    /// The same connection, if it carries datagrams.
    private var datagrams: DatagramPort?
    /// Bytes that the connection has not accepted yet.
    private var unsent: [UInt8] = []
    private var pause: Duration
    private var tryAt = ContinuousClock.now
    /// Whether a link has ended since the orders were read; they do not include its end yet.
    private var hasEnded = false
    /// The error that the owner has received for this outage.
    private var reported: ScaleLinkError?

    /// A connection attempt in progress.
    private struct Attempt {
        var opening: LinkOpening
        var descriptor: LinkDescriptor
        var deadline: ContinuousClock.Instant
    }

    /// How long a scale may take to answer a connection attempt.
    private static let openTimeout = Duration.seconds(10)

    init(_ link: ScaleLink, _ mailbox: Mailbox, _ wakeup: Wakeup, pause: Duration, handshakes: HSLHandshakes?) {
        (self.link, self.mailbox, self.wakeup, self.pause, shortestPause) = (link, mailbox, wakeup, pause, pause)
        pending = handshakes.map { PendingConnections($0) }
    }

    mutating func run() {
        while true {
            let now = ContinuousClock.now
            let (orders, alarmIsDue) = mailbox.orders(at: now)
            hasEnded = false
            if connection != nil {
                if let datagrams {
                    for outgoing in orders.outgoing { datagrams.send(outgoing, to: orders.peer) }
                } else {
                    for outgoing in orders.outgoing { unsent += outgoing.bytes }
                    flush()
                }
            }
            if orders.mustHangUp { close(nil) }
            if orders.mustStop { break }
            if alarmIsDue { mailbox.post(.alarm) }
            if let attempt = opening, attempt.deadline <= now {
                opening = nil
                var opening = attempt.opening
                take(opening.expire(), of: opening)
            }
            pending?.pass(at: now)
            if hasEnded { continue }
            // A new link starts only when the owner has seen the end of the last one, so that no byte reaches the wrong link.
            let mayBegin = connection == nil && orders.isDrained
            if mayBegin, let (guest, greeting) = pending?.admit() {
                opened(guest, greeting)
                continue
            }
            if mayBegin, opening == nil, tryAt <= now { begin() }
            reportGuests()
            wait(orders, mayBegin)
        }
        if let connection, !unsent.isEmpty { _ = connection.write(unsent[...]) }
        if case .unix(let path) = link.awaited, listener != nil { unlink(path) }
    }

    // MARK: Waiting

    private mutating func wait(_ orders: Mailbox.Orders, _ mayBegin: Bool) {
        var files = [pollfd(fd: wakeup.descriptor.number, events: Int16(POLLIN), revents: 0)]
        if let connection {
            let events = (orders.hasRoom ? POLLIN : 0) | (unsent.isEmpty ? 0 : POLLOUT)
            // Even without requested events, `poll` would report a hang-up again and again.
            files.append(pollfd(fd: events == 0 ? -1 : connection.number, events: Int16(events), revents: 0))
        } else {
            files.append(pollfd(fd: opening?.descriptor.number ?? -1, events: Int16(POLLOUT), revents: 0))
        }
        let mayCome = pending != nil || mayBegin && connection == nil
        files.append(pollfd(fd: mayCome ? listener?.descriptor.number ?? -1 : -1, events: Int16(POLLIN), revents: 0))
        files += pending?.files ?? []

        var due = [orders.alarm, opening?.deadline, pending?.deadline].compactMap(\.self)
        if mayBegin, opening == nil, listener == nil || link.dialled != nil { due.append(tryAt) }
        let left: Duration? = due.min().map { $0 - ContinuousClock.now }
        guard poll(&files, nfds_t(files.count), Wakeup.timeout(left)) > 0 else { return }
        if files[0].revents != 0 { wakeup.clear() }
        pending?.serve(files[3...], at: .now)
        if files[2].revents != 0, let caller = listener?.accept() {
            guard pending != nil else { return opened(caller) }
            pending?.enter(caller, at: .now)
        }
        guard files[1].revents != 0 else { return }
        if let attempt = opening {
            opening = nil
            var opening = attempt.opening
            take(opening.finish(), of: opening)
        } else if connection != nil {
            if files[1].revents & Int16(POLLOUT) != 0 { flush() }
            if orders.hasRoom, files[1].revents & Int16(POLLIN | POLLHUP | POLLERR) != 0 { read() }
        }
    }

    private mutating func reportGuests() {
        for remark in pending?.takeRemarks() ?? [] { mailbox.post(.remark(remark)) }
        if connection != nil, pending?.announces() == true { mailbox.post(.contested) }
    }

    // MARK: Opening

    private mutating func begin() {
        do throws(ScaleLinkError) {
            if let place = link.awaited, listener == nil { listener = try LinkListener(link, place) }
            guard let place = link.dialled else { return }
            if case .udp(let host, let port, let bind) = place {
                let socket = try DatagramPort(link, place, host: host, port: port, bind: bind)
                datagrams = socket
                return opened(socket.descriptor)
            }
            var opening = try LinkOpening(link, place)
            take(opening.begin(), of: opening)
        } catch {
            failed(error)
        }
    }

    private mutating func take(_ outcome: LinkOpening.Outcome, of opening: LinkOpening) {
        switch outcome {
        case .open(let descriptor): opened(descriptor)
        case .pending(let descriptor):
            self.opening = Attempt(
                opening: opening, descriptor: descriptor, deadline: .now + LinkLoop.openTimeout)
        case .failed(let error): failed(error)
        }
    }

    private mutating func opened(_ descriptor: LinkDescriptor, _ greeting: HSLGreeting? = nil) {
        (connection, opening, unsent, reported) = (descriptor, nil, [], nil)
        mailbox.post(.opened, caller: (descriptor.otherEnd, greeting))
    }

    private mutating func failed(_ error: ScaleLinkError) {
        if reported != error {
            reported = error
            mailbox.post(.unreachable(error))
        }
        retryLater()
    }

    /// Schedules the next attempt with jitter, so that scales and hubs that lost each other at the same moment do not retry in step.
    private mutating func retryLater() {
        tryAt = .now + pause * Double.random(in: 0.75...1)
        pause = max(shortestPause, min(pause * 2, link.longestPause))
    }

    // MARK: The link

    private mutating func read() {
        if let datagrams {
            // A peer that talks is reachable; silence after a connection proves nothing.
            pause = shortestPause
            if let (bytes, sender) = datagrams.descriptor.receive() { mailbox.post(.received(bytes), from: sender) }
            return
        }
        switch connection?.read() {
        case .done(let bytes):
            pause = shortestPause  // A peer that talks is reachable; silence proves nothing.
            mailbox.post(.received(bytes))
            pending?.decline(at: .now)
        case .later, nil: break
        case .ended(let number): close(lost(number))
        }
    }

    private mutating func flush() {
        guard !unsent.isEmpty else { return }
        switch connection?.write(unsent[...]) {
        case .done(let count): unsent.removeFirst(count)
        case .later, nil: break
        case .ended(let number): close(lost(number))
        }
        if unsent.count > Mailbox.sendLimit {
            close(ScaleLinkError(.lost, "\(link): the other side takes no bytes any more"))
        }
    }

    private func lost(_ number: Int32) -> ScaleLinkError {
        ScaleLinkError(
            .lost, "\(link): the connection has ended" + (number == 0 ? "" : " (\(String(cString: strerror(number))))"))
    }

    private mutating func close(_ reason: ScaleLinkError?) {
        guard connection != nil else { return }
        (connection, datagrams, unsent) = (nil, nil, [])
        mailbox.post(.closed(reason))
        hasEnded = true
        retryLater()
    }
}
