import PluginKit
import ScaleFrames
import ScaleLinks

/// The connector of an iHealth HS3 bathroom scale.
@main
struct IHealthHS3: SourcePlugin {
    static let manifest = Manifest(
        name: "ihealth-hs3", summary: "Weights of an iHealth HS3 scale, new ones and its memory.", version: "1.0",
        writes: ["weight"], settings: HS3Settings.declarations)

    /// The waits of the dialogue; a simulated scale can do with shorter ones.
    struct Timing: Sendable {
        /// From a failed attempt to connect to the next.
        var pause = Duration.seconds(1)
        var adjust: @Sendable (inout HS3Host.Settings) -> Void = { _ in }
    }

    var timing = Timing()

    func run(_ hub: PluginContext) async throws {
        try await serve(hub, until: .stopped)
    }

    func once(_ hub: PluginContext) async throws {
        try await serve(hub, until: .memoryTransferred)
    }

    func check(_ hub: CheckContext) async throws -> String {
        try await HS3Check(try HS3Settings(hub.settings), hub.clock).run()
    }

    private func serve(_ hub: PluginContext, until goal: HS3Connector.Goal) async throws {
        var settings = try HS3Settings(hub.settings)
        timing.adjust(&settings.host)
        var connector = try await HS3Connector(hub, settings, pause: timing.pause)
        try await connector.run(until: goal)
    }
}
