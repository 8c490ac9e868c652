import HTTPTypes
import Hummingbird
import PluginKit

/// The way of a request to this page: directly, or through a trusted proxy, which may name base path, user and scheme.
struct RequestRoute: Sendable {
    private(set) var base = BasePath.none
    /// The id of the proxy's user; nil if the proxy names none, or is not trusted.
    private(set) var user: String?
    /// Whether the browser uses HTTPS.
    private(set) var isSecure = false
    /// Whether pages of the same origin may show this one in a frame.
    private(set) var isFramed = false
    /// The names by which the browser may call this page; nil for those of the settings.
    ///
    /// A proxy that names the base path may have any name, because it has checked its visitors.
    private(set) var hosts: Set<String>?

    /// A route before its request is examined.
    init() {}

    /// - Parameter isTrusted: whether the request comes from one of the trusted proxies; fields of others are ignored.
    /// - Throws: ``RequestRefusal`` for a field of a trusted proxy that is not valid, and for a request of another if only proxies may come.
    init(_ request: HTTPRequest, isTrusted: Bool, _ settings: WebSettings) throws {
        (base, isSecure) = (settings.base, settings.isSecure)
        guard isTrusted else {
            guard !settings.proxies.isExclusive else {
                throw RequestRefusal(
                    .forbidden, "Only the proxy shows this page",
                    "Open it there. To let others come here, set only_proxies = false in the section of this plugin.")
            }
            return
        }
        let fields = request.headerFields
        if let path = try Self.only(.ingressPath, fields) {
            guard let base = BasePath(path) else { throw Self.refusal(.ingressPath, "a path such as /health") }
            self.base = base
            let names = fields[values: .forwardedHost] + [request.authority].compactMap(\.self)
            hosts = Set(names.map { $0.lowercased() })
        }
        user = try Self.only(.remoteUser, fields)
        guard user.map(ProxyUser.isID) ?? true else { throw Self.refusal(.remoteUser, "an id without blanks") }
        switch Set(fields[values: .forwardedProto]) {
        case ["https"]: isSecure = true
        case ["http"]: isSecure = false
        default: break
        }
        isFramed = settings.proxies.isFramed
    }

    /// The value of a field that may be there once, in this spelling.
    ///
    /// A visitor's field of the same name in other letters replaces the one of Home Assistant's Supervisor on its way.
    private static func only(_ name: HTTPField.Name, _ fields: HTTPFields) throws -> String? {
        let found = fields.filter { $0.name == name }
        guard let field = found.first else { return nil }
        guard found.count == 1, field.name.rawName == name.rawName else {
            throw refusal(name, "one line in exactly this spelling")
        }
        return field.value
    }

    private static func refusal(_ name: HTTPField.Name, _ expected: String) -> RequestRefusal {
        RequestRefusal(
            .badRequest, "The proxy's request is not valid", "\(name.rawName): expected \(expected).",
            member: name.rawName)
    }

    /// The session cookie of browsers that come this way.
    var cookie: SessionCookie { SessionCookie(isSecure: isSecure, base: base) }
}

extension HTTPField.Name {
    fileprivate static let ingressPath = HTTPField.Name("X-Ingress-Path")!
    fileprivate static let remoteUser = HTTPField.Name("X-Remote-User-Id")!
    fileprivate static let forwardedHost = HTTPField.Name("X-Forwarded-Host")!
    fileprivate static let forwardedProto = HTTPField.Name("X-Forwarded-Proto")!
}

extension WebParts {
    /// The user of the proxy, if a rule lets them log in and this page knows their person.
    func proxyUser(_ route: RequestRoute) -> ProxyUser? {
        guard let user = route.user.flatMap(settings.proxies.user) else { return nil }
        guard let name = user.person else { return user }
        return hub.persons.named(name).map { ProxyUser(id: user.id, person: $0.name) }
    }

    /// Whether a session may be used by this way: that of a proxy's user only while the proxy names the same user, and the rule is the same.
    func admits(_ grant: Grant, _ route: RequestRoute) -> Bool {
        guard let id = grant.proxyUser else { return true }
        guard let user = proxyUser(route) else { return false }
        return user.id == id && user.person == grant.person
    }
}
