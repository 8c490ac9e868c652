import FoundationEssentials
import HubStore
import HubWire
import Logging
import Samples

/// The hub's own commands (Protocol §8.2).
extension Bus {
    func carryOut(_ request: CommandRequest, for guest: Guest) {
        switch request.content {
        case .cancel, .answer:
            break  // The hub's own commands end at once: there is nothing to stop or to answer.
        case .run(let instance, let command, let arguments, let isDryRun, _):
            let session = guest.reference
            let work = Task {
                let content = await outcome(of: command, for: instance, arguments, isDryRun: isDryRun)
                finish(CommandOutcome(id: request.id, content), for: session)
            }
            commands[CommandKey(session: session, id: request.id)] = work
        }
    }

    private func finish(_ outcome: CommandOutcome, for session: SessionReference) {
        commands[CommandKey(session: session, id: outcome.id)] = nil
        perform(sessions.answer(.outcome(outcome), to: .command(outcome.id), in: session))
    }

    private func outcome(
        of command: String, for instance: String?, _ arguments: RawJSON, isDryRun: Bool
    ) async -> CommandOutcome.Content {
        guard instance == "hub" || instance == nil else {
            return .failed(
                code: "unsupported", reason: "COMMAND.instance: this hub carries out its own commands only; use \"hub\""
            )
        }
        switch command {
        case "retract": return await retract(arguments, isDryRun: isDryRun)
        case "stop":
            guard !isDryRun else { return .done(result: RawJSON(#"{"wouldStop":true}"#)) }
            logger.notice("told to stop")
            onStopCommand?()
            return .done(result: .emptyObject)
        default:
            return .failed(
                code: "command", reason: "COMMAND.command: the hub knows retract and stop, not \"\(command)\"")
        }
    }

    private struct RetractArguments: Decodable {
        var numbers: [Int64]
        var reason: String?
    }

    private struct RetractResult: Encodable {
        struct Entry: Encodable {
            var number: Int64
            var type: String?
            var person: String?
            /// `stored`, `duplicate` (was retracted before) or `unknown`; of a dry run what it would be.
            var outcome: String
            var seq: Int64?
        }
        var records: [Entry]
        var dryRun: Bool
    }

    /// A person's own hand: no source can undo it (R6.4).
    private func retract(_ arguments: RawJSON, isDryRun: Bool) async -> CommandOutcome.Content {
        guard let asked = try? JSONDecoder().decode(RetractArguments.self, from: Data(arguments.bytes)),
            !asked.numbers.isEmpty,
            asked.numbers.count <= RecordQuery.maximumPage
        else {
            return .failed(
                code: "command",
                reason:
                    "COMMAND.args: expected numbers, 1 to \(RecordQuery.maximumPage) record numbers, and reason, a text"
            )
        }
        do {
            let known = try await store.records(numbers: asked.numbers)
            let before = Dictionary(known.map { ($0.number, $0) }, uniquingKeysWith: { first, _ in first })
            guard !isDryRun else {
                let entries = asked.numbers.map { number in
                    entry(number, before[number], Self.expectation(before[number]), nil)
                }
                return .done(result: JSONText().object(RetractResult(records: entries, dryRun: true)))
            }
            guard let results = try await committer.retract(numbers: asked.numbers, reason: asked.reason) else {
                return .failed(code: "stopping", reason: "the hub is stopping; nothing was retracted")
            }
            var entries: [RetractResult.Entry] = []
            for (number, result) in zip(asked.numbers, results) {
                switch result {
                case .stored(let placement):
                    entries.append(entry(number, before[number], "stored", placement.sequence))
                case .duplicate(_, let sequence): entries.append(entry(number, before[number], "duplicate", sequence))
                case .rejected: entries.append(entry(number, nil, "unknown", nil))
                }
            }
            return .done(result: JSONText().object(RetractResult(records: entries, dryRun: false)))
        } catch {
            return .failed(code: "store", reason: "\(error)")
        }
    }

    private func entry(_ number: Int64, _ record: StoredRecord?, _ outcome: String, _ sequence: Int64?)
        -> RetractResult.Entry
    {
        RetractResult.Entry(
            number: number, type: record?.type.rawValue, person: record?.assignment.person?.name, outcome: outcome,
            seq: sequence ?? record?.sequence)
    }

    private static func expectation(_ record: StoredRecord?) -> String {
        guard let record else { return "unknown" }
        if case .retraction(let retraction) = record.record, retraction.author == .person { return "duplicate" }
        return "stored"
    }
}

/// A command that a session waits for.
struct CommandKey: Hashable {
    let session: SessionReference
    let id: Int64
}
