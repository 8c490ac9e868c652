import Glibc

/// Keeps the link to one scale open: dials or waits for it repeatedly, and carries bytes both ways.
///
/// All system calls happen on a separate thread, so the calls here do not block. One task calls ``next()`` in a loop; the other methods may be
/// called from anywhere. It ends with ``stop()``, or when the task that waits in ``next()`` is cancelled. Releasing it without either leaves
/// the thread running.
public final class LinkRunner: Sendable {
    /// An event of a link.
    public enum Event: Sendable, Hashable {
        /// The link is open.
        case opened
        /// Bytes of the scale, split at any position, at most 4 KiB; on a datagram link one datagram.
        case received([UInt8])
        /// The link has ended: by the other side, a failure, or ``LinkRunner/hangUp()`` (nil).
        case closed(ScaleLinkError?)
        /// The scale cannot be reached.
        ///
        /// It is reported once per outage and reason; attempts continue.
        case unreachable(ScaleLinkError)
        /// The time set with ``LinkRunner/setAlarm(at:)`` has come.
        case alarm
        /// A program that has proved itself waits for the open link to end.
        ///
        /// The program is declined if the other end of that link sends bytes before the link has ended.
        case contested
        /// A remark about programs that have not proved themselves.
        case remark(String)
    }

    /// The link that it keeps open.
    public let link: ScaleLink
    private let mailbox: Mailbox
    private let wakeup: Wakeup

    /// Starts the thread, which begins to dial or listen immediately.
    ///
    /// After a failure it waits `pause` (with jitter), then twice as long each time, up to 5 s for a Bluetooth link and 30 s for others. Throws
    /// if the machine has no descriptors or threads left.
    ///
    public init(
        _ link: ScaleLink, pause: Duration = .seconds(1), dialogue: (any ScaleDialogue)? = nil
    ) throws(ScaleLinkError) {
        wakeup = try Wakeup()
        mailbox = Mailbox(wakeup)
        self.link = link
        let handshakes = link.awaitsHSL ? (dialogue as? HSLSession)?.handshakes() : nil
        let loop = LinkLoop(link, mailbox, wakeup, pause: pause, handshakes: handshakes)
        try startThread { [mailbox] in
            var loop = loop
            loop.run()
            mailbox.end()
        }
    }

    /// The next event; `nil` after the runner has been stopped and everything is closed.
    ///
    /// Only one task may wait at a time. Cancelling it stops the link.
    public func next() async -> Event? {
        await withTaskCancellationHandler {
            await mailbox.next()
        } onCancel: {
            stop()
        }
    }

    /// The inputs for a dialogue after ``Event/opened``.
    public var opening: [ScaleInput] {
        let caller = mailbox.caller
        return [.caller(caller?.address), caller?.greeting.map { .greeted($0) } ?? .linkOpened]
    }

    /// Sends bytes in order; drops them if no link is open.
    ///
    /// A peer that leaves 64 KiB unread is disconnected.
    public func send(_ bytes: [UInt8]) { mailbox.send(bytes) }

    /// Sends bytes to all possible scales; on a link with a single other end it is the same as ``send(_:)``.
    public func search(_ bytes: [UInt8]) { mailbox.send(bytes, isSearch: true) }

    /// Makes the sender of the last event from ``next()`` the scale that ``send(_:)`` reaches.
    ///
    /// It is needed only on a datagram link, which drops bytes without a receiver.
    public func settle() { mailbox.settle() }

    /// Makes ``next()`` return an ``Event/alarm`` now.
    public func wake() { mailbox.post(.alarm) }

    /// Schedules ``Event/alarm`` at `instant` and replaces an earlier one; `nil` schedules none.
    ///
    /// An alarm that is already queued is still delivered.
    public func setAlarm(at instant: ContinuousClock.Instant?) { mailbox.setAlarm(instant) }

    /// Ends the open link; ``Event/closed(_:)`` follows, and then a new attempt.
    ///
    /// Bytes sent before are written only if the other side accepts them immediately.
    public func hangUp() { mailbox.hangUp() }

    /// Ends the link for good.
    ///
    /// ``next()`` still returns the earlier events.
    public func stop() { mailbox.stop() }
}

/// Runs `body` on a new thread.
private func startThread(_ body: @escaping @Sendable () -> Void) throws(ScaleLinkError) {
    final class Box: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
    let box = Unmanaged.passRetained(Box(body))
    var thread = pthread_t()
    let result = pthread_create(
        &thread, nil,
        { context in
            context.map { Unmanaged<Box>.fromOpaque($0).takeRetainedValue().body() }
            return nil
        }, box.toOpaque())
    guard result == 0 else {
        box.release()
        throw ScaleLinkError(.machine, "cannot start a thread for the link: \(String(cString: strerror(result)))")
    }
    pthread_detach(thread)
}
