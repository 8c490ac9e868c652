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
        if case .udp = place {
            throw SimulatorError(.usage, "'\(self)': this scale is reached by a stream, such as tcp://127.0.0.1:0")
        }
        // The socket file of a killed process would make bind fail; one that answers belongs to another program.
        if case .unix(let path) = place, (try? connect()) == nil { unlink(path) }
        let (socket, address) = try bound()
        guard Glibc.listen(socket.number, 4) == 0 else { throw LinkAddress.failure("listen on", description) }
        return (socket, address)
    }

    /// A socket for datagrams and its actual address.
    func listenForDatagrams() throws(SimulatorError) -> (LinkDescriptor, LinkAddress) {
        guard case .udp = place else {
            throw SimulatorError(.usage, "'\(self)': this scale is reached by datagrams, such as udp://127.0.0.1:10000")
        }
        return try bound()
    }

    private func bound() throws(SimulatorError) -> (LinkDescriptor, LinkAddress) {
        let socket = try opened("listen on", isPassive: true) { number, address in
            var yes: Int32 = 1
            setsockopt(number, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
            return address.use { Glibc.bind(number, $0, $1) }
        }
        let port = SocketAddress.port(of: socket.number)
        return switch place {
        case .tcp(let host, let wanted): (socket, LinkAddress(place: .tcp(host: host, port: port ?? wanted)))
        case .udp(let host, let wanted): (socket, LinkAddress(place: .udp(host: host, port: port ?? wanted)))
        case .unix: (socket, self)
        }
    }

    /// A connected socket.
    func connect() throws(SimulatorError) -> LinkDescriptor {
        if case .udp = place {
            throw SimulatorError(.usage, "'\(self)': a scale waits for datagrams and does not dial")
        }
        return try opened("connect to", isPassive: false) { number, address in
            // Waits for the connection, which a non-blocking socket would not do.
            _ = fcntl(number, F_SETFL, 0)
            return address.use { Glibc.connect(number, $0, $1) }
        }
    }

    /// The socket of the first address of this place for which `use` succeeds.
    private func opened(
        _ doing: String, isPassive: Bool, _ use: (Int32, SocketAddress) -> Int32
    ) throws(SimulatorError) -> LinkDescriptor {
        let kind = if case .udp = place { SOCK_DGRAM } else { SOCK_STREAM }
        let addresses: [SocketAddress]
        do throws(ScaleLinkError) {
            switch place {
            case .unix(let path): addresses = [SocketAddress(unix: path)]
            case .tcp(let host, let port), .udp(let host, let port):
                addresses = try SocketAddress.all(of: host, port, kind, isPassive: isPassive)
            }
        } catch {
            throw SimulatorError(.link, error.description)
        }
        for address in addresses {
            let number = address.socket(kind)
            guard number >= 0 else { continue }
            let socket = LinkDescriptor(owning: number)
            if use(number, address) == 0 { return socket }
        }
        throw LinkAddress.failure(doing, description)
    }

    static func failure(_ doing: String, _ what: String) -> SimulatorError {
        SimulatorError(.link, "cannot \(doing) \(what): \(String(cString: strerror(errno)))")
    }
}
