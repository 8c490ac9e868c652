import CZeroMQ
import Glibc

/// The outcome of a send.
///
/// None of the cases is an error.
public enum SendOutcome: Sendable, Hashable {
    /// libzmq has accepted the message; that says nothing about the peer.
    case sent
    /// The peer's queue is full, or there is no peer.
    ///
    /// Nothing was sent.
    case wouldBlock
    /// A ROUTER with ``SocketOption/routerMandatory`` does not know the routing id.
    ///
    /// Nothing was sent.
    case unroutable
    /// The peer disconnected between two frames.
    ///
    /// No peer receives any of the message, and the message is lost.
    case abandoned
}

/// The outcome of a multipart receive.
public enum ReceiveOutcome: Sendable, Hashable {
    /// No message is waiting.
    case nothing
    /// A whole message within the limits.
    case complete
    /// A message that exceeds a limit: the first frame was kept (from a ROUTER: the peer to answer), and the rest was read and freed frame by
    /// frame.
    ///
    /// The counts include the whole message.
    case overLimit(frames: Int, bytes: Int)
}

extension Socket {
    // MARK: - One frame

    /// Sends `message`; it is empty afterwards if it was sent, and unchanged otherwise, so that the caller can send it later.
    /// - Parameter more: whether further frames of the same message follow. Prefer ``sendMultipart(_:)``, which keeps
    ///   them together.
    /// - Throws: ``ZeroMQError/Code/contextTerminated``; ``ZeroMQError/Code/wrongState`` (REQ, REP);
    ///   ``ZeroMQError/Code/notSupported`` (SUB, PULL).
    public func send(_ message: inout Message, more: Bool = false) throws(ZeroMQError) -> SendOutcome {
        try send(&message.raw, more: more)
    }

    /// Sends `message` and releases it whatever the outcome: for frames that can be built again or dropped.
    public func send(_ message: consuming Message, more: Bool = false) throws(ZeroMQError) -> SendOutcome {
        try send(&message.raw, more: more)
    }

    private func send(_ raw: inout zmq_msg_t, more: Bool) throws(ZeroMQError) -> SendOutcome {
        handle.assertOwned()
        let flags = more ? ZMQ_DONTWAIT | ZMQ_SNDMORE : ZMQ_DONTWAIT
        while zmq_msg_send(&raw, handle.raw, flags) == -1 {
            switch zmq_errno() {
            case EINTR: continue
            case EAGAIN: return .wouldBlock
            case EHOSTUNREACH: return .unroutable
            case let number: throw ZeroMQError("zmq_msg_send", "\(kind)", number: number)
            }
        }
        return .sent
    }

    /// The next frame, or `nil` if none waits.
    ///
    /// ``Message/hasMore`` tells whether the message continues.
    ///
    /// A frame is always received as a whole, into memory that libzmq allocates: limit its size with ``SocketOption/maxMessageSize``.
    public func receive() throws(ZeroMQError) -> Message? {
        var message = Message()
        if try receive(into: &message) { return message }
        return nil
    }

    /// Replaces `message` with the next frame and returns true; if none waits, returns false and leaves `message` unchanged.
    ///
    /// It avoids the optional of ``receive()`` in loops that forward frames.
    public func receive(into message: inout Message) throws(ZeroMQError) -> Bool {
        try receive(into: &message.raw) != nil
    }

    /// - Returns: its size.
    private func receive(into raw: inout zmq_msg_t) throws(ZeroMQError) -> Int? {
        handle.assertOwned()
        while true {
            let size = zmq_msg_recv(&raw, handle.raw, ZMQ_DONTWAIT)
            // libzmq reports sizes up to this one only here.
            if size == .max { return zmq_msg_size(&raw) }
            if size >= 0 { return Int(size) }
            switch zmq_errno() {
            case EINTR: continue
            case EAGAIN: return nil
            case let number: throw ZeroMQError("zmq_msg_recv", "\(kind)", number: number)
            }
        }
    }

    // MARK: - Whole messages

    /// Sends all frames of `message` or none.
    ///
    /// It empties `message` after ``SendOutcome/sent`` or ``SendOutcome/abandoned``, and leaves it unchanged otherwise. A ROUTER decides by the
    /// first frame, the routing id. An unknown id gives ``SendOutcome/unroutable``, a full queue ``SendOutcome/wouldBlock``. Both occur only
    /// with ``SocketOption/routerMandatory``; without it such messages are dropped and count as sent. PUB and XPUB drop messages for slow
    /// subscribers unless ``SocketOption/xpubNoDrop`` is set. `message` must have a frame.
    public func sendMultipart(_ message: inout Multipart) throws(ZeroMQError) -> SendOutcome {
        precondition(!message.isEmpty, "a message without frames cannot be sent")
        let last = message.count - 1
        var lostPeer = false
        for index in 0...last {
            let outcome = try message.withFrame(index) { (frame) throws(ZeroMQError) in
                try send(&frame, more: index < last)
            }
            switch outcome {
            case .sent: continue
            case let outcome where index == 0: return outcome
            // libzmq has withdrawn the earlier frames, and drops the rest of the message, whose end it expects.
            default: lostPeer = true
            }
        }
        if lostPeer { message.removeAll() } else { message.setEmpty() }
        return lostPeer ? .abandoned : .sent
    }

    /// Sends all frames of `message` or none, and releases it whatever the outcome.
    public func sendMultipart(_ message: consuming Multipart) throws(ZeroMQError) -> SendOutcome {
        try sendMultipart(&message)
    }

    /// Sends `messages` as messages with the given number of frames each, one right after the other, and empties it.
    ///
    /// For PUB and XPUB, which accept each message as a whole and immediately. A program that receives, inspects and sends many small messages
    /// is faster if it handles several of them in each step, because code and messages stay in the processor's cache.
    public func sendMessages(_ messages: inout Multipart, framesEach frames: Int) throws(ZeroMQError) {
        precondition(frames > 0 && messages.count.isMultiple(of: frames), "messages of \(frames) frames each")
        precondition(kind == .pub || kind == .xpub, "a \(kind) may refuse a message between others")
        var left = frames
        for index in 0..<messages.count {
            left -= 1
            do {
                _ = try send(&messages.at(index).pointee, more: left > 0)
            } catch {
                messages.removeAll()
                throw error
            }
            if left == 0 { left = frames }
        }
        messages.setEmpty()
    }

    /// Replaces `message` with the next whole message.
    ///
    /// libzmq delivers a message only after all its frames have arrived.
    ///
    /// A message over a limit is read to its end with at most one frame in memory in addition to the first. One peer's oversized message thus
    /// does not affect others: the next receive starts at the next message.
    /// - Parameters:
    ///   - maxFrames: the maximum number of frames, including a ROUTER's routing id; at least one.
    ///   - maxBytes: the maximum number of bytes in all frames together.
    public func receiveMultipart(
        into message: inout Multipart, maxFrames: Int = 16, maxBytes: Int = .max
    ) throws(ZeroMQError) -> ReceiveOutcome {
        precondition(maxFrames > 0, "a message has at least one frame")
        message.removeAll()
        guard let first = try receiveFrame(of: &message) else { return .nothing }
        var (frames, bytes, more) = (1, first, message.hasMore)
        while more {
            guard let size = try receiveFrame(of: &message) else {
                throw ZeroMQError(
                    "zmq_msg_recv", "\(kind)", number: EAGAIN, reason: "a message broke off after \(frames) frames")
            }
            frames += 1
            bytes += size
            more = message.hasMore
            // Over its limit: all frames except the first are freed immediately.
            if frames > maxFrames || bytes > maxBytes { message.shrink(to: 1) }
        }
        return frames <= maxFrames && bytes <= maxBytes ? .complete : .overLimit(frames: frames, bytes: bytes)
    }

    private func receiveFrame(of message: inout Multipart) throws(ZeroMQError) -> Int? {
        try message.appendFrame { (frame) throws(ZeroMQError) in try receive(into: &frame) }
    }
}
