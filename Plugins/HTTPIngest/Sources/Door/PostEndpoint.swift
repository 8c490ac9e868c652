import HTTPTypes
import JSON
import PhonePayloads

/// An address that takes posts.
enum PostEndpoint: Hashable, Sendable {
    case ingest(PhoneFormat, word: String)
    /// HCGateway's log-in and its token renewal.
    case login

    private static let formats: [(word: String, format: PhoneFormat)] = [
        ("hae", .healthAutoExport), ("hc-webhook", .healthConnectWebhook), ("openscale", .openScale),
        ("ble-scale-sync", .bleScaleSync), ("ble-scale-lines", .bleScaleLines), ("plain", .plain),
    ]

    /// Words for the formats of a token; `api` is HCGateway.
    static let words = formats.map(\.word) + ["api"]
    static let list = formats.map { "/ingest/\($0.word)" }.joined(separator: ", ")

    init?(_ path: String) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: true).map(String.init)
        if parts.count == 2, parts[0] == "ingest", let found = Self.formats.first(where: { $0.word == parts[1] }) {
            self = .ingest(found.format, word: found.word)
        } else if parts.count == 3, parts[..<2] == ["api", "v2"], ["login", "refresh"].contains(parts[2]) {
            self = .login
        } else if parts.count == 4, parts[..<3] == ["api", "v2", "sync"], Self.isName(parts[3]) {
            self = .ingest(.healthConnectGateway(type: parts[3]), word: "api")
        } else {
            return nil
        }
    }

    private static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0) }
    }

    var format: PhoneFormat { if case .ingest(let format, _) = self { format } else { .plain } }

    var word: String { if case .ingest(_, let word) = self { word } else { "api" } }

    /// The status for a wrong token: HCGateway treats 401 as a request to renew the token, so it gets 403.
    var refusal: HTTPResponse.Status { word == "api" ? .forbidden : .unauthorized }
}

/// The log-in request of HCGateway's app.
struct LogInFields {
    let token: String
    let isRefresh: Bool

    init?(_ body: [UInt8]) {
        guard let tree = JSONTree(body) else { return nil }
        if let refresh = tree["refresh"]?.text {
            (token, isRefresh) = (refresh, true)
        } else if let name = tree["username"]?.text, let password = tree["password"]?.text {
            // The whole token is also accepted as password.
            (token, isRefresh) = (password.hasPrefix("\(name).") ? password : "\(name).\(password)", false)
        } else {
            return nil
        }
    }
}
