import Foundation
import HTTPServing
import PluginKit

/// The validated settings of `[plugin.web]`.
struct WebSettings: Sendable {
    private static let (visitors, shown) = ("browsers", "sessions")

    static let declarations: [SettingDeclaration] =
        ListenSettings.declarations(visitors: visitors, port: 7_790, shown: shown) + [
            .init(
                "hosts", .list(of: .string()),
                help: "Other names by which browsers may call the page, such as \"hub.home.example:7790\"; any other "
                    + "name is refused.", default: .list([])), Goals.declaration,
        ] + ProxySettings.declarations

    let listening: ListenSettings
    /// The host names for this page, with the port if it is not the default, in lower case.
    let hosts: Set<String>
    /// The names without the secret one.
    let shownHosts: Set<String>
    /// The path of `address`, below which a proxy shows the page.
    let base: BasePath
    let proxies: ProxySettings
    /// The beginning of links.
    let linkAddress: String
    /// The beginning of links for browsers that cannot resolve ``linkAddress``; nil if not needed.
    let plainAddress: String?
    /// Whether browsers use HTTPS, here or at a proxy.
    let isSecure: Bool
    let goals: Goals

    /// - Parameter name: the page's name below `.localhost` (``PageName``).
    init(_ settings: PluginSettings, name: String? = nil) throws {
        var goals = Result { try Goals([]) }
        var proxies: Result<ProxySettings, any Error> = .success(ProxySettings())
        let listening = try ListenSettings(settings, visitors: Self.visitors, shown: Self.shown) {
            goals = Result { try Goals(try settings.texts("goals")) }
            proxies = Result { try ProxySettings(settings) }
            _ = try PluginSettings.all(goals.get, proxies.get)
        }
        (self.goals, self.proxies) = (try goals.get(), try proxies.get())
        self.listening = listening
        base = try Self.base(of: listening.address)
        isSecure = listening.address.lowercased().hasPrefix("https://")
        var hosts = Set(try settings.texts("hosts").map { $0.lowercased() })
        hosts.insert(Self.host(of: listening.address))
        let port = listening.port == (listening.certificate == nil ? 80 : 443) ? "" : ":\(listening.port)"
        let host = listening.host.contains(":") ? "[\(listening.host)]" : listening.host
        hosts.insert("\(host)\(port)".lowercased())
        if listening.isLoopback { hosts.insert("localhost\(port)") }
        shownHosts = hosts
        // The secret name is for browsers on this machine without a proxy.
        if let name, listening.isLoopback, listening.certificate == nil, settings["address"] == nil {
            hosts.insert("\(name)\(port)")
            (linkAddress, plainAddress) = ("http://\(name)\(port)", listening.address)
        } else {
            (linkAddress, plainAddress) = (listening.address, nil)
        }
        self.hosts = hosts
    }

    /// The part of an address between `//` and `/`.
    private static func host(of address: String) -> String {
        afterScheme(of: address).prefix { $0 != "/" }.lowercased()
    }

    private static func base(of address: String) throws -> BasePath {
        let path = afterScheme(of: address).drop { $0 != "/" }
        guard !path.isEmpty else { return .none }
        guard let base = BasePath(String(path)) else {
            throw PluginFailure(
                .settings,
                "setting address: the path \(path) is not one of letters, digits, -, ., _ and ~, such as /health")
        }
        return base
    }

    private static func afterScheme(of address: String) -> Substring {
        address[(address.range(of: "://")?.upperBound ?? address.startIndex)...]
    }
}
