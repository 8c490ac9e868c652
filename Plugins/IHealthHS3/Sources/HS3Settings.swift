import FoundationEssentials
import PluginKit
import ScaleFrames
import ScaleLinks

/// The settings of one scale, checked.
struct HS3Settings: Sendable {
    var link: ScaleLink
    /// The scale's address as twelve upper-case hex digits: `source.device` of its records.
    var device: String
    /// Nil: that of the hub's persons, or the machine's.
    var zone: TimeZone?
    var host: HS3Host.Settings

    static let declarations: [SettingDeclaration] = [
        SettingDeclaration(
            "link",
            .string(
                TextRule(
                    pattern: "(rfcomm|rfcomm-accept|tcp|tcp-accept|unix|unix-accept|serial)://.+",
                    expected: ScaleLink.forms, example: "rfcomm://00:4D:32:1A:2B:3C")),
            help: "Where the scale is reached; for Bluetooth its address, as bluetoothctl shows it.", required: true),
        SettingDeclaration(
            "device_id",
            .string(
                TextRule(
                    pattern: "[0-9A-Fa-f]{2}(:?[0-9A-Fa-f]{2}){5}", expected: "twelve hex digits",
                    example: "004D321A2B3C")),
            help: "The scale's address, which names it in records; needed where the link does not contain it."),
        SettingDeclaration(
            "zone", .timeZone,
            help:
                "The zone of the scale's clock, which knows none; else that of the hub's persons, if all have the same, "
                + "or the machine's."),
        SettingDeclaration(
            "set_clock", .boolean, help: "Whether to set the scale's clock whenever it connects.",
            default: .boolean(true)),
        SettingDeclaration(
            "hour_mode", .choice(HS3HourMode.allCases.map(\.rawValue)),
            help: "How the hour of a weighing is read; if late afternoons come out four hours early, choose raw24.",
            default: .string(HS3HourMode.sdk12.rawValue)),
        SettingDeclaration(
            "clock_bcd", .choice(HS3ClockMode.allCases.map(\.rawValue)),
            help: "How the hour of the scale's own clock is read.", default: .string(HS3ClockMode.nearest.rawValue)),
        SettingDeclaration(
            "errors",
            .list(
                of: .string(
                    TextRule(
                        pattern: "[0-9A-Fa-f]{2}=([1-7]|111)", expected: "an error byte, = and the vendor's number 1-7",
                        example: "E2=2"))),
            help: "Rows that differ from the built-in table of error bytes."),
    ]

    /// - Throws: ``PluginFailure`` that names the setting.
    init(_ settings: PluginSettings) throws {
        let text = try settings.text("link")
        do throws(ScaleLinkError) { link = try ScaleLink(text) } catch {
            throw PluginFailure(.settings, "setting link: \(error)")
        }
        device = try Self.device(settings["device_id"]?.string, link)
        if let name = settings["zone"]?.string {
            guard let known = TimeZone(identifier: name) else {
                throw PluginFailure(.settings, "setting zone: this machine knows no time zone \"\(name)\"")
            }
            zone = known
        }
        host = HS3Host.Settings()
        host.setsClock = try settings.boolean("set_clock")
        host.hourMode = try Self.choice("hour_mode", settings)
        host.clockMode = try Self.choice("clock_bcd", settings)
        for row in settings["errors"]?.strings ?? [] {
            let sides = row.split(separator: "=")
            guard sides.count == 2, let raw = UInt8(sides[0], radix: 16), let code = Int(sides[1]),
                ScaleError.numbered(code, of: .hs3) != nil
            else {
                throw PluginFailure(.settings, "setting errors: \"\(row)\": expected such as \"E2=2\"")
            }
            host.errors[raw] = code
        }
    }

    private static func device(_ id: String?, _ link: ScaleLink) throws -> String {
        guard let id else {
            guard let address = link.bluetoothAddress else {
                throw PluginFailure(
                    .settings,
                    "setting device_id: it is needed, because the link \(link) does not contain the scale's address; "
                        + "expected twelve hex digits, such as \"004D321A2B3C\"")
            }
            return address.digits
        }
        guard let address = BluetoothAddress(id) else {
            throw PluginFailure(
                .settings,
                "setting device_id: expected twelve hex digits, such as \"004D321A2B3C\", but found \"\(id)\"")
        }
        if let other = link.bluetoothAddress, other != address {
            throw PluginFailure(
                .settings, "setting device_id: \(address.digits) is not the scale of the link, \(other.digits)")
        }
        return address.digits
    }

    private static func choice<Value: RawRepresentable<String> & CaseIterable>(
        _ name: String, _ settings: PluginSettings
    ) throws -> Value {
        let word = try settings.text(name)
        guard let value = Value(rawValue: word) else {
            let all = Value.allCases.map(\.rawValue).joined(separator: ", ")
            throw PluginFailure(.settings, "setting \(name): \"\(word)\" is none of \(all)")
        }
        return value
    }

    /// The zone that holds, and what decided it, for ``KnownWeighings``.
    ///
    /// The machine's zone decides as "machine": when a machine travels, what was measured at home is not dated anew.
    func clock(persons: [String?]) -> (clock: LocalClock, rule: String) {
        let zones = Set(persons)
        let shared = zones.count == 1 ? zones.first.flatMap(\.self) : nil
        let (zone, name): (TimeZone, String) =
            if let zone {
                (zone, zone.identifier)
            } else if let shared, let zone = TimeZone(identifier: shared) {
                (zone, zone.identifier)
            } else {
                (TimeZone.current, "machine")
            }
        return (LocalClock(zone), "\(name) \(host.hourMode.rawValue)")
    }
}
