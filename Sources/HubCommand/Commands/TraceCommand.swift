import ArgumentParser
import HubClient
import HubWire

struct TraceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trace",
        abstract: "The story of a record: its versions, who took it back, which sinks have it.",
        discussion: """
            The number is the last column of hub samples; it stays the same whatever
            happens to the record.

            Examples:
              hub trace 1043
              hub trace 1043 --json | jq '.versions[].recordedAt'

            Exit codes: 0; 1 there is no such record; 69 no hub answers.
            """)

    @Argument(help: "The number of a record.")
    var number: Int64
    @Flag(help: "One JSON document, as the hub gives it.")
    var json = false
    @OptionGroup var options: ConfigurationOptions

    func validate() throws {
        if number < 1 { throw ValidationError("\(number) is not the number of a record.") }
    }

    func run() throws {
        let door = try DoorClient(endpoint: try options.endpoints().door, command: "trace")
        let answer = try story(door)
        guard answer.isObject else { throw unknown }
        if json { return try Output.json(answer.text) }
        for line in try TraceText(answer, options.readingUnits()).lines { try Output.print(line) }
    }

    private var unknown: Failure { Failure(.notWell, "there is no record \(number)") }

    private func story(_ door: DoorClient) throws -> RawJSON {
        do {
            return try door.ask(.trace, number: number)
        } catch let failure as Failure where failure.exit == .usage {
            throw unknown  // The number is all that was asked: nothing else can be wrong with the question.
        }
    }
}
