import Files
import Foundation
import Glibc
import PhonePayloads
import PluginKit

/// `[plugin.http-ingest]`, read and checked.
struct IngestSettings: Sendable {
    static let declarations: [SettingDeclaration] = [
        .init(
            "listen",
            .string(
                TextRule(
                    pattern: #"[^ :]+:[0-9]{1,5}|\[[0-9a-fA-F:.]+\]:[0-9]{1,5}"#, expected: "host:port",
                    example: "127.0.0.1:7780")),
            help: "Where phones are waited for: this machine alone, unless another address is given.",
            default: .string("127.0.0.1:7780")),
        .init(
            "address", .url(),
            help: "The address that phones use, such as that of a proxy; not set: listen, where that is one address.",
            default: nil),
        .init(
            "certificate", .path,
            help: "A file with the certificate and those above it (PEM): phones come by HTTPS then.",
            default: nil, access: .read),
        .init(
            "key", .path, help: "The file with its private key (PEM), which no other user may read.", default: nil,
            access: .read),
        .init(
            "plain_http", .boolean, help: "Takes HTTP from other machines, which shows tokens to the network.",
            default: .boolean(false)),
        .init(
            "max_body", .size(Bounds(ByteSize(bytes: 65_536), ByteSize(bytes: 1 << 30))),
            help: "Bytes of a post at most.", default: .string("64MiB")),
        .init(
            "percent", .choice(PhoneContext.Percent.allCases.map(\.rawValue)),
            help: "How Health Auto Export means percentages: 0 to 100, or 0 to 1.", default: .string("hundred")),
        .init(
            "workout_names", .list(of: .string()),
            help: "Workouts as the phone calls them, such as \"Laufen=running\".", default: .list([])),
        .init(
            "computed", .boolean,
            help: "Takes what ble-scale-sync computes from a profile, where impedance was measured.",
            default: .boolean(false)),
        .init(
            "tokens", .list(of: .string()),
            help: "Tokens made elsewhere, as NAME:ID:SHA256 or NAME:ID:SHA256:PERSON; hub ingest new makes its own.",
            default: .list([])),
        .init(
            "mqtt", .url(schemes: ["mqtt", "mqtts"]),
            help: "A broker that apps publish to, such as mqtt://127.0.0.1:1883; not set: none.", default: nil),
        .init("mqtt_user", .string(), help: "The name at the broker.", default: nil),
        .init("mqtt_password", .string(), help: "The password at the broker.", secret: true),
        .init(
            "mqtt_authorities", .path,
            help: "A file with the certificates to trust for mqtts; not set: those of the machine.",
            default: nil, access: .read),
        .init(
            "mqtt_topics", .list(of: .string()),
            help: "What is read, as TOPIC=FORMAT:NAME or TOPIC=FORMAT:NAME:PERSON; formats are hae, openscale, "
                + "ble-scale-sync and plain.", default: .list([])),
    ]

    let host: String
    let port: Int
    /// As phones type it, without a slash at the end.
    let address: String
    /// `nil`: by HTTP.
    let certificate: CertificateFiles?
    let mostBytes: Int
    let percent: PhoneContext.Percent
    let workoutNames: [String: WorkoutActivity]
    let takesComputed: Bool
    let tokens: [PhoneToken]
    let broker: BrokerSettings?

    init(_ settings: PluginSettings) throws {
        let listen = try settings.text("listen")
        let split = listen.lastIndex(of: ":") ?? listen.endIndex
        host = listen[..<split].trimmingCharacters(in: CharacterSet(charactersIn: "[]"))
        let (host, shown) = (host, settings["address"]?.string?.trimmingSlash)
        let (file, key) = (settings["certificate"]?.string, settings["key"]?.string)
        let isPlain = file == nil && key == nil
        let allowsPlain = try settings.boolean("plain_http")
        (port, _, certificate, address, workoutNames, tokens, broker) = try PluginSettings.all(
            {
                guard let port = Int(listen[split...].dropFirst()), (0...65_535).contains(port) else {
                    throw PluginFailure(.settings, "setting listen: the port is 0 to 65535")
                }
                return port
            },
            {
                guard Self.isThisMachine(host) || !isPlain || allowsPlain else {
                    throw PluginFailure(
                        .settings,
                        "setting listen: other machines would send their tokens unencrypted; set certificate and key, or let "
                            + "a proxy with HTTPS come to 127.0.0.1, or set plain_http = true")
                }
            }, { try Self.certificate(file, key) },
            { try Self.address(shown, host: host, port: listen[split...], isPlain: isPlain) },
            { try Self.names(settings.texts("workout_names")) },
            { try PluginSettings.each(settings.texts("tokens"), PhoneToken.init(setting:)) },
            { try BrokerSettings(settings, allowsPlain: allowsPlain) })
        mostBytes = Int(clamping: try settings.size("max_body").bytes)
        percent = PhoneContext.Percent(rawValue: try settings.text("percent")) ?? .hundred
        takesComputed = try settings.boolean("computed")
    }

    /// A name like 127.example.org is one of another machine, or of this one's other addresses.
    private static func isThisMachine(_ host: String) -> Bool {
        var address = in_addr()
        if inet_pton(AF_INET, host, &address) == 1 { return UInt32(bigEndian: address.s_addr) >> 24 == 127 }
        return host == "::1" || host == "localhost"
    }

    private static func certificate(_ file: String?, _ key: String?) throws -> CertificateFiles? {
        switch (file, key) {
        case (nil, nil): return nil
        case (let file?, let key?):
            let files = CertificateFiles(certificate: file, key: key)
            _ = try files.read()
            return files
        case (nil, _?):
            throw PluginFailure(.settings, "setting certificate: it and key come together; it is not set")
        case (_?, nil): throw PluginFailure(.settings, "setting key: it and certificate come together; it is not set")
        }
    }

    /// What phones are told: as the settings say, or where the door is.
    private static func address(_ shown: String?, host: String, port: Substring, isPlain: Bool) throws -> String {
        let scheme = isPlain ? "http" : "https"
        if let shown {
            guard isPlain || shown.lowercased().hasPrefix("https://") else {
                throw PluginFailure(
                    .settings, "setting address: it begins with https://, since phones come by HTTPS with a certificate"
                )
            }
            return shown
        }
        guard host != "0.0.0.0", host != "::" else {
            throw PluginFailure(
                .settings,
                "setting address: no phone can call \(host), which is all addresses of this machine; write the name that "
                    + "phones know it by, such as \(scheme)://hub.home.example\(port)")
        }
        return "\(scheme)://\(host.contains(":") ? "[\(host)]" : host)\(port)"
    }

    private static func names(_ entries: [String]) throws -> [String: WorkoutActivity] {
        let pairs = try PluginSettings.each(entries) { entry in
            let sides = entry.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
            guard sides.count == 2, let activity = WorkoutActivity.activity(named: sides[1]) else {
                throw PluginFailure(
                    .settings,
                    "setting workout_names: expected such as \"Laufen=running\", with one of the hub's activities")
            }
            return (sides[0].lowercased(), activity)
        }
        return Dictionary(pairs, uniquingKeysWithValues: { _, last in last })
    }
}

extension Dictionary {
    fileprivate init(_ pairs: [(Key, Value)], uniquingKeysWithValues combine: (Value, Value) -> Value) {
        self.init(pairs, uniquingKeysWith: combine)
    }
}

extension String {
    fileprivate var trimmingSlash: String {
        var text = self
        while text.hasSuffix("/") { text.removeLast() }
        return text
    }
}
