import HandEntries
import HubClient
import HubWire
import Samples

extension ManualAnswer {
    /// Throws what keeps the command from doing all that was asked.
    /// - Parameter isDone: whether the rest has been done: something has changed since it was looked at.
    func refuseRejections(isDone: Bool = false) throws(Failure) {
        let rejected = entries.filter(\.isRejected)
        guard let first = rejected.first else { return }
        let more = rejected.count > 1 ? ", and \(rejected.count - 1) more" : ""
        let rest = !isDone || rejected.count == entries.count ? "nothing was changed" : "the others are done"
        throw Failure(.notWell, "\(first.reason ?? first.outcome)\(more); \(rest)")
    }
}

extension DoorClient {
    /// A command of a person's own hand.
    func hand(_ command: String, _ arguments: some Encodable, isDryRun: Bool) throws -> ManualAnswer {
        let arguments = RawJSON(trusted: Array(try JSON.line(arguments).utf8))
        let answer = try self.command(command, arguments: arguments, isDryRun: isDryRun)
        return try Failure.ofHand { () throws(HandFault) in try ManualAnswer(answer) }
    }

    /// Records by number, as they stand, without those that were retracted; each with the numbers of the others of its event.
    func records(_ numbers: [Int64]) throws -> [StoredRecord] {
        var query = QueryRequest(id: 0)
        (query.filter.numbers, query.marksMirrors) = (numbers, true)
        query.filter.kinds = RecordKind.allCases.filter { $0 != .retraction }
        var records: [StoredRecord] = []
        var reader = RecordReader()
        try pages(query) { page, _ in
            for record in page { records.append(try reader.record(record)) }
        }
        return records
    }
}

/// Asks a person before something is done.
enum Consent {
    /// - Parameters:
    ///   - listing: what it is about.
    ///   - isGiven: by `--yes`.
    /// - Throws: ``HubExit/usage`` without a terminal; ``HubExit/notWell`` when the answer is no.
    static func ask(_ question: String, about listing: [String], isGiven: Bool) throws(Failure) {
        if isGiven { return }
        for line in listing { Terminal.say(line) }
        guard Terminal.canAsk else {
            throw Failure(.usage, "there is no terminal to ask at; say --yes, or look first with --dry-run")
        }
        Terminal.progress("\(question) [y/N] ")
        let answer = readLine()?.lowercased() ?? ""
        guard answer == "y" || answer == "yes" else { throw Failure(.notWell, "nothing was changed") }
    }
}
