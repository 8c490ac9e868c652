import PluginKit

/// Computes a value for every day from the hub's samples: the day's mean or sum; means are carried over days without one.
@main
struct GapFiller: SinkPlugin {
    static let manifest = Manifest(
        name: "gap-filler",
        summary: "A value for every day: the day's mean, carried over days without one; sums of steps.",
        version: ProductVersion.current, reads: ["*"], writes: ["*"], settings: FillerSettings.declarations,
        sink: SinkAbilities(batchRecords: 500))

    private let keeper = DayUpdater()

    func judge(_ settings: PluginSettings) throws { _ = try FillerSettings(settings) }

    func dayUse(_ settings: PluginSettings) throws -> DayUse? {
        DayUse(makes: try FillerSettings(settings).types.map(\.type.id.rawValue))
    }

    func check(_ hub: CheckContext) async throws -> String {
        try FillerSettings(hub.settings).summary
    }

    /// Brings every day up to date before the first delivery.
    ///
    /// The subscription of readings still starts at the beginning, and retractions have a separate one. If a reading is retracted
    /// after it was read here and before it was delivered, a subscription of readings receives neither of the two (R10.4).
    func wants(_ hub: PluginContext) async throws -> [Want] {
        let settings = try FillerSettings(hub.settings)
        let read = try await keeper.open(settings, hub)
        let types = settings.types.map(\.type.id.rawValue)
        return [
            Want("readings", types: types, kinds: [.quantity], start: .beginning),
            Want("taken-back", types: types, kinds: [.retraction], start: read.map { .after($0) } ?? .beginning),
        ]
    }

    func deliver(
        _ records: [DeliveredRecord], for want: Want, _ hub: PluginContext
    ) async throws -> [DeliveryResult] {
        try await keeper.take(records)
        return records.map { _ in .delivered }
    }

    /// Days begin even if no records are delivered.
    func run(_ hub: PluginContext) async throws {
        try await MidnightTimer(keeper: keeper, hub: hub).run()
    }

    static let commands: [Command<Self>] = [
        Command(
            "recompute", help: "Reads every reading again, and corrects the days that are wrong.",
            canDryRun: true
        ) { plugin, call in
            try await plugin.keeper.recompute(isDryRun: call.isDryRun) { done, total in
                call.progress(done, of: total, total == nil ? "reading" : "storing days")
            }
        },
        Command(
            "report", help: "Shows which days are made from which readings, and which readings are left out and why."
        ) { plugin, _ in
            try await plugin.keeper.report()
        },
    ]
}
