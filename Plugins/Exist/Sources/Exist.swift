import CloudClient
import PluginKit

/// Sends the days of one person to their exist.io account.
@main
struct Exist: SinkPlugin {
    static let manifest = Manifest(
        name: "exist", summary: "Sends daily values of one person to exist.io.", version: ProductVersion.current,
        reads: ["*"], settings: ExistSettings.declarations,
        sink: SinkAbilities(takesDeletions: true, batchRecords: 500), reaches: [.network])

    static let commands: [Command<Self>] = [
        .logIn(help: "Logs in to Exist.") { plugin, call in try await plugin.logIn(call) },
        Command("plan", help: "Shows what would be sent, in how many calls and when; sends nothing.", canDryRun: true) {
            plugin, call in try await plugin.exporter(call.hub).report()
        },
        Command("sync", help: "Sends changed days now, without waiting for the interval.", canDryRun: true) {
            plugin, call in
            let exporter = try await plugin.exporter(call.hub)
            return call.isDryRun ? try await exporter.report() : try await exporter.synchronizeNow()
        },
        Command("verify", help: "Reads back 31 days; the next run sends those again that differ.") { plugin, call in
            try await plugin.exporter(call.hub).verify()
        },
        Command(
            "acquire", help: "Takes the attributes over, also from another service; then sends.", canDryRun: true
        ) { plugin, call in
            let exporter = try await plugin.exporter(call.hub)
            return call.isDryRun ? try await exporter.report(acquiring: true) : try await exporter.acquireAgain()
        },
        Command("release", help: "Gives the attributes back to the service that had them; their values stay.") {
            plugin, call in ["released": try await plugin.exporter(call.hub).giveBack()]
        },
        Command(
            "overwrite", help: "Overwrites a value that Exist keeps and the hub no longer has.",
            arguments: [
                SettingDeclaration("attribute", .string(TextRule(example: "weight")), help: "Which.", required: true),
                SettingDeclaration("date", .date, help: "Of which day.", required: true),
                SettingDeclaration("value", .number(), help: "In Exist's unit.", required: true),
            ]
        ) { plugin, call in
            guard let date = LocalDate(try call.arguments.text("date")) else {
                throw CommandFailure("command", "date: expected YYYY-MM-DD")
            }
            try await plugin.exporter(call.hub).overwrite(
                try call.arguments.text("attribute"), date, try call.arguments.number("value"))
            return nil
        },
        Command("forget", help: "Forgets the account, the person, and which values Exist holds; Exist keeps them all.")
        {
            plugin, call in
            try await plugin.exporter(call.hub).forgetAll()
            return nil
        },
    ]

    private let made = LazyValue<Exporter>()

    private func exporter(_ hub: PluginContext) async throws -> Exporter {
        try await made.value { try await Exporter(hub) }
    }

    func run(_ hub: PluginContext) async throws {
        try await exporter(hub).login.look()
        await hub.untilStopped()
    }

    /// The name of the one subscription.
    static let want = "days"

    func wants(_ hub: PluginContext) async throws -> [Want] {
        let exporter = try await exporter(hub)
        let types = exporter.settings.types
        // If the plugin was started by hand with a settings file, the hub has not named the persons yet; the first answer does.
        var filter = QueryRequest.Filter()
        (filter.types, filter.kinds) = (types, [.day])
        var pages = hub.query(filter, limit: 1).makeAsyncIterator()
        _ = try await pages.next()
        guard hub.persons.count == 1 else {
            let names = hub.persons.map(\.name).joined(separator: ", ")
            throw PluginFailure(
                .settings,
                "an account at Exist is one person's: name one with persons = [\"…\"] in [plugin.\(hub.instance)]"
                    + (names.isEmpty ? "" : "; there are \(names)"))
        }
        return [Want(Self.want, types: types, kinds: [.day], persons: hub.persons.map(\.name), start: .beginning)]
    }

    func deliver(
        _ records: [DeliveredRecord], for want: Want, _ hub: PluginContext
    ) async throws -> [DeliveryResult] {
        try await exporter(hub).deliver(records)
    }

    // MARK: - Log-in

    private func logIn(_ call: CommandCall) async throws -> LogIn {
        let exporter = try await exporter(call.hub)
        let (settings, service) = (exporter.settings, exporter.service)
        var token: OAuthToken
        switch settings.logIn {
        case .browser:
            token = try await service.oauth.logIn(call)
        case .token:
            token = OAuthToken(
                accessToken: Secret(
                    try await call.ask(
                        "Paste the personal access token of your developer app at Exist.",
                        url: settings.address.text + "/account/apps/", isSecret: true)))
        }
        let profile: ExistService.Profile
        do {
            profile = try await exporter.profile(of: token)
        } catch let error as CloudError {
            throw CommandFailure(error)
        }
        try await exporter.admit(profile.username)
        token.user = profile.username
        return LogIn(account: CloudAccount.name, token: token)
    }
}
