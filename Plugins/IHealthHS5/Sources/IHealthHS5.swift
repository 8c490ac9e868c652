import PluginKit
import ScaleConnector
import ScaleFrames
import ScaleLinks

/// The connector of an iHealth HS5 body analysis scale.
@main
struct IHealthHS5: ScalePlugin {
    static let manifest = Manifest(
        name: "ihealth-hs5",
        summary:
            "Weights and body composition of an iHealth HS5 scale, passing ones, new ones and its users' memories.",
        version: "1.0",
        writes: [
            "weight", "bodyFatPercentage", "x.ihealth.bodyWaterPercentage", "x.ihealth.musclePercentage",
            "x.ihealth.muscleMass", "hc.boneMass", "x.ihealth.visceralFatLevel", "x.ihealth.dailyCalorieIntake",
        ], declares: [MuscleUnit.declaration], settings: HS5Settings.declarations, profiles: true)
    static let model = ScaleModel.hs5
    static let commands: [Command<Self>] = commonCommands + UserCommands.all + [cloud]

    /// The waits of the dialogue; a simulated scale can do with shorter ones.
    struct Timing: Sendable {
        /// From a failed attempt to connect to the next.
        var pause = Duration.seconds(1)
        var adjust: @Sendable (inout HS5Host.Settings) -> Void = { _ in }
    }

    var timing = Timing()
    let desk = ScaleDesk()

    func setup(_ settings: PluginSettings) throws -> ScaleSetup {
        let common = try ScaleSettings(settings, .hs5, needsDevice: false)
        var host = try HS5Settings.host(settings, common)
        timing.adjust(&host)
        let adjusted = host
        var setup = ScaleSetup(common, bridge: { $0.measures = adjusted.measures }) { device in
            var host = adjusted
            host.scale = device.flatMap { BluetoothAddress($0) }.flatMap { HS5SenderID($0.bytes) }
            return HS5Host(settings: host)
        }
        setup.pause = timing.pause
        setup.measures = host.measures
        setup.muscleUnit = try ScaleSettings.choice("muscle_unit", settings)
        setup.keyNotice = common.keyNotice(adjusted.key)
        return setup
    }

    private static let cloud = Command<Self>(
        "cloud", help: "Fetches what the scale has put into the vendor's cloud, through an hsl link."
    ) { plugin, _ in
        let refusal =
            "HS5: the vendor's cloud is not reached on this link; it needs an hsl link to a program that uses the vendor's "
            + "software"
        _ = try await plugin.desk.demand(.cloud, .hs5, refusal: refusal)
        return nil
    }
}
