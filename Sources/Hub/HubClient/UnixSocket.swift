package import Foundation

/// Checks an `ipc://` address before use, because ZeroMQ would silently wait for it for ever.
package enum UnixSocket {
    /// The state of the address.
    package enum Presence: Hashable, Sendable {
        /// A program listens; also used for an address that is not `ipc://`, which cannot be checked.
        case listening
        /// There is no such file, or a program has left it behind.
        case absent
        /// This user may not open the address; the text is the system's.
        case refused(String)
    }

    /// Connects to the address and hangs up at once.
    package static func presence(_ endpoint: String) -> Presence { look(at: endpoint).presence }

    /// The process that listens at the address; `nil` if it cannot be determined.
    package static func listener(_ endpoint: String) -> pid_t? { look(at: endpoint).listener }

    private static func look(at endpoint: String) -> (presence: Presence, listener: pid_t?) {
        guard endpoint.hasPrefix("ipc://") else { return (.listening, nil) }
        let path = Array(endpoint.dropFirst("ipc://".count).utf8)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let room = MemoryLayout.size(ofValue: address.sun_path)
        guard path.count < room else { return (.absent, nil) }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
        let file = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
        guard file >= 0 else { return (.listening, nil) }
        defer { close(file) }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(file, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        if result == 0 { return (.listening, peer(of: file)) }
        switch errno {
        case ENOENT, ECONNREFUSED, ENOTDIR: return (.absent, nil)
        case EACCES, EPERM: return (.refused(String(cString: strerror(errno))), nil)
        // EAGAIN included: the listener has not accepted for a while and its queue is full.
        default: return (.listening, nil)
        }
    }

    private static func peer(of file: Int32) -> pid_t? {
        var credentials: [Int32] = [0, 0, 0]  // `struct ucred`: process, user, group.
        var size = socklen_t(credentials.count * MemoryLayout<Int32>.size)
        guard getsockopt(file, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0 else { return nil }
        return credentials[0] > 0 ? credentials[0] : nil
    }
}
