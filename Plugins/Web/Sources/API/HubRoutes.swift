import Hummingbird
import JSON
import PluginKit

/// Routes for the hub, its plugins and deliveries; only for the owner.
enum HubRoutes {
    static let all: [APIRoute] = [
        APIRoute(
            method: .get, path: "/status", topic: "Hub", summary: "How the hub, its plugins, sinks and devices are.",
            isOwners: true, answer: .init(help: "What hub status --json prints.", schema: Schemas.ref("status")),
            handle: { call in .json(try await call.parts.hub.ask(.status).bytes) }),
        APIRoute(
            method: .get, path: "/plugins", topic: "Hub",
            summary: "What hub.conf and the manifests say of the plugins.", isOwners: true,
            answer: .init(
                help: "What hub plugins --json prints.",
                schema: Schemas.object([("plugins", Schemas.list(Schemas.ref("plugin")))])),
            handle: { call in
                .json(Array(#"{"plugins":"#.utf8) + (try await call.parts.hub.ask(.plugins).bytes) + Array("}".utf8))
            }),
        APIRoute(
            method: .get, path: "/plugins/{name}", topic: "Hub", summary: "How one plugin is.", isOwners: true,
            parameters: [Parameters.plugin],
            answer: .init(help: "Its entry in status.", schema: Schemas.ref("plugin-status")),
            handle: { call in .json(try await call.pluginStatus()) }),
        APIRoute(
            method: .get, path: "/plugins/{name}/logs", topic: "Hub", summary: "The last lines of a plugin's log.",
            isOwners: true,
            parameters: [
                Parameters.plugin, Parameters.limit(1_000, "Lines; not given: 200."),
                APIParameter(name: "from", form: .time, help: "Only lines from then on."),
            ], answer: .init(help: "What hub logs --json is made of.", schema: Schemas.ref("logs")),
            handle: { call in
                _ = try await call.pluginStatus()
                var query = QueryRequest(id: 0, want: .logs, limit: call.integer("limit"))
                (query.instance, query.filter.from) = (call.text("name"), call.time("from"))
                return try await call.answer(query)
            }),
        APIRoute(
            method: .post, path: "/plugins/{name}/restart", topic: "Hub",
            summary: "Ends a plugin's process, and starts it again.", scope: .manage, isOwners: true,
            parameters: [Parameters.plugin, Parameters.dryRun],
            answer: .init(
                help: "The plugin's state before that.", schema: Schemas.result(of: OwnCommands.Restart.self)),
            handle: { call in
                _ = try await call.pluginStatus()
                return try await call.carryOut(OwnCommands.Restart.self, ["instance": .string(call.text("name") ?? "")])
            }),
        APIRoute(
            method: .post, path: "/plugins/{name}/release", topic: "Hub",
            summary: "Starts a plugin that is quarantined or waits.", scope: .manage, isOwners: true,
            parameters: [Parameters.plugin, Parameters.dryRun],
            answer: .init(
                help: "The plugin's state before that.", schema: Schemas.result(of: OwnCommands.Release.self)),
            handle: { call in
                _ = try await call.pluginStatus()
                return try await call.command(OwnCommands.Release.self, ["instance": .string(call.text("name") ?? "")])
            }),
        APIRoute(
            method: .post, path: "/plugins/{name}/configure", topic: "Hub",
            summary: "Writes settings of a plugin into hub.conf, such as whether it is enabled, and applies them.",
            scope: .manage, isOwners: true, parameters: [Parameters.plugin, Parameters.dryRun],
            body: configuring(isOfPlugin: true), answer: configured,
            handle: { call in
                _ = try await call.pluginStatus()
                return try await call.configure(.plugin(call.text("name") ?? ""))
            }),
        APIRoute(
            method: .post, path: "/plugins/{name}/do/{command}", topic: "Hub",
            summary: "Runs a command of a plugin, as its manifest declares it.", scope: .manage, isOwners: true,
            parameters: [Parameters.plugin, Parameters.command, Parameters.dryRun], body: ["type": "object"],
            answer: .init(help: "The plugin's answer: any JSON value.", schema: [:]), handle: askPlugin),
        APIRoute(
            method: .post, path: "/persons/{person}/configure", topic: "Hub",
            summary: "Writes settings of a person into hub.conf, adding the person if needed, and applies them.",
            scope: .manage, isOwners: true, parameters: [Parameters.configuredPerson, Parameters.dryRun],
            body: configuring(), answer: configured,
            handle: { call in try await call.configure(.person(call.text("person") ?? "")) }),
        APIRoute(
            method: .post, path: "/hub/configure", topic: "Hub",
            summary: "Writes settings of the house into hub.conf, and applies them.", scope: .manage, isOwners: true,
            parameters: [Parameters.dryRun], body: configuring(), answer: configured,
            handle: { call in try await call.configure(.hub) }),
        APIRoute(
            method: .post, path: "/apply", topic: "Hub", summary: "Reads hub.conf again, and applies it.",
            scope: .manage, isOwners: true, parameters: [Parameters.dryRun],
            answer: .init(help: "The changes, and the problems.", schema: Schemas.result(of: OwnCommands.Apply.self)),
            handle: { call in try await call.carryOut(OwnCommands.Apply.self) }),
        APIRoute(
            method: .get, path: "/deliveries", topic: "Hub", summary: "Which records each sink has.", isOwners: true,
            answer: .init(
                help: "The sinks of status.", schema: Schemas.object([("sinks", Schemas.list(Schemas.ref("sink")))])),
            handle: { call in
                let sinks = JSONTree(try await call.parts.hub.ask(.status).bytes)?["sinks"] ?? []
                return .json(["sinks": sinks])
            }),
        APIRoute(
            method: .post, path: "/replay", topic: "Hub", summary: "Delivers records to a sink again.", scope: .manage,
            isOwners: true, parameters: [Parameters.dryRun], body: Schemas.arguments(of: OwnCommands.Replay.self),
            answer: .init(help: "How many to which sink.", schema: Schemas.result(of: OwnCommands.Replay.self)),
            handle: { call in try await call.command(OwnCommands.Replay.self, try await call.arguments()) }),
        APIRoute(
            method: .get, path: "/openapi.json", topic: "Hub", summary: "This description.",
            answer: .init(help: "OpenAPI 3.1.", schema: ["type": "object"]),
            handle: { call in .json(OpenAPIDocument.document(isSecure: call.parts.settings.isSecure)) }),
    ]

    /// The arguments of `configure`, without those that the address gives.
    ///
    /// - Parameter isOfPlugin: whether the section can be enabled.
    private static func configuring(isOfPlugin: Bool = false) -> JSONTree {
        let given = ["instance", "person", "hub"] + (isOfPlugin ? [] : ["enabled"])
        let names = OwnCommands.Configure.declaration.arguments.map(\.name).filter { !given.contains($0) }
        return Schemas.object(
            names.map { ($0, Schemas.ref("configure/$defs/args/properties/\($0)")) }, optional: Set(names),
            isClosed: true)
    }

    private static let configured = APIRoute.Answer(
        help: "The changes and the hub's next steps; if applied is false, the reason.",
        schema: Schemas.result(of: OwnCommands.Configure.self))

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

    /// The status of the plugin that the address names.
    ///
    /// - Throws: `NoSuchPage` if hub.conf does not name it.
    fileprivate func pluginStatus() async throws -> JSONTree {
        let plugins = JSONTree(try await parts.hub.ask(.status).bytes)?["plugins"]?.list ?? []
        guard let plugin = plugins.first(where: { $0["name"]?.text == text("name") }) else { throw NoSuchPage() }
        return plugin
    }
}
