import PluginKit

/// Writes delivered records to files: JSON Lines, CSV or FHIR.
///
/// This is the smallest useful sink, and an example for authors of other plugins: ``wants(_:)`` returns the subscriptions,
/// ``deliver(_:for:_:)`` does the work, and the state makes a repeated delivery harmless.
@main
struct JSONLines: SinkPlugin {
    static let manifest = Manifest(
        name: "json-lines", summary: "Records as files: JSON Lines or CSV, a line for each version.",
        version: ProductVersion.current, reads: ["*"], settings: FileSettings.declarations,
        sink: SinkAbilities(batchRecords: 500))

    private let journal = FileJournal()

    func wants(_ hub: PluginContext) async throws -> [Want] {
        let settings = try FileSettings(hub.settings)
        try await journal.open(settings, hub)
        // A copy of all records; days are delivered only if their kind is named.
        let kinds = settings.kinds ?? Want.Kind.allCases
        return [Want("files", types: settings.types, kinds: kinds, start: settings.start)]
    }

    func deliver(
        _ records: [DeliveredRecord], for want: Want, _ hub: PluginContext
    ) async throws -> [DeliveryResult] {
        try await journal.write(records)
    }

    func judge(_ settings: PluginSettings) throws {
        _ = try PluginSettings.all(
            { try FileSettings(settings) }, { try RecordFiles.judge(try settings.text("path")) })
    }

    /// An instance waits for day values only if its files contain nothing but these.
    func dayUse(_ settings: PluginSettings) throws -> DayUse? {
        let settings = try FileSettings(settings)
        guard settings.kinds == [.day], let types = settings.types else { return nil }
        return DayUse(reads: types)
    }

    func check(_ hub: CheckContext) async throws -> String {
        let settings = try FileSettings(hub.settings)
        let files = RecordFiles(directory: settings.path, instance: hub.instance, extension: settings.format.suffix)
        try files.prove()
        let first = settings.rotation.period(at: hub.clock.time)
        return
            "\(settings.path) can be written. \(settings.summary) The next new file is \(try files.next(period: first))."
    }
}
