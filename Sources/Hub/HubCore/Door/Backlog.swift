import HubWire
import ZeroMQ

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
