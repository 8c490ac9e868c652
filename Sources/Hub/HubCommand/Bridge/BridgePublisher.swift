import HubClient
import HubWire
import JSON
package import PluginKit
import Synchronization

/// `hub bridge publish`: gives each line of a stream to the hub as a record, and writes an answer for each record.
package final class BridgePublisher: Sendable {
    /// Counts of a stream, and how it ended.
    package struct Account: Sendable {
        /// Records that the hub has refused, and lines that are not records.
        package var refused = 0
        package var answered = 0
        /// Records that were read and have no answer; with a spool, they are on the disk.
        package var unanswered = 0
        /// Whether the stream was read to its end.
        package var isAtEnd = false
        /// Whether the reader of the answers has gone.
        package var hasLostReader = false
        /// Why the stream could not be read to its end.
        package var readFault: String?
        /// The number of the last line that was read.
        package var lastLine = 0
    }

    private let input: LineReader
    private let output: LineWriter
    private let spool: SpooledLines?
    private let isBackfill: Bool
    private let state = Mutex(Account())

    /// - Parameter spool: the store in which records wait for the hub; without a spool, they wait in `input`.
    package init(_ input: LineReader, _ output: LineWriter, spool: PluginState?, isBackfill: Bool) throws {
        (self.input, self.output, self.isBackfill) = (input, output, isBackfill)
        self.spool = try spool.map { try SpooledLines($0) }
    }

    /// The callback for the session's answers to spooled records.
    package var report: SpoolReport? {
        guard let spool else { return nil }
        return { spool.answered($0, $1) }
    }

    package var account: Account { state.withLock { $0 } }

    /// Reads to the end of the stream.
    ///
    /// Returns when all records are answered. With a spool, it also returns after a while without an answer.
    package func run(_ link: HubLink) async throws {
        do {
            if let spool {
                try await keep(in: spool, for: link)
            } else {
                try await read(link) { try await give(&$0, to: link, $1) }
            }
        } catch is OutputClosed { state.withLock { $0.hasLostReader = true } }
    }

    /// Reads the stream, and passes on its records and the answers to invalid lines.
    private func read(
        _ link: HubLink, _ take: (inout GroupCollector, [JSONTree]) async throws -> Void
    ) async throws {
        var gatherer = GroupCollector()
        while let lines = await input.next() {
            var answers: [JSONTree] = []
            for line in lines {
                let said = BridgeLine(line)
                gatherer.add(said)
                if let fault = await answer(said, line.number, link) { answers.append(fault) }
            }
            state.withLock { $0.lastLine = lines.last?.number ?? $0.lastLine }
            try await take(&gatherer, answers)
        }
        // The end of the stream completes a group; an interruption does not.
        guard noteEnd() else { return noteUnanswered(gatherer.waiting) }
        gatherer.end()
        try await take(&gatherer, [])
    }

    /// Notes the end of reading; returns whether the stream itself has ended.
    private func noteEnd() -> Bool {
        state.withLock { account in
            account.readFault = input.failure
            account.isAtEnd = !Task.isCancelled && account.readFault == nil
            return account.isAtEnd
        }
    }

    private static func place(_ answer: JSONTree) -> (Int, Int) {
        (answer["line"]?.integer ?? 0, answer["item"]?.integer ?? 0)
    }

    /// The immediate answer to a line, if it is invalid.
    private func answer(_ said: BridgeLine, _ line: Int, _ link: HubLink) async -> JSONTree? {
        switch said {
        case .nothing, .records: return nil
        case .passing(let message):
            // Otherwise a program that only reports an event would lose it. With a spool, lines are read without the hub too.
            if spool == nil, link.sessionCount == 0 { _ = await link.welcome() }
            await link.sendIfReady(message)
            return nil
        case .other(let verb, _):
            return BridgeAnswer.fault(
                "line \(line) has \(verb), which hub bridge publish does not take; it takes records, live and event",
                line: line)
        case .fault(let reason): return BridgeAnswer.fault(reason, line: line)
        }
    }

    private func give(_ gatherer: inout GroupCollector, to link: HubLink, _ faults: [JSONTree]) async throws {
        let (groups, refused) = gatherer.take()
        var answers = faults
        answers += refused.map { BridgeAnswer.fault($1, line: $0.line, item: $0.item, key: $0.key) }
        state.withLock { $0.refused += answers.count }
        do throws(GiveError) { answers += try await results(of: groups, from: link) } catch {
            guard error.code == .stopping else { throw error }
            try await output.write(answers)
            return noteUnanswered(groups.joined().count + gatherer.waiting)
        }
        answers.sort { Self.place($0) < Self.place($1) }
        try await output.write(answers)
        state.withLock { $0.answered += answers.count }
    }

    private func results(of groups: [[BridgeRecord]], from link: HubLink) async throws(GiveError) -> [JSONTree] {
        guard !groups.isEmpty else { return [] }
        do throws(GiveError) {
            let results = try await link.store(GroupedRecords(groups.map { $0.map(\.bytes) }), isBackfill: isBackfill)
            note(results)
            return zip(groups.joined(), results).map { BridgeAnswer.result($1, of: $0) }
        } catch {
            guard error.code == .refused else { throw error }
            // The hub refused the batch as a whole; giving each group alone shows which group is at fault.
            if groups.count > 1 {
                var answers: [JSONTree] = []
                for group in groups { answers += try await results(of: [group], from: link) }
                return answers
            }
            state.withLock { $0.refused += groups[0].count }
            return groups[0].map { BridgeAnswer.fault(error.message, line: $0.line, item: $0.item, key: $0.key) }
        }
    }

    private func note(_ results: [RecordResult]) {
        let count = results.count { if case .rejected = $0 { true } else { false } }
        state.withLock { $0.refused += count }
    }

    private func noteUnanswered(_ count: Int) { state.withLock { $0.unanswered += count } }
}

// MARK: - With a spool

extension BridgePublisher {
    /// How long the publisher waits at the end of the stream without an answer of the hub.
    private static let patience = Duration.seconds(10)

    /// Reads the stream into the spool, and prints the hub's answers to its records.
    private func keep(in spool: SpooledLines, for link: HubLink) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { [self] in
                try await read(link) { gatherer, faults in
                    try await keep(&gatherer, in: spool, link, faults)
                    await spool.waitForAnswers()
                }
                spool.endInput()
                // The remaining records stay in the spool, and the next start of this command finds them.
                var seen = -1
                while seen != account.answered {
                    seen = account.answered
                    try await Task.sleep(for: Self.patience)
                }
            }
            group.addTask { [self] in
                for await (record, result) in spool.answers {
                    note([result])
                    try await output.write([spool.answer(record, result)])
                    spool.printed()
                    state.withLock { $0.answered += 1 }
                    if spool.isOver { return }
                }
            }
            defer { group.cancelAll() }
            do { _ = try await group.next() } catch is CancellationError {}
        }
    }

    /// Prints the refused records that an earlier process could not report.
    package func reportRefused() async throws {
        guard let spool else { return }
        var last: Int64 = 0
        while true {
            let records = try await spool.refused(after: last)
            guard let end = records.last?.id else { break }
            state.withLock { account in
                account.refused += records.count
                account.answered += records.count
            }
            try await output.write(records.map(BridgeAnswer.refused))
            last = end
        }
        try await spool.forgetRefused()
    }

    /// Removes the refused records from the spool, because the answers have reported them.
    package func forgetRefused() async throws {
        if !account.hasLostReader { try await spool?.forgetRefused() }
    }

    private func keep(
        _ gatherer: inout GroupCollector, in spool: SpooledLines, _ link: HubLink, _ faults: [JSONTree]
    ) async throws {
        let (groups, refused) = gatherer.take()
        let answers = faults + refused.map { BridgeAnswer.fault($1, line: $0.line, item: $0.item, key: $0.key) }
        try await output.write(answers)
        state.withLock { account in
            account.refused += answers.count
            account.answered += answers.count
        }
        guard !groups.isEmpty else { return }
        while true {
            do throws(GiveError) { return try await spool.keep(groups, link) } catch {
                switch error.code {
                case .full: await link.waitForRoom()
                case .storage: try await Task.sleep(for: .seconds(1))
                default: throw error
                }
                try Task.checkCancellation()
            }
        }
    }
}
