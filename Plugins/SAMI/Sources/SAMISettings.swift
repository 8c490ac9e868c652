import CloudClient
import Foundation
import PluginKit
import WebSocketClient

/// The validated settings of `[plugin.sami]`.
struct SAMISettings: Sendable {
    /// The OAuth grant of the log-in.
    enum Grant: String, CaseIterable { case implicit, code }
    /// How records are posted.
    enum PostTransport: String, CaseIterable { case websocket, rest }

    static let declarations: [SettingDeclaration] =
        ServiceAddress.settings(
            default: nil, help: "The address of the REST calls, version included, such as http://127.0.0.1:8790/v1.1.")
        + [
            .init(
                "accounts", .url(), help: "The address of the log-in; not set: base without its last part.",
                default: nil),
            .init(
                "websocket", .url(schemes: ["wss", "ws"]),
                help: "The address of the WebSockets; not set: base with ws or wss.", default: nil),
            .init(
                "dialect", .choice(["sami", "artik"]), help: "Which of the two services it is, or is compatible with.",
                default: .string("sami")),
            .init("client_id", .string(), help: "The application's id.", required: true),
            .init(
                "client_secret", .string(), help: "The secret of that application; needed with grant = \"code\".",
                secret: true),
            .init(
                "token", .string(),
                help: "A token that --check uses, which runs without the hub and its log-in.", secret: true),
            .init(
                "redirect", .string(), help: "The application's redirect address, as it is registered.",
                default: .string("http://127.0.0.1:8737/")),
            .init(
                "grant", .choice(Grant.allCases.map(\.rawValue)), help: "How a person logs in.",
                default: .string("implicit")),
            .init(
                "devices", .list(of: .string()),
                help: "Names or ids of the devices that are read. Not set: all but those of hubs.", default: nil),
            .init(
                "zone", .timeZone,
                help: "The time zone of the devices, which the service does not send. Not set: records have no zone.",
                default: nil),
            .init(
                "since", .date,
                help: "Messages before this day are left to the command backfill; not set: everything is read.",
                default: nil),
            .init(
                "poll_every", .duration(Bounds(SettingDuration(microseconds: 10_000_000))),
                help: "How often to look for messages that the live stream missed.", default: .string("15min")),
            .init(
                "overlap", .duration(),
                help: "How far back that looks, because messages may arrive late.",
                default: .string("7d")),
            .init(
                "full_every", .duration(Bounds(SettingDuration(microseconds: 3_600_000_000))),
                help: "How often everything is read again, for messages that arrived later than overlap.",
                default: .string("30d")),
            .init(
                "post", .list(of: .choice(["weight", "calories", "pedometer"])),
                help: "Which of the hub's records are posted; a device is registered for each choice.",
                default: .list([])),
            .init(
                "post_by", .choice(PostTransport.allCases.map(\.rawValue)),
                help: "How they are posted; rest is also used while there is no WebSocket.",
                default: .string("websocket")),
        ]

    let address: ServiceAddress
    let accounts: ServiceAddress
    let webSocket: String
    let isArtik: Bool
    let clientID: String
    let clientSecret: Secret?
    /// Only for `--check`.
    let token: Secret?
    let redirect: String
    let grant: Grant
    let devices: [String]
    /// The zone of the devices; nil if it is not set.
    let zone: String?
    /// In microseconds since 1970; nil for the beginning.
    let since: Int64?
    let pollEvery: Duration
    /// In milliseconds.
    let overlap: Int64
    /// In milliseconds.
    let fullEvery: Int64
    let posts: [Post]
    let postsBySocket: Bool

    init(_ settings: PluginSettings) throws {
        let plain = settings["plain_http"]?.boolean ?? false
        let base = Result { try ServiceAddress(settings) }
        // Addresses derived from the base are checked only if the base is valid.
        let text = (try? base.get())?.text
        let secret = settings["client_secret"]?.secret
        let way = Grant(rawValue: try settings.text("grant")) ?? .implicit
        let (log, socket): (ServiceAddress?, String?)
        (address, log, socket, _) = try PluginSettings.all(
            { try base.get() },
            {
                try (settings["accounts"]?.string ?? text.map(Self.root)).map {
                    try ServiceAddress($0, setting: "accounts", allowsPlain: plain)
                }
            },
            {
                try (settings["websocket"]?.string ?? text.map { "ws" + $0.dropFirst(4) }).map {
                    try Self.webSocket($0, plain)
                }
            },
            {
                guard way == .implicit || secret != nil else {
                    throw PluginFailure(.settings, "setting client_secret: grant = \"code\" needs it")
                }
            })
        (accounts, webSocket) = (log ?? address, socket ?? "")
        isArtik = try settings.text("dialect") == "artik"
        clientID = try settings.text("client_id")
        (clientSecret, grant) = (secret, way)
        token = settings["token"]?.secret
        redirect = try settings.text("redirect")
        devices = settings["devices"] == nil ? [] : try settings.texts("devices")
        zone = try settings["zone"] == nil ? nil : settings.text("zone")
        let place = zone
        since = try settings["since"]?.string.map { try Self.start(of: $0, place) }
        pollEvery = .microseconds(try settings.duration("poll_every").microseconds)
        overlap = try settings.duration("overlap").microseconds / 1_000
        fullEvery = try settings.duration("full_every").microseconds / 1_000
        postsBySocket = try settings.text("post_by") == PostTransport.websocket.rawValue
        posts = try settings.texts("post").compactMap { name in Post.all.first { $0.name == name } }
    }

    /// The start of a day in the devices' zone, in microseconds since 1970.
    func start(of day: String) throws -> Int64 { try Self.start(of: day, zone) }

    private static func start(of day: String, _ zone: String?) throws -> Int64 {
        guard let date = LocalDate(day) else {
            throw PluginFailure(.settings, "setting since: expected a day, such as 2015-01-01")
        }
        return LocalDay.start(of: date, in: zone.flatMap { TimeZone(identifier: $0) } ?? .current).microseconds
    }

    /// The base without its last path component.
    private static func root(_ base: String) -> String {
        let root = base.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
        return root.hasSuffix("/") ? base : root
    }

    /// Checks the address as `base` is checked: unencrypted only for this machine, unless a setting allows it.
    private static func webSocket(_ text: String, _ plain: Bool) throws -> String {
        let secure = text.hasPrefix("wss://")
        guard WebSocketAddress(text) != nil else {
            throw PluginFailure(
                .settings, "setting websocket: expected an address such as \"wss://api.example.org/v1.1\"")
        }
        _ = try ServiceAddress(
            (secure ? "https" + text.dropFirst(3) : "http" + text.dropFirst(2)), setting: "websocket",
            allowsPlain: plain)
        return text.hasSuffix("/") ? String(text.dropLast()) : text
    }

    /// Whether a device should be read.
    ///
    /// Two hubs with one account would otherwise import each other's posts as new measurements, and post them again.
    func reads(_ device: ServiceDevice) -> Bool {
        devices.isEmpty ? !Post.isOfHub(device) : devices.contains(device.id) || devices.contains(device.name)
    }
}
