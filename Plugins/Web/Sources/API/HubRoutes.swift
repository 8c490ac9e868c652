import Hummingbird
import JSON
import PluginKit

/// Routes for the hub, its plugins and deliveries; only for the owner.
enum HubRoutes {
    static let all: [APIRoute] = [
        .get(
            "/status", "How the hub, its plugins, sinks and devices are.", isOwners: true,
            answer: .init("What hub status --json prints.", Schemas.ref("status"))
        ) { call in .json(try await call.parts.hub.ask(.status).bytes) },
        .get(
            "/plugins", "What hub.conf and the manifests say of the plugins.", isOwners: true,
            answer: .init(
                "What hub plugins --json prints.", Schemas.object([("plugins", Schemas.list(Schemas.ref("plugin")))]))
        ) { call in
            .json(Array(#"{"plugins":"#.utf8) + (try await call.parts.hub.ask(.plugins).bytes) + Array("}".utf8))
        },
        .get(
            "/plugins/{name}", "How one plugin is.", isOwners: true, [Parameters.plugin],
            answer: .init("Its entry in status.", Schemas.ref("plugin-status"))
        ) { call in .json(try await call.pluginStatus()) },
        .get(
            "/plugins/{name}/logs", "The last lines of a plugin's log.", isOwners: true,
            [
                Parameters.plugin, Parameters.limit(1_000, "Lines; not given: 200."),
                APIParameter(name: "from", form: .time, help: "Only lines from then on."),
            ], answer: .init("What hub logs --json is made of.", Schemas.ref("logs"))
        ) { call in
            _ = try await call.pluginStatus()
            var query = QueryRequest(id: 0, want: .logs, limit: call.integer("limit"))
            (query.instance, query.filter.from) = (call.text("name"), call.time("from"))
            return try await call.answer(query)
        },
        .command(
            OwnCommands.Restart.self, at: "/plugins/{name}/restart", "Ends a plugin's process, and starts it again.",
            [Parameters.plugin], answer: "The plugin's state before that."
        ) { call in try await call.carryOut(OwnCommands.Restart.self, try await call.instance()) },
        .command(
            OwnCommands.Release.self, at: "/plugins/{name}/release", "Starts a plugin that is quarantined or waits.",
            [Parameters.plugin], answer: "The plugin's state before that."
        ) { call in try await call.command(OwnCommands.Release.self, try await call.instance()) },
        configure(
            at: "/plugins/{name}/configure",
            "Writes settings of a plugin into hub.conf, such as whether it is enabled, and applies them.",
            [Parameters.plugin], isOfPlugin: true
        ) { call in
            _ = try await call.pluginStatus()
            return .plugin(call.text("name") ?? "")
        },
        .post(
            "/plugins/{name}/do/{command}", "Runs a command of a plugin, as its manifest declares it.",
            [Parameters.plugin, Parameters.command, Parameters.dryRun], body: ["type": "object"],
            answer: .init("The plugin's answer: any JSON value.", [:]), handle: askPlugin),
        configure(
            at: "/persons/{person}/configure",
            "Writes settings of a person into hub.conf, adding the person if needed, and applies them.",
            [Parameters.configuredPerson]
        ) { call in .person(call.text("person") ?? "") },
        configure(at: "/hub/configure", "Writes settings of the house into hub.conf, and applies them.") { _ in .hub },
        .command(
            OwnCommands.Apply.self, "Reads hub.conf again, and applies it.", answer: "The changes, and the problems."
        ) { call in try await call.carryOut(OwnCommands.Apply.self) },
        .get(
            "/deliveries", "Which records each sink has.", isOwners: true,
            answer: .init("The sinks of status.", Schemas.object([("sinks", Schemas.list(Schemas.ref("sink")))]))
        ) { call in
            let sinks = JSONTree(try await call.parts.hub.ask(.status).bytes)?["sinks"] ?? []
            return .json(["sinks": sinks])
        },
        .command(
            OwnCommands.Replay.self, "Delivers records to a sink again.", answer: "How many to which sink."
        ) { call in try await call.command(OwnCommands.Replay.self, try await call.arguments()) },
        .get("/openapi.json", "This description.", answer: .init("OpenAPI 3.1.", ["type": "object"])) { call in
            .json(OpenAPIDocument.document(for: call.visit.route.cookie))
        },
    ]

    /// An address that runs `configure`; the body has the arguments that the address does not give.
    ///
    /// - Parameters:
    ///   - isOfPlugin: whether the section can be enabled.
    ///   - section: the section that the address names.
    private static func configure(
        at path: String, _ summary: String, _ parameters: [APIParameter] = [], isOfPlugin: Bool = false,
        of section: @escaping @Sendable (APICall) async throws -> ChangedSection
    ) -> APIRoute {
        let given = ["instance", "person", "hub"] + (isOfPlugin ? [] : ["enabled"])
        let names = OwnCommands.Configure.declaration.arguments.map(\.name).filter { !given.contains($0) }
        return .command(
            OwnCommands.Configure.self, at: path, summary, parameters,
            body: Schemas.object(
                names.map { ($0, Schemas.ref("configure/$defs/args/properties/\($0)")) }, optional: Set(names),
                isClosed: true), answer: "The changes and the hub's next steps; if applied is false, the reason."
        ) { call in try await call.configure(try await section(call)) }
    }

    @Sendable private static func askPlugin(_ call: APICall) async throws -> Response {
        let (name, command) = (call.text("name") ?? "", call.text("command") ?? "")
        // A token made by another token, here or at another page of this hub, would outlive that token's revocation.
        guard try await call.pluginStatus()["kind"]?.text != Web.manifest.name else {
            throw RequestRefusal(
                .forbidden, "The page's own log-ins and tokens are not made here",
                "name: hub web makes and ends them, in a terminal.", member: "name")
        }
        do {
            return try await call.command(command, of: name, try await call.arguments())
        } catch let failure as CommandFailure where failure.code == "ask" {
            var refusal = RequestRefusal(
                .unprocessableContent, "This asks a person",
                "command: \(failure.message) Do it on the page of \(name), with hub do \(name) \(command), or at /plugins/\(name)/login.",
                member: "command")
            refusal.code = failure.code
            throw refusal
        }
    }
}

extension APICall {
    /// Runs a hub command that may end this program.
    fileprivate func carryOut(
        _ command: (some OwnCommand).Type, _ arguments: [String: SettingValue] = [:]
    ) async throws -> Response {
        if truth("dryRun") { return try await self.command(command, arguments) }
        return try await parts.carryOut(command, arguments, for: viewer) { _, json, _ in .json(json.bytes) }
    }

    /// Writes into the section of `hub.conf` that the address names.
    fileprivate func configure(_ section: ChangedSection) async throws -> Response {
        var arguments = try await arguments()
        if let other = ["instance", "person", "hub"].first(where: { arguments[$0] != nil }) {
            throw RequestRefusal(
                .badRequest, "The body says whose section it is", "\(other): the address says it; leave it out.",
                member: other)
        }
        arguments[section.argument.name] = section.argument.value
        return try await carryOut(OwnCommands.Configure.self, arguments)
    }

    /// The argument that names the plugin of the address.
    ///
    /// - Throws: ``noSuchPage`` if hub.conf does not name it.
    fileprivate func instance() async throws -> [String: SettingValue] {
        _ = try await pluginStatus()
        return ["instance": .string(text("name") ?? "")]
    }

    /// The status of the plugin that the address names.
    ///
    /// - Throws: ``noSuchPage`` if hub.conf does not name it.
    fileprivate func pluginStatus() async throws -> JSONTree {
        let plugins = JSONTree(try await parts.hub.ask(.status).bytes)?["plugins"]?.list ?? []
        guard let plugin = plugins.first(where: { $0["name"]?.text == text("name") }) else { throw noSuchPage }
        return plugin
    }
}
