import Foundation
import HTTPTypes
import HealthText
import Hummingbird
import NIOCore
import PluginKit

/// All addresses of the site.
struct Site: Sendable {
    private let parts: WebParts
    init(_ parts: WebParts) { self.parts = parts }

    var responder: RouterResponder<WebRequestContext> {
        let router = Router(context: WebRequestContext.self, options: .autoGenerateHeadEndpoints)
        router.add(middleware: RequestMeter(registry: parts.metrics))
        router.add(middleware: ErrorPages(hub: parts.hub, settings: parts.settings))
        router.add(middleware: HostGuard(settings: parts.settings))
        router.add(middleware: MethodGuard())
        for asset in Asset.all { router.get(RouterPath(asset.path)) { _, _ in asset.response } }
        let metrics = MetricsArea(parts: parts)
        metrics.addProbes(to: router)
        let logIn = LogInPages(parts: parts, attempts: LogInRateLimit())
        router.get("/login") { _, visit in logIn.advice(visit.route) }
        router.get("/login/:link") { _, visit in
            try logIn.question(visit.parameters.get("link") ?? "", visit.route)
        }
        router.post("/login") { request, visit in try await logIn.answer(request, visit) }
        guard !parts.isFirstSetup else {
            addFirstSetup(to: router, logIn)
            return router.buildResponder()
        }
        let turns = FairTurns(turns: VisitorConcurrencyLimit())
        let programs = router.group().add(middleware: APIGuard(parts: parts, attempts: LogInRateLimit())).add(
            middleware: turns)
        API(parts: parts).add(to: router, inside: programs)
        metrics.add(to: programs.group().add(middleware: OwnersGuard()))
        let inside = router.group().add(middleware: SessionGuard(parts: parts)).add(middleware: turns)
        inside.post("/logout") { request, visit in try await logIn.end(request, visit) }
        addPages(to: inside)
        addOwnersPages(to: inside.group().add(middleware: OwnersGuard()))
        return router.buildResponder()
    }

    /// Adds the one page of a hub without `hub.conf`.
    private func addFirstSetup(to router: Router<WebRequestContext>, _ logIn: LogInPages) {
        let inside = router.group().add(middleware: SessionGuard(parts: parts)).add(
            middleware: FairTurns(turns: VisitorConcurrencyLimit())
        ).add(middleware: OwnersGuard())
        inside.post("/logout") { request, visit in try await logIn.end(request, visit) }
        let page = FirstSetupPage(parts: parts)
        inside.get("/") { request, visit in try await page.show(request, visit) }
        inside.post("/") { request, visit in try await page.answer(request, visit) }
    }

    // MARK: - Pages

    /// Adds the pages for every logged-in viewer, and their forms.
    private func addPages(to router: some RouterMethods<WebRequestContext>) {
        show("/", router) { choice, request, _ in try await TodayPage(parts: parts).response(request, choice) }
        show("/data", router) { choice, request, _ in try await DataPage(parts: parts).response(request, choice) }
        show("/types/:type", router) { choice, request, visit in
            try await TypePage(parts: parts).response(visit.parameters.get("type") ?? "", request, choice)
        }
        let (entry, record) = (EntryPage(parts: parts), RecordDetailPage(parts: parts))
        let (edit, removal) = (EditPage(parts: parts), RemovalPage(parts: parts))
        router.get("/add") { request, visit in try entry.show(request, visit) }
        router.post("/add") { request, visit in try await entry.save(request, visit) }
        router.get("/records/:number") { request, visit in try await record.show(request, visit) }
        router.get("/records/:number/edit") { request, visit in try await edit.show(request, visit) }
        router.post("/records/:number/edit") { request, visit in try await edit.save(request, visit) }
        router.post("/records/:number/confirm") { request, visit in try await edit.confirm(request, visit) }
        router.get("/records/:number/delete") { request, visit in try await removal.ask(request, visit) }
        router.post("/records/:number/delete") { request, visit in try await removal.remove(request, visit) }
        router.post("/records/:number/undo") { request, visit in try await removal.undo(request, visit) }
        let preferences = PreferencesPage(parts: parts)
        show("/preferences", router) { choice, _, _ in try await preferences.show(choice) }
        router.post("/preferences") { request, visit in try await preferences.save(request, visit) }
    }

    /// Adds the pages for the owner, and their forms.
    private func addOwnersPages(to router: some RouterMethods<WebRequestContext>) {
        let (hub, assigning, users) = (parts.hub, AssignmentActions(parts: parts), ScaleUsersPage(parts: parts))
        show("/inbox", router) { choice, _, _ in try await InboxPage(parts: parts).show(choice) }
        router.post("/inbox/assign") { request, visit in try await assigning.assign(request, visit) }
        router.post("/inbox/delete") { request, visit in try await assigning.delete(request, visit) }
        router.post("/inbox/restore") { request, visit in try await assigning.restore(request, visit) }
        show("/devices", router) { choice, _, _ in try await DevicesPage(hub: hub).response(choice) }
        router.get("/devices/:instance/users") { request, visit in try await users.show(request, visit) }
        router.post("/devices/:instance/users") { request, visit in try await users.change(request, visit) }
        let replay = ReplayPages(parts: parts)
        show("/deliveries", router) { choice, _, _ in try await DeliveriesPage(hub: hub).response(choice) }
        show("/deliveries/sink", router) { choice, request, _ in
            try await SinkPage(hub: hub).response(request.uri.queryParameters["name"], choice)
        }
        show("/deliveries/replay", router) { choice, request, _ in try await replay.plan(request, choice) }
        router.post("/deliveries/replay") { request, visit in try await replay.run(request, visit) }
        router.get("/deliveries/record") { request, _ in try DeliveriesPage.record(request) }
        addPlugins(to: router)
        let setup = SetupPage(parts: parts)
        show("/setup", router) { choice, _, _ in try await setup.response(choice) }
        router.post("/setup") { request, visit in
            let choice = try SelectedPerson(request, visit, parts)
            return try await setup.plan(try await WebForm.read(request, visit).0, choice)
        }
        router.post("/setup/save") { request, visit in
            let choice = try SelectedPerson(request, visit, parts)
            let form = try await WebForm.read(request, visit).0
            return try await SectionChanges(parts: parts).save(form, choice, from: "/setup")
        }
        show("/system", router) { choice, _, _ in try await SystemPage(parts: parts).response(choice) }
    }

    /// Adds the page Plugins and a page for each instance, with their forms.
    private func addPlugins(to router: some RouterMethods<WebRequestContext>) {
        let (hub, logIns, deeds) = (parts.hub, PluginLogIns(parts: parts), PluginFormActions(parts: parts))
        show("/plugins", router) { choice, _, _ in try await PluginsPage(hub: hub).response(choice) }
        show("/plugins/:instance", router) { choice, _, visit in
            try await PluginPage(hub: hub).response(visit.parameters.get("instance"), choice)
        }
        show("/plugins/:instance/logs", router) { choice, _, visit in
            try await PluginLogs(hub: hub).response(visit.parameters.get("instance"), choice)
        }
        router.get("/plugins/:instance/logs/lines") { request, visit in
            try await PluginLogs(hub: hub).lines(visit.parameters.get("instance"), request)
        }
        show("/plugins/:instance/login", router) { choice, _, visit in
            try await logIns.response(visit.parameters.get("instance"), choice)
        }
        post("login", router, logIns.begin)
        post("login/answer", router, logIns.answer)
        post("login/cancel", router, logIns.cancel)
        post("restart", router, deeds.restart)
        post("release", router, deeds.release)
        post("do/:command", router, deeds.carryOut)
        post("change", router, deeds.change)
        post("save", router, deeds.save)
        show("/apply", router) { choice, _, _ in try await deeds.plan(choice) }
        router.post("/apply") { request, visit in
            _ = try await WebForm.read(request, visit)
            return try await deeds.apply(SelectedPerson(request, visit, parts))
        }
    }

    /// Adds a page that shows something of the person in its address, or for them.
    private func show(
        _ path: RouterPath, _ router: some RouterMethods<WebRequestContext>,
        _ page: @escaping @Sendable (SelectedPerson, Request, WebRequestContext) async throws -> Response
    ) {
        router.get(path) { request, visit in try await page(SelectedPerson(request, visit, parts), request, visit) }
    }

    /// Adds the handler of a form of an instance's page.
    private func post(
        _ path: String, _ router: some RouterMethods<WebRequestContext>,
        _ deed: @escaping @Sendable (PluginFormRequest) async throws -> Response
    ) {
        router.post(RouterPath("/plugins/:instance/\(path)")) { request, visit in
            let choice = try SelectedPerson(request, visit, parts)
            let (form, _) = try await WebForm.read(request, visit)
            guard let instance = visit.parameters.get("instance"), PeerName.isValid(instance) else {
                throw noSuchPage
            }
            return try await deed(
                PluginFormRequest(
                    instance: instance, command: visit.parameters.get("command") ?? "", form: form, choice: choice))
        }
    }
}

/// A request with its peer, connection, way and viewer.
struct WebRequestContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let peer: RequestPeer
    let channel: any Channel
    var route = RequestRoute()
    /// Only ``SessionGuard`` and ``APIGuard`` set it.
    var viewer: Viewer?

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
        peer = RequestPeer(channel)
    }
}

/// The person whose values a page shows: the one in the address, among those that the viewer may see.
struct SelectedPerson: Sendable {
    let viewer: Viewer
    let base: BasePath
    let persons: [Welcome.PersonEntry]
    /// Nil if there are no persons.
    private(set) var person: Welcome.PersonEntry?
    /// The result of this viewer's last form, shown once.
    let notice: HTML?

    /// - Throws: ``noSuchPage``, both for an unknown person and for one that this viewer may not see.
    init(_ request: Request, _ visit: WebRequestContext, _ parts: WebParts) throws {
        guard let viewer = visit.viewer else { throw noSuchPage }
        (self.viewer, base) = (viewer, visit.route.base)
        persons = viewer.persons(parts.persons)
        if let name = request.uri.queryParameters["person"].map(String.init) {
            guard let person = persons.named(name) else { throw noSuchPage }
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

/// Admits only the owner; others get the answer for an unknown address.
struct OwnersGuard: RouterMiddleware {
    func handle(
        _ request: Request, context: WebRequestContext, next: (Request, WebRequestContext) async throws -> Response
    ) async throws -> Response {
        guard context.viewer?.isOwner == true else { throw noSuchPage }
        return try await next(request, context)
    }
}

extension Request {
    /// A query parameter of the address; nil if it is missing or empty.
    func field(_ name: String) -> String? {
        uri.queryParameters[name[...]].map(String.init).flatMap { $0.isEmpty ? nil : $0 }
    }
}
