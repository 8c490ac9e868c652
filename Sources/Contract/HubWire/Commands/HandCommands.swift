/// Commands that people give by hand (Protocol §8.3).
extension OwnCommands {
    /// Maximum number of records that a command names.
    package static let mostNumbers = 1_000

    /// `assign`: a person assigns samples to a person, or applies the rules to the whole inbox.
    package struct Assign: OwnCommand {
        /// With `rules` a report on the inbox.
        package typealias Result = RecordsOr<RuleReport>

        package static let declaration = CommandDeclaration(
            "assign", help: "Assigns samples to a person; no source can undo it.",
            arguments: [
                SettingDeclaration(
                    "numbers", .list(of: .integer(Bounds(1))), help: "Record numbers, at most \(mostNumbers)."),
                SettingDeclaration("to", .string(), help: "A person of hub.conf."),
                SettingDeclaration(
                    "nobody", .boolean, help: "Put them into the inbox, instead of to.", default: .boolean(false)),
                SettingDeclaration(
                    "guest", .boolean,
                    help: "Mark them as a guest's: they have no person and leave the inbox; instead of to.",
                    default: .boolean(false)),
                SettingDeclaration(
                    "undo", .boolean, help: "Undo assignments by hand and restore those of the rules; instead of to.",
                    default: .boolean(false)),
                SettingDeclaration(
                    "alone", .boolean, help: "Without the others of their groups.", default: .boolean(false)),
                SettingDeclaration("reason", .string(), help: "The reason, shown when the record is traced."),
                sequencesArgument("one for each of numbers"), ownerArgument,
                SettingDeclaration(
                    "rules", .boolean, help: "Apply the rules of hub.conf to the whole inbox; without other arguments.",
                    default: .boolean(false)),
            ], canDryRun: true)

        package var numbers: [Int64]?
        package var to: String?
        package var nobody = false
        package var guest = false
        package var undo = false
        package var alone = false
        package var reason: String?
        package var seqs: [Int64]?
        package var of: String?
        package var rules = false

        /// Applies the rules to the whole inbox.
        package static var byRules: Self {
            var command = Self()
            command.rules = true
            return command
        }

        /// Assigns these records to nobody, until a member says to whom.
        package init(numbers: [Int64], seqs: [Int64]? = nil) { (self.numbers, self.seqs) = (numbers, seqs) }

        private init() {}

        package struct RuleReport: CommandResult, Codable {
            package var dryRun: Bool
            /// The number of records that the rules assign to a person, by that person.
            package var assigned: [String: Int64] = [:]
            /// The number of records that stay in the inbox, by reason.
            package var left: [String: Int64] = [:]

            package init(dryRun: Bool) { self.dryRun = dryRun }
        }
    }

    /// `retract`: a person retracts records, or undoes that; no source can undo either (R6.4).
    package struct Retract: OwnCommand {
        package typealias Result = ManualAnswer

        package static let declaration = CommandDeclaration(
            "retract", help: "Takes records back, or brings them back; no source can undo it.",
            arguments: [
                SettingDeclaration(
                    "numbers", .list(of: .integer(Bounds(1))), help: "Record numbers, at most \(mostNumbers).",
                    required: true),
                SettingDeclaration("reason", .string(), help: "The reason, shown with the retraction."),
                SettingDeclaration(
                    "undo", .boolean, help: "Bring back records that were retracted by hand.", default: .boolean(false)),
                sequencesArgument("one for each of numbers"), ownerArgument,
            ], canDryRun: true)

        package var numbers: [Int64]
        package var reason: String?
        package var undo: Bool
        package var seqs: [Int64]?
        package var of: String?

        package init(numbers: [Int64], seqs: [Int64]?, reason: String?, undo: Bool) {
            (self.numbers, self.seqs, self.reason, self.undo) = (numbers, seqs, reason, undo)
        }
    }

    /// `edit`: a person corrects a sample, or takes the correction back.
    package struct Edit: OwnCommand {
        package typealias Result = ManualAnswer

        package static let declaration = CommandDeclaration(
            "edit", help: "Corrects a sample, or undoes its corrections; no source can undo it.",
            arguments: [SettingDeclaration("number", .integer(Bounds(1)), help: "The record's number.", required: true)]
                + valueArguments + [
                    SettingDeclaration(
                        "values", .list(of: .number()),
                        help: "Of a correlation: the values of its members in their order, such as systolic, diastolic."
                    ),
                    SettingDeclaration(
                        "start", .string(), help: "When, RFC 3339; the end of an instant moves with it."),
                    SettingDeclaration("end", .string(), help: "The end of an interval, RFC 3339."),
                    SettingDeclaration("note", .string(), help: "A remark, kept in the metadata."),
                    SettingDeclaration("reason", .string(), help: "The reason, shown when the record is traced."),
                    SettingDeclaration(
                        "undo", .boolean, help: "Undo all its edits: the last version of its source is shown again.",
                        default: .boolean(false)),
                    SettingDeclaration(
                        "seq", .integer(Bounds(1)),
                        help: "The version to change; a record at another version is not changed (changed)."),
                    sequencesArgument("for a correlation or a workout those of its members by number"), ownerArgument,
                ], canDryRun: true)

        package var number: Int64
        package var value: Double?
        package var unit: String?
        package var name: String?
        package var values: [Double]?
        package var start: String?
        package var end: String?
        package var note: String?
        package var reason: String?
        package var undo = false
        package var seq: Int64?
        package var seqs: [Int64]?
        package var of: String?

        package init(number: Int64, reason: String?) { (self.number, self.reason) = (number, reason) }
    }

    /// `log`: a person enters a record by hand.
    package struct Log: OwnCommand {
        package typealias Result = ManualAnswer

        /// Maximum number of members of an entry.
        package static let maximumMembers = 100
        package static let declaration = CommandDeclaration(
            "log", help: "Enters a record by hand.",
            arguments: [SettingDeclaration("type", .string(), help: "A type, or another name of it.", required: true)]
                + valueArguments + [
                    SettingDeclaration(
                        "values", .list(of: .number()),
                        help: "The values of the members of a group, such as systolic, diastolic."),
                    SettingDeclaration(
                        "members", .list(of: .string()),
                        help: "Their types, for a food or a workout: at most \(maximumMembers)."),
                    SettingDeclaration("units", .list(of: .string()), help: "Their units, beside members."),
                    SettingDeclaration(
                        "duration", .number(Bounds(0)), help: "Seconds of a workout without its pauses."),
                    SettingDeclaration(
                        "metadata", .string(), help: "A JSON object, as a text: more about the record and its members."),
                    SettingDeclaration("start", .string(), help: "When, RFC 3339; now if not given."),
                    SettingDeclaration("end", .string(), help: "The end of an interval."),
                    SettingDeclaration("zone", .timeZone, help: "Time zone of the place."),
                    SettingDeclaration("person", .string(), help: "The person; needed if hub.conf has several."),
                    SettingDeclaration("note", .string(), help: "A remark, kept in the metadata."),
                    SettingDeclaration(
                        "key", .string(),
                        help:
                            "A repeated key means the same entry: at most 56 bytes, time first; generated if not given."
                    ),
                    SettingDeclaration(
                        "of", .string(),
                        help:
                            "The person who must own an existing entry of this key: another's is not changed (forbidden)."
                    ),
                ], canDryRun: true)

        package var type: String
        package var value: Double?
        package var unit: String?
        package var name: String?
        package var values: [Double]?
        package var members: [String]?
        package var units: [String]?
        package var duration: Double?
        package var metadata: String?
        package var start: String?
        package var end: String?
        package var zone: String?
        package var person: String?
        package var note: String?
        package var key: String?
        package var of: String?
    }

    // MARK: - Arguments of several commands

    /// The arguments for a value.
    private static let valueArguments = [
        SettingDeclaration("value", .number(), help: "A quantity, in unit."),
        SettingDeclaration("unit", .string(), help: "Any unit of the type's dimension."),
        SettingDeclaration(
            "name", .string(), help: "The value of a category, an activity or a text, in place of value."),
    ]

    /// The expected versions (R8.186).
    private static func sequencesArgument(_ which: String) -> SettingDeclaration {
        SettingDeclaration(
            "seqs", .list(of: .integer(Bounds(0))),
            help: "The versions to change, \(which) (0: any); a record at another version is not changed (changed).")
    }

    /// The expected owner (R8.187).
    private static let ownerArgument = SettingDeclaration(
        "of", .string(),
        help: "The person who must own the records when the command runs: others are not changed (unknown).")
}
