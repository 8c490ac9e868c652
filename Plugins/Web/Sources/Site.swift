import HTMLText
import HTTPTypes
import Hummingbird
import NIOCore
import PluginKit

/// Each address of the page, and what is there.
struct Site: Sendable {
    private let parts: WebParts
    private let attempts = Attempts()

    init(_ parts: WebParts) { self.parts = parts }

    var responder: RouterResponder<Visit> {
        let router = Router(context: Visit.self, options: .autoGenerateHeadEndpoints)
        router.add(middleware: ErrorPages(hub: parts.hub))
        router.add(middleware: HostGuard(hosts: parts.settings.hosts))
        for asset in Asset.all { router.get(RouterPath(asset.path)) { _, _ in asset.response } }
        let logIn = LogInPages(parts: parts, attempts: attempts)
        router.get("/login") { _, _ in logIn.advice }
        router.get("/login/:link") { _, visit in try logIn.question(visit.parameters.get("link") ?? "") }
        router.post("/login") { request, visit in try await logIn.answer(request, visit) }

        let inside = router.group().add(middleware: SessionGuard(parts: parts))
        inside.post("/logout") { request, visit in try await logIn.end(request, visit) }
        let (hub, reader) = (parts.hub, HealthReader(hub: parts.hub))
        inside.get("/") { request, visit in
            try await LatestPage(reader: reader).response(Choice(request, visit, hub.persons))
        }
        inside.get("/types/:type") { request, visit in
            try await TypePage(reader: reader).response(
                visit.parameters.get("type") ?? "", Choice(request, visit, hub.persons))
        }
        inside.get("/system") { request, visit in
            try await SystemPage(hub: hub).response(Choice(request, visit, hub.persons))
        }
        return router.buildResponder()
    }
}

/// One request: who sent it, and who that is.
struct Visit: RequestContext {
    var coreContext: CoreRequestContextStorage
    let address: String
    /// Set by ``SessionGuard`` alone.
    var viewer: Viewer?

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        address = source.channel.remoteAddress?.ipAddress ?? "-"
    }
}

/// Whose values a page shows: the person that the address names, of those that the viewer may see.
struct Choice: Sendable {
    let viewer: Viewer
    let persons: [Welcome.PersonEntry]
    /// `nil` where there is none at all.
    let person: Welcome.PersonEntry?

    /// - Throws: `NoSuchPage` for a person that there is not, and in the same words for one that this viewer may not see.
    init(_ request: Request, _ visit: Visit, _ all: [Welcome.PersonEntry]) throws {
        guard let viewer = visit.viewer else { throw NoSuchPage() }
        self.viewer = viewer
        persons = viewer.persons(all)
        guard let name = request.uri.queryParameters["person"].map(String.init) else {
            person = persons.first
            return
        }
        guard let person = persons.first(where: { $0.name == name }) else { throw NoSuchPage() }
        self.person = person
    }
}

struct NoSuchPage: Error {}
