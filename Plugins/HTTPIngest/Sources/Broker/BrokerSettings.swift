import Foundation
import PhonePayloads
import PluginKit

/// An MQTT broker and the subscriptions there.
struct BrokerSettings: Sendable {
    /// A subscription, whose records belong to one phone or program.
    struct Topic: Hashable, Sendable {
        var filter: String
        /// A word of the addresses, such as `hae`.
        var format: String
        /// The token that owns the records; only the broker's access control proves it.
        var token: PhoneToken

        /// Whether the messages contain their times.
        var isTimed: Bool { format != "ble-scale-sync" }
    }

    static let formats = ["hae", "openscale", "ble-scale-sync", "plain"]

    let host: String
    let port: Int
    let hasTLS: Bool
    let user: String?
    let password: String?
    let authorities: String?
    let topics: [Topic]

    /// Nil if no broker is configured.
    init?(_ settings: PluginSettings, allowsPlain: Bool) throws {
        let entries = try settings["mqtt_topics"] == nil ? [] : settings.texts("mqtt_topics")
        guard let text = settings["mqtt"]?.string else {
            guard entries.isEmpty else {
                throw PluginFailure(
                    .settings, "setting mqtt_topics: needs mqtt, the address of the broker")
            }
            return nil
        }
        let (url, read) = try PluginSettings.all(
            { try Self.address(text, allowsPlain: allowsPlain) },
            {
                guard !entries.isEmpty else {
                    throw PluginFailure(
                        .settings, "setting mqtt_topics: needed with mqtt: the topics to read")
                }
                return try PluginSettings.each(entries, Self.topic)
            })
        (hasTLS, topics) = (url.hasTLS, read)
        (host, port) = (url.host, url.port ?? (hasTLS ? 8_883 : 1_883))
        user = settings["mqtt_user"]?.string
        password = settings["mqtt_password"]?.secret?.reveal() ?? settings["mqtt_password"]?.string
        authorities = settings["mqtt_authorities"]?.string
    }

    private static func address(
        _ text: String, allowsPlain: Bool
    ) throws -> (host: String, port: Int?, hasTLS: Bool) {
        guard let url = URLComponents(string: text), let host = url.host, !host.isEmpty, url.user == nil,
            url.path.isEmpty || url.path == "/"
        else {
            throw PluginFailure(
                .settings,
                "setting mqtt: expected such as \"mqtts://broker.home.example:8883\"; a name goes into mqtt_user")
        }
        let hasTLS = url.scheme == "mqtts"
        let isLocal = ["localhost", "::1"].contains(host) || host.hasPrefix("127.")
        guard hasTLS || isLocal || allowsPlain else {
            throw PluginFailure(
                .settings,
                "setting mqtt: the connection to another machine is not encrypted; use mqtts, or set plain_http = true"
            )
        }
        return (host, url.port, hasTLS)
    }

    private static func topic(_ entry: String) throws -> Topic {
        let split = entry.lastIndex(of: "=") ?? entry.startIndex
        let filter = String(entry[..<split])
        let parts = entry[split...].dropFirst().split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        guard MQTTClient.isSubscription(filter), (2...3).contains(parts.count), formats.contains(parts[0]),
            PhoneToken.isName(parts[1])
        else {
            throw PluginFailure(
                .settings,
                "setting mqtt_topics: expected TOPIC=FORMAT:NAME, such as \"openScaleSync/#=openscale:kitchen\", with one of "
                    + formats.joined(separator: ", "))
        }
        let token = PhoneToken(
            name: parts[1], id: "mqtt-\(parts[1])", hash: [], person: parts.count > 2 ? parts[2] : nil, made: 0)
        return Topic(filter: filter, format: parts[0], token: token)
    }
}
