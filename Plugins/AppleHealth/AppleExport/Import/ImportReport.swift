import Samples

/// The result of an import or of a dry run, as `--json` prints it.
package struct ImportReport: Encodable, Sendable {
    package struct Part: Encodable, Sendable {
        /// A type or a source.
        package var name: String
        /// The number of records in the file.
        package var records: Int
        /// The number of them that are new to the hub: stored by an import, or not found by a dry run.
        package var new: Int?
        /// The number stored as new versions of existing records; absent in a dry run, which only looks up identities.
        package var changed: Int?
        /// The number that the hub already had.
        package var known: Int?
        /// The number that the hub refused.
        package var refused: Int
        /// RFC 3339, in UTC.
        package var from: String?
        package var to: String?
    }

    package struct Oddity: Encodable, Sendable {
        package var what: String
        package var count: Int
        /// `lost`, `kept` (as written) or `none`.
        package var effect: String
        package var explanation: String
        /// The offset of the first one in the XML, in bytes.
        package var firstByte: Int64?
        /// The first thousand places.
        package var places: [Place]
    }

    /// The place of an anomaly or refusal.
    package struct Place: Encodable, Sendable {
        /// The file beside the XML.
        package var file: String?
        /// The offset in the XML.
        package var byte: Int64?
        package var date: String?
        package var type: String?
        package var source: String?
        package var reason: String?
        /// The number of anomalies at this place if there are several, such as points of a route.
        package var count: Int?
    }

    package struct Refusal: Encodable, Sendable {
        package var reason: String
        package var count: Int
        /// The first hundred places.
        package var places: [Place]
    }

    package var file: String
    /// Whether nothing was stored.
    package var dryRun: Bool
    /// Whether the file was read to its end.
    package var finished = false
    /// The time at which the phone made the export.
    package var exportDate: String?
    /// Whether the XML has its end tag.
    package var complete = false
    /// Why a part of the export could not be read.
    package var fault: String?
    package var records = 0
    /// Absent if nothing was stored and nothing was looked up.
    package var new: Int?
    package var changed: Int?
    package var known: Int?
    package var refused = 0
    /// The number of items in the file that are not in the hub: those of `oddities` whose effect is `lost`.
    package var lost = 0
    /// The number of records that the filter excluded.
    package var filtered = 0
    package var from: String?
    package var to: String?
    package var types: [Part] = []
    package var sources: [Part] = []
    package var oddities: [Oddity] = []
    package var refusals: [Refusal] = []
    /// Types that the hub does not know, kept under their identifiers, and elements that were skipped.
    package var unknownTypes: [String] = []
    package var unknownElements: [String] = []

    /// The report with fewer places, so that it fits into a message.
    package func keepingPlaces(_ count: Int) -> ImportReport {
        var report = self
        for index in report.oddities.indices {
            report.oddities[index].places = Array(report.oddities[index].places.prefix(count))
        }
        for index in report.refusals.indices {
            report.refusals[index].places = Array(report.refusals[index].places.prefix(count))
        }
        return report
    }

    /// Whether the whole file was read and nothing was refused or lost.
    package var isWhole: Bool { finished && complete && fault == nil && refused == 0 && lost == 0 }
}

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
        _ account: ExportAccount, file: String, dryRun: Bool, isCounted: Bool, finished: Bool
    ) -> ImportReport {
        var report = ImportReport(file: file, dryRun: dryRun)
        var utc = UTCWriter()
        func part(_ name: String, _ tally: ExportAccount.Tally, _ count: Count) -> ImportReport.Part {
            ImportReport.Part(
                name: name, records: tally.count, new: isCounted ? count.new : nil,
                changed: isCounted && !dryRun ? count.changed : nil, known: isCounted ? count.known : nil,
                refused: count.refused,
                from: tally.count > 0 ? utc.text(tally.first) : nil, to: tally.count > 0 ? utc.text(tally.last) : nil)
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
        for oddity in ExportAccount.Oddity.allCases {
            guard let odd = account.oddities[oddity] else { continue }
            report.oddities.append(
                ImportReport.Oddity(
                    what: oddity.rawValue, count: odd.count, effect: oddity.effect.rawValue,
                    explanation: oddity.explanation, firstByte: odd.firstOffset,
                    places: odd.places.map(ImportReport.Place.init)))
        }
        report.refusals = refusals.map {
            ImportReport.Refusal(reason: $0.key, count: $0.value.count, places: $0.value.places)
        }
        .sorted { ($1.count, $0.reason) < ($0.count, $1.reason) }
        (report.unknownTypes, report.unknownElements) = (
            account.unknownTypes.sorted(), account.unknownElements.sorted()
        )
        return report
    }
}

extension ImportReport.Place {
    init(_ place: ExportAccount.Place) {
        (file, byte, date, type) = (place.file, place.byte, place.date, place.type)
        (source, reason, count) = (place.source, place.reason, place.count > 1 ? place.count : nil)
    }
}
