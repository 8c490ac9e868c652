import PluginKit
import ScaleProtocols

/// The settings of one HS3.
enum HS3Settings {
    static let declarations: [SettingDeclaration] =
        [
            ScaleSettings.streamLinkDeclaration(
                example: "rfcomm://00:4D:32:1A:2B:3C",
                help: "The link to the scale; for Bluetooth rfcomm:// and its address, as bluetoothctl shows it.")
        ]
        + ScaleSettings.placeDeclarations(
            deviceHelp: "The scale's address, which names it in records; needed if the link does not contain it.")
        + [
            SettingDeclaration(
                "set_clock", .boolean, help: "Whether to set the scale's clock whenever it connects.",
                default: .boolean(true)),
            SettingDeclaration(
                "hour_mode", .choice(HS3HourMode.allCases.map(\.rawValue)),
                help: "How the hour of a weighing is read; if late afternoons come out four hours early, choose raw24.",
                default: .string(HS3HourMode.sdk12.rawValue)),
            SettingDeclaration(
                "clock_bcd", .choice(HS3ClockMode.allCases.map(\.rawValue)),
                help: "How the hour of the scale's own clock is read.",
                default: .string(HS3ClockMode.nearest.rawValue)),
            ScaleSettings.errorsDeclaration(numbers: "[1-7]|111", in: "1-7", example: "E2=2"),
            ScaleSettings.tokenDeclaration,
        ] + ScaleSettings.verificationDeclarations

    /// The settings of the dialogue.
    ///
    /// - Throws: ``PluginFailure`` that names the invalid setting.
    static func host(_ settings: PluginSettings, _ common: ScaleSettings) throws -> HS3Host.Settings {
        var host = HS3Host.Settings()
        host.setsClock = try settings.boolean("set_clock")
        host.hourMode = try ScaleSettings.choice("hour_mode", settings)
        host.clockMode = try ScaleSettings.choice("clock_bcd", settings)
        host.errors = common.errors
        return host
    }
}
