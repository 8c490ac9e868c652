import PluginKit
import ScaleProtocols

/// The connector for an iHealth HS3 bathroom scale.
@main
struct IHealthHS3: ScalePlugin {
    static let manifest = Manifest(
        name: "ihealth-hs3", summary: "Weights of an iHealth HS3 scale, new ones and its memory.",
        version: ProductVersion.current, writes: ["weight"], settings: HS3Settings.declarations, profiles: true,
        reaches: ScaleSettings.reaches)
    static let model = ScaleModel.hs3
    static let commands: [Command<Self>] = commonCommands + [autoConnect]

    var timing = ScaleTiming<HS3Host.Settings>()
    let queue = ScaleCommandQueue()

    func setup(_ settings: PluginSettings) throws -> ScaleSetup {
        let common = try ScaleSettings(settings, .hs3)
        var host = try HS3Settings.host(settings, common)
        timing.adjust(&host)
        let adjusted = host
        var setup = ScaleSetup(common) { _ in HS3Host(settings: adjusted) }
        (setup.dating, setup.pause) = (host.hourMode.rawValue, timing.pause)
        return setup
    }

    private static let autoConnect = Command<Self>(
        "auto-connect", help: "Sets whether the scale connects to this machine when a person steps on.",
        arguments: [
            SettingDeclaration("on", .boolean, help: "Whether it connects.", required: true), deviceArgument,
        ]
    ) { plugin, call in
        let isOn = try call.arguments.boolean("on")
        let refusal =
            "HS3: the switch for automatic connection is not known on this link; it needs an hsl link to a program that uses "
            + "the vendor's software, and firmware 1.0.2 or later"
        _ = try await plugin.queue.demand(.autoConnect(isOn), .hs3, of: call, refusal: refusal)
        return ["autoConnect": isOn]
    }
}
