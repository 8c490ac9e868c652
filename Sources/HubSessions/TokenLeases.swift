/// Who may refresh which token: one at a time, for a bounded time (Protocol §11).
///
/// No sockets, no clock; monotonic milliseconds.
public struct TokenLeases: Sendable {
    /// How long a session has the right to itself.
    public static let length: Int64 = 60_000
    /// When to ask again, at the latest: the holder may be done long before its lease is.
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

    /// Asks for the right.
    ///
    /// The holder is answered as all others are: two parts of one plugin share a session, and are two all the same.
    public mutating func take(_ key: Key, by session: SessionReference, at now: Int64) -> Answer {
        if let lease = leases[key], now < lease.until {
            return .held(after: min(Self.patience, lease.until - now))
        }
        leases[key] = Lease(holder: session, until: now + Self.length)
        return .leased(Self.length)
    }

    /// Gives the right back; of one that another has, nothing.
    public mutating func release(_ key: Key, by session: SessionReference) {
        if leases[key]?.holder == session { leases[key] = nil }
    }

    /// A session is over, and its rights with it.
    public mutating func ended(_ session: SessionReference) {
        leases = leases.filter { $0.value.holder != session }
    }
}
