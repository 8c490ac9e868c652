import HealthText
import HubClient
import HubWire
import Samples

extension ManualAnswer {
    /// Throws the reason if the command cannot do all that was asked.
    ///
    /// - Parameter isDone: whether the rest has been done; then records have changed since they were looked at.
    func refuseRejections(isDone: Bool = false) throws(Failure) {
        let rejected = entries.filter(\.isRejected)
        guard let first = rejected.first else { return }
        let more = rejected.count > 1 ? ", and \(rejected.count - 1) more" : ""
        let rest = !isDone || rejected.count == entries.count ? "nothing was changed" : "the others are done"
        throw Failure(.unhealthy, "\(first.reason ?? first.outcome)\(more); \(rest)")
    }
}

extension DoorClient {
    /// Runs a command for a person's entries and corrections.
    func hand<Command: OwnCommand>(
        _ command: Command.Type, _ arguments: some Encodable, isDryRun: Bool
    ) throws -> ManualAnswer where Command.Result == ManualAnswer {
        try run(command, RawJSON(encoding: arguments), isDryRun: isDryRun).result
    }

    /// The current records with these numbers, without retracted ones; each lists the numbers of its mirrors.
    func records(_ numbers: [Int64]) throws -> [StoredRecord] {
        var query = QueryRequest(id: 0)
        (query.filter.numbers, query.marksMirrors) = (numbers, true)
        query.filter.kinds = RecordKind.allCases.filter { $0 != .retraction }
        return try records(query)
    }
}

/// Asks the person for consent.
enum ConsentPrompt {
    /// - Parameters:
    ///   - listing: lines that describe the subject.
    ///   - isGiven: whether `--yes` was given.
    /// - Throws: ``HubExit/usage`` without a terminal; ``HubExit/unhealthy`` if the answer is no.
    static func ask(_ question: String, about listing: [String], isGiven: Bool) throws(Failure) {
        if isGiven { return }
        for line in listing { Terminal.say(line) }
        guard Terminal.canAsk else {
            throw Failure(.usage, "there is no terminal to ask at; say --yes, or look first with --dry-run")
        }
        Terminal.progress("\(question) [y/N] ")
        let answer = readLine()?.lowercased() ?? ""
        guard answer == "y" || answer == "yes" else { throw Failure(.unhealthy, "nothing was changed") }
    }
}
