/// The result of an import of a file or of a dry run, as `hub import --json` and a plugin's command `import` print it.
package struct ImportReport: Codable, Hashable, Sendable {
    package struct Part: Codable, Hashable, Sendable {
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
        package var refused = 0
        /// RFC 3339, in UTC.
        package var from: String?
        package var to: String?

        package init(name: String, records: Int) { (self.name, self.records) = (name, records) }
    }

    package struct Anomaly: Codable, Hashable, Sendable {
        package var what: String
        package var count: Int
        /// `lost`, `kept` (as written) or `none`.
        package var effect: String
        package var explanation: String
        /// The offset of the first one in the file, in bytes.
        package var firstByte: Int64?
        /// The first thousand places.
        package var places: [Place] = []

        package init(what: String, count: Int, effect: String, explanation: String) {
            (self.what, self.count, self.effect, self.explanation) = (what, count, effect, explanation)
        }
    }

    /// The place of an anomaly or refusal.
    package struct Place: Codable, Hashable, Sendable {
        /// The file beside the main one.
        package var file: String?
        /// The offset in the main file.
        package var byte: Int64?
        package var date: String?
        package var type: String?
        package var source: String?
        package var reason: String?
        /// The number of anomalies at this place if there are several, such as points of a route.
        package var count: Int?

        package init(
            file: String? = nil, byte: Int64? = nil, date: String? = nil, type: String? = nil, source: String? = nil,
            reason: String? = nil
        ) {
            (self.file, self.byte, self.date) = (file, byte, date)
            (self.type, self.source, self.reason) = (type, source, reason)
        }
    }

    package struct Rejections: Codable, Hashable, Sendable {
        package var reason: String
        package var count: Int
        /// The first hundred places.
        package var places: [Place]

        package init(reason: String, count: Int, places: [Place]) {
            (self.reason, self.count, self.places) = (reason, count, places)
        }
    }

    package var file: String
    /// Whether nothing was stored.
    package var dryRun: Bool
    /// Whether the file was read to its end.
    package var finished = false
    /// The time at which the export was made.
    package var exportDate: String?
    /// Whether the file has its end, such as the end tag of XML.
    package var complete = false
    /// Why a part of the file could not be read.
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
    package var oddities: [Anomaly] = []
    package var refusals: [Rejections] = []
    /// Types that the hub does not know, kept under their identifiers, and elements that were skipped.
    package var unknownTypes: [String] = []
    package var unknownElements: [String] = []

    package init(file: String, dryRun: Bool) { (self.file, self.dryRun) = (file, dryRun) }

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
