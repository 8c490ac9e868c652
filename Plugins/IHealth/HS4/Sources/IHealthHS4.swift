import PluginKit
import ScaleProtocols

/// The connector for an iHealth HS4 or HS4S bathroom scale.
@main
struct IHealthHS4: ScalePlugin {
    static let manifest = Manifest(
        name: "ihealth-hs4", summary: "Weights of an iHealth HS4 scale, passing ones, new ones and its memory.",
        version: ProductVersion.current, writes: ["weight"], settings: HS4Settings.declarations, profiles: true,
        reaches: ScaleSettings.reaches)
    static let model = ScaleModel.hs4
    static let commands: [Command<Self>] = commonCommands + [units]

    var timing = ScaleTiming<HS4Host.Settings>()
    let queue = ScaleCommandQueue()

    func setup(_ settings: PluginSettings) throws -> ScaleSetup {
        let common = try ScaleSettings(settings, .hs4)
        var host = try HS4Settings.host(settings, common)
        timing.adjust(&host)
        let adjusted = host
        var setup = ScaleSetup(common, bridge: { $0.unit = adjusted.unit }) { _ in HS4Host(settings: adjusted) }
        setup.pause = timing.pause
        setup.remembersUnit = settings["unit"] == nil
        setup.keyNotice = common.keyNotice(adjusted.key)
        return setup
    }

    private static let units = Command<Self>(
        "units", help: "Sets the unit that the scale displays; records stay in kilograms.",
        arguments: [
            SettingDeclaration("unit", .choice(HS4Settings.units.map(\.word)), help: "The unit.", required: true)
        ]
    ) { plugin, call in
        let word = try call.arguments.text("unit")
        guard let unit = HS4Settings.unit(word) else { throw CommandFailure("command", "unit: \(word) is none") }
        let refusal = "HS4: the unit cannot be changed on this link"
        _ = try await plugin.queue.demand(.display(unit), .hs4, refusal: refusal)
        try await call.hub.state.set(ScaleSetup.unitKey, to: .integer(Int64(unit.rawValue)))
        return ["unit": word]
    }
}
