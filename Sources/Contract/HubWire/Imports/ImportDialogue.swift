/// The dialogue between `hub import` and the program that reads a file for it, such as `hub-apple-health import FILE`.
///
/// Each message is one line of JSON on that program's stdin and stdout. The program answers first with its ``Finding`` about the file; if it can
/// read the file, `hub import` writes a ``Job``. Then it reports ``Progress`` and its log, at last its report and its ``Ending``. It stops early,
/// with an ending, on SIGTERM and if its stdin ends.
package enum ImportDialogue {
    /// The first argument of the reading program; the second one is the file.
    package static let verb = "import"

    /// The work: whose records the file has, and which of them are wanted.
    package struct Job: Codable, Hashable, Sendable {
        /// The address of the hub.
        package var door: String
        /// The name under which the program connects.
        package var instance: String
        /// The version of the program that connects.
        package var version: String
        /// The owner of the file: part of the identity of its records.
        ///
        /// `nil` for a hub without persons.
        package var account: String?
        /// The person's name, if the hub is to assign the records by it.
        package var person: String?
        /// The person's zone, for records without one.
        package var zone: String?
        /// The zone of days that the file gives without a zone.
        package var dayZone: String
        /// The wanted types and sources; `nil` for all.
        package var types: [String]?
        package var sources: [String]?
        /// Seconds since 1970: records that end at or after `from` and begin before `to` are wanted.
        package var from: Int64?
        package var to: Int64?
        /// Whether to store nothing, and only look up which records the hub has.
        package var isDryRun: Bool

        package init(door: String, instance: String, version: String, dayZone: String, isDryRun: Bool) {
            (self.door, self.instance, self.version) = (door, instance, version)
            (self.dayZone, self.isDryRun) = (dayZone, isDryRun)
        }
    }

    /// A message of the reading program; one member is set.
    package struct Message: Codable, Hashable, Sendable {
        package var finding: Finding?
        package var progress: Progress?
        package var log: Log?
        package var report: ImportReport?
        package var ending: Ending?

        package init() {}
    }

    /// Whether the program can read the file.
    package struct Finding: Codable, Hashable, Sendable {
        package enum Verdict: String, Codable, Sendable {
            case readable
            /// The file has another format, which `reason` names if it is known.
            case foreign
            /// The file does not exist, or the machine cannot read it.
            case unreachable
        }

        package var verdict: Verdict
        /// The plugin kind of the records, if the file is readable.
        package var kind: String?
        /// The reason for a person, with the file's path and the remedy.
        package var reason: String?
        /// Whether the file's first bytes are of a known format of another app, which `reason` names.
        package var isKnownFormat = false

        package init(_ verdict: Verdict, kind: String? = nil, reason: String? = nil, isKnownFormat: Bool = false) {
            (self.verdict, self.kind, self.reason, self.isKnownFormat) = (verdict, kind, reason, isKnownFormat)
        }
    }

    package struct Progress: Codable, Hashable, Sendable {
        /// Bytes of the file: read, and in all.
        package var done: Int64
        package var total: Int64
        /// The number of records that the hub has answered.
        package var records: Int
        /// Estimated remaining seconds; `nil` if there is no estimate yet.
        package var remaining: Double?

        package init(done: Int64, total: Int64, records: Int, remaining: Double?) {
            (self.done, self.total, self.records, self.remaining) = (done, total, records, remaining)
        }

        /// `, 2 min left`, or an empty string if there is no estimate yet.
        package var estimate: String {
            guard let remaining else { return "" }
            let seconds = Int(remaining.rounded(.up))
            if seconds < 60 { return ", \(seconds) s left" }
            return seconds < 5_400 ? ", \((seconds + 30) / 60) min left" : ", \((seconds + 1_800) / 3_600) h left"
        }
    }

    /// A line of the program's log.
    package struct Log: Codable, Hashable, Sendable {
        package var level: String
        package var text: String
        package var facts: [String: String]

        package init(level: String, text: String, facts: [String: String]) {
            (self.level, self.text, self.facts) = (level, text, facts)
        }
    }

    /// The end of the work, after the report if there is one.
    package struct Ending: Codable, Hashable, Sendable {
        package enum Reason: String, Codable, Sendable {
            /// The report has the result.
            case done
            /// The file cannot be read, or not any more.
            case unreadable
            /// The machine failed to read the file.
            case unreachable
            /// The hub, or the person, stopped the import.
            case stopped
            /// The hub cannot store.
            case store
            /// The session with the hub ended; `exit` says how.
            case session
            case failed
        }

        package var reason: Reason
        package var text: String
        /// The exit status of a plugin whose session ends like this.
        package var exit: Int32?

        package init(_ reason: Reason, _ text: String = "", exit: Int32? = nil) {
            (self.reason, self.text, self.exit) = (reason, text, exit)
        }
    }
}
