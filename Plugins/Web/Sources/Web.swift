import HTTPServing
import PluginKit

/// Web pages and an API for the hub's records and for the state of the hub and its plugins.
@main struct Web: Plugin {
    static let manifest = Manifest(
        name: "web", summary: "Pages for the browser: your values, your people, your plugins.",
        version: ProductVersion.current, reads: ["*"], writes: ["*"], settings: WebSettings.declarations,
        reaches: [.network, .listening],
        owner: [
            .status, .plugins, .trace, .logs, .log, .edit, .retract, .assign, .apply, .configure, .restart, .release,
            .replay, .commands,
        ])

    static let commands: [Command<Self>] = [
        Command(
            "link", help: "Makes a link by which a browser logs in, once, within ten minutes.",
            arguments: [
                .init(
                    "person", .string(),
                    help: "A person, for access to their own values alone; not set: the owner, with access to all.")
            ]
        ) { plugin, call in try await plugin.parts(call.hub).link(for: call.arguments["person"]?.string) },
        Command("sessions", help: "Lists the browsers that are logged in.") { plugin, call in
            try await plugin.parts(call.hub).sessions()
        },
        Command(
            "end", help: "Logs browsers out.",
            arguments: [.init("session", .string(), help: "The session, as the list shows it; not set: all of them.")]
        ) { plugin, call in return try await plugin.parts(call.hub).end(call.arguments["session"]?.string) },
        Command(
            "token-new", help: "Makes a token by which a program uses the API.",
            arguments: [
                .init("name", .string(), help: "Its name in the list."),
                .init(
                    "scope", .choice(Scope.allCases.map(\.rawValue)),
                    help: "read: see; write: also enter, edit and take back; manage: also the owner's actions.",
                    default: .string("read")),
                .init("person", .string(), help: "Only the values of this person; not set: everybody's."),
            ]
        ) { plugin, call in
            try await plugin.parts(call.hub).makeToken(
                try call.arguments.text("name"), Scope(rawValue: try call.arguments.text("scope")) ?? .read,
                for: call.arguments["person"]?.string)
        },
        Command("token-list", help: "Lists the tokens, without their secrets.") { plugin, call in
            try await plugin.parts(call.hub).tokens()
        },
        Command(
            "token-revoke", help: "Ends a token.", arguments: [.init("name", .string(), help: "As the list shows it.")]
        ) { plugin, call in try await plugin.parts(call.hub).revoke(try call.arguments.text("name")) },
    ]

    /// Time limits; tests use shorter ones.
    var patience = TimeoutLimits()

    private let made = LazyValue<WebParts>()

    /// The parts, made once: two callers would make two names, and keep the one that the page does not use.
    private func parts(_ hub: PluginContext) async throws -> WebParts {
        try await made.value {
            let name = try await PageName.kept(in: hub.state)
            return try WebParts(hub, WebSettings(hub.settings, name: name))
        }
    }

    func run(_ hub: PluginContext) async throws {
        let parts = try await parts(hub)
        try await parts.preferences.read()
        let listening = parts.settings.listening
        for name in parts.settings.goals.persons.sorted() where hub.persons.named(name) == nil {
            hub.logger.warning("a goal of no person that this plugin may read", metadata: ["person": "\(name)"])
        }
        for name in parts.settings.proxies.persons.sorted() where hub.persons.named(name) == nil {
            hub.logger.warning(
                "a proxy's user of no person that this plugin may read", metadata: ["person": "\(name)"])
        }
        let door = PluginHTTPServer(
            listening, hub: hub, responder: Site(parts).responder, patience: patience, connections: 512,
            ofBothLoopbacks: true, socket: parts.settings.proxies.socket)
        try await withThrowingTaskGroup(of: Void.self) { group in
            if !parts.isFirstSetup { group.addTask { try await parts.events.run() } }
            group.addTask {
                try await door.run { port in
                    hub.logger.info("waiting for browsers", metadata: ["host": "\(listening.host)", "port": "\(port)"])
                    if let event = try? DeviceEvent("connected") { await hub.event(event) }
                }
            }
            group.addTask { await hub.untilStopped() }
            try await group.next()
            group.cancelAll()
        }
    }

    func judge(_ settings: PluginSettings) throws { _ = try WebSettings(settings) }

    func check(_ hub: CheckContext) async throws -> String {
        "The page is at \(try WebSettings(hub.settings).listening.address); hub web makes a link to log in."
    }
}

/// The parts that a running plugin shares.
struct WebParts: Sendable {
    let hub: PluginContext
    let settings: WebSettings
    let access: AccessStore
    let notices = NoticeStore()
    let pending = PendingChanges()
    let preferences: PreferenceStore
    /// The persons that `hub.conf` gives to this page, with their chosen units.
    var persons: [Welcome.PersonEntry] { hub.persons.map(preferences.applied) }
    /// Metrics of this plugin.
    let metrics = MetricRegistry(MetricCatalogue.web)
    let events: EventFeed
    let seats = ListenerLimit()
    let logIns = LogInSessions()
    var reader: HealthReader { HealthReader(hub: hub) }
    /// Whether there is no `hub.conf` yet; only then does the hub grant this right.
    var isFirstSetup: Bool { hub.ownerRights.contains(.setup) }
    /// The machine's time in microseconds since 1970, which limits log-ins even if a test hub's clock runs faster.
    var now: Int64 { HubClock.system.now() }

    init(_ hub: PluginContext, _ settings: WebSettings) {
        (self.hub, self.settings) = (hub, settings)
        access = AccessStore(hub.state)
        preferences = PreferenceStore(hub.state)
        events = EventFeed(hub, access, preferences)
    }

    /// - Throws: `CommandFailure` if there is no such person.
    private func known(_ typed: String?) throws -> String? {
        guard let typed else { return nil }
        if let person = hub.persons.named(typed) { return person.name }
        throw CommandFailure(
            "person", "person: hub.conf has no \(typed) for this plugin; \(hub.persons.advice(on: typed))")
    }

    /// - Throws: `CommandFailure` if there is no such person.
    func link(for person: String?) async throws -> WebLink {
        let person = try known(person)
        let (secret, until) = try await access.makeLink(for: person, at: now)
        return WebLink(
            url: "\(settings.linkAddress)/login/\(secret)",
            plain: settings.plainAddress.map { "\($0)/login/\(secret)" }, person: person,
            until: Timestamp(microseconds: until).text)
    }

    func sessions() async throws -> [WebSession] {
        try await access.sessions(at: now).map { name, grant in
            WebSession(
                session: name, person: grant.person, user: grant.proxyUser,
                since: Timestamp(microseconds: grant.made).text,
                until: Timestamp(microseconds: grant.until).text)
        }
    }
}

extension WebParts {
    /// Logs browsers out.
    func end(_ session: String?) async throws -> [String: Int] {
        let ended = try await access.end(named: session)
        for hash in ended { await events.end(hash) }
        return ["ended": ended.count]
    }

    /// - Throws: `CommandFailure` for a used name, an unknown person, or the scope manage with a person.
    func makeToken(_ name: String, _ scope: Scope, for person: String?) async throws -> WebToken {
        let person = try known(person)
        guard scope != .manage || person == nil else {
            throw CommandFailure("scope", "scope: manage is for the owner; leave --person out")
        }
        let token = try await access.makeToken(name, scope, for: person, at: now)
        return WebToken(
            name: name, scope: scope, person: person, since: Timestamp(microseconds: now).text, token: token.text)
    }

    func tokens() async throws -> [WebToken] {
        try await access.tokens().map { grant in
            WebToken(
                name: grant.name ?? "", scope: grant.scope ?? .read, person: grant.person,
                since: Timestamp(microseconds: grant.made).text, token: nil)
        }
    }

    func revoke(_ name: String) async throws -> [String: String] {
        await events.end(try await access.revoke(name))
        return ["revoked": name]
    }
}

/// A token, as `hub web token` shows it.
struct WebToken: Codable, Sendable {
    let name: String
    let scope: Scope
    /// Absent for the owner.
    let person: String?
    /// In the form of RFC 3339.
    let since: String
    /// Shown once, when the token is made.
    let token: String?
}

/// A log-in link, as `hub web` shows it.
struct WebLink: Codable, Sendable {
    let url: String
    /// The link for a browser that cannot resolve the name in `url`.
    let plain: String?
    /// Absent for the owner.
    let person: String?
    /// In the form of RFC 3339.
    let until: String
}

/// A logged-in browser.
struct WebSession: Codable, Sendable {
    let session: String
    /// Absent for the owner.
    let person: String?
    /// The user of a proxy; absent for a log-in with a link.
    let user: String?
    /// In the form of RFC 3339.
    let since, until: String
}
