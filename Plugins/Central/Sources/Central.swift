import PluginKit

/// Sends the records that people have agreed to give to a centre: a PostgreSQL database, replicated on several hosts.
@main
struct Central: SinkPlugin {
    static let manifest = Manifest(
        name: "central", summary: "Delivers records to a centre of many hubs, as far as people have consented.",
        version: ProductVersion.current, reads: ["*"], settings: CentralSettings.declarations,
        sink: SinkAbilities(batchRecords: 500),
        // Only the permanent uid of the profile is used.
        profiles: true, reaches: [.network], owner: [.forgetSink])

    private let made = LazyValue<CentralParts>()

    func parts(_ hub: PluginContext) async throws -> CentralParts {
        try await made.value { try CentralParts(hub, try CentralSettings(hub.settings)) }
    }

    /// One subscription for each consent, so that the hub knows which records went to which study.
    ///
    /// It covers all kinds, because a day is a record too.
    func wants(_ hub: PluginContext) async throws -> [Want] {
        try await parts(hub).book.active().map { consent in
            Want(
                consent.want, types: consent.types, kinds: Want.Kind.allCases, persons: [consent.person],
                start: .beginning)
        }
    }

    func deliver(
        _ records: [DeliveredRecord], for want: Want, _ hub: PluginContext
    ) async throws -> [DeliveryResult] {
        let parts = try await parts(hub)
        return try await DeliveryForwarder(hub: hub, centre: parts.centre, book: parts.book).deliver(records, for: want)
    }

    func run(_ hub: PluginContext) async throws {
        let parts = try await parts(hub)
        await parts.background.run()
    }

    func judge(_ settings: PluginSettings) throws { _ = try CentralSettings(settings) }
}

/// The parts that a running plugin shares.
struct CentralParts: Sendable {
    let hub: PluginContext
    let enrolment: Enrolment
    let book: ConsentBook
    let centre: Centre
    let background: BackgroundWork
    let patience: Duration

    init(_ hub: PluginContext, _ settings: CentralSettings) throws {
        self.hub = hub
        patience = settings.patience
        enrolment = try Enrolment(settings, in: hub.state.directory)
        book = ConsentBook(hub.state)
        let (greetings, greeting) = AsyncStream.makeStream(of: HelloAnswer.self, bufferingPolicy: .bufferingNewest(1))
        centre = Centre(hub, enrolment, book, patience: patience) { greeting.yield($0) }
        background = BackgroundWork(hub, enrolment, centre, book, patience: patience, greetings: greetings)
    }
}
