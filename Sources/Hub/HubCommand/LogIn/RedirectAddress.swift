import Foundation
import HubClient

/// A loopback address to which a service sends a person's browser back (RFC 8252 §7.3).
struct RedirectAddress: Hashable, Sendable {
    /// The address as it was written, without query and fragment.
    let text: String
    /// The value of `Host` in a browser's request.
    let authority: String
    let path: String
    let port: UInt16
    /// The addresses to listen at: both for `localhost`, because a browser may use either.
    let hosts: [Host]

    enum Host: String, Sendable { case four = "127.0.0.1", six = "::1" }

    /// `nil` for an address at which this program cannot listen: another machine, another scheme, no port.
    init?(_ text: String) {
        guard let parts = URLComponents(string: text), parts.scheme?.lowercased() == "http",
            parts.query == nil, parts.fragment == nil, parts.user == nil,
            let host = parts.host?.lowercased(), let port = parts.port.flatMap(UInt16.init(exactly:)), port > 0
        else { return nil }
        switch host {
        case "127.0.0.1": hosts = [.four]
        case "[::1]", "::1": hosts = [.six]
        case "localhost": hosts = [.four, .six]
        default: return nil
        }
        (self.text, self.port) = (text, port)
        authority = (host == "::1" ? "[::1]" : host) + ":\(port)"
        path = parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath
    }
}

/// A socket that listens for this machine only.
enum LoopbackSocket {
    /// - Returns: its non-blocking descriptor; the caller closes it.
    /// - Throws: ``HubExit/system`` if the port is taken or not allowed.
    static func listen(_ host: RedirectAddress.Host, _ port: UInt16) throws(Failure) -> Int32 {
        let family = host == .four ? AF_INET : AF_INET6
        let descriptor = socket(family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0, bind(descriptor, host, port) == 0, Foundation.listen(descriptor, 16) == 0 else {
            let code = errno
            if descriptor >= 0 { close(descriptor) }
            throw Failure(
                .system,
                code == EADDRINUSE
                    ? "port \(port) of \(host.rawValue) is taken by another program, so the browser cannot come back there; end that program, or use --paste"
                    : "listening at port \(port) of \(host.rawValue): \(String(cString: strerror(code))); use --paste")
        }
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        return descriptor
    }

    private static func bind(_ descriptor: Int32, _ host: RedirectAddress.Host, _ port: UInt16) -> Int32 {
        // A second try must not wait until the kernel forgets the connections of the first.
        var yes: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        switch host {
        case .four:
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            inet_pton(AF_INET, host.rawValue, &address.sin_addr)
            return bind(descriptor, &address)
        case .six:
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            inet_pton(AF_INET6, host.rawValue, &address.sin6_addr)
            setsockopt(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &yes, socklen_t(MemoryLayout<Int32>.size))
            return bind(descriptor, &address)
        }
    }

    private static func bind<Address>(_ descriptor: Int32, _ address: inout Address) -> Int32 {
        withUnsafeBytes(of: &address) { bytes in
            guard let base = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self) else { return -1 }
            return Foundation.bind(descriptor, base, socklen_t(bytes.count))
        }
    }
}
