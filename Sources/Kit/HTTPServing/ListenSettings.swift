import Foundation
import Glibc
public import PluginKit

/// The address at which a plugin listens, from its settings `listen`, `address`, `certificate`, `key` and `plain_http`.
public struct ListenSettings: Sendable {
    public let host: String
    /// 0 for any free port.
    public let port: Int
    /// Whether only programs on this machine can connect, through one of its two loopback addresses.
    public var isLoopback: Bool { ["127.0.0.1", "::1", "localhost"].contains(host) }
    /// The address as clients type it, without a trailing slash.
    public let address: String
    /// `nil` for plain HTTP.
    public let certificate: CertificateFiles?
    /// The kind of clients, in the plural: `phones`.
    public let visitors: String

    /// - Parameters:
    ///   - visitors: the kind of clients, in the plural: `phones`.
    ///   - port: the default port, on this machine only.
    ///   - shown: the clients' data that plain HTTP would expose to the network: `tokens`.
    public static func declarations(visitors: String, port: Int, shown: String) -> [SettingDeclaration] {
        [
            .init(
                "listen",
                .string(
                    TextRule(
                        pattern: #"[^ :]+:[0-9]{1,5}|\[[0-9a-fA-F:.]+\]:[0-9]{1,5}"#, expected: "host:port",
                        example: "127.0.0.1:\(port)")),
                help: "The address to listen on for \(visitors); by default only this machine can connect.",
                default: .string("127.0.0.1:\(port)")),
            .init(
                "address", .url(),
                help: "The address that \(visitors) use, such as that of a proxy; if not set, the address of "
                    + "listen, if it has only one.", default: nil),
            .init(
                "certificate", .path,
                help: "A file with the certificate and those above it (PEM): \(visitors) come by HTTPS then.",
                default: nil, access: .read),
            .init(
                "key", .path, help: "The file with its private key (PEM), which no other user may read.", default: nil,
                access: .read),
            .init(
                "plain_http", .boolean, help: "Takes HTTP from other machines, which shows \(shown) to the network.",
                default: .boolean(false)),
        ]
    }

    /// - Parameters:
    ///   - visitors: as in ``declarations(visitors:port:shown:)``.
    ///   - shown: as above.
    ///   - also: checks other settings of the plugin, so that their errors are reported together.
    /// - Throws: `PluginFailure` with all errors.
    public init(
        _ settings: PluginSettings, visitors: String, shown: String, also: () throws -> Void = {}
    ) throws {
        self.visitors = visitors
        let listen = try settings.text("listen")
        let split = listen.lastIndex(of: ":") ?? listen.endIndex
        host = listen[..<split].trimmingCharacters(in: CharacterSet(charactersIn: "[]"))
        let (host, address) = (host, settings["address"]?.string?.trimmingSlash)
        let (file, key) = (settings["certificate"]?.string, settings["key"]?.string)
        let isPlain = file == nil && key == nil
        let allowsPlain = try settings.boolean("plain_http")
        (port, _, certificate, self.address, _) = try PluginSettings.all(
            {
                guard let port = Int(listen[split...].dropFirst()), (0...65_535).contains(port) else {
                    throw PluginFailure(.settings, "setting listen: the port is 0 to 65535")
                }
                return port
            },
            {
                guard Self.isThisMachine(host) || !isPlain || allowsPlain else {
                    throw PluginFailure(
                        .settings,
                        "setting listen: other machines would send their \(shown) unencrypted; set certificate and key, or "
                            + "let a proxy with HTTPS come to 127.0.0.1, or set plain_http = true"
                    )
                }
            }, { try Self.certificate(file, key) },
            {
                let isClosed = Self.isThisMachine(host) && isPlain && !allowsPlain
                if let address, isClosed { try Self.refuseClosed(address, port: listen[split...]) }
                return try Self.address(
                    address, host: host, port: listen[split...], isPlain: isPlain, visitors: visitors)
            },
            { try also() })
    }

    /// Whether the host is a loopback address or a name for one.
    ///
    /// Only numeric addresses are compared with 127, because a name like 127.example.org may mean another machine or another address of this one.
    private static func isThisMachine(_ host: String) -> Bool {
        var address = in_addr()
        if inet_pton(AF_INET, host, &address) == 1 { return UInt32(bigEndian: address.s_addr) >> 24 == 127 }
        return host == "::1" || host == "localhost" || host.lowercased().hasSuffix(".localhost")
    }

    private static func certificate(_ file: String?, _ key: String?) throws -> CertificateFiles? {
        switch (file, key) {
        case (nil, nil): return nil
        case (let file?, let key?):
            let files = CertificateFiles(certificate: file, key: key)
            _ = try files.read()
            return files
        case (nil, _?):
            throw PluginFailure(.settings, "setting certificate: it and key come together; it is not set")
        case (_?, nil): throw PluginFailure(.settings, "setting key: it and certificate come together; it is not set")
        }
    }

    /// Rejects an unencrypted network address with a port that accepts only connections from this machine.
    private static func refuseClosed(_ address: String, port: Substring) throws {
        guard let url = URL(string: address), url.scheme?.lowercased() == "http",
            url.port.map({ ":\($0)" }) == String(port), let host = url.host, !isThisMachine(host)
        else { return }
        throw PluginFailure(
            .settings,
            "setting address: no other machine reaches it, since listen takes calls of this machine alone; set "
                + "listen = \"0.0.0.0\(port)\" with certificate and key or with plain_http = true, or remove address; if "
                + "another program passes the calls on, set plain_http = true")
    }

    /// The address for clients: from the settings, or the address of the server.
    private static func address(
        _ shown: String?, host: String, port: Substring, isPlain: Bool, visitors: String
    ) throws -> String {
        let scheme = isPlain ? "http" : "https"
        if let shown {
            guard isPlain || shown.lowercased().hasPrefix("https://") else {
                throw PluginFailure(
                    .settings,
                    "setting address: it begins with https://, since \(visitors) come by HTTPS with a certificate")
            }
            return shown
        }
        guard host != "0.0.0.0", host != "::" else {
            throw PluginFailure(
                .settings,
                "setting address: \(visitors) cannot call \(host), which is all addresses of this machine; write the name "
                    + "that they know it by, such as \(scheme)://hub.home.example\(port)")
        }
        return "\(scheme)://\(host.contains(":") ? "[\(host)]" : host)\(port)"
    }
}

extension String {
    fileprivate var trimmingSlash: String {
        var text = self
        while text.hasSuffix("/") { text.removeLast() }
        return text
    }
}
