import PluginKit
import ScaleProtocols

/// The connector for an iHealth HS5 body analysis scale.
@main
struct IHealthHS5: ScalePlugin {
    static let manifest = Manifest(
        name: "ihealth-hs5",
        summary:
            "Weights and body composition of an iHealth HS5 scale, passing ones, new ones and its users' memories.",
        version: ProductVersion.current,
        writes: [
            "weight", "bodyFatPercentage", "x.ihealth.bodyWaterPercentage", "x.ihealth.musclePercentage",
            "x.ihealth.muscleMass", "hc.boneMass", "x.ihealth.visceralFatLevel", "x.ihealth.dailyCalorieIntake",
        ], declares: [MuscleUnit.declaration], settings: HS5Settings.declarations, profiles: true,
        reaches: ScaleSettings.reaches)
    static let model = ScaleModel.hs5
    static let commands: [Command<Self>] = commonCommands + UserCommands.all + [cloud]

    var timing = ScaleTiming<HS5Host.Settings>()
    let queue = ScaleCommandQueue()
    /// Assigns numbers of users one at a time.
    let numbering = AsyncLock()

    func setup(_ settings: PluginSettings) throws -> ScaleSetup {
        let (common, _, _) = try PluginSettings.all(
            { try ScaleSettings(settings, .hs5, needsDevice: false) }, { try ScaleSettings.key(settings) },
            { try HS5Settings.cloud(settings) })
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
        "cloud",
        help: "Fetches the scale's weighings from the vendor's cloud: through an hsl link, or if auth_mode is "
            + "\"openapi\".",
        arguments: [
            SettingDeclaration(
                "from", .date,
                help: "The first day that is asked for; a year ago if not set. With auth_mode \"openapi\"."),
            SettingDeclaration(
                "serial", .integer(Bounds(1, 0x7FFF_FFFF)),
                help: "The scale's number of the user whose account it is; the setting user if not set."),
            deviceArgument,
        ], canDryRun: true
    ) { plugin, call in
        let setup = try plugin.setup(call.hub.settings)
        guard setup.verification == .openapi else {
            let refusal =
                "HS5: the vendor's cloud is not reached on this link; it needs an hsl link to a program that uses the "
                + "vendor's software, or auth_mode = \"openapi\""
            if !call.isDryRun { _ = try await plugin.queue.demand(.cloud, .hs5, of: call, refusal: refusal) }
            return nil
        }
        let given = call.arguments["serial"]?.integer.map { UInt32(clamping: $0) }
        guard let user = given ?? setup.measures else {
            throw CommandFailure(
                "command", "serial: it is not known whose account it is; users-list shows the numbers")
        }
        let remembered = try await call.hub.state.text(ScaleConnector.deviceKey)
        guard let device = setup.device ?? remembered else {
            throw CommandFailure("command", "it is not known yet which scale it is; set device_id, or wake the scale")
        }
        let clock = setup.clock(persons: call.hub.persons.map(\.zone)).clock
        let since = call.arguments["from"]?.string.flatMap { LocalDate($0) }.flatMap {
            WallTime($0.year, $0.month, $0.day)
        }.map { clock.place($0).time.microseconds / 1_000_000 }
        return try await plugin.download(call, device: device, since: since, user: user)
    }
}
