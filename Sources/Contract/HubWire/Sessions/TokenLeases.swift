/// Leases for refreshing tokens: one session at a time, for a bounded time (Protocol §11).
///
/// No sockets and no clock; times are monotonic milliseconds.
public struct TokenLeases: Sendable {
    /// How long a session holds the lease.
    public static let length: Int64 = 60_000
    /// Maximum wait before asking again: the holder may be done long before its lease ends.
    public static let patience: Int64 = 1_000

    /// An account of an instance.
    public struct Key: Hashable, Sendable {
        let instance, account: String

        public init(instance: String, account: String) { (self.instance, self.account) = (instance, account) }
    }

    public enum Answer: Hashable, Sendable {
        case leased(Int64)
        case held(after: Int64)
    }

    private struct Lease: Sendable {
        let holder: SessionReference
        let until: Int64
    }
    private var leases: [Key: Lease] = [:]

    public init() {}

    /// Asks for the lease.
    ///
    /// The holder gets the same answer as all others: two parts of one plugin may share a session, but they must not refresh at the same time.
    public mutating func take(_ key: Key, by session: SessionReference, at now: Int64) -> Answer {
        if let lease = leases[key], now < lease.until {
            return .held(after: min(Self.patience, lease.until - now))
        }
        leases[key] = Lease(holder: session, until: now + Self.length)
        return .leased(Self.length)
    }

    /// Gives the lease back; does nothing if another session holds it.
    public mutating func release(_ key: Key, by session: SessionReference) {
        if leases[key]?.holder == session { leases[key] = nil }
    }

    /// Ends the leases of a session that is over.
    public mutating func ended(_ session: SessionReference) {
        leases = leases.filter { $0.value.holder != session }
    }
}
