import Foundation
public import HubWire

/// The address of a web service, from the setting `base` that all plugins of services have.
///
/// It must be `https`, because tokens and health values go there. `http` is allowed to this machine (the stand-ins of `Simulators/`), or if a setting
/// allows it.
public struct ServiceAddress: Hashable, Sendable, CustomStringConvertible {
    /// The given address without a trailing slash: `https://exist.io`.
    public let text: String
    /// The address without scheme and path: `exist.io`, `127.0.0.1:8090`.
    public let host: String

    /// Reads `https://host[:port][/path]`.
    ///
    /// - Throws: `settings` if the text is not such an address, has additional parts, or is `http` to another machine without `allowsPlain`. The
    ///   message contains `name`, the name of the setting, but not the address, which may contain a secret.
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

    /// The declarations of the settings that ``init(_:_:)`` reads, for a manifest.
    ///
    /// - Parameters:
    ///   - address: the default address of the service; if it is `nil`, the setting is required.
    ///   - help: one sentence for the author of `hub.conf`.
    public static func settings(default address: String?, help: String = "The address of the service.")
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

    /// Reads the setting `name`, and `plain_http` of ``settings(default:help:)`` if the manifest declares it.
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
