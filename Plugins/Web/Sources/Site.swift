import Foundation
import HTMLText
import HTTPTypes
import HealthText
import Hummingbird
import NIOCore
import PluginKit

/// What belongs together of the site: pages, and what their forms do.
protocol SiteArea: Sendable {
    /// Adds its addresses, at which only those come who are logged in.
    func add(to router: some RouterMethods<Visit>)
}

/// Each address of the page, and what is there.
struct Site: Sendable {
    private let parts: WebParts
    init(_ parts: WebParts) { self.parts = parts }

    private var areas: [any SiteArea] {
        [ReadingArea(parts: parts), RecordsArea(parts: parts), PreferencesArea(parts: parts)]
    }

    private var ownersAreas: [any SiteArea] {
        [
            InboxArea(parts: parts),
            DevicesArea(parts: parts),
            DeliveriesArea(parts: parts),
            PluginsArea(parts: parts),
            SetupArea(parts: parts),
            SystemArea(parts: parts),
        ]
    }

    var responder: RouterResponder<Visit> {
        let router = Router(context: Visit.self, options: .autoGenerateHeadEndpoints)
        router.add(middleware: RequestMeter(registry: parts.metrics))
        router.add(middleware: ErrorPages(hub: parts.hub))
        router.add(middleware: HostGuard(settings: parts.settings))
        router.add(middleware: MethodGuard())
        for asset in Asset.all { router.get(RouterPath(asset.path)) { _, _ in asset.response } }
        let metrics = MetricsArea(parts: parts)
        metrics.addProbes(to: router)
        let logIn = LogInPages(parts: parts, attempts: Attempts())
        router.get("/login") { _, _ in logIn.advice }
        router.get("/login/:link") { _, visit in try logIn.question(visit.parameters.get("link") ?? "") }
        router.post("/login") { request, visit in try await logIn.answer(request, visit) }

        let turns = FairTurns(turns: VisitorTurns())
        let programs = router.group().add(middleware: APIGuard(parts: parts, attempts: Attempts())).add(
            middleware: turns)
        API(parts: parts).add(to: router, inside: programs)
        metrics.add(to: programs.group().add(middleware: OwnersGuard()))
        let inside = router.group().add(middleware: SessionGuard(parts: parts)).add(middleware: turns)
        inside.post("/logout") { request, visit in try await logIn.end(request, visit) }
        for area in areas { area.add(to: inside) }
        let owners = inside.group().add(middleware: OwnersGuard())
        for area in ownersAreas { area.add(to: owners) }
        return router.buildResponder()
    }
}

/// One request: who sent it, and who that is.
struct Visit: RequestContext {
    var coreContext: CoreRequestContextStorage
    let address: String
    let channel: any Channel
    /// Set by ``SessionGuard`` and ``APIGuard`` alone.
    var viewer: Viewer?

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
        address = source.channel.remoteAddress?.ipAddress ?? "-"
    }
}

/// Whose values a page shows: the person that the address names, of those that the viewer may see.
struct Choice: Sendable {
    let viewer: Viewer
    let persons: [Welcome.PersonEntry]
    /// `nil` where there is none at all.
    private(set) var person: Welcome.PersonEntry?
    /// What a form of this viewer's has done, told once.
    let notice: HTML?

    /// - Throws: `NoSuchPage` for a person that there is not, and in the same words for one that this viewer may not see.
    init(_ request: Request, _ visit: Visit, _ parts: WebParts) throws {
        guard let viewer = visit.viewer else { throw NoSuchPage() }
        self.viewer = viewer
        persons = viewer.persons(parts.persons)
        if let name = request.uri.queryParameters["person"].map(String.init) {
            guard let person = persons.named(name) else { throw NoSuchPage() }
            self.person = person
        } else {
            person = persons.first
        }
        // What a page asks for by itself no one reads before the page that they see next.
        let isSeen = request.method == .get && request.headers[.background] == nil
        notice = isSeen ? parts.notices.take(of: viewer) : nil
    }

    /// The same for the person whose a record is; without one where it belongs to no person.
    func with(_ record: StoredRecord) -> Choice {
        var choice = self
        choice.person = record.assignment.person.flatMap { owner in persons.first { $0.name == owner.name } }
        return choice
    }

    /// The shown name of a record's person; nil if it has none.
    func owner(_ record: StoredRecord) -> String? { record.assignment.person.map { shownName($0.name) } }

    /// The shown name of a person; a person that `hub.conf` has no longer keeps the plain name.
    func shownName(_ name: String) -> String { persons.first { $0.name == name }?.shownName ?? name }

    /// The same for what belongs to no person.
    var withoutPerson: Choice {
        var choice = self
        choice.person = nil
        return choice
    }

    /// How values of the chosen person are read, and of no person's what all persons have in common.
    var reader: Reader {
        if let person { return person.reader }
        let readers = persons.map(\.reader.unnamed)
        guard let first = readers.first, readers.allSatisfy({ $0 == first }) else {
            return Reader(zone: .current)
        }
        return first
    }
}

extension HTTPField.Name {
    /// Of what a script asks for, without a person.
    fileprivate static let background = HTTPField.Name("X-Background")!
}

struct NoSuchPage: Error {}

/// Lets in the owner alone; for all others it is as if there were nothing here.
struct OwnersGuard: RouterMiddleware {
    func handle(
        _ request: Request, context: Visit, next: (Request, Visit) async throws -> Response
    ) async throws -> Response {
        guard context.viewer?.isOwner == true else { throw NoSuchPage() }
        return try await next(request, context)
    }
}
