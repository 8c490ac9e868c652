import HTTPTypes
import Hummingbird
import PluginKit

/// The API for programs, below `/api/v1` (Docs/WebAPI.md).
struct API: Sendable {
    static let root = "/api/v1"

    let parts: WebParts

    /// The headings of the description, with their routes.
    static let topics = [
        ("Records", RecordRoutes.all), ("Figures", FigureRoutes.all), ("By hand", WriteRoutes.all),
        ("Preferences", PreferenceRoutes.all), ("Hub", HubRoutes.all), ("Log-ins", LogInRoutes.all),
        ("Events", EventRoutes.all),
    ]
    static let routes = topics.flatMap { $0.1 }

    /// - Parameters:
    ///   - router: the router of the site, without a log-in.
    ///   - inside: the router behind ``APIGuard``.
    func add(to router: Router<WebRequestContext>, inside: some RouterMethods<WebRequestContext>) {
        for (path, routes) in Dictionary(grouping: Self.routes, by: \.path) {
            let place = RouterPath(Self.root + path)
            for route in routes {
                inside.on(place, method: route.method) { request, visit in
                    try await route.handle(try APICall(route, request, visit, parts))
                }
            }
            let there = routes.map(\.method)
            let allowed = (there + (there.contains(.get) ? [.head] : [])).map(\.rawValue).sorted()
            for method in Self.methods where !there.contains(method) {
                router.on(place, method: method) { _, _ -> Response in
                    throw RequestRefusal(
                        .methodNotAllowed, "This method is not allowed here",
                        "At this address there is \(allowed.joined(separator: ", ")).",
                        allowed: allowed.joined(separator: ", "))
                }
            }
        }
    }

    /// Methods that each address answers; ``MethodGuard`` refuses all others earlier.
    static let methods: [HTTPRequest.Method] = [.get, .post, .put, .patch, .delete, .options, .trace]
}
