import HubWire
import Logging
import Samples
import ZeroMQ

/// Handles incoming messages: LIVE on its short path, batches for the committer, and all others for the sessions.
extension Door {
    func doorIsReady() {
        let end = ContinuousClock.now + Self.longestTurn
        let (maximumFrames, maximumBytes) = (3 + facts.policy.limits.batchRecords, facts.largestMessage)
        var (time, bytes) = (now, 0)
        // Moved into a local variable for the turn: Swift checks each access to an actor's property at run time, a dozen for each message.
        var turn = TurnBuffers()
        swap(&turn, &self.turn)
        defer {
            turn.burst.clear(self)
            swap(&turn, &self.turn)
            feeds.pauseOverloadedSockets()
        }
        turn.burst.look += 1
        for count in 1...PollLoop.messagesPerTurn {
            do throws(ZeroMQError) {
                let outcome = try socket?.receiveMultipart(
                    into: &turn.message, maxFrames: maximumFrames, maxBytes: maximumBytes)
                switch outcome {
                case .nothing, nil: return
                case .complete:
                    if turn.burst.take(turn.message, at: time, from: self) { break }
                    turn.burst.clear(self)
                    bytes += turn.message.byteCount
                    hold(&turn.message, at: time)
                case .overLimit(let frames, let bytes):
                    turn.burst.clear(self)
                    refuseOverLong(turn.message, frames: frames, bytes: bytes)
                }
            } catch {
                logger.error("the door has failed", metadata: ["error": "\(error)"])
                return
            }
            // The clock is read every few messages, or after a large one: reading it costs a tenth of a small message.
            guard count.isMultiple(of: 16) || bytes > 16_384 else { continue }
            (time, bytes) = (now, 0)
            turn.burst.look += 1
            guard ContinuousClock.now < end else { return }
        }
    }

    /// Maximum time of a turn, however many messages wait.
    ///
    /// A message of a megabyte costs as much as thousands of small ones, and answers and the feed wait for the end of the turn.
    private static let longestTurn = Duration.milliseconds(5)

    /// Reads a message now, or keeps it until it has its turn (``Backlog``).
    private func hold(_ message: inout Multipart, at now: Int64) {
        let peer = message.lend(0) { RoutingID($0) }
        let verb = message.lend(1) { Verb($0) }
        guard backlog.holds(verb, of: peer, bytes: message.byteCount) else { return receive(message, at: now) }
        // The peer is alive, whether its message waits or not.
        sessions.heard(peer, at: now)
        backlog.append(&message, of: verb, from: peer)
        // The peer has sent more than it may; its messages are read now, so that it gets the error at once.
        while backlog.bytes(of: peer) > facts.policy.credit.bytes, let waiting = backlog.popFirst(of: peer) {
            receive(waiting.message, at: now)
        }
        scheduleBacklog()
    }

    /// Schedules the waiting messages for the next turn of the loop.
    func scheduleBacklog() {
        guard !isBacklogScheduled, !backlog.isEmpty, committer.waitingRecords < Self.maximumWaitingRecords else {
            return
        }
        isBacklogScheduled = true
        loop.schedule(after: .zero) { [weak self] in
            guard let self else { return }
            isBacklogScheduled = false
            readBacklog()
            scheduleBacklog()
        }
    }

    /// Maximum number of records that wait for the store; a record takes more memory there than in the backlog.
    private static let maximumWaitingRecords = 20_000

    private func readBacklog() {
        let end = ContinuousClock.now + Self.longestBacklogTurn
        while let (_, waiting) = backlog.popFirst() {
            receive(waiting.message, at: now)
            guard ContinuousClock.now < end else { return }
        }
    }

    /// Maximum delay for sessions that send little, plus the rest of one batch.
    private static let longestBacklogTurn = Duration.milliseconds(1)

    /// - Parameter now: monotonic milliseconds, of this turn.
    private func receive(_ message: borrowing Multipart, at now: Int64) {
        let peer = message.lend(0) { RoutingID($0) }
        // For a known client, the common case is checked first: the endpoint that it is known from.
        if let client = clients[peer], message.property("User-Id", is: client.logIn) {
            return receive(message, from: peer, over: client.endpoint, at: now)
        }
        guard let endpoint = gate.endpoint(of: message.property("User-Id")) else {
            return perform(
                sessions.refuse(
                    WireError(.forbidden, "this key is not valid any more, or hub.conf does not expect its instance"),
                    from: peer))
        }
        if let session = sessions[peer], session.endpoint != endpoint {
            // A routing id that came back over another endpoint belongs to a stranger, whatever it sends.
            perform(sessions.gone(peer))
        }
        receive(message, from: peer, over: endpoint, at: now)
    }

    private func receive(
        _ message: borrowing Multipart, from peer: RoutingID, over endpoint: Endpoint, at now: Int64
    ) {
        let frames = message.count - 1
        let arrival = message.lend(1) { verb in
            message.lend(2) { body in
                sessions.receive(verb: verb, body: body, frameCount: frames, from: peer, endpoint: endpoint, at: now)
            }
        }
        switch arrival {
        case .full(let probes):
            perform(probes)
            // There is no second probe within a second, so the message is accepted or refused now.
            receive(message, from: peer, over: endpoint, at: now)
        case .hello(let hello): welcome(hello, peer, endpoint)
        case .samples(let session): take(message, session)
        case .actions(let actions): perform(actions)
        }
    }

    private func refuseOverLong(_ message: borrowing Multipart, frames: Int, bytes: Int) {
        let error = WireError(
            .limit,
            "a message of \(frames) frames and \(bytes) bytes; at most \(facts.policy.limits.batchRecords) payload frames and \(facts.largestMessage) bytes are read",
            closed: true)
        perform(sessions.malformed(error, from: message.lend(0) { RoutingID($0) }, at: now))
    }

    private func take(_ frames: borrowing Multipart, _ session: SessionReference) {
        let peer = session.peer
        guard let client = clients[peer] else { return }
        do throws(WireError) {
            let payloads = max(0, frames.count - 3)
            let result = frames.lend(2) { body in
                Result<SamplesMessage, WireError> { () throws(WireError) in
                    try client.decoder.samples(body, payloadFrames: payloads)
                }
            }
            let message = try result.get()
            var (bytes, largest) = (frames.lend(2, \.count), 0)
            for frame in 3..<max(3, frames.count) {
                let size = frames.lend(frame, \.count)
                (bytes, largest) = (bytes + size, max(largest, size))
            }
            let actions = sessions.batch(
                message.batch, records: message.records.count, bytes: bytes, largestPayload: largest, from: peer,
                at: now)
            for action in actions {
                if case .store(let batch) = action.action {
                    let intake = client.intake.batch(message, at: facts.clock.now()) { frames.bytes(of: 3 + $0) }
                    committer.submit(
                        Committer.Work(session: session, batch: batch, isBackfill: message.isBackfill, intake: intake))
                } else {
                    perform([action])
                }
            }
        } catch {
            perform(sessions.malformed(error, from: peer, at: now))
        }
    }
}

/// The working memory of a turn of the door; it is reused in the next turn.
struct TurnBuffers: ~Copyable {
    var message = Multipart()
    var burst = LiveFastPath()
}

extension Multipart {
    /// Lends a frame; no bytes if there is no such frame.
    func lend<Value>(_ index: Int, _ body: (UnsafeRawBufferPointer) -> Value) -> Value {
        body(index < count ? unsafeBytes(of: index) : UnsafeRawBufferPointer(start: nil, count: 0))
    }
}

/// Messages that have come in and wait for their turn: large batches, and later messages of the same sessions.
///
/// Reading a batch of a thousand records takes milliseconds, and sixteen importers may send one after the other; messages of other
/// sessions should not wait for all of them. The order within a session is kept; the sessions take turns, one message each.
struct Backlog {
    /// A message as it came; a class, because collections cannot hold a noncopyable value.
    final class Waiting {
        var message = Multipart()
    }

    private struct Line {
        var messages = FIFO<Waiting>()
        var bytes = 0
        var hasHello = false
    }

    private var lines: [RoutingID: Line] = [:]
    /// Each peer of `lines` once, and some peers that are no longer in it.
    private var turns = FIFO<RoutingID>()
    /// Bytes of all waiting messages.
    private(set) var bytes = 0

    var isEmpty: Bool { lines.isEmpty }

    /// The peer with the most waiting bytes.
    var largest: RoutingID? { lines.max { $0.value.bytes < $1.value.bytes }?.key }

    func bytes(of peer: RoutingID) -> Int { lines[peer]?.bytes ?? 0 }

    /// Whether a message of this peer has to wait: behind other waiting messages of the peer, or because reading it takes long.
    ///
    /// LIVE never waits. PING is answered at once, unless it may belong to a session that a waiting HELLO will begin.
    func holds(_ verb: Verb?, of peer: RoutingID, bytes: Int) -> Bool {
        guard let line = lines[peer] else { return verb == .samples && bytes > Self.large }
        return verb != .ping || line.hasHello
    }

    /// Maximum bytes of a batch that is read at once: about a hundred records.
    private static let large = 16_384

    /// Moves the contents out of `message`, which is empty afterwards.
    mutating func append(_ message: inout Multipart, of verb: Verb?, from peer: RoutingID) {
        let waiting = Waiting()
        swap(&waiting.message, &message)
        var line = lines.removeValue(forKey: peer) ?? Line()
        if line.messages.isEmpty { turns.append(peer) }
        bytes += waiting.message.byteCount
        line.bytes += waiting.message.byteCount
        line.hasHello = line.hasHello || verb == .hello
        line.messages.append(waiting)
        lines[peer] = line
    }

    /// The next message of the session whose turn it is.
    mutating func popFirst() -> (peer: RoutingID, message: Waiting)? {
        while let peer = turns.popFirst() {
            // All messages of this peer may have been read out of turn.
            guard let message = popFirst(of: peer) else { continue }
            if lines[peer] != nil { turns.append(peer) }
            return (peer, message)
        }
        return nil
    }

    /// The next message of one session, out of turn.
    mutating func popFirst(of peer: RoutingID) -> Waiting? {
        guard var line = lines.removeValue(forKey: peer), let message = line.messages.popFirst() else { return nil }
        bytes -= message.message.byteCount
        line.bytes -= message.message.byteCount
        if !line.messages.isEmpty { lines[peer] = line }
        return message
    }
}
