import Foundation
public import HubSettings

/// Where a web service is: what the setting `base` of every plugin of a service names.
///
/// Always `https`, because tokens and health values go there; `http` to this machine (the stand-ins of `Simulators/`), or
/// where a setting says that it may be.
public struct ServiceAddress: Hashable, Sendable, CustomStringConvertible {
    /// As it was given, without a slash at the end: `https://exist.io`.
    public let text: String
    /// `exist.io`, `127.0.0.1:8090`: the address without scheme and path.
    public let host: String

    /// Reads `https://host[:port][/path]`.
    ///
    /// - Throws: `settings` when it is not such an address, has more than these parts, or is `http` to another machine without
    ///   `allowsPlain`. `name` is the setting's, for the message; the address itself is not shown, because it may hold what is secret.
    public init(_ text: String, setting name: String = "base", allowsPlain: Bool = false) throws(PluginFailure) {
        guard let parts = URLComponents(string: text), let scheme = parts.scheme?.lowercased(),
            ["https", "http"].contains(scheme), let host = parts.host, !host.isEmpty
        else {
            throw PluginFailure(.settings, "setting \(name): expected an address such as \"https://api.example.org\"")
        }
        guard parts.user == nil, parts.password == nil, parts.query == nil, parts.fragment == nil else {
            throw PluginFailure(
                .settings, "setting \(name): an address has no user, password, query or fragment; leave them out")
        }
        guard scheme == "https" || allowsPlain || Self.isLoopback(host) else {
            throw PluginFailure(
                .settings,
                "setting \(name): http to another machine would show tokens and values to the network; use https, or "
                    + "set \(Self.plainName) = true")
        }
        self.text = text.hasSuffix("/") ? String(text.dropLast()) : text
        self.host = host + (parts.port.map { ":\($0)" } ?? "")
    }

    /// The settings that ``init(_:_:)`` reads, for a manifest.
    ///
    /// - Parameters:
    ///   - address: where the service itself is; the setting is needed where there is none.
    ///   - help: one sentence for who writes `hub.conf`.
    public static func settings(default address: String?, help: String = "Where the service is.")
        -> [SettingDeclaration]
    {
        [
            SettingDeclaration(
                "base", .url(), help: help, default: address.map { .string($0) }, required: address == nil),
            SettingDeclaration(
                plainName, .boolean, help: "Takes http to another machine, which shows tokens to the network.",
                default: .boolean(false)),
        ]
    }

    /// Reads the setting `name`, and ``settings(default:help:)``'s `plain_http` where the manifest has it.
    public init(_ settings: PluginSettings, _ name: String = "base") throws {
        try self.init(
            settings.text(name), setting: name, allowsPlain: settings[Self.plainName]?.boolean ?? false)
    }

    /// The address, as in ``text``.
    public var description: String { text }

    private static let plainName = "plain_http"

    private static func isLoopback(_ host: String) -> Bool {
        if ["localhost", "[::1]", "::1"].contains(host.lowercased()) { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }
}
