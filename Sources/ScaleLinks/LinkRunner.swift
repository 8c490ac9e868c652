import Glibc

/// Keeps the link to one scale: dials or waits for it, again and again, and carries bytes both ways.
///
/// All system calls happen on a thread of its own, so nothing here blocks the caller. One task calls ``next()`` in a
/// loop; the other calls may come from anywhere. It ends with ``stop()``, or when the task that waits in ``next()`` is
/// cancelled; letting go of it without either leaves the thread behind.
public final class LinkRunner: Sendable {
    /// What happens on a link.
    public enum Event: Sendable, Hashable {
        /// The link is open.
        case opened
        /// Bytes of the scale, cut anywhere, 4 KiB at most; on a datagram link one datagram.
        case received([UInt8])
        /// The link has ended: by the other side, a failure, or ``LinkRunner/hangUp()`` (nil).
        case closed(ScaleLinkError?)
        /// The scale cannot be reached.
        ///
        /// Told once per outage and reason; attempts go on.
        case unreachable(ScaleLinkError)
        /// The time of ``LinkRunner/setAlarm(at:)`` has come.
        case alarm
        /// A guest whom the admission lets in waits for the open link to end.
        ///
        /// They are sent away when the other end of that link is heard before it has ended.
        case contested
        /// What the admission has to say of others who came.
        case remark(String)
    }

    /// What it connects to.
    public let link: ScaleLink
    private let mailbox: Mailbox
    private let wakeup: Wakeup

    /// Starts the thread, which begins to dial or listen at once.
    ///
    /// After a failure it waits `pause` (with jitter), then twice as long each time, up to 5 s for a Bluetooth link and
    /// 30 s for others. Throws when the machine is out of descriptors or threads.
    ///
    /// - Parameter admission: who is let in where the link is awaited; nil: the first that dials.
    public init(
        _ link: ScaleLink, pause: Duration = .seconds(1), admission: (any Admission)? = nil
    ) throws(ScaleLinkError) {
        wakeup = try Wakeup()
        mailbox = Mailbox(wakeup)
        self.link = link
        let loop = LinkLoop(link, mailbox, wakeup, pause: pause, admission: admission)
        try startThread { [mailbox] in
            var loop = loop
            loop.run()
            mailbox.end()
        }
    }

    /// The next event; nil once it has been stopped and everything is closed.
    ///
    /// Only one task may wait at a time. Cancelling it stops the link.
    public func next() async -> Event? {
        await withTaskCancellationHandler {
            await mailbox.next()
        } onCancel: {
            stop()
        }
    }

    /// The address of the machine at the other end of the link that ``next()`` told last; nil where it has none.
    public var caller: String? { mailbox.caller }

    /// Sends bytes in order; dropped where no link is open any more.
    ///
    /// A peer that leaves 64 KiB unread is hung up on.
    public func send(_ bytes: [UInt8]) { mailbox.send(bytes) }

    /// Sends bytes to all that may be the scale; on a link with one other end the same as ``send(_:)``.
    public func search(_ bytes: [UInt8]) { mailbox.send(bytes, isSearch: true) }

    /// The sender of what ``next()`` has handed out last is the scale: ``send(_:)`` reaches it from now on.
    ///
    /// Has a meaning on a datagram link alone, where bytes without a receiver are dropped.
    public func settle() { mailbox.settle() }

    /// Has ``next()`` hand out an ``Event/alarm`` now.
    public func wake() { mailbox.post(.alarm) }

    /// Asks for ``Event/alarm`` at `instant`, in place of an earlier wish; nil asks for none.
    ///
    /// An alarm that is already on its way still comes.
    public func setAlarm(at instant: ContinuousClock.Instant?) { mailbox.setAlarm(instant) }

    /// Ends the open link; ``Event/closed(_:)`` follows, and then a new attempt.
    ///
    /// What was sent before is written as far as the other side takes it at once.
    public func hangUp() { mailbox.hangUp() }

    /// Ends it for good.
    ///
    /// ``next()`` still hands out what had happened before.
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
