import Glibc

/// Reports the hub's state to systemd, or another manager that set `NOTIFY_SOCKET`, in datagrams of `NAME=value` lines (sd_notify(3)).
///
/// It does not wait for a listener: a datagram that cannot be sent is lost, as in the protocol. Any thread may use it.
public final class ServiceNotifier: Sendable {
    /// The interval within which the manager expects a sign of life; `nil` if it expects none.
    public let watchdog: Duration?
    private let descriptor: CInt
    private let address: Address

    /// - Parameter environment: contains `NOTIFY_SOCKET`, a path or `@` and an abstract name, and perhaps `WATCHDOG_USEC` and `WATCHDOG_PID`.
    /// - Returns: `nil` if `NOTIFY_SOCKET` is not set, or is not an address.
    public init?(environment: [String: String]) {
        guard let name = environment["NOTIFY_SOCKET"], let address = Address(name) else { return nil }
        self.address = address
        descriptor = ServiceNotifier.socket()
        guard descriptor >= 0 else { return nil }
        let isMeant = environment["WATCHDOG_PID"].map { $0 == String(getpid()) } ?? true
        watchdog = isMeant ? environment["WATCHDOG_USEC"].flatMap(Int64.init).map { .microseconds(max(1, $0)) } : nil
    }

    deinit { close(descriptor) }

    /// Sends one datagram; a line break in a value would begin another assignment, so it becomes a space.
    public func tell(_ assignments: (name: String, value: String)...) {
        let text = assignments.map {
            "\($0.name)=\($0.value.split(whereSeparator: \.isNewline).joined(separator: " "))"
        }
        .joined(separator: "\n")
        let bytes = Array(text.utf8)
        address.withSocketAddress { pointer, length in
            let flags = CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL)
            _ = sendto(descriptor, bytes, bytes.count, flags, pointer, length)
        }
    }

    private static func socket() -> CInt {
        Glibc.socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
    }

    /// A Unix address; an abstract name begins with NUL and has no file.
    private struct Address: Sendable {
        private let path: [UInt8]

        init?(_ name: String) {
            let bytes = Array(name.utf8)
            guard let first = bytes.first, bytes.count > 1,
                bytes.count < MemoryLayout.size(ofValue: sockaddr_un().sun_path)
            else { return nil }
            switch first {
            case UInt8(ascii: "/"): path = bytes
            case UInt8(ascii: "@"): path = [0] + bytes.dropFirst()
            default: return nil  // `vsock:` and later schemes are for virtual machines, and not supported.
            }
        }

        func withSocketAddress(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Void) {
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
            // The length determines the end of an abstract name.
            let offset = MemoryLayout.offset(of: \sockaddr_un.sun_path) ?? 2
            withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    body($0, socklen_t(offset + path.count + (path[0] == 0 ? 0 : 1)))
                }
            }
        }
    }
}

/// The sign of life for the service manager, sent only after the essential parts have proved that they work.
///
/// A timer alone would continue while the poll loop hangs or a commit never returns, which a watchdog has to detect.
struct WatchdogSignal: Sendable {
    let notifier: ServiceNotifier

    /// Three times within the interval that the manager allows, so that one signal may be late.
    var interval: Duration { notifier.watchdog.map { $0 / 3 } ?? .seconds(30) }

    /// Sends the signal until `leaving`.
    ///
    /// - Parameter proof: returns when everything works, with a line about the hub's state; no signal is sent until it returns.
    func run(until leaving: Latch, proof: @escaping @Sendable () async -> String) async {
        while !leaving.isRaised {
            let status = await proof()
            guard !leaving.isRaised else { return }
            if notifier.watchdog != nil {
                notifier.tell(("WATCHDOG", "1"), ("STATUS", status))
            } else {
                notifier.tell(("STATUS", status))
            }
            await leaving.wait(upTo: interval)
        }
    }
}
