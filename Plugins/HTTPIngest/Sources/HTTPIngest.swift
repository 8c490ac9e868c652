import HTTPServing
import PhonePayloads
import PluginKit

/// Stores the health records that phones, apps and people post.
@main
struct HTTPIngest: SourcePlugin {
    static let manifest = Manifest(
        name: "http-ingest", summary: "Takes what phones, apps and people post by HTTP.",
        version: ProductVersion.current, writes: ["*"],
        declares: PhoneTypes.declared.map(TypeDeclaration.init(of:)), settings: IngestSettings.declarations,
        reaches: [.network, .listening])

    static let commands: [Command<Self>] = [
        Command(
            "new", help: "Makes a token for one phone or program, and shows it once.",
            arguments: [
                .init(
                    "name",
                    .string(
                        TextRule(
                            pattern: "[A-Za-z0-9._-]{1,64}", expected: "letters a to z, digits, . _ -",
                            example: "anna-iphone")
                    ),
                    help: "The name of the phone; a name like anna-iphone is of the person anna.", required: true),
                .init(
                    "person", .string(), help: "Whose phone it is; not set: by the name, or the only person.",
                    default: nil),
                .init(
                    "formats", .list(of: .choice(PostEndpoint.words)), help: "The formats it may send; not set: all.",
                    default: .list([])),
            ], canDryRun: true
        ) { plugin, call in try await plugin.parts(call.hub).new(call) },
        Command("list", help: "Lists the tokens: whose they are, and when each was last used.") { plugin, call in
            try await plugin.parts(call.hub).list()
        },
        Command(
            "revoke", help: "Revokes a token; its records stay.",
            arguments: [.init("name", .string(), help: "The token's name.", required: true)]
        ) { plugin, call in
            let name = try call.arguments.text("name")
            try await plugin.parts(call.hub).tokens.revoke(name)
            return ["revoked": name]
        },
    ]

    /// The time limits; tests use shorter ones.
    var limits = IngestLimits()

    private let made = LazyValue<IngestParts>()

    private func parts(_ hub: PluginContext) async throws -> IngestParts {
        try await made.value { [limits] in IngestParts(hub, try IngestSettings(hub.settings), limits) }
    }

    func run(_ hub: PluginContext) async throws {
        // Persons and their zones come with the first session; before it, a post could get the wrong person or day.
        try await hub.untilSession(beyond: 0)
        let parts = try await parts(hub)
        try await parts.intake.begin()
        let listening = parts.settings.listening
        let door = PluginHTTPServer(
            listening, hub: hub, responder: parts.desk, patience: limits.connection, connections: 64)
        // The door needs a separate task, because the current one is cancelled at the stop. Pending requests get answers before the door closes.
        let serving = Task {
            try await door.run { port in
                hub.logger.info(
                    "waiting for phones", metadata: ["host": "\(listening.host)", "port": "\(port)"])
                if let event = try? DeviceEvent("connected") { await hub.event(event) }
            }
        }
        let farewell = limits.farewell
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await withTaskCancellationHandler {
                    try await serving.value
                } onCancel: {
                    Task {
                        await door.open.untilNone(within: farewell)
                        serving.cancel()
                    }
                }
            }
            if let broker = parts.settings.broker {
                let messages = BrokerMessages(topics: broker.topics, intake: parts.intake)
                group.addTask { try await BrokerListener(hub: hub, broker: broker, messages: messages).run() }
            }
            group.addTask { await hub.untilStopped() }
            try await group.next()
            group.cancelAll()
        }
    }

    func judge(_ settings: PluginSettings) throws { _ = try IngestSettings(settings) }

    func check(_ hub: CheckContext) async throws -> String {
        let settings = try IngestSettings(hub.settings)
        let next = "hub ingest new makes a token for each"
        guard let files = settings.listening.certificate else {
            return "Phones come to \(settings.listening.address); \(next)."
        }
        let end = try files.read().end
        guard end > hub.clock.now() else {
            throw PluginFailure(
                .settings,
                "setting certificate: it ended on \(CertificateFiles.date(end)), and phones refuse it: renew it")
        }
        return
            "Phones come to \(settings.listening.address), with a certificate until \(CertificateFiles.date(end)); \(next)."
    }
}

/// The parts that a running plugin shares.
struct IngestParts: Sendable {
    let hub: PluginContext
    let settings: IngestSettings
    let tokens: TokenStore
    let intake: Intake
    let desk: PostHandler

    init(_ hub: PluginContext, _ settings: IngestSettings, _ limits: IngestLimits) {
        (self.hub, self.settings) = (hub, settings)
        tokens = TokenStore(hub.state, declared: settings.tokens, trusted: settings.broker?.topics.map(\.token) ?? [])
        intake = Intake(
            hub: hub, settings: settings, memory: IntakeState(hub.state), tokens: tokens,
            complaints: RefusalReports(hub))
        desk = PostHandler(intake: intake, page: PhoneSetupPage(address: settings.listening.address), limits: limits)
    }

    func new(_ call: CommandCall) async throws -> NewIngestToken {
        let name = try call.arguments.text("name")
        guard PhoneToken.isName(name) else {
            throw CommandFailure("arguments", "name: expected 1 to 64 letters a to z, digits, . _ or -")
        }
        let said = call.arguments["person"]?.string
        let person = try person(of: name, said: said)
        let formats = Set(try call.arguments.texts("formats"))
        var answer = NewIngestToken(name: name, person: person?.name, address: settings.listening.address)
        answer.displayName = person?.displayName
        answer.meant = person == nil ? TokenOwner.meant(by: name, hub.persons) : nil
        answer.note = note(name, said, person)
        guard !call.isDryRun else { return answer }
        let (_, text) = try await tokens.add(name: name, person: person?.name, formats: formats, at: hub.clock.now())
        answer.token = text
        if formats.isEmpty || formats.contains("hae") {
            let link = Self.link(address: settings.listening.address, name: name, token: text)
            (answer.link, answer.qr) = (link, QRCode(link)?.lines)
        }
        return answer
    }

    /// The person of a token: the given one, the one whose name begins the token's name, or the only person.
    private func person(of name: String, said: String?) throws -> Welcome.PersonEntry? {
        if let said {
            guard let person = hub.persons.named(said) else {
                throw CommandFailure(
                    "person", "hub.conf has no person \(said) for this plugin; \(hub.persons.advice(on: said))")
            }
            return person
        }
        return TokenOwner.named(by: name, hub.persons) ?? (hub.persons.count == 1 ? hub.persons[0] : nil)
    }

    /// A warning if the name does not begin with a person's name although it may have been meant to.
    private func note(_ name: String, _ said: String?, _ person: Welcome.PersonEntry?) -> String? {
        guard said == nil, TokenOwner.named(by: name, hub.persons) == nil else { return nil }
        let names = hub.persons.map(\.bothNames).joined(separator: ", ")
        let there = names.isEmpty ? "it has none: add a section [person.NAME]" : "it has \(names)"
        let begins = "\(name) does not begin with the name of a person of hub.conf (\(there))"
        guard let person else { return begins }
        return "\(begins); it is of \(person.shownName), the only one"
    }

    /// The address with which Health Auto Export creates an automation.
    private static func link(address: String, name: String, token: String) -> String {
        let members = [
            ("url", "\(address)/ingest/hae"), ("name", "Health hub"), ("headers", "Authorization,Bearer \(token)"),
            ("format", "json"), ("datatype", "healthmetrics"), ("aggregatedata", "false"), ("period", "none"),
            ("interval", "none"), ("syncinterval", "hours"), ("syncquantity", "1"), ("batchrequests", "true"),
            ("enabled", "true"),
        ]
        return "com.HealthExport://automation?"
            + FormText.write(members.map { (name: $0, value: $1) })
    }

    func list() async throws -> [IngestToken] {
        try await tokens.list().map { token, isDeclared, seen in
            IngestToken(
                name: token.name, id: token.id, person: token.person, formats: token.formats.sorted(),
                made: token.made > 0 ? Timestamp(microseconds: token.made * 1_000_000).text : nil,
                lastSeen: seen.map { Timestamp(microseconds: $0 / 1_000_000 * 1_000_000).text }, inSettings: isDeclared)
        }
    }
}

extension TypeDeclaration {
    fileprivate init(of type: HealthType) {
        self.init(id: type.id.rawValue, kind: type.kind, unit: type.unit, aggregation: type.aggregation)
    }
}
