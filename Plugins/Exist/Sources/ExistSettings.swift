import CloudClient
import PluginKit

/// The validated settings of one instance.
struct ExistSettings: Sendable {
    enum LogInWay: String, CaseIterable, Sendable { case browser, token }
    /// The days without a measurement that are sent.
    enum Carried: String, CaseIterable, Sendable {
        /// Days whose weigh-in lies within the window of days that are sent.
        case window
        case all, none
    }

    let address: ServiceAddress
    let logIn: LogInWay
    let clientID: String?
    let clientSecret: Secret?
    let redirect: String
    let attributes: [ExistAttribute]
    /// Number of days for which values are sent, today included.
    let days: Int
    /// Number of most recent days that are sent with every call.
    let regularDays: Int
    let carried: Carried
    let interval: Duration
    let gather: Duration
    let callsPerHour: Int
    let reacquires: Bool
    let isDryRun: Bool

    static let declarations: [SettingDeclaration] =
        ServiceAddress.settings(default: "https://exist.io", help: "Where Exist is; a stand-in has another address.")
        + [
            SettingDeclaration(
                "login", .choice(LogInWay.allCases.map(\.rawValue)),
                help: "How hub login works: in a browser, or with the personal access token of your developer app.",
                default: .string(LogInWay.browser.rawValue)),
            SettingDeclaration("client_id", .string(), help: "Of the developer app that you registered at Exist."),
            SettingDeclaration("client_secret", .string(), help: "Its secret.", secret: true),
            SettingDeclaration(
                "redirect", .url(), help: "The redirect URI that you registered for it.",
                default: .string("http://127.0.0.1:8737/")),
            SettingDeclaration(
                "attributes", .list(of: .string(AttributeChoice.rule)),
                help:
                    "The attributes to send, by Exist's names; attribute=type/series fills one from other days of the hub.",
                default: .list([.string("weight")])),
            SettingDeclaration(
                "days", .integer(Bounds(1, 36_500)),
                help: "How many days back values are sent, today included; the first time all of them.",
                default: .integer(30)),
            SettingDeclaration(
                "regular_days", .integer(Bounds(0, 30)),
                help: "How many of the last days every call includes, changed or not.", default: .integer(2)),
            SettingDeclaration(
                "carried", .choice(Carried.allCases.map(\.rawValue)),
                help: "Days without a measurement: sent where the weigh-in is within the days sent, always, or never.",
                default: .string(Carried.window.rawValue)),
            SettingDeclaration(
                "interval", .duration(Bounds(nil, SettingDuration("24h"))),
                help: "The least time between two updates; Exist asks for an hour.", default: .string("1h")),
            SettingDeclaration(
                "gather", .duration(Bounds(nil, SettingDuration("1h"))),
                help: "How long a first value waits for others, so that they make one call.", default: .string("30s")),
            SettingDeclaration(
                "calls_per_hour", .integer(Bounds(5, 300)),
                help: "Calls in any sixty minutes at most, all attributes together; Exist allows 300.",
                default: .integer(60)),
            SettingDeclaration(
                "reacquire", .choice(["once", "never"]),
                help: "Whether an attribute that another service took is taken back, at most once a day.",
                default: .string("once")),
            SettingDeclaration(
                "dry_run", .boolean, help: "Sends nothing; hub do exist plan shows the calls it would make.",
                default: .boolean(false)),
        ]

    /// - Throws: ``PluginFailure`` that names the invalid setting.
    init(_ settings: PluginSettings) throws {
        let way = LogInWay(rawValue: try settings.text("login")) ?? .browser
        let (id, secret) = (settings["client_id"]?.string, settings["client_secret"]?.secret)
        (logIn, clientID, clientSecret) = (way, id, secret)
        (address, attributes, _) = try PluginSettings.all(
            { try ServiceAddress(settings) }, { try AttributeChoice.read(try settings.texts("attributes")) },
            {
                guard way == .token || id != nil && secret != nil else {
                    throw PluginFailure(
                        .settings,
                        "setting client_id: a log-in in the browser needs client_id and client_secret of a developer "
                            + "app of yours (exist.io, Account, Developer clients); or set login = \"token\"")
                }
            })
        redirect = try settings.text("redirect")
        days = Int(try settings.integer("days"))
        regularDays = min(Int(try settings.integer("regular_days")), days)
        carried = Carried(rawValue: try settings.text("carried")) ?? .window
        interval = try settings.duration("interval").duration
        gather = try settings.duration("gather").duration
        callsPerHour = Int(try settings.integer("calls_per_hour"))
        reacquires = try settings.text("reacquire") == "once"
        isDryRun = try settings.boolean("dry_run")
    }

    /// The OAuth scopes of a log-in: read and write access to the groups of the chosen attributes.
    var scopes: String {
        Set(attributes.map(\.group)).sorted().flatMap { ["\($0)_read", "\($0)_write"] }.joined(separator: " ")
    }

    /// The types whose day values are sent.
    var types: [String] { Set(attributes.compactMap { $0.source?.type.rawValue }).sorted() }

    func attribute(of type: TypeID, _ series: String) -> ExistAttribute? {
        attributes.first { $0.source?.type == type && $0.source?.series == series }
    }
}
