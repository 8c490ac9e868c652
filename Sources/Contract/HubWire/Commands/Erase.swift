import Samples

extension OwnCommands {
    /// `erase`: removes records from the hub for good, with all their versions (R8.43).
    package struct Erase: OwnCommand {
        /// With `allow` the result for each record.
        package typealias Result = RecordsOr<Report>

        package static let demandsAll = true
        package static let declaration = CommandDeclaration(
            "erase", help: "Removes records from every file of the hub, for good.",
            arguments: [
                SettingDeclaration(
                    "numbers", .list(of: .integer(Bounds(1))),
                    help:
                        "Record numbers, at most \(mostNumbers), instead of the filter; with a correlation or workout, its group is erased too."
                ),
                SettingDeclaration(
                    "types", .list(of: .string(TextRule(example: "weight"))), help: "Only records of these types."),
                SettingDeclaration("persons", .list(of: .string()), help: "Only records of these persons."),
                SettingDeclaration(
                    "sources", .list(of: .string(TextRule(example: "ihealth-hs3"))),
                    help: "Only records from plugins of these kinds."),
                SettingDeclaration(
                    "from", .string(TextRule(example: "2024-03-15T00:00:00+01:00")),
                    help: "Only records that end at or after this time."),
                SettingDeclaration(
                    "to", .string(TextRule(example: "2024-03-16T00:00:00+01:00")),
                    help: "Only records that start before this time."),
                SettingDeclaration(
                    "forget", .string(), help: "A person missing from hub.conf: erase all their records and the name."),
                SettingDeclaration(
                    "keep", .boolean, help: "Leave older copies of the store beside it.", default: .boolean(false)),
                SettingDeclaration(
                    "allow", .boolean,
                    help: "Erase nothing: let sources send the erased records with these numbers again.",
                    default: .boolean(false)),
            ], canDryRun: true)

        package var numbers: [Int64]?
        package var types, persons, sources: [String]?
        package var from, to, forget: String?
        package var keep: Bool
        package var allow: Bool

        /// - Parameters:
        ///   - numbers: the records; nil for those of the filter.
        package init(numbers: [Int64]?, _ filter: QueryRequest.Filter, forget: String?, keep: Bool, allow: Bool) {
            (self.numbers, types, persons, sources) = (numbers, filter.types, filter.persons, filter.sources)
            (from, to) = (filter.from?.text, filter.to?.text)
            (self.forget, self.keep, self.allow) = (forget, keep, allow)
        }

        package struct Report: CommandResult, Codable {
            package struct Left: Codable, Sendable {
                package var path, reason: String

                package init(path: String, reason: String) { (self.path, self.reason) = (path, reason) }
            }

            package var dryRun: Bool
            package var records, versions, bytes: Int64
            /// How many records a sink has or may have; the hub notifies it that they are gone.
            package var sinks: [SinkRecords]
            /// Older copies of the store in its folder: those to be removed, or those that were removed; with `keep`, those that stay.
            package var copies: [String]
            /// Older copies that could not be removed.
            package var left: [Left]?
            /// Backups that may contain the records, and keep them.
            package var backups: [String] = []
            /// Backups on a disk that did not answer in time; they may or may not still be there.
            package var unseen: [String]?
            /// Numbers that belong to no record.
            package var unknown: [Int64]
            /// How many records could not be erased so far, with the reasons of the first ones.
            package var failed: Int64?
            package var faults: [ErasureFailure]?
            /// The number of records whose identity stays until the sinks in `waitingFor` have been notified.
            package var named: Int64?
            package var waitingFor: [String]?

            package init(
                dryRun: Bool, records: Int64, versions: Int64, bytes: Int64, sinks: [SinkRecords], copies: [String],
                unknown: [Int64]
            ) {
                (self.dryRun, self.records, self.versions, self.bytes) = (dryRun, records, versions, bytes)
                (self.sinks, self.copies, self.unknown) = (sinks, copies, unknown)
            }
        }
    }
}

/// A record that could not be erased so far.
public struct ErasureFailure: Codable, Hashable, Sendable {
    public var number: Int64
    public var reason: String

    package init(number: Int64, reason: String) { (self.number, self.reason) = (number, reason) }
}
