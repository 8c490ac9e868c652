import HubWire
import JSON
import PluginKit
import Synchronization

/// The spool of a stream: the line of each record, and the hub's answers.
final class SpooledLines: Sendable {
    /// Maximum number of answers that wait to be printed; above it, the reading of lines pauses.
    private static let maximumAnswers = 10_000

    private struct State {
        /// The lines of records that this process gave.
        var places: [Int64: (line: Int, item: Int?)] = [:]
        /// Records in the spool, including those of earlier processes.
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

    func keep(_ groups: [[BridgeRecord]], _ link: HubLink) async throws(GiveError) {
        let records = groups.flatMap(\.self)
        try await link.give(groups.map { $0.map(\.bytes) }, in: spool) { [self] ids in
            state.withLock { state in
                for (id, record) in zip(ids, records) { state.places[id] = (record.line, record.item) }
            }
        }
        state.withLock { $0.pending += Int64(records.count) }
    }

    /// Queues the hub's answer to a record for printing.
    func answered(_ record: SpooledRecord, _ result: RecordResult) {
        state.withLock { $0.unprinted += 1 }
        tell.yield((record, result))
    }

    /// Records that the hub refused and that no answer has reported.
    func refused(after id: Int64) async throws(PluginStateError) -> [RefusedRecord] {
        try await spool.refused(after: id)
    }

    /// Removes the refused records, once all answers are printed.
    func forgetRefused() async throws(PluginStateError) {
        guard state.withLock({ $0.unprinted == 0 }) else { return }
        _ = try await spool.clearRefused()
    }

    /// Notes that an answer was written.
    func printed() { state.withLock { $0.unprinted -= 1 } }

    /// The answer to print for a record; without its line if an earlier process gave the record.
    func answer(_ record: SpooledRecord, _ result: RecordResult) -> JSONTree {
        let place = state.withLock { state in
            state.pending -= 1
            return state.places.removeValue(forKey: record.id)
        }
        let key = BridgeRecord.key(of: record.bytes)
        return BridgeAnswer.result(result, line: place?.line, item: place?.item, key: key)
    }

    /// Notes that no more records are given.
    func endInput() {
        let isOver = state.withLock { state in
            state.inputIsOver = true
            return state.pending <= 0
        }
        if isOver { tell.finish() }
    }

    /// Whether the input has ended and all records are answered.
    var isOver: Bool { state.withLock { $0.inputIsOver && $0.pending <= 0 } }

    func waitForAnswers() async {
        while state.withLock({ $0.unprinted > Self.maximumAnswers }) {
            guard (try? await Task.sleep(for: .milliseconds(10))) != nil else { return }
        }
    }
}
