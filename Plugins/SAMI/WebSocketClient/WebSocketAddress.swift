import Foundation

/// The address of a WebSocket: `wss://host[:port]/path?query`, or `ws` without encryption.
///
/// Its description omits the query, which may contain a token.
public struct WebSocketAddress: Sendable, CustomStringConvertible {
    let host: String
    let port: Int
    let isSecure: Bool
    /// Path and query, as sent in the request.
    let target: String

    /// - Parameter query: query items in order; names and values are escaped.
    public init?(_ text: String, query: [(name: String, value: String)] = []) {
        guard var parts = URLComponents(string: text), let scheme = parts.scheme?.lowercased(),
            ["ws", "wss"].contains(scheme), let host = parts.host, !host.isEmpty
        else { return nil }
        if !query.isEmpty {
            parts.percentEncodedQuery = query.map { "\(Self.escaped($0.name))=\(Self.escaped($0.value))" }
                .joined(separator: "&")
        }
        self.host = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        isSecure = scheme == "wss"
        port = parts.port ?? (isSecure ? 443 : 80)
        let path = parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath
        target = path + (parts.percentEncodedQuery.map { "?\($0)" } ?? "")
    }

    /// The value of the `Host` header.
    var authority: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
    }

    public var description: String {
        "\(isSecure ? "wss" : "ws")://\(authority)\(target.prefix { $0 != "?" })"
    }

    private static let unreserved = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")

    private static func escaped(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? text
    }
}
