import Glibc
import ScaleProtocols

/// The address of a link: `tcp://127.0.0.1:4711`, `tcp://[::1]:4711`, `unix:///run/scale.sock`, `udp://127.0.0.1:10000`.
public struct LinkAddress: Sendable, Hashable, CustomStringConvertible {
    enum Place: Sendable, Hashable {
        case tcp(host: String, port: UInt16)
        case udp(host: String, port: UInt16)
        case unix(path: String)
    }

    let place: Place

    /// Parses an address; port 0 means any free port, and is valid only for listening.
    public init(_ text: String) throws(SimulatorError) {
        let wrong = SimulatorError(
            .usage, "address '\(text)': expected tcp://HOST:PORT or unix:///PATH, such as tcp://127.0.0.1:0")
        if text.hasPrefix("unix://") {
            let path = String(text.dropFirst(7))
            // sun_path has 108 bytes, the last one for the terminating zero.
            guard path.hasPrefix("/"), path.utf8.count <= 107 else {
                throw SimulatorError(.usage, "\(wrong); a unix path is absolute and at most 107 bytes long")
            }
            place = .unix(path: path)
            return
        }
        guard text.hasPrefix("tcp://") || text.hasPrefix("udp://"), let colon = text.lastIndex(of: ":") else {
            throw wrong
        }
        guard let port = ValueParser.digits(text[text.index(after: colon)...]).flatMap(UInt16.init(exactly:)) else {
            throw wrong
        }
        var host = text[text.index(text.startIndex, offsetBy: 6)..<max(colon, text.index(text.startIndex, offsetBy: 6))]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard !host.isEmpty else { throw wrong }
        place = text.hasPrefix("udp://") ? .udp(host: String(host), port: port) : .tcp(host: String(host), port: port)
    }

    private init(place: Place) { self.place = place }

    public var description: String {
        switch place {
        case .tcp(let host, let port): host.contains(":") ? "tcp://[\(host)]:\(port)" : "tcp://\(host):\(port)"
        case .udp(let host, let port): host.contains(":") ? "udp://[\(host)]:\(port)" : "udp://\(host):\(port)"
        case .unix(let path): "unix://\(path)"
        }
    }

    /// A listening socket and its actual address.
    func listen() throws(SimulatorError) -> (LinkDescriptor, LinkAddress) {
        switch place {
        case .unix(let path):
            // The socket file of a killed process would make bind fail; one that answers belongs to another program.
            if (try? connect()) == nil { unlink(path) }
            let socket = LinkDescriptor(owning: Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0))
            try LinkAddress.unix(path, "listen on") { Glibc.bind(socket.number, $0, $1) }
            try start(socket.number)
            return (socket, self)
        case .udp:
            throw SimulatorError(.usage, "'\(self)': this scale is reached by a stream, such as tcp://127.0.0.1:0")
        case .tcp(let host, let port):
            let socket = try LinkAddress.bound(host, port, SOCK_STREAM)
            try start(socket.number)
            return (socket, LinkAddress(place: .tcp(host: host, port: LinkAddress.port(of: socket.number) ?? port)))
        }
    }

    /// A socket for datagrams and its actual address.
    func listenForDatagrams() throws(SimulatorError) -> (LinkDescriptor, LinkAddress) {
        guard case .udp(let host, let port) = place else {
            throw SimulatorError(.usage, "'\(self)': this scale is reached by datagrams, such as udp://127.0.0.1:10000")
        }
        let socket = try LinkAddress.bound(host, port, SOCK_DGRAM)
        socket.setNonBlocking()
        return (socket, LinkAddress(place: .udp(host: host, port: LinkAddress.port(of: socket.number) ?? port)))
    }

    private static func bound(
        _ host: String, _ port: UInt16, _ kind: __socket_type
    ) throws(SimulatorError) -> LinkDescriptor {
        try LinkAddress.tcp(host, port, "listen on", flags: AI_PASSIVE, kind: kind) { number, address, length in
            var yes: Int32 = 1
            setsockopt(number, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
            return Glibc.bind(number, address, length)
        }
    }

    private func start(_ socket: Int32) throws(SimulatorError) {
        guard Glibc.listen(socket, 4) == 0 else { throw LinkAddress.failure("listen on", description) }
        _ = fcntl(socket, F_SETFL, O_NONBLOCK)
        _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
    }

    /// A connected socket.
    func connect() throws(SimulatorError) -> LinkDescriptor {
        switch place {
        case .unix(let path):
            let socket = LinkDescriptor(owning: Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0))
            try LinkAddress.unix(path, "connect to") { Glibc.connect(socket.number, $0, $1) }
            return socket
        case .tcp(let host, let port):
            return try LinkAddress.tcp(host, port, "connect to", flags: 0) { Glibc.connect($0, $1, $2) }
        case .udp: throw SimulatorError(.usage, "'\(self)': a scale waits for datagrams and does not dial")
        }
    }

    private static func unix(
        _ path: String, _ doing: String, _ use: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) throws(SimulatorError) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(107)) }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { use($0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
        }
        guard result == 0 else { throw failure(doing, "unix://\(path)") }
    }

    private static func tcp(
        _ host: String, _ port: UInt16, _ doing: String, flags: Int32, kind: __socket_type = SOCK_STREAM,
        _ use: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) throws(SimulatorError) -> LinkDescriptor {
        var hints = addrinfo()
        (hints.ai_flags, hints.ai_socktype) = (flags, Int32(kind.rawValue))
        var list: UnsafeMutablePointer<addrinfo>?
        let answer = getaddrinfo(host, String(port), &hints, &list)
        defer { list.map(freeaddrinfo) }
        guard answer == 0 else {
            throw SimulatorError(.link, "\(host): \(String(cString: gai_strerror(answer)))")
        }
        var candidate = list
        while let info = candidate?.pointee {
            let number = Glibc.socket(info.ai_family, info.ai_socktype, info.ai_protocol)
            if number >= 0, let address = info.ai_addr {
                let socket = LinkDescriptor(owning: number)
                if use(number, address, info.ai_addrlen) == 0 { return socket }
            }
            candidate = info.ai_next
        }
        throw failure(doing, "\(kind == SOCK_DGRAM ? "udp" : "tcp")://\(host):\(port)")
    }

    private static func port(of socket: Int32) -> UInt16? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = withUnsafeMutablePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket, $0, &length) }
        }
        guard result == 0 else { return nil }
        // The port is in bytes 2 and 3 in the addresses of both families.
        return withUnsafeBytes(of: &storage) { UInt16($0[2]) << 8 | UInt16($0[3]) }
    }

    static func failure(_ doing: String, _ what: String) -> SimulatorError {
        SimulatorError(.link, "cannot \(doing) \(what): \(String(cString: strerror(errno)))")
    }
}
