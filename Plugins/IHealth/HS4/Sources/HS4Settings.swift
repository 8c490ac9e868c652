import PluginKit
import ScaleProtocols

/// The settings of one HS4.
enum HS4Settings {
    static let units: [(word: String, unit: ScaleDisplayUnit)] = [
        ("kg", .kilograms), ("lb", .pounds), ("st", .stones),
    ]

    static func unit(_ word: String) -> ScaleDisplayUnit? { units.first { $0.word == word }?.unit }

    static let declarations: [SettingDeclaration] =
        [
            ScaleSettings.streamLinkDeclaration(
                example: "hsl-accept://127.0.0.1:4714",
                help:
                    "The link to the scale: a program that speaks HSL/1, a HS4S by Bluetooth, or whatever carries "
                    + "the bytes of a HS4.")
        ]
        + ScaleSettings.placeDeclarations(
            deviceHelp:
                "The scale's address, which names it in records; needed if neither the link nor the other side "
                + "says it.")
        + [
            SettingDeclaration(
                "framing", .choice(HS4Host.Settings.Link.allCases.map(\.rawValue)),
                help:
                    "How frames are carried: in pieces of 20 bytes (HS4, by Bluetooth LE) or whole (HS4S, on a serial "
                    + "port); by the link if not set."),
            SettingDeclaration(
                "unit", .choice(units.map(\.word)),
                help:
                    "The unit that the scale displays; if not set, the one last set with hub do INSTANCE units, or kg."),
            SettingDeclaration(
                "user", .integer(Bounds(1, 0x7FFF_FFFF)),
                help: "The person's number, which is sent to the scale when a measurement begins.",
                default: .integer(1)),
            SettingDeclaration(
                "measure_layout", .choice(HS4Host.Settings.MeasureLayout.allCases.map(\.rawValue)),
                help:
                    "The order of unit and user in the command that begins a measurement; there is no capture of one.",
                default: .string(HS4Host.Settings.MeasureLayout.unitFirst.rawValue)),
            SettingDeclaration(
                "memory_tail", .choice(HS4Host.Settings.MemoryTail.allCases.map(\.rawValue)),
                help: "Whether the reply that says \"no more records\" may hold a record itself.",
                default: .string(HS4Host.Settings.MemoryTail.parse.rawValue)),
            ScaleSettings.errorsDeclaration(numbers: "[1-9]|1[0-2]|111", in: "1-12", example: "E1=3"),
            ScaleSettings.keyDeclaration, ScaleSettings.keyKindDeclaration, ScaleSettings.tokenDeclaration,
        ] + ScaleSettings.verificationDeclarations

    /// The settings of the dialogue.
    ///
    /// - Throws: ``PluginFailure`` that names the invalid setting.
    static func host(_ settings: PluginSettings, _ common: ScaleSettings) throws -> HS4Host.Settings {
        var host = HS4Host.Settings()
        host.link =
            try settings["framing"].map { _ in try ScaleSettings.choice("framing", settings) }
            ?? (common.link.isSerialPort ? .serialPort : .lowEnergy)
        host.key = try ScaleSettings.key(settings)
        host.nonce = (0..<16).map { _ in UInt8.random(in: 0...255) }
        if let word = settings["unit"]?.string, let unit = unit(word) { host.unit = unit }
        host.user = UInt32(clamping: try settings.integer("user"))
        host.measureLayout = try ScaleSettings.choice("measure_layout", settings)
        host.memoryTail = try ScaleSettings.choice("memory_tail", settings)
        host.errors = common.errors
        return host
    }
}
