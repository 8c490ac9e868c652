public import FoundationEssentials
import FoundationInternationalization
import Platform
public import PluginKit

/// The checked settings that the plugins of all scales have.
public struct ScaleSettings: Sendable {
    public var model: ScaleModel
    public var link: ScaleLink
    /// The scale's address as twelve upper-case hex digits; `nil` if neither the settings nor the link contain it.
    public var device: String?
    /// `nil` for the zone of the hub's persons, or the machine's.
    public var zone: TimeZone?
    public var verification: VerificationMode
    public var user: Verification.User
    public var person: String?
    /// The settings for the other end of an hsl link.
    public var bridge: HSLSession.Settings
    /// Maps error bytes to the vendor's numbers.
    public var errors: [UInt8: Int]

    /// - Parameter needsDevice: whether the scale does not report its id, so that the settings must contain it.
    /// - Throws: ``PluginFailure`` with the name of the setting.
    public init(_ settings: PluginSettings, _ model: ScaleModel, needsDevice: Bool = true) throws {
        self.model = model
        let linked = Result { try Self.link(try settings.text("link")) }
        // Settings that depend on the link are checked only if the link is valid.
        let known = try? linked.get()
        let mode: VerificationMode = try Self.choice("auth_mode", settings)
        let token = settings["token"]?.secret.flatMap { HSLToken($0.reveal()) }
        verification = mode
        (link, device, zone, errors, _, _, _) = try PluginSettings.all(
            { try linked.get() },
            {
                try known.flatMap {
                    try Self.device(settings["device_id"]?.string, $0, isNeeded: needsDevice && !$0.isHSL)
                }
            }, { try Self.zone(settings["zone"]?.string) },
            { try Self.errors(settings["errors"]?.strings ?? [], model) },
            {
                guard let known, mode == .bridge, !known.isHSL else { return }
                throw PluginFailure(.settings, "setting auth_mode: bridge needs an hsl link, and \(known) is none")
            }, { if mode == .openapi { _ = try OpenAPISettings(settings) } },
            {
                guard let known, known.isHSL, known.isOpenToOthers, token == nil else { return }
                throw PluginFailure(
                    .settings, "setting token: it is needed, because \(known) waits where other machines can come")
            })
        person = settings["person"]?.string
        let account = settings["user_id"]?.string
        let (id, secret) = (settings["client_id"]?.string, settings["client_secret"]?.secret)
        user = Verification.User(
            name: account ?? person, isAccount: account != nil, isIncomplete: (id == nil) != (secret == nil))
        bridge = HSLSession.Settings(model: model)
        bridge.token = token
        if let account {
            bridge.user = HSLUser(userID: account, clientID: id, clientSecret: secret?.reveal())
        }
    }

    private static func link(_ text: String) throws -> ScaleLink {
        do throws(ScaleLinkError) { return try ScaleLink(text) } catch {
            throw PluginFailure(.settings, "setting link: \(error)")
        }
    }

    private static func zone(_ name: String?) throws -> TimeZone? {
        guard let name else { return nil }
        guard let zone = TimeZone(identifier: name) else {
            throw PluginFailure(.settings, "setting zone: this machine knows no time zone \"\(name)\"")
        }
        return zone
    }

    private static func errors(_ rows: [String], _ model: ScaleModel) throws -> [UInt8: Int] {
        let own = try PluginSettings.each(rows) { row in
            let sides = row.split(separator: "=")
            guard sides.count == 2, let raw = UInt8(sides[0], radix: 16), let code = Int(sides[1]),
                ScaleError.numbered(code, of: model) != nil
            else { throw PluginFailure(.settings, "setting errors: \"\(row)\": expected such as \"E2=2\"") }
            return (raw, code)
        }
        return ScaleError.defaultTable(of: model).merging(own) { $1 }
    }

    private static func device(_ id: String?, _ link: ScaleLink, isNeeded: Bool) throws -> String? {
        guard let id else {
            guard let address = link.bluetoothAddress else {
                guard isNeeded else { return nil }
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

    /// The value of a setting whose declaration lists these words.
    public static func choice<Value: RawRepresentable<String> & CaseIterable>(
        _ name: String, _ settings: PluginSettings
    ) throws -> Value {
        let word = try settings.text(name)
        guard let value = Value(rawValue: word) else {
            let all = Value.allCases.map(\.rawValue).joined(separator: ", ")
            throw PluginFailure(.settings, "setting \(name): \"\(word)\" is none of \(all)")
        }
        return value
    }
}

// MARK: - Declarations

extension ScaleSettings {
    /// The setting `link`, the first in the list.
    public static func linkDeclaration(
        _ schemes: [String], expected: String, example: String, help: String, default: SettingValue? = nil
    ) -> SettingDeclaration {
        SettingDeclaration(
            "link",
            .string(
                TextRule(
                    pattern: "(\(schemes.joined(separator: "|")))://.+", expected: expected, example: example)),
            help: help, default: `default`, required: `default` == nil, access: .link)
    }

    /// The setting `link` of a scale whose own frames come as a stream of bytes.
    public static func streamLinkDeclaration(example: String, help: String) -> SettingDeclaration {
        linkDeclaration(
            ["rfcomm", "rfcomm-accept", "tcp", "tcp-accept", "unix", "unix-accept", "serial", "hsl", "hsl-accept"],
            expected: "rfcomm://00:4D:32:1A:2B:3C, rfcomm-accept://…, tcp://HOST:PORT, tcp-accept://…, "
                + "unix:///PATH, unix-accept:///…, serial:///dev/…, hsl://HOST:PORT or hsl-accept://HOST:PORT",
            example: example, help: help)
    }

    /// The access that the links and the Open API need.
    public static let reaches: [PluginReach] = [.network, .listening, .bluetooth]

    /// The type of a setting or argument that is a scale's address.
    static let addressType = SettingType.string(
        TextRule(
            pattern: "[0-9A-Fa-f]{2}(:?[0-9A-Fa-f]{2}){5}", expected: "twelve hex digits", example: "004D321A2B3C"))

    /// The settings `device_id` and `zone`.
    public static func placeDeclarations(deviceHelp: String) -> [SettingDeclaration] {
        [
            SettingDeclaration("device_id", addressType, help: deviceHelp),
            SettingDeclaration(
                "zone", .timeZone,
                help:
                    "The zone of the scale's clock, which has none; if not set, that of the hub's persons, if all have the same, "
                    + "or the machine's."),
        ]
    }

    /// The setting `errors`, with the numbers that the model has.
    public static func errorsDeclaration(numbers: String, in words: String, example: String) -> SettingDeclaration {
        SettingDeclaration(
            "errors",
            .list(
                of: .string(
                    TextRule(
                        pattern: "[0-9A-Fa-f]{2}=(\(numbers))",
                        expected: "an error byte, = and the vendor's number \(words)", example: example))),
            help: "Rows that replace those of the built-in table of error bytes.")
    }

    /// The settings that control permission to measure.
    public static let verificationDeclarations: [SettingDeclaration] =
        [
            SettingDeclaration(
                "auth_mode", .choice(VerificationMode.allCases.map(\.rawValue)),
                help:
                    "Who decides whether a person may measure: this machine, iHealth's Open API, or the software at the "
                    + "other end of an hsl link.", default: .string(VerificationMode.local.rawValue)),
            SettingDeclaration(
                "person", .string(),
                help: "The hub's person who measures; a new one accepts the disclaimer first. Not set: the household, "
                    + "which is not registered."),
            SettingDeclaration("user_id", .string(), help: "The person's e-mail address with the vendor."),
            SettingDeclaration("client_id", .string(), help: "The id that the vendor gives to users of its software."),
            SettingDeclaration("client_secret", .string(), help: "The secret of client_id.", secret: true),
        ] + openAPIDeclarations

    /// The shared secret of an hsl link.
    public static let tokenDeclaration = SettingDeclaration(
        "token", .string(),
        help: "The secret of both ends of an hsl link; needed if the link waits for other machines.", secret: true)

    /// The setting that enables the log-in.
    public static let keyKindDeclaration = SettingDeclaration(
        "auth_kind", .choice(["xxtea-v1", "none"]),
        help: "The variant of the log-in; there is no capture of one of this model.", default: .string("xxtea-v1"))

    /// The key for the log-in of a HS4 and a HS5.
    public static let keyDeclaration = SettingDeclaration(
        "auth_key", .string(TextRule(pattern: "[0-9A-Fa-f]{32}", expected: "32 hex digits", example: Self.exampleKey)),
        help:
            "The vendor's key for this model; without it a real scale lets no program in, and only a simulated one or an "
            + "hsl link works.", secret: true)

    /// An invented key.
    private static let exampleKey = "00112233445566778899aabbccddeeff"

    /// - Throws: ``PluginFailure`` if the setting is set but is not a key.
    public static func key(_ settings: PluginSettings) throws -> ScaleKey? {
        guard let secret = settings["auth_key"]?.secret, try settings.text("auth_kind") != "none" else { return nil }
        let digits = secret.reveal()
        guard digits.utf8.count == 32, let bytes = [UInt8](hexadecimal: digits), let key = ScaleKey(bytes) else {
            throw PluginFailure(.settings, "setting auth_key: expected 32 hex digits")
        }
        return key
    }

    /// Two sentences about the limits without the vendor's key; `nil` with a key or on an hsl link.
    public func keyNotice(_ key: ScaleKey?) -> String? {
        guard key == nil, !link.isHSL else { return nil }
        return
            "Without auth_key a real \(model.rawValue) lets no program in, so this link serves a simulated scale alone. What "
            + "works without the key is HSL/1: link = \"hsl-accept://127.0.0.1:4714\" and a program there that uses the "
            + "vendor's software."
    }
}
