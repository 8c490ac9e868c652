import HubClient
import HubWire
import Samples

/// What the hub says a command of a person's own hand did, or would do.
struct ManualAnswer {
    struct Entry {
        /// 0 for a new record that was rejected.
        let number: Int64
        /// `stored`, `duplicate`, or the code of a rejection.
        let outcome: String
        let person: String?
        let reason: String?
        /// As it stands, where it was changed.
        let record: StoredRecord?
        /// Of a new record the newest of its type and person before it.
        let last: StoredRecord?

        /// Whether the record was left as it is for a reason, not because it is so already.
        var isRejected: Bool { outcome != "stored" && outcome != "duplicate" }
    }

    let entries: [Entry]
    let text: String

    /// - Throws: ``HubExit/dialogue`` when the answer is none that this program knows.
    init(_ answer: RawJSON?) throws(Failure) {
        guard let answer else { throw Failure(.dialogue, "the hub did not say what it did; look with hub samples") }
        text = answer.text
        var reader = RecordReader()
        var entries: [Entry] = []
        for entry in RawMembers.elements(of: RawMembers.members(of: answer.bytes[...])["records"] ?? []) {
            let members = RawMembers.members(of: entry)
            func text(_ name: String) -> String? {
                members[name].flatMap { RawJSON(trusted: Array($0)).textValue }
            }
            guard let outcome = text("outcome"), let digits = members["number"],
                let number = Int64(String(decoding: digits, as: UTF8.self))
            else { throw Failure(.dialogue, "the hub's answer is of another version than this program") }
            entries.append(
                Entry(
                    number: number, outcome: outcome, person: text("person"), reason: text("reason"),
                    record: try members["record"].map { bytes throws(Failure) in try reader.record(bytes) },
                    last: try members["last"].map { bytes throws(Failure) in try reader.record(bytes) }))
        }
        self.entries = entries
    }

    /// Several answers as one.
    init(joining answers: [ManualAnswer]) {
        entries = answers.flatMap(\.entries)
        let isDryRun = answers.first?.text.hasPrefix("{\"dryRun\":true") ?? false
        let records = answers.flatMap { answer in
            RawMembers.elements(of: RawMembers.members(of: Array(answer.text.utf8)[...])["records"] ?? [])
                .map { String(decoding: $0, as: UTF8.self) }
        }
        text = "{\"dryRun\":\(isDryRun),\"records\":[\(records.joined(separator: ","))]}"
    }

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
        return try ManualAnswer(try self.command(command, arguments: arguments, isDryRun: isDryRun))
    }

    /// Records by number, as they stand; what was retracted is not among them.
    func records(_ numbers: [Int64]) throws -> [StoredRecord] {
        var query = QueryRequest(id: 0)
        query.filter.numbers = numbers
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
        guard Terminal.canAsk else {
            throw Failure(.usage, "there is no terminal to ask at; say --yes, or look first with --dry-run")
        }
        for line in listing { Terminal.say(line) }
        Terminal.progress("\(question) [y/N] ")
        let answer = readLine()?.lowercased() ?? ""
        guard answer == "y" || answer == "yes" else { throw Failure(.notWell, "nothing was changed") }
    }
}
