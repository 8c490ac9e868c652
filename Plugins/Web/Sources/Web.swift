import HTTPServing
import PluginKit

/// Pages for a browser: what the hub holds, and how it and its plugins are.
@main
struct Web: Plugin {
    static let manifest = Manifest(
        name: "web", summary: "Pages for the browser: your values, your people, your plugins.", version: "1.0",
        reads: ["*"], writes: ["*"], settings: WebSettings.declarations, reaches: [.network, .listening],
        owner: [
            .status, .plugins, .persons, .accounts, .trace, .logs, .log, .edit, .retract, .assign, .apply,
            .configure, .restart, .release, .replay, .logout, .commands,
        ])

    static let commands: [Command<Self>] = [
        Command(
            "link", help: "Makes a link by which a browser logs in, once, within ten minutes.",
            arguments: [
                .init("person", .string(), help: "Who sees their own values alone; not set: the owner, who sees all.")
            ]
        ) { plugin, call in
            try await plugin.parts(call.hub).link(for: call.arguments["person"]?.string)
        },
        Command("sessions", help: "Lists the browsers that are logged in.") { plugin, call in
            try await plugin.parts(call.hub).sessions()
        },
        Command(
            "end", help: "Logs browsers out.",
            arguments: [
                .init("session", .string(), help: "The session, as the list shows it; not set: all of them.")
            ]
        ) { plugin, call in
            let session = call.arguments["session"]?.string
            return ["ended": try await plugin.parts(call.hub).access.end(named: session)]
        },
    ]

    /// How patient it is; a test has less time.
    var patience = PatienceLimits()

    private let holder = Holder()

    private actor Holder {
        private var made: WebParts?

        func parts(_ hub: PluginContext) throws -> WebParts {
            if let made { return made }
            let parts = WebParts(hub, try WebSettings(hub.settings))
            made = parts
            return parts
        }
    }

    private func parts(_ hub: PluginContext) async throws -> WebParts { try await holder.parts(hub) }

    func run(_ hub: PluginContext) async throws {
        let parts = try await parts(hub)
        let listening = parts.settings.listening
        let door = HTTPDoor(
            listening, hub: hub, responder: Site(parts).responder, patience: patience, connections: 64)
        try await withThrowingTaskGroup(of: Void.self) { group in
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

/// What the parts of a running plugin share.
struct WebParts: Sendable {
    let hub: PluginContext
    let settings: WebSettings
    let access: AccessBook
    let notices = NoticeBook()
    var reader: HealthReader { HealthReader(hub: hub) }
    /// By the machine's clock, in microseconds since 1970: log-ins end by it, also where a hub's month passes in a minute.
    var now: Int64 { HubClock.system.now() }

    init(_ hub: PluginContext, _ settings: WebSettings) {
        (self.hub, self.settings) = (hub, settings)
        access = AccessBook(hub.state)
    }

    /// - Throws: `CommandFailure` where there is no such person.
    func link(for person: String?) async throws -> WebLink {
        let persons = hub.persons.map(\.name)
        if let person, !persons.contains(person) {
            let there = persons.isEmpty ? "it has none: add a section [person.NAME]" : persons.joined(separator: ", ")
            throw CommandFailure("person", "person: hub.conf has no \(person) for this plugin; it has \(there)")
        }
        let (secret, until) = try await access.makeLink(for: person, at: now)
        return WebLink(
            url: "\(settings.listening.address)/login/\(secret)", person: person,
            until: Timestamp(microseconds: until).text)
    }

    func sessions() async throws -> [WebSession] {
        try await access.sessions(at: now).map { name, grant in
            WebSession(
                session: name, person: grant.person, since: Timestamp(microseconds: grant.made).text,
                until: Timestamp(microseconds: grant.until).text)
        }
    }
}

/// A way in, as `hub web` shows it.
struct WebLink: Codable, Sendable {
    let url: String
    /// Absent for the owner.
    let person: String?
    /// RFC 3339.
    let until: String
}

/// A browser that is logged in.
struct WebSession: Codable, Sendable {
    let session: String
    /// Absent for the owner.
    let person: String?
    /// RFC 3339.
    let since, until: String
}
