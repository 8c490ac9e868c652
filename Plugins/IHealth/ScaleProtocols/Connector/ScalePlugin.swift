public import PluginKit

/// A plugin that serves one scale with a ``ScaleConnector``.
public protocol ScalePlugin: SourcePlugin {
    static var model: ScaleModel { get }
    var queue: ScaleCommandQueue { get }
    /// Reads the settings.
    func setup(_ settings: PluginSettings) throws -> ScaleSetup
}

/// The time limits of a plugin's dialogue; tests with a simulated scale use shorter ones.
public struct ScaleTiming<Settings>: Sendable {
    /// Pause between a failed attempt to connect and the next.
    public var pause: Duration
    public var adjust: @Sendable (inout Settings) -> Void

    public init(pause: Duration = .seconds(1), adjust: @escaping @Sendable (inout Settings) -> Void = { _ in }) {
        (self.pause, self.adjust) = (pause, adjust)
    }
}

extension ScalePlugin {
    public func run(_ hub: PluginContext) async throws { try await serve(hub, until: .stopped) }

    public func once(_ hub: PluginContext) async throws { try await serve(hub, until: .memoryTransferred) }

    private func serve(_ hub: PluginContext, until goal: ScaleConnector.Goal) async throws {
        var connector = try await ScaleConnector(hub, try setup(hub.settings), queue: queue, cloud: try cloud(hub))
        try await connector.run(until: goal)
    }

    public func judge(_ settings: PluginSettings) throws { _ = try setup(settings) }

    public func check(_ hub: CheckContext) async throws -> String {
        let setup = try setup(hub.settings)
        let found = try await ScaleCheck(setup, hub.clock).run()
        guard setup.verification == .openapi else { return found }
        let api = try IHealthOpenAPI(OpenAPISettings(hub.settings))
        // The hub has the token, and lends it only to the running plugin.
        return "\(found) \(await api.isThere()) Whether the account is linked is asked when the plugin runs; "
            + "hub login links it."
    }

    /// The argument that selects the scale for a command.
    public static var deviceArgument: SettingDeclaration {
        SettingDeclaration(
            "device", ScaleSettings.addressType, help: "The scale, if several are behind an hsl link.")
    }

    /// The commands that every scale's plugin has.
    public static var commonCommands: [Command<Self>] {
        [
            Command(
                "disclaimer", help: "Shows the disclaimer, and accepts it for the person whom the settings name.",
                arguments: [
                    SettingDeclaration(
                        "accept", .boolean, help: "Whether it is accepted; measuring goes on then.",
                        default: .boolean(false))
                ]
            ) { plugin, call in try await plugin.disclaimer(call) },
            logInCommand,
        ]
    }

    private func disclaimer(_ call: CommandCall) async throws -> DisclaimerResult {
        guard let name = try setup(call.hub.settings).user.name else {
            return DisclaimerResult(
                disclaimer: Verification.disclaimer, accepted: nil,
                note: "the settings name no person (person, user_id), so it needs no acceptance")
        }
        var memory = try await Verification.Memory.read(call.hub.state)
        if try call.arguments.boolean("accept") {
            memory.accepted.insert(name)
            try await memory.write(call.hub.state)
            queue.ring()
        }
        return DisclaimerResult(
            disclaimer: Verification.disclaimer, accepted: memory.accepted.contains(name), note: nil)
    }
}

private struct DisclaimerResult: Encodable, Sendable {
    var disclaimer: String
    var accepted: Bool?
    var note: String?
}

extension ScaleCommandQueue {
    /// Stores weighings of the cloud, or throws a command's failure with the reason.
    func demand(keeping weighings: [CloudWeighing], of device: String, _ model: ScaleModel) async throws {
        switch await keep(weighings, of: device) {
        case .refused(let reason): throw CommandFailure("refused", reason ?? "the records cannot be kept now")
        case .noScale:
            if Task.isCancelled { throw CancellationError() }
            throw CommandFailure("away", "\(model.rawValue): nothing is served now; hub status says why")
        case .users, .done: break
        }
    }

    /// Sends a command to the scale, or throws a command's failure with the reason.
    ///
    /// - Parameter call: names the scale if several are behind the link.
    public func demand(
        _ command: ScaleCommand, _ model: ScaleModel, of call: CommandCall? = nil, refusal: String
    ) async throws -> Answer {
        let answer = await ask(command, of: call?.arguments["device"]?.string.flatMap { BluetoothAddress($0)?.digits })
        switch answer {
        case .users, .done: return answer
        case .refused where Task.isCancelled: throw CancellationError()
        case .refused(let reason?): throw CommandFailure("refused", reason)
        case .refused(nil): throw CommandFailure("refused", refusal)
        case .noScale:
            if Task.isCancelled { throw CancellationError() }
            throw CommandFailure("away", "\(model.rawValue): no scale is connected; wake it and try again")
        }
    }
}
