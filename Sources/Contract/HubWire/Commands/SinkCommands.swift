extension OwnCommands {
    /// `replay`: delivers records that a sink wants to it again.
    package struct Replay: OwnCommand {
        package static let declaration = CommandDeclaration(
            "replay", help: "Delivers records to a sink again, in their current version.",
            arguments: [
                SettingDeclaration(
                    "to", .string(TextRule(example: "json-lines")),
                    help: "The sink: an instance, or instance/subscription.", required: true),
                SettingDeclaration(
                    "from", .string(TextRule(example: "2024-03-15T00:00:00+01:00")),
                    help: "Only records that end at or after this time."),
                SettingDeclaration(
                    "since", .string(TextRule(example: "k7qz2m5a-1042")), help: "Only what changed after this cursor."),
                SettingDeclaration(
                    "types", .list(of: .string(TextRule(example: "weight"))), help: "Only records of these types."),
            ], canDryRun: true)

        package var to: String
        package var from: String?
        package var since: String?
        package var types: [String]?

        package init(to sink: String, from: String? = nil, since: String? = nil, types: [String]? = nil) {
            (to, self.from, self.since, self.types) = (sink, from, since, types)
        }

        package struct Result: CommandResult, Codable {
            package var sinks: [SinkRecords]
            package var dryRun: Bool

            package init(sinks: [SinkRecords], dryRun: Bool) { (self.sinks, self.dryRun) = (sinks, dryRun) }
        }
    }

    /// `forget-sink`: removes a subscription whose plugin is gone.
    package struct ForgetSink: OwnCommand {
        package static let declaration = CommandDeclaration(
            "forget-sink", help: "Drops a subscription and the state of its deliveries; opened again, it is new.",
            arguments: [
                SettingDeclaration(
                    "sink", .string(TextRule(example: "json-lines")),
                    help: "The sink: an instance, or instance/subscription.", required: true)
            ], canDryRun: true)

        package var sink: String

        package init(sink: String) { self.sink = sink }

        package struct Result: CommandResult, Codable {
            package struct Entry: Codable, Sendable {
                package var sink: String
                /// Records that will not be delivered.
                package var undelivered: Int64

                package init(sink: String, undelivered: Int64) { (self.sink, self.undelivered) = (sink, undelivered) }
            }
            package var sinks: [Entry]
            package var dryRun: Bool

            package init(sinks: [Entry], dryRun: Bool) { (self.sinks, self.dryRun) = (sinks, dryRun) }
        }
    }
}

/// A number of records of a sink.
package struct SinkRecords: Codable, Sendable {
    package var sink: String
    package var records: Int64

    package init(sink: String, records: Int64) { (self.sink, self.records) = (sink, records) }
}
