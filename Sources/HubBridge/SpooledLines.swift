import HubWire
import PluginKit
import PluginState
import Synchronization

/// The spool of a stream: which line each record came from, and what the hub has said of it.
final class SpooledLines: Sendable {
    /// Answers that wait to be printed: beyond, no more lines are read.
    private static let mostAnswers = 10_000

    private struct State {
        /// Of records of this process.
        var places: [Int64: (line: Int, item: Int?)] = [:]
        /// Records in the spool, those of earlier processes among them.
        var pending: Int64
        /// Answers that are not printed yet.
        var unprinted = 0
        var inputIsOver = false
    }

    private let spool: PluginState
    private let state: Mutex<State>
    let answers: AsyncStream<(SpooledRecord, RecordResult)>
    private let tell: AsyncStream<(SpooledRecord, RecordResult)>.Continuation

    init(_ spool: PluginState) throws {
        self.spool = spool
        state = Mutex(State(pending: try spool.counters().pending))
        (answers, tell) = AsyncStream.makeStream()
    }

    func keep(_ groups: [[GivenRecord]], _ link: HubLink) async throws(GiveError) {
        let records = groups.flatMap(\.self)
        try await link.give(groups.map { $0.map(\.bytes) }, in: spool) { [self] ids in
            state.withLock { state in
                for (id, record) in zip(ids, records) { state.places[id] = (record.line, record.item) }
            }
        }
        state.withLock { $0.pending += Int64(records.count) }
    }

    /// The hub has said what became of a record.
    func answered(_ record: SpooledRecord, _ result: RecordResult) {
        state.withLock { $0.unprinted += 1 }
        tell.yield((record, result))
    }

    /// What the hub has refused, and no answer has told.
    func refused(after id: Int64) async throws(PluginStateError) -> [RefusedRecord] {
        try await spool.refused(after: id)
    }

    /// Forgets what the hub has refused, once all of it is told.
    func forgetRefused() async throws(PluginStateError) {
        guard state.withLock({ $0.unprinted == 0 }) else { return }
        _ = try await spool.clearRefused()
    }

    /// An answer is with its reader.
    func printed() { state.withLock { $0.unprinted -= 1 } }

    /// Where a record came from; nil where an earlier process has given it.
    func take(_ id: Int64) -> (line: Int, item: Int?)? {
        state.withLock { state in
            state.pending -= 1
            return state.places.removeValue(forKey: id)
        }
    }

    /// No more is given.
    func endInput() {
        let isOver = state.withLock { state in
            state.inputIsOver = true
            return state.pending <= 0
        }
        if isOver { tell.finish() }
    }

    /// Whether all that was given is answered.
    var isOver: Bool { state.withLock { $0.inputIsOver && $0.pending <= 0 } }

    func untilFewAnswersWait() async {
        while state.withLock({ $0.unprinted > Self.mostAnswers }) {
            guard (try? await Task.sleep(for: .milliseconds(10))) != nil else { return }
        }
    }
}
