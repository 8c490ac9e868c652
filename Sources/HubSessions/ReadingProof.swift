public import HubWire

/// What a peer has proved to have read of all that was sent to it (R4.20).
///
/// A PONG proves everything sent up to its PING. libzmq queues towards a peer that does not read; this bounds what it holds.
public struct ReadingProof: Hashable, Sendable {
    private struct Ping: Hashable {
        let nonce: Int64
        /// All that was sent before it.
        let sent: Int64
    }

    /// After so many bytes a PING is due.
    public static let pingEvery: Int64 = 1_048_576
    /// So many unproved bytes end the session.
    public static let bound: Int64 = 4 * pingEvery

    private var sent: Int64 = 0
    private var proved: Int64 = 0
    private var pings: [Ping] = []
    private var pingDue = pingEvery

    public init() {}

    /// Bytes sent since the last PING that was answered.
    public var unproved: Int64 { sent - proved }

    public var isExhausted: Bool { unproved >= Self.bound }

    /// Counts bytes that were sent; returns the body of the PING that is due now, if one is.
    public mutating func count(_ bytes: Int) -> RawJSON? {
        sent += Int64(bytes)
        guard sent >= pingDue, !isExhausted else { return nil }
        pingDue = sent + Self.pingEvery
        // Not a counter: who has not read it cannot know it.
        let nonce = Int64.random(in: 0..<1 << 53)
        pings.append(Ping(nonce: nonce, sent: sent))
        return .object(Self.member, nonce)
    }

    /// Takes the body of a PONG; other numbers than those of open PINGs prove nothing.
    ///
    /// The number counts, not the bytes: a client that reads and writes JSON spells the same object in its own way.
    public mutating func prove(_ body: RawJSON) {
        guard let nonce = body.integer(Self.member), let index = pings.firstIndex(where: { $0.nonce == nonce }) else {
            return
        }
        proved = pings[index].sent
        pings.removeSubrange(...index)
    }

    private static let member = "nonce"
}

/// What peers had not read when their sessions ended.
///
/// The bytes still wait in the transport: were they forgotten, a peer that says HELLO again and again could make the hub hold
/// four MiB each time. Of so many peers that it costs nothing; the oldest are forgotten first.
struct UnreadPeers: Sendable {
    static let bound = 1_024

    private var proofs: [RoutingID: ReadingProof] = [:]
    private var order: [RoutingID] = []

    mutating func keep(_ proof: ReadingProof, of peer: RoutingID) {
        guard proof.unproved > 0 else { return }
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
