import PluginKit
import ScaleProtocols

/// The settings of one HS5.
enum HS5Settings {
    static let declarations: [SettingDeclaration] =
        [
            ScaleSettings.linkDeclaration(
                ["udp", "hsl", "hsl-accept"],
                expected: "udp://*, udp://HOST, udp://HOST:PORT?bind=8000, hsl://HOST:PORT or hsl-accept://HOST:PORT",
                example: "udp://192.168.1.20",
                help: "The link to the scale: a search on the network, its address there, or a "
                    + "program that speaks HSL/1.", default: .string("udp://*"))
        ]
        + ScaleSettings.placeDeclarations(
            deviceHelp: "The scale's WiFi address, which names it in records; the first one that answers if not set.")
        + [
            SettingDeclaration(
                "user", .integer(Bounds(1, 0x7FFF_FFFF)),
                help:
                    "The scale's number of the user whose measurement is held open; if not set, the only user there is, or "
                    + "none: weighings come from the memory then."),
            SettingDeclaration(
                "muscle_unit", .choice(MuscleUnit.allCases.map(\.rawValue)),
                help: "Whether the scale's number for muscle is a percentage or kilograms: compare with its display.",
                default: .string(MuscleUnit.percent.rawValue)),
            SettingDeclaration(
                "memory_every", .duration(),
                help: "How often the users' memories are read.", default: .string("1min")),
            SettingDeclaration(
                "cloud_address", .choice(["keep", "set"]),
                help:
                    "Whether to leave the address of the vendor's cloud in the scale as it is, or to write cloud_host and "
                    + "cloud_path.", default: .string("keep")),
            SettingDeclaration(
                "cloud_host",
                .string(
                    TextRule(pattern: "[!-~]{1,48}", expected: "1 to 48 ASCII characters", example: "scale.example.org")
                ),
                help: "The host to which the scale uploads; with cloud_address = \"set\"."),
            SettingDeclaration(
                "cloud_path",
                .string(TextRule(pattern: "[!-~]{1,64}", expected: "1 to 64 ASCII characters", example: "/upload")),
                help: "The path there."),
            ScaleSettings.errorsDeclaration(numbers: "[05-9]|1[0-6]|111", in: "0, 5-16", example: "E1=8"),
            ScaleSettings.keyDeclaration, ScaleSettings.keyKindDeclaration, ScaleSettings.tokenDeclaration,
        ] + ScaleSettings.verificationDeclarations

    /// The settings of the dialogue.
    ///
    /// - Throws: ``PluginFailure`` that names the invalid setting.
    static func host(_ settings: PluginSettings, _ common: ScaleSettings) throws -> HS5Host.Settings {
        var host = HS5Host.Settings()
        host.scale = common.device.flatMap { BluetoothAddress($0) }.flatMap { HS5SenderID($0.bytes) }
        host.key = try ScaleSettings.key(settings)
        host.nonce = (0..<16).map { _ in UInt8.random(in: 0...255) }
        host.measures = settings["user"]?.integer.map { UInt32(clamping: $0) }
        host.memoryEvery = .microseconds(try settings.duration("memory_every").microseconds)
        host.errors = common.errors
        host.cloud = try cloud(settings)
        return host
    }

    static func cloud(_ settings: PluginSettings) throws -> HS5Host.Settings.Cloud? {
        guard try settings.text("cloud_address") == "set" else { return nil }
        guard let name = settings["cloud_host"]?.string, let path = settings["cloud_path"]?.string else {
            throw PluginFailure(.settings, "setting cloud_address: \"set\" needs cloud_host and cloud_path")
        }
        return HS5Host.Settings.Cloud(host: name, path: path)
    }
}
