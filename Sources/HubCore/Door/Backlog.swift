import HubSessions
import HubWire
import ZeroMQ

/// Messages that have come in and wait for their turn: large batches of sessions, and what such a session has sent after one.
///
/// To read a batch of a thousand records takes milliseconds, and sixteen importers send one after the other: what others send in between
/// should not wait for all of them. In order within a session; a message of each session in turns.
struct Backlog {
    /// A message as it came; a class, for collections do not hold what cannot be copied.
    final class Waiting {
        var message = Multipart()
    }

    private struct Line {
        var messages = FIFO<Waiting>()
        var bytes = 0
        var hasHello = false
    }

    private var lines: [RoutingID: Line] = [:]
    /// Each peer of `lines` once, and some that have gone from it.
    private var turns = FIFO<RoutingID>()
    /// Of all messages that wait.
    private(set) var bytes = 0

    var isEmpty: Bool { lines.isEmpty }

    /// The peer of whom most waits.
    var largest: RoutingID? { lines.max { $0.value.bytes < $1.value.bytes }?.key }

    func bytes(of peer: RoutingID) -> Int { lines[peer]?.bytes ?? 0 }

    /// Whether a message of this peer has to wait: behind what waits of it already, or because reading it takes long.
    ///
    /// LIVE does not come here, and PING is answered at once, unless it may be about a session that a waiting HELLO is to begin.
    func holds(_ verb: Verb?, of peer: RoutingID, bytes: Int) -> Bool {
        guard let line = lines[peer] else { return verb == .samples && bytes > Self.large }
        return verb != .ping || line.hasHello
    }

    /// So many bytes are read at once: about a hundred records.
    private static let large = 16_384

    /// Takes the message out of `message`, which is empty then.
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
            // All of it may have been read out of turn.
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
