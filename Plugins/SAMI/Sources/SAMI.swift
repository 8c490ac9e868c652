import CloudClient
import PluginKit

/// Imports messages of a person's devices from SAMI and compatible services, and posts records of the hub there.
@main
struct SAMI: SinkPlugin, SourcePlugin {
    static let manifest = Manifest(
        name: "sami", summary: "Messages of a person's devices at a SAMI-compatible exchange, in and out.",
        version: ProductVersion.current, reads: Post.all.flatMap { $0.fields.keys }.sorted(),
        writes: FieldMap.written + [FieldTypes.pattern],
        declares: FieldMap.declared, settings: SAMISettings.declarations,
        sink: SinkAbilities(takesEdits: false, takesDeletions: false, takesFilledValues: false, batchRecords: 100),
        reaches: [.network])

    static let commands: [Command<Self>] = [
        .logIn(help: "Logs in to the exchange.") { plugin, call in try await plugin.logIn(call) },
        .logOut(help: "Asks the exchange to revoke the token, and checks that it did.") { plugin, call, token in
            try await plugin.parts(call.hub).account.revoke(token)
        },
        Command("refresh", help: "Asks for new messages now.") { plugin, call in
            ["new": try await plugin.parts(call.hub).importer.importNew(isCommand: true)]
        },
        Command("look", help: "Shows the logged-in user, the devices, and the last weights of the first scale.") {
            plugin, call in
            let parts = try await plugin.parts(call.hub)
            let text = try await Walkthrough(calls: parts.account, settings: parts.importer.settings).text()
            return ["lines": text.split(separator: "\n").map(String.init)]
        },
        Command(
            "backfill", help: "Reads the history of the devices; continues an earlier backfill that was stopped.",
            arguments: [
                .init("since", .date, help: "The first day; not given: that of the first message."),
                .init("device", .string(), help: "Name or id of one device; not given: all."),
            ], canDryRun: true
        ) { plugin, call in
            try await Backfill(call: call, parts: plugin.parts(call.hub)).run()
        },
    ]

    private let made = LazyValue<Parts>()

    /// The parts that a running plugin shares.
    struct Parts: Sendable {
        let account: RenewingServiceCalls
        let importer: Importer
        let poster: Poster
        let troubles: StatusReporter
        /// Woken when there may be new messages.
        let wakeup: WakeSignal

        init(_ hub: PluginContext) throws {
            troubles = StatusReporter(hub)
            let watch = ServiceWatch(hub, troubles)
            let service = SAMIService(try SAMISettings(hub.settings), pace: ClientClock(hub), limiter: watch.limiter)
            account = RenewingServiceCalls(hub, service, watch)
            wakeup = WakeSignal()
            importer = Importer(hub, account, wakeup)
            poster = Poster(hub, account, importer, troubles)
        }
    }

    private func parts(_ hub: PluginContext) async throws -> Parts { try await made.value { try Parts(hub) } }

    // MARK: - Source

    func run(_ hub: PluginContext) async throws {
        let parts = try await parts(hub)
        let wakeup = parts.wakeup
        let patience = RetryLoop(hub: hub, account: parts.account, troubles: parts.troubles)
        try await withThrowingTaskGroup(of: Void.self) { group in
            // Import new messages at each wake.
            group.addTask {
                for await _ in wakeup.signals {
                    let stored = try await patience.until { try await parts.importer.importNew() }
                    if stored > 0 { hub.logger.info("new records", metadata: ["count": "\(stored)"]) }
                }
            }
            group.addTask { try await LiveStream(hub: hub, parts: parts, patience: patience, wakeup: wakeup).run() }
            group.addTask { try await parts.troubles.follow() }
            group.addTask {
                let pace = ClientClock(hub)
                while true {
                    wakeup.wake()
                    try await pace.wait(parts.importer.settings.pollEvery)
                }
            }
            try await group.next()
            group.cancelAll()
        }
    }

    func once(_ hub: PluginContext) async throws { _ = try await parts(hub).importer.importNew() }

    // MARK: - Sink

    func wants(_ hub: PluginContext) async throws -> [Want] {
        let parts = try await parts(hub)
        let posts = parts.importer.settings.posts
        guard !posts.isEmpty else { return [] }
        // Name the account, so that records that came from it are not delivered to it.
        let patience = RetryLoop(hub: hub, account: parts.account, troubles: parts.troubles)
        let user = try await patience.until { try await parts.importer.ownUser() }
        return posts.map { post in
            Want(post.name, types: post.fields.keys.sorted(), kinds: [.quantity], account: user.id, start: .now)
        }
    }

    func deliver(
        _ records: [DeliveredRecord], for want: Want, _ hub: PluginContext
    ) async throws -> [DeliveryResult] {
        let parts = try await parts(hub)
        guard let post = Post.all.first(where: { $0.name == want.name }) else {
            throw DeliveryFailure.refused("there is no post \(want.name)")
        }
        return try await parts.poster.deliver(records, post)
    }

    // MARK: - Log-in and check

    private func logIn(_ call: CommandCall) async throws -> LogIn {
        let parts = try await parts(call.hub)
        let service = parts.account.service
        var token = try await service.oauth.logIn(call)
        do {
            let calls = FixedTokenServiceCalls(service: service, token: token.accessToken, instance: call.hub.instance)
            let user = try await Catalog(calls).user()
            token.user = user.fullName ?? user.email ?? user.id
            token.extra["uid"] = user.id
            return LogIn(account: CloudAccount.name, token: token)
        } catch let error as CloudError {
            throw CommandFailure(error)
        }
    }

    func judge(_ settings: PluginSettings) throws { _ = try SAMISettings(settings) }

    func check(_ hub: CheckContext) async throws -> String {
        let settings = try SAMISettings(hub.settings)
        let service = SAMIService(settings, pace: ClientClock(hub), limiter: nil)
        do {
            if let token = settings.token {
                let calls = FixedTokenServiceCalls(service: service, token: token, instance: hub.instance)
                return try await Walkthrough(calls: calls, settings: settings).text()
            }
            let answer = try await service.client.send(SAMIService.user)
            guard answer.status == 401 else {
                throw PluginFailure(
                    .failed, "\(settings.address) answered \(answer.status) where SAMI asks for a token: is base right?"
                )
            }
            return
                "\(settings.address) answers as SAMI does; hub login \(hub.instance) comes next. With token = \"…\" this shows the devices and weights."
        } catch let error as CloudError {
            throw PluginFailure(error)
        } catch let error as CommandFailure {
            throw PluginFailure(.refused, error.message)
        }
    }
}
