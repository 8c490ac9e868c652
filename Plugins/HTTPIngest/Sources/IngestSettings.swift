import Foundation
import HTTPServing
import PhonePayloads
import PluginKit

/// The validated settings of `[plugin.http-ingest]`.
struct IngestSettings: Sendable {
    private static let (visitors, shown) = ("phones", "tokens")

    static let declarations: [SettingDeclaration] =
        ListenSettings.declarations(visitors: visitors, port: 7_780, shown: shown) + [
            .init(
                "max_body", .size(Bounds(ByteSize(bytes: 65_536), ByteSize(bytes: 1 << 30))),
                help: "The maximum size of a post.", default: .string("64MiB")),
            .init(
                "percent", .choice(PhoneContext.Percent.allCases.map(\.rawValue)),
                help: "How Health Auto Export means percentages: 0 to 100, or 0 to 1.", default: .string("hundred")),
            .init(
                "workout_names", .list(of: .string()),
                help: "Workouts as the phone calls them, such as \"Laufen=running\".", default: .list([])),
            .init(
                "computed", .boolean,
                help: "Takes values that ble-scale-sync computes from a profile, if impedance was measured.",
                default: .boolean(false)),
            .init(
                "tokens", .list(of: .string()),
                help:
                    "Tokens made elsewhere, as NAME:ID:SHA256 or NAME:ID:SHA256:PERSON; hub ingest new makes its own.",
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
                help:
                    "The topics to read, as TOPIC=FORMAT:NAME or TOPIC=FORMAT:NAME:PERSON; formats are hae, openscale, "
                    + "ble-scale-sync and plain.", default: .list([])),
        ]

    let listening: ListenSettings
    let maximumBytes: Int
    let percent: PhoneContext.Percent
    let workoutNames: [String: WorkoutActivity]
    let takesComputed: Bool
    let tokens: [PhoneToken]
    let broker: BrokerSettings?

    init(_ settings: PluginSettings) throws {
        let allowsPlain = try settings.boolean("plain_http")
        (listening, workoutNames, tokens, broker) = try PluginSettings.all(
            { try ListenSettings(settings, visitors: Self.visitors, shown: Self.shown) },
            { try Self.names(settings.texts("workout_names")) },
            { try PluginSettings.each(settings.texts("tokens"), PhoneToken.init(setting:)) },
            { try BrokerSettings(settings, allowsPlain: allowsPlain) })
        maximumBytes = Int(clamping: try settings.size("max_body").bytes)
        percent = PhoneContext.Percent(rawValue: try settings.text("percent")) ?? .hundred
        takesComputed = try settings.boolean("computed")
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
        return Dictionary(pairs, uniquingKeysWith: { _, last in last })
    }
}
