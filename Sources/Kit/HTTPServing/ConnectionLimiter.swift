import Glibc
import NIOCore
import Synchronization

/// Limits the open connections of a server so that no address keeps other clients out.
///
/// At the limit, a connection without a request is closed to make room for a new one. One address may use at most three quarters of
/// all places; the rest is for others. A proxy on this machine counts as one address: its clients share the places of that address.
/// Connections without a request are closed first, and the proxy has to limit each of its clients.
final class ConnectionLimiter: Sendable {
    enum State {
        /// No request has begun, or the last one is answered.
        case waiting
        case receiving
        case answering
    }

    private struct Entry {
        let channel: any Channel
        let address: String
        var state = State.waiting
        /// A counter value from the last change of state: the lowest has waited longest.
        var since: Int
    }

    private struct Entries {
        var all: [ObjectIdentifier: Entry] = [:]
        var count: [String: Int] = [:]
        var clock = 0

        mutating func remove(_ id: ObjectIdentifier) -> Entry? {
            guard let entry = all.removeValue(forKey: id) else { return nil }
            count[entry.address, default: 1] -= 1
            if count[entry.address] == 0 { count[entry.address] = nil }
            return entry
        }

        mutating func tick() -> Int {
            clock += 1
            return clock
        }
    }

    private let most: Int
    private let mostOfOne: Int
    private let entries = Mutex(Entries())

    /// - Parameter most: maximum number of simultaneous connections.
    init(most: Int) { (self.most, mostOfOne) = (most, max(most * 3 / 4, 1)) }

    /// Registers a connection.
    ///
    /// - Returns: `false` if there is no place and none can be freed; the caller must close the connection.
    func open(_ channel: any Channel) -> Bool {
        let address = Self.name(of: channel.remoteAddress)
        let (isOpen, victim) = entries.withLock { entries -> (Bool, Entry?) in
            var victim: Entry?
            let own = entries.count[address] ?? 0
            if own >= mostOfOne || entries.all.count >= most {
                let id =
                    own >= mostOfOne
                    ? Self.longest(.waiting, entries) { $0 == address } : Self.victim(for: address, entries)
                guard let id else { return (false, nil) }
                victim = entries.remove(id)
            }
            entries.all[ObjectIdentifier(channel)] = Entry(channel: channel, address: address, since: entries.tick())
            entries.count[address, default: 0] += 1
            return (true, victim)
        }
        victim?.channel.close(promise: nil)
        return isOpen
    }

    func change(_ channel: any Channel, to state: State) {
        entries.withLock { entries in
            let now = entries.tick()
            entries.all[ObjectIdentifier(channel)]?.state = state
            entries.all[ObjectIdentifier(channel)]?.since = now
        }
    }

    func close(_ channel: any Channel) { entries.withLock { _ = $0.remove(ObjectIdentifier(channel)) } }

    /// The connection to close for a new one.
    ///
    /// Prefers a waiting connection of the address with the most connections. Otherwise chooses one that is still sending its request, of an
    /// address with more connections than the new one would have. Connections that are being answered are never closed.
    private static func victim(for address: String, _ entries: Entries) -> ObjectIdentifier? {
        if let id = longest(.waiting, entries, of: { _ in true }) { return id }
        let fair = (entries.count[address] ?? 0) + 1
        return longest(.receiving, entries) { entries.count[$0] ?? 0 > fair }
    }

    private static func longest(_ state: State, _ entries: Entries, of isMeant: (String) -> Bool) -> ObjectIdentifier? {
        entries.all.filter { $0.value.state == state && isMeant($0.value.address) }
            .max { left, right in
                (entries.count[left.value.address] ?? 0, -left.value.since)
                    < (entries.count[right.value.address] ?? 0, -right.value.since)
            }?.key
    }

    /// The IPv4 address, or the first 64 bits of an IPv6 address, because one machine owns all addresses with that prefix.
    private static func name(of address: SocketAddress?) -> String {
        let text = address?.ipAddress ?? "-"
        var six = in6_addr()
        guard inet_pton(AF_INET6, text, &six) == 1 else { return text }
        let bytes = withUnsafeBytes(of: six) { Array($0) }
        let isFourInSix = bytes[..<10].allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
        return isFourInSix
            ? bytes[12...].map(String.init).joined(separator: ".")
            : bytes[..<8].map { String($0, radix: 16) }.joined(separator: ":")
    }
}
