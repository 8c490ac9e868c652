import Glibc

/// Where the hub listens on the network: an address of this machine and a port.
public struct TCPEndpoint: Sendable, Hashable, CustomStringConvertible {
    /// An IPv4 address, or an IPv6 address without brackets; `0.0.0.0` and `::` are every address of the machine.
    public let address: String
    public let port: Int

    /// Reads `tcp://ADDRESS:PORT`, an IPv6 address in brackets; nil for anything else, names of machines included.
    public init?(_ text: String) {
        guard text.hasPrefix("tcp://"), let colon = text.lastIndex(of: ":"), let port = Int(text[colon...].dropFirst()),
            text[colon...].dropFirst().allSatisfy(\.isNumber)
        else { return nil }
        var address = String(text[..<colon].dropFirst("tcp://".count))
        if address.hasPrefix("["), address.hasSuffix("]") {
            address = String(address.dropFirst().dropLast())
            guard Self.isAddress(address, AF_INET6) else { return nil }
        } else {
            guard Self.isAddress(address, AF_INET) else { return nil }
        }
        self.init(address: address, port: port)
    }

    /// - Parameter address: as ``address``; not checked.
    public init?(address: String, port: Int) {
        guard (1...65_535).contains(port) else { return nil }
        (self.address, self.port) = (address, port)
    }

    public var isIPv6: Bool { address.contains(":") }

    /// Whether only programs of this machine reach it.
    public var isLoopback: Bool { address == "::1" || !isIPv6 && address.hasPrefix("127.") }

    /// Whether it stands for every address of the machine.
    public var isEverywhere: Bool { address == "0.0.0.0" || address == "::" }

    /// The same address with another port.
    public func with(port: Int) -> TCPEndpoint? { TCPEndpoint(address: address, port: port) }

    /// As libzmq and `hub.conf` write it.
    public var description: String { Self.text(host: address, port: port) }

    /// `tcp://HOST:PORT`, with brackets where the host is an IPv6 address.
    public static func text(host: String, port: Int) -> String {
        host.contains(":") ? "tcp://[\(host)]:\(port)" : "tcp://\(host):\(port)"
    }

    private static func isAddress(_ text: String, _ family: CInt) -> Bool {
        var bytes = in6_addr()
        return inet_pton(family, text, &bytes) == 1
    }
}
