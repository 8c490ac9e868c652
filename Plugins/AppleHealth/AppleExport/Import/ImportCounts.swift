import HubWire
import Samples

/// Counts the results of records by the indices of types and sources in the reader's account.
struct ImportCounts {
    struct Count {
        var new = 0
        var changed = 0
        var known = 0
        var refused = 0
    }

    private(set) var types: [Count] = []
    private(set) var sources: [Count] = []
    private(set) var all = Count()
    private(set) var refusals: [String: (count: Int, places: [ImportReport.Place])] = [:]
    private static let places = 100
    /// Maximum number of different reasons.
    private static let reasons = 200

    mutating func add(_ mark: ExportBatch.Mark, _ change: (inout Count) -> Void) {
        while types.count <= mark.type { types.append(Count()) }
        while sources.count <= mark.source { sources.append(Count()) }
        change(&types[mark.type])
        change(&sources[mark.source])
        change(&all)
    }

    mutating func refuse(_ mark: ExportBatch.Mark, _ reason: String, _ place: ImportReport.Place) {
        add(mark) { $0.refused += 1 }
        let reason = refusals[reason] != nil || refusals.count < Self.reasons ? reason : "for other reasons"
        var known = refusals.removeValue(forKey: reason) ?? (0, [])
        known.count += 1
        if known.places.count < Self.places { known.places.append(place) }
        refusals[reason] = known
    }

    /// The report on the file as far as it was read.
    func report(
        _ account: AppleExportSummary, file: String, dryRun: Bool, isCounted: Bool, finished: Bool
    ) -> ImportReport {
        var report = ImportReport(file: file, dryRun: dryRun)
        var utc = UTCWriter()
        func part(_ name: String, _ tally: AppleExportSummary.Tally, _ count: Count) -> ImportReport.Part {
            var part = ImportReport.Part(name: name, records: tally.count)
            if isCounted { (part.new, part.known) = (count.new, count.known) }
            if isCounted, !dryRun { part.changed = count.changed }
            part.refused = count.refused
            if tally.count > 0 { (part.from, part.to) = (utc.text(tally.first), utc.text(tally.last)) }
            return part
        }
        report.finished = finished
        report.exportDate = account.exportDate.map { utc.text($0) }
        (report.complete, report.fault) = (account.isComplete, account.fault)
        if isCounted { (report.new, report.known) = (all.new, all.known) }
        if isCounted, !dryRun { report.changed = all.changed }
        (report.refused, report.lost) = (all.refused, account.lost)
        (report.records, report.filtered) = (account.records, account.filtered)
        let tallies = account.types.map(\.tally).filter { $0.count > 0 }
        report.from = tallies.map(\.first).min().map { utc.text($0) }
        report.to = tallies.map(\.last).max().map { utc.text($0) }
        for (index, type) in account.types.enumerated() where type.tally.count > 0 {
            report.types.append(part(type.id.rawValue, type.tally, index < types.count ? types[index] : Count()))
        }
        for (index, source) in account.sources.enumerated() where source.tally.count > 0 {
            report.sources.append(part(source.name, source.tally, index < sources.count ? sources[index] : Count()))
        }
        report.types.sort { ($1.records, $0.name) < ($0.records, $1.name) }
        report.sources.sort { ($1.records, $0.name) < ($0.records, $1.name) }
        for oddity in AppleExportSummary.Anomaly.allCases {
            guard let odd = account.oddities[oddity] else { continue }
            var entry = ImportReport.Anomaly(
                what: oddity.rawValue, count: odd.count, effect: oddity.effect.rawValue,
                explanation: oddity.explanation)
            (entry.firstByte, entry.places) = (odd.firstOffset, odd.places)
            report.oddities.append(entry)
        }
        report.refusals = refusals.map {
            ImportReport.Rejections(reason: $0.key, count: $0.value.count, places: $0.value.places)
        }
        .sorted { ($1.count, $0.reason) < ($0.count, $1.reason) }
        (report.unknownTypes, report.unknownElements) = (
            account.unknownTypes.sorted(), account.unknownElements.sorted()
        )
        return report
    }
}
