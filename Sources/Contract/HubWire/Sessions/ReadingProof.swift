/// Tracks how much of the data sent to a peer the peer has proved to have read (R4.20).
///
/// A PONG proves everything sent up to its PING. libzmq queues messages for a peer that does not read; this bounds the queue.
public struct ReadingProof: Hashable, Sendable {
    private struct Ping: Hashable {
        let nonce: Int64
        /// All bytes sent before the PING.
        let sent: Int64
    }

    /// A PING is due after this number of bytes.
    public static let pingEvery: Int64 = 1_048_576
    /// Maximum number of unproved bytes; the session ends when it is reached.
    public static let bound: Int64 = 4 * pingEvery

    private var sent: Int64 = 0
    private var proved: Int64 = 0
    private var pings: [Ping] = []
    private var pingDue = pingEvery

    public init() {}

    /// Bytes sent since the last PING that was answered.
    public var unacknowledged: Int64 { sent - proved }

    public var isExhausted: Bool { unacknowledged >= Self.bound }

    /// Counts bytes that were sent; returns the body of the PING that is due now, if there is one.
    public mutating func count(_ bytes: Int) -> RawJSON? {
        sent += Int64(bytes)
        guard sent >= pingDue, !isExhausted else { return nil }
        pingDue = sent + Self.pingEvery
        // Random, not a counter: a peer that has not read the number must not be able to guess it.
        let nonce = Int64.random(in: 0..<1 << 53)
        pings.append(Ping(nonce: nonce, sent: sent))
        return .object(Self.member, nonce)
    }

    /// Takes the body of a PONG; a number that belongs to no open PING proves nothing.
    ///
    /// The number is compared, not the bytes: a client that parses and writes JSON may spell the same object differently.
    public mutating func prove(_ body: RawJSON) {
        guard let nonce = body.integer(Self.member), let index = pings.firstIndex(where: { $0.nonce == nonce }) else {
            return
        }
        proved = pings[index].sent
        pings.removeSubrange(...index)
    }

    private static let member = "nonce"
}

/// The proofs of peers whose sessions ended with unread bytes.
///
/// The bytes still wait in the transport. If the hub forgot them, a peer that repeats HELLO could make the hub hold
/// four MiB each time. The number of peers is small enough to cost nothing; the oldest are forgotten first.
struct UnreadPeers: Sendable {
    static let bound = 1_024

    private var proofs: [RoutingID: ReadingProof] = [:]
    private var order: [RoutingID] = []

    mutating func keep(_ proof: ReadingProof, of peer: RoutingID) {
        guard proof.unacknowledged > 0 else { return }
        if proofs.updateValue(proof, forKey: peer) == nil { order.append(peer) }
        if order.count > Self.bound { proofs[order.removeFirst()] = nil }
    }

    mutating func take(_ peer: RoutingID) -> ReadingProof? {
        guard let proof = proofs.removeValue(forKey: peer) else { return nil }
        order.removeAll { $0 == peer }
        return proof
    }

    mutating func prove(_ body: RawJSON, by peer: RoutingID) { proofs[peer]?.prove(body) }

    func isExhausted(_ peer: RoutingID) -> Bool { proofs[peer]?.isExhausted ?? false }
}
