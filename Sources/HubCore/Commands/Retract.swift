import HubSettings
import HubStore
import HubWire
import Samples

/// `retract`: a person takes records back; no source can undo it (R6.4).
struct Retract: OwnCommand {
    static let declaration = CommandDeclaration(
        "retract", help: "Takes records back; no source can undo it.",
        arguments: [
            SettingDeclaration(
                "numbers", .list(of: .integer(Bounds(1))),
                help: "Record numbers, at most \(RecordQuery.maximumPage).", required: true),
            SettingDeclaration("reason", .string(), help: "Why, for whoever reads the retraction."),
        ], canDryRun: true)

    var numbers: [Int64]
    var reason: String?

    private struct Result: Encodable {
        struct Entry: Encodable {
            var number: Int64
            var type: String?
            var person: String?
            /// `stored`, `duplicate` (was retracted before) or `unknown`; of a dry run what it would be.
            var outcome: String
            var seq: Int64?

            init(_ number: Int64, _ record: StoredRecord?, _ outcome: String, _ sequence: Int64? = nil) {
                (self.number, self.outcome) = (number, outcome)
                (type, person) = (record?.type.rawValue, record?.assignment.person?.name)
                seq = sequence ?? record?.sequence
            }
        }
        var records: [Entry]
        var dryRun: Bool
    }

    func run(_ call: CommandCall, on bus: isolated Bus) async throws -> RawJSON {
        guard !numbers.isEmpty, numbers.count <= RecordQuery.maximumPage else {
            throw CommandFailure(problems: ["numbers: expected 1 to \(RecordQuery.maximumPage) record numbers"])
        }
        let known = try await bus.store.records(numbers: numbers)
        let before = Dictionary(known.map { ($0.number, $0) }, uniquingKeysWith: { first, _ in first })
        guard !call.isDryRun else {
            let entries = numbers.map { Result.Entry($0, before[$0], Self.expectation(before[$0])) }
            return JSONText().object(Result(records: entries, dryRun: true))
        }
        guard let results = try await bus.committer.retract(numbers: numbers, reason: reason) else {
            throw CommandFailure("stopping", "the hub is stopping; nothing was retracted")
        }
        let entries = zip(numbers, results).map { number, result in
            switch result {
            case .stored(let placement): Result.Entry(number, before[number], "stored", placement.sequence)
            case .duplicate(_, let sequence): Result.Entry(number, before[number], "duplicate", sequence)
            case .rejected: Result.Entry(number, nil, "unknown")
            }
        }
        return JSONText().object(Result(records: entries, dryRun: false))
    }

    private static func expectation(_ record: StoredRecord?) -> String {
        guard let record else { return "unknown" }
        if case .retraction(let retraction) = record.record, retraction.author == .person { return "duplicate" }
        return "stored"
    }
}
