import Glibc

/// A network endpoint of the hub: an address of this machine and a port.
public struct TCPEndpoint: Sendable, Hashable, CustomStringConvertible {
    /// An IPv4 address, or an IPv6 address without brackets; `0.0.0.0` and `::` are every address of the machine.
    public let address: String
    public let port: Int

    /// Reads `tcp://ADDRESS:PORT`, with brackets around an IPv6 address; nil for anything else, including host names.
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

    /// - Parameter address: a value for ``address``; not checked.
    public init?(address: String, port: Int) {
        guard (1...65_535).contains(port) else { return nil }
        (self.address, self.port) = (address, port)
    }

    public var isIPv6: Bool { address.contains(":") }

    /// Whether only programs on this machine can reach it.
    public var isLoopback: Bool { address == "::1" || !isIPv6 && address.hasPrefix("127.") }

    /// Whether it stands for every address of the machine.
    public var isEverywhere: Bool { address == "0.0.0.0" || address == "::" }

    /// The same address with another port.
    public func with(port: Int) -> TCPEndpoint? { TCPEndpoint(address: address, port: port) }

    /// The form that libzmq and `hub.conf` use.
    public var description: String { Self.text(host: address, port: port) }

    /// `tcp://HOST:PORT`, with brackets around an IPv6 address.
    public static func text(host: String, port: Int) -> String {
        host.contains(":") ? "tcp://[\(host)]:\(port)" : "tcp://\(host):\(port)"
    }

    private static func isAddress(_ text: String, _ family: CInt) -> Bool {
        var bytes = in6_addr()
        return inet_pton(family, text, &bytes) == 1
    }
}
