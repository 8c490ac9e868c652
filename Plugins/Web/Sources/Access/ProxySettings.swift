import Glibc
import NIOCore
import PluginKit

/// A user of a proxy with the right to log in without a link.
struct ProxyUser: Sendable, Hashable {
    /// The id that the proxy sends.
    let id: String
    /// The only person whose values the user sees; nil for the owner, with access to everything.
    let person: String?

    /// - Returns: nil for an id that is empty, too long, or contains other characters than those of ids and e-mail addresses.
    static func isID(_ text: String) -> Bool {
        (1...128).contains(text.utf8.count)
            && text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: ",") }
    }
}

/// An IPv4 or IPv6 address; an IPv4 address within IPv6 is the same address.
struct PeerAddress: Sendable, Hashable {
    /// The 16 bytes of IPv6.
    private let bytes: [UInt8]
    private static let fourInSix = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF]

    /// - Returns: nil for a text that is no address, such as a name or a network.
    init?(_ text: String) {
        var (four, six) = (in_addr(), in6_addr())
        if inet_pton(AF_INET, text, &four) == 1 {
            bytes = Self.fourInSix + withUnsafeBytes(of: four) { Array($0) }
        } else if inet_pton(AF_INET6, text, &six) == 1 {
            bytes = withUnsafeBytes(of: six) { Array($0) }
        } else {
            return nil
        }
    }

    /// Whether every program of the machine can have this address.
    var isShared: Bool {
        let isFour = bytes.starts(with: Self.fourInSix)
        let isZero = bytes.dropFirst(isFour ? 12 : 0).allSatisfy { $0 == 0 }
        return isZero || isFour && bytes[12] == 127 || bytes.dropLast().allSatisfy { $0 == 0 } && bytes[15] == 1
    }
}

/// The other end of a connection.
enum RequestPeer: Sendable {
    /// A proxy of this machine, at the socket of the settings.
    case socket
    case address(String)

    init(_ channel: any Channel) {
        if case .unixDomainSocket? = channel.localAddress {
            self = .socket
        } else {
            self = .address(channel.remoteAddress?.ipAddress ?? "-")
        }
    }

    /// The address, for limits and log lines.
    var text: String { if case .address(let text) = self { text } else { "socket" } }
}

/// The settings for proxies that name base path and user: `proxies`, `socket`, `only_proxies`, `proxy_users` and `framed`.
struct ProxySettings: Sendable {
    /// The addresses of trusted proxies.
    let addresses: Set<PeerAddress>
    /// The path of the socket at which a proxy of this machine connects; nil if there is none.
    let socket: String?
    /// Whether requests of others than trusted proxies are refused.
    let isExclusive: Bool
    /// Whether pages of the same origin may show this one in a frame.
    let isFramed: Bool
    private let users: [String: ProxyUser]

    static let declarations: [SettingDeclaration] = [
        .init(
            "proxies",
            .list(
                of: .string(
                    TextRule(pattern: "[0-9a-fA-F.:]+", expected: "an IPv4 or IPv6 address", example: "172.30.32.2"))),
            help: "Addresses of proxies on other machines that may name the base path (X-Ingress-Path), the user "
                + "(X-Remote-User-Id) and the scheme (X-Forwarded-Proto).", default: .list([])),
        .init(
            "socket",
            .string(
                TextRule(
                    pattern: "unix-accept:///[^ ?#]+", expected: "unix-accept:///PATH",
                    example: "unix-accept:///run/health-hub-page/page.sock")),
            help:
                "The socket for a proxy of this machine, which may name the same; the permissions of its folder decide "
                + "which programs may open it.", default: nil, access: .link),
        .init(
            "only_proxies", .boolean, help: "Refuses requests that come through none of those proxies.",
            default: .boolean(false)),
        .init(
            "proxy_users",
            .list(
                of: .string(
                    TextRule(
                        pattern: "[^=, ]{1,128}=(owner|person:.+)", expected: "ID=owner or ID=person:NAME",
                        example: "8f3b2c1d=person:anna"))),
            help:
                "Users of those proxies with the right to log in without a link, each as the owner or as a person; none by "
                + "default.", default: .list([])),
        .init(
            "framed", .boolean,
            help:
                "Lets pages of the same address show this one in a frame, as in Home Assistant, if it comes through one "
                + "of those proxies.", default: .boolean(false)),
    ]

    /// Trusts no proxy.
    init() { (addresses, socket, isExclusive, isFramed, users) = ([], nil, false, false, [:]) }

    /// - Throws: `PluginFailure` with all errors.
    init(_ settings: PluginSettings) throws {
        let (addresses, socket, users, isExclusive, isFramed) = try PluginSettings.all(
            { try PluginSettings.each(try settings.texts("proxies"), Self.address) },
            { try settings["socket"]?.string.map(Self.path) },
            { try Self.users(try settings.texts("proxy_users")) }, { try settings.boolean("only_proxies") },
            { try settings.boolean("framed") })
        (self.addresses, self.socket, self.users) = (Set(addresses), socket, users)
        (self.isExclusive, self.isFramed) = (isExclusive, isFramed)
    }

    /// Whether a connection comes from a trusted proxy.
    func trust(_ peer: RequestPeer) -> Bool {
        switch peer {
        case .socket: true
        case .address(let text): !addresses.isEmpty && PeerAddress(text).map(addresses.contains) ?? false
        }
    }

    /// The user with this id; nil if no rule names them.
    func user(_ id: String) -> ProxyUser? { users[id] }

    /// The persons as whom users log in.
    var persons: Set<String> { Set(users.values.compactMap(\.person)) }

    private static func address(_ text: String) throws -> PeerAddress {
        guard let address = PeerAddress(text) else {
            throw PluginFailure(
                .settings, "setting proxies: \"\(text)\" is not one IPv4 or IPv6 address, such as 172.30.32.2")
        }
        guard !address.isShared else {
            throw PluginFailure(
                .settings,
                "setting proxies: every program of this machine can have the address \(text), and could log in as any user; "
                    + "let the proxy connect at the setting socket")
        }
        return address
    }

    private static func path(_ text: String) throws -> String {
        let path = String(text.dropFirst("unix-accept://".count))
        // The kernel's limit, with the zero at the end.
        guard path.utf8.count <= 107 else {
            throw PluginFailure(.settings, "setting socket: the path of a socket has at most 107 bytes")
        }
        return path
    }

    private static func users(_ texts: [String]) throws -> [String: ProxyUser] {
        let users = try PluginSettings.each(texts) { text in
            // The characters of an id exclude =.
            let sides = text.split(separator: "=", maxSplits: 1).map(String.init)
            guard sides.count == 2, ProxyUser.isID(sides[0]) else {
                throw PluginFailure(.settings, "setting proxy_users: \"\(text)\": expected ID=owner or ID=person:NAME")
            }
            let person = sides[1] == "owner" ? nil : String(sides[1].dropFirst("person:".count))
            return ProxyUser(id: sides[0], person: person)
        }
        for (place, user) in users.enumerated() where users[..<place].contains(where: { $0.id == user.id }) {
            throw PluginFailure(
                .settings,
                "setting proxy_users: there are two rules for \(user.id); a user logs in as the owner or as one person")
        }
        return Dictionary(uniqueKeysWithValues: users.map { ($0.id, $0) })
    }
}
