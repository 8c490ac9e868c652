import Foundation
package import HubWire
package import Samples
import ZeroMQ

/// A subscription to the feed that reports gaps or, with a cursor, fills them (Protocol §7.1).
///
/// Use it from one thread only. It reconnects automatically and never gives up.
package final class FeedFollower {
    /// An event of the feed or of its connection.
    package enum Event: Sendable {
        /// A message; the sequence of its place is 0 if the message is not stored.
        case message(topic: Topic, place: FeedPosition, body: [UInt8])
        /// At least one message was lost between two messages of a topic.
        case gap(topic: Topic, after: Int64, before: Int64)
        /// The hub is away and publishes nothing.
        case away
        /// The hub is connected.
        case back
        /// The hub has a different store than before; the follower reads it from its beginning.
        case restored(Cursor)
    }

    private let prefixes: [String]
    private let socket: Socket
    private let monitor: SocketMonitor
    private var events: [Event] = []
    private var isThere: Bool?

    /// Opens a connection to the door when there is something to ask.
    private let door: (() throws -> DoorClient)?
    private var openDoor: DoorClient?
    private var lastAsked = ContinuousClock.now
    /// Everything up to here was handed out; `nil` without a door.
    package private(set) var cursor: Cursor?
    /// Sequences handed out live since ``cursor``.
    private var handled: Set<Int64> = []
    private var mustCatchUp = false
    /// The hub was restarted or the connection is new, so the hub may have lost records that were handed out live (R8.38).
    ///
    /// Until the hub proves that it still has them, newer messages wait in the socket: a newer record would hide the one to ask about.
    private var needsProof = false
    /// How long the follower waits before it asks a door again that did not answer.
    private static let pause = Duration.milliseconds(100)
    /// The question whose pages are being read.
    private var question: QueryRequest?
    private var decoder = StoredRecordDecoder()
    /// The last sequence seen of each topic.
    private var last: [Topic: Int64] = [:]
    /// The epoch of those sequences.
    private var lastEpoch = ""

    /// Maximum number of topics and of sequences that a follower remembers; at the limit it asks the door, or starts over.
    package static let memory = 100_000
    private static let idle = Duration.seconds(10)

    /// - Parameters:
    ///   - prefixes: each is empty or ends in `/`.
    ///   - since: the cursor to start after; only with a `door`. Sequence 0 is the beginning.
    package init(feed: String, prefixes: [String], since: Cursor? = nil, door: (() throws -> DoorClient)? = nil) throws
    {
        (self.prefixes, self.door, cursor) = (prefixes, door, since)
        mustCatchUp = since != nil
        do {
            socket = try Socket(.sub, in: try Context())
            monitor = try socket.monitor()
            try socket.set(.receiveHighWaterMark, to: FeedFollower.memory)
            for prefix in prefixes + (since == nil ? [] : [Topic.pulse.text]) { try socket.subscribe(prefix) }
            try socket.connect(feed)
        } catch { throw Failure(.system, "\(feed): \(error)") }
    }

    /// The next event, or `nil` if there is none within `patience`.
    package func next(upTo patience: Duration) throws -> Event? {
        if events.isEmpty { try gather(patience) }
        return events.isEmpty ? nil : events.removeFirst()
    }

    private func gather(_ patience: Duration) throws {
        // While the hub is away there is no hub to ask; the follower catches up after the event `back`.
        if mustCatchUp, isThere != false {
            try catchUp()
            if !events.isEmpty { return }
        }
        do {
            // The hub ends a session that is silent for 20 s; a polite client says BYE before that.
            if openDoor != nil, lastAsked + FeedFollower.idle < .now { openDoor = nil }
            if needsProof {
                Thread.sleep(forTimeInterval: min(patience, FeedFollower.pause) / .seconds(1))
                mustCatchUp = true
            }
            let isReadable = try !needsProof && socket.wait(for: .readable, upTo: patience).contains(.readable)
            while let event = try monitor.receive() { connection(event.kind) }
            guard isReadable, !needsProof else { return }
            var frames = Multipart()
            // Reads a limited number of messages at a time, so that few events are queued.
            for _ in 0..<256 {
                guard case .complete = try socket.receiveMultipart(into: &frames, maxFrames: 3) else { break }
                guard frames.count == 3 else { continue }
                if let message = FeedMessage(frames: (0..<3).map { frames.bytes(of: $0) }) { arrived(message) }
            }
        } catch { throw Failure(.system, "the feed broke: \(error)") }
    }

    private func connection(_ kind: ConnectionEvent.Kind) {
        switch kind {
        case .handshakeSucceeded where isThere != true:
            isThere = true
            events.append(.back)
            (mustCatchUp, needsProof, question) = (cursor != nil, cursor != nil, nil)
        case .disconnected where isThere != false, .connectRetried where isThere == nil, .closed where isThere == nil:
            isThere = false
            events.append(.away)
        default: break
        }
    }

    // MARK: - Live

    private func arrived(_ message: FeedMessage) {
        if let cursor, message.place.epoch != cursor.epoch {
            // Either the store was restored, or the message is older than that; the door knows the current epoch (R7.9).
            mustCatchUp = true
            if message.place.sequence > 0 { return }
        } else if message.topic == .pulse {
            pulse(message.body)
        }
        if message.topic == .pulse, !prefixes.contains(where: { message.topic.matches(prefix: $0) }) { return }
        guard message.place.sequence > 0 else {
            events.append(.message(topic: message.topic, place: message.place, body: message.body))
            return
        }
        if message.place.epoch != lastEpoch {
            last.removeAll()
            lastEpoch = message.place.epoch
        }
        if let cursor {
            guard message.place.sequence > cursor.sequence, handled.insert(message.place.sequence).inserted else {
                return
            }
            if handled.count >= FeedFollower.memory { mustCatchUp = true }
        } else if let before = last[message.topic], before < message.place.previous {
            events.append(.gap(topic: message.topic, after: before, before: message.place.sequence))
        }
        if last.count >= FeedFollower.memory { last.removeAll() }
        last[message.topic] = message.place.sequence
        events.append(.message(topic: message.topic, place: message.place, body: message.body))
    }

    private func pulse(_ body: [UInt8]) {
        guard let cursor, let pulse = try? JSON.decode(Pulse.self, from: body) else { return }
        if pulse.head > cursor.sequence { mustCatchUp = true }
    }

    private func restart(_ epoch: String) {
        let beginning = Cursor(epoch: epoch, sequence: 0)
        cursor = beginning
        handled.removeAll()
        (question, mustCatchUp) = (nil, true)
        events.append(.restored(beginning))
    }

    // MARK: - Catching up

    /// Hands out one page of the changes after the cursor that were not handed out live.
    ///
    /// Messages that arrive meanwhile wait in the socket. If the hub is away, the follower asks it when it is back or sends its next pulse.
    private func catchUp() throws {
        guard let since = cursor, let door else { return }
        do {
            let client = try openDoor ?? door()
            (openDoor, lastAsked) = (client, .now)
            let welcome = try client.open()
            if welcome.epoch != since.epoch { return restart(welcome.epoch) }
            if needsProof, question == nil, let newest = handled.max(), newest > since.sequence {
                // The answer does not matter: the hub refuses a cursor to records that it has lost.
                var proof = QueryRequest(id: 0, since: Cursor(epoch: since.epoch, sequence: newest))
                (proof.filter, proof.limit) = (filter, 1)
                _ = try client.ask(proof)
            }
            var query = question ?? QueryRequest(id: 0, since: since)
            query.filter = filter
            guard case .records(let records, let next, let end) = try client.ask(query).content else {
                throw Failure(.dialogue, "the hub answered a question about records without records")
            }
            for record in records { handOut(Array(record)) }
            query.next = next
            question = next == nil ? nil : query
            guard next == nil else { return }
            if let end, end.sequence > cursor?.sequence ?? 0 { cursor = end }
            // Live messages may have arrived between two pages; the pages end at the state of the first question.
            let reached = cursor?.sequence ?? 0
            handled = handled.filter { $0 > reached }
            (mustCatchUp, needsProof) = (false, false)
        } catch let failure as Failure {
            // Either the session was lost and the next hub has a restored store, or the hub has lost the records of this cursor (R8.38).
            if let epoch = openDoor?.welcome?.epoch, epoch != since.epoch || failure.isForeignCursor {
                return restart(epoch)
            }
            guard failure.exit == .noHub || failure.exit == .tryAgain else { throw failure }
            (openDoor, question) = (nil, nil)
            mustCatchUp = false
        }
    }

    /// Hands out a record and moves the cursor past it: pages since a cursor are in the order of the sequence.
    private func handOut(_ record: [UInt8]) {
        guard let stored = try? record.withUnsafeBytes({ try decoder.record($0) }) else { return }
        cursor?.sequence = stored.sequence
        let topic = Topic(stored)
        guard !handled.contains(stored.sequence), prefixes.contains(where: { topic.matches(prefix: $0) }) else {
            return
        }
        // The door does not report the previous sequence of the topic.
        events.append(
            .message(
                topic: topic, place: FeedPosition(sequence: stored.sequence, previous: 0, epoch: cursor?.epoch ?? ""),
                body: record))
    }

    /// The narrowest filter of one question that covers all stored records that the prefixes can receive.
    ///
    /// If the prefixes name persons, or the inbox alone, the filter names them too; only then does the hub report records that left them (R6.24).
    private var filter: QueryRequest.Filter {
        var (kinds, types, persons): (Set<RecordKind>, [String?], [String?]) = ([], [], [])
        var isOfInbox = true
        for prefix in prefixes {
            guard let segments = Topic.segments(ofPrefix: prefix) else { continue }
            switch segments.first {
            case "sample": kinds.formUnion(RecordKind.samples)
            case "day": kinds.insert(.day)
            case "retraction": kinds.insert(.retraction)
            case "hub" where Topic.inbox.matches(prefix: prefix):
                kinds.formUnion(RecordKind.samples.union([.retraction]))
                types.append(nil)
                continue
            case nil: kinds.formUnion(RecordKind.allCases)
            default: continue
            }
            isOfInbox = false
            types.append(segments.count > 1 ? segments[1] : nil)
            persons.append(segments.count > 2 ? segments[2] : nil)
        }
        var filter = QueryRequest.Filter()
        guard !kinds.isEmpty else { return filter }
        filter.kinds = RecordKind.allCases.filter(kinds.contains)
        filter.isOfNoPerson = isOfInbox
        if !isOfInbox {
            if !types.contains(nil) { filter.types = Set(types.compactMap(\.self)).sorted() }
            let isOfPersons = persons.count == types.count && !persons.contains(nil)
            if isOfPersons { filter.persons = Set(persons.compactMap(\.self)).sorted() }
        }
        return filter
    }
}
