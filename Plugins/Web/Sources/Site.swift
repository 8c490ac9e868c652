import Foundation
import HTTPTypes
import HealthText
import Hummingbird
import NIOCore
import PluginKit

/// A part of the site: pages and their forms.
protocol SiteArea: Sendable {
    /// Adds its addresses to a router that admits only logged-in viewers.
    func add(to router: some RouterMethods<WebRequestContext>)
}

/// All addresses of the site.
struct Site: Sendable {
    private let parts: WebParts
    init(_ parts: WebParts) { self.parts = parts }

    private var areas: [any SiteArea] {
        [ReadingArea(parts: parts), RecordsArea(parts: parts), PreferencesArea(parts: parts)]
    }

    private var ownersAreas: [any SiteArea] {
        [
            InboxArea(parts: parts), DevicesArea(parts: parts), DeliveriesArea(parts: parts), PluginsArea(parts: parts),
            SetupArea(parts: parts), SystemArea(parts: parts),
        ]
    }

    var responder: RouterResponder<WebRequestContext> {
        let router = Router(context: WebRequestContext.self, options: .autoGenerateHeadEndpoints)
        router.add(middleware: RequestMeter(registry: parts.metrics))
        router.add(middleware: ErrorPages(hub: parts.hub))
        router.add(middleware: HostGuard(settings: parts.settings))
        router.add(middleware: MethodGuard())
        for asset in Asset.all { router.get(RouterPath(asset.path)) { _, _ in asset.response } }
        let metrics = MetricsArea(parts: parts)
        metrics.addProbes(to: router)
        let logIn = LogInPages(parts: parts, attempts: LogInRateLimit())
        router.get("/login") { _, _ in logIn.advice }
        router.get("/login/:link") { _, visit in try logIn.question(visit.parameters.get("link") ?? "") }
        router.post("/login") { request, visit in try await logIn.answer(request, visit) }

        let turns = FairTurns(turns: VisitorConcurrencyLimit())
        let programs = router.group().add(middleware: APIGuard(parts: parts, attempts: LogInRateLimit())).add(
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

/// A request with its address, connection and viewer.
struct WebRequestContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let address: String
    let channel: any Channel
    /// Only ``SessionGuard`` and ``APIGuard`` set it.
    var viewer: Viewer?

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
        address = source.channel.remoteAddress?.ipAddress ?? "-"
    }
}

/// The person whose values a page shows: the one in the address, among those that the viewer may see.
struct SelectedPerson: Sendable {
    let viewer: Viewer
    let persons: [Welcome.PersonEntry]
    /// Nil if there are no persons.
    private(set) var person: Welcome.PersonEntry?
    /// The result of this viewer's last form, shown once.
    let notice: HTML?

    /// - Throws: `NoSuchPage`, both for an unknown person and for one that this viewer may not see.
    init(_ request: Request, _ visit: WebRequestContext, _ parts: WebParts) throws {
        guard let viewer = visit.viewer else { throw NoSuchPage() }
        self.viewer = viewer
        persons = viewer.persons(parts.persons)
        if let name = request.uri.queryParameters["person"].map(String.init) {
            guard let person = persons.named(name) else { throw NoSuchPage() }
            self.person = person
        } else {
            person = persons.first
        }
        // Background requests must not take the notice, because no one reads their answers.
        let isSeen = request.method == .get && request.headers[.background] == nil
        notice = isSeen ? parts.notices.take(of: viewer) : nil
    }

    /// The choice for the person of a record; without a person if the record has none.
    func with(_ record: StoredRecord) -> SelectedPerson {
        var choice = self
        choice.person = record.assignment.person.flatMap { owner in persons.first { $0.name == owner.name } }
        return choice
    }

    /// The shown name of a record's person; nil if it has none.
    func owner(_ record: StoredRecord) -> String? { record.assignment.person.map { shownName($0.name) } }

    /// The shown name of a person; a person removed from `hub.conf` keeps the plain name.
    func shownName(_ name: String) -> String { persons.first { $0.name == name }?.shownName ?? name }

    /// The choice without a person.
    var withoutPerson: SelectedPerson {
        var choice = self
        choice.person = nil
        return choice
    }

    /// The chosen person's preferences; without a person, the preferences that all persons share.
    var reader: DisplayPreferences {
        if let person { return person.reader }
        let readers = persons.map(\.reader.unnamed)
        guard let first = readers.first, readers.allSatisfy({ $0 == first }) else {
            return DisplayPreferences(zone: .current)
        }
        return first
    }
}

extension HTTPField.Name {
    /// Sent by scripts, for requests without a person's action.
    fileprivate static let background = HTTPField.Name("X-Background")!
}

struct NoSuchPage: Error {}

/// Admits only the owner; others get the answer for an unknown address.
struct OwnersGuard: RouterMiddleware {
    func handle(
        _ request: Request, context: WebRequestContext, next: (Request, WebRequestContext) async throws -> Response
    ) async throws -> Response {
        guard context.viewer?.isOwner == true else { throw NoSuchPage() }
        return try await next(request, context)
    }
}
