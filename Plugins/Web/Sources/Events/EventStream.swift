import NIOCore
import PluginKit
import Synchronization

/// One who listens, and what waits for them: so much and no more.
///
/// Of passing values only the latest of each kind waits. When more records wait than there is room for, all of them are dropped, and the
/// listener reads on from the hub where they are.
final class EventStream: Sendable {
    static let mostEvents = 1_000
    static let mostBytes = 262_144

    /// What is next for a listener.
    enum Turn {
        /// To be sent, and up to which record that is.
        case send([ByteBuffer], sequence: Int64?)
        /// Records were dropped: the hub has them.
        case behind
        case over
    }

    private struct Piece {
        var bytes: ByteBuffer
        var sequence: Int64?
        /// Of a passing value: which it is.
        var topic: String?
    }

    private struct State {
        var waiting: [Piece] = []
        var size = 0
        /// Records up to here were sent, or wait.
        var last: Int64 = 0
        var isBehind = false
        var isOver = false
        var waiter: CheckedContinuation<Turn, Never>?
        /// When the connection was given what it has not taken yet.
        var writing: ContinuousClock.Instant?

        mutating func take() -> Turn? {
            if isOver { return .over }
            if !waiting.isEmpty {
                let turn = Turn.send(waiting.map(\.bytes), sequence: waiting.last { $0.sequence != nil }?.sequence)
                (waiting, size, writing) = ([], 0, .now)
                return turn
            }
            guard isBehind else { return nil }
            isBehind = false
            return .behind
        }

        mutating func add(_ piece: Piece) {
            waiting.append(piece)
            size += piece.bytes.readableBytes
        }

        func hasRoom(for piece: Piece) -> Bool {
            waiting.count < EventStream.mostEvents && size + piece.bytes.readableBytes <= EventStream.mostBytes
        }
    }

    let viewer: Viewer
    /// Whose records; `nil`: everybody's, and those in the inbox.
    let person: String?
    /// `nil`: all.
    let types: Set<String>?
    private let state = Mutex(State())
    private let close: @Sendable () -> Void

    /// - Parameter close: ends the connection, whatever it waits for.
    init(_ viewer: Viewer, person: String?, types: Set<String>?, close: @escaping @Sendable () -> Void) {
        (self.viewer, self.person, self.types, self.close) = (viewer, person, types, close)
    }

    // MARK: - For the feed

    private func change(_ body: (inout State) -> Bool) -> Bool {
        let (result, waiter, turn) = state.withLock { state in
            let result = body(&state)
            guard let waiter = state.waiter, let turn = state.take() else {
                return (result, CheckedContinuation<Turn, Never>?.none, Turn?.none)
            }
            state.waiter = nil
            return (result, waiter, turn)
        }
        if let turn { waiter?.resume(returning: turn) }
        return result
    }

    /// From which record on ``send(_:_:)`` is told of all.
    func begin(after sequence: Int64) {
        _ = change { state in
            (state.last, state.isBehind) = (sequence, false)
            return true
        }
    }

    /// A record, unless it was sent already; or a place without one.
    ///
    /// - Returns: whether there was room; else the listener is behind, and is told of no more.
    func send(_ bytes: ByteBuffer, _ sequence: Int64) -> Bool {
        change { state in
            guard !state.isOver else { return false }
            guard sequence > state.last else { return true }
            let piece = Piece(bytes: bytes, sequence: sequence)
            guard state.hasRoom(for: piece) else {
                state.waiting.removeAll { $0.sequence != nil }
                state.size = state.waiting.reduce(0) { $0 + $1.bytes.readableBytes }
                state.isBehind = true
                return false
            }
            state.last = sequence
            state.add(piece)
            return true
        }
    }

    /// What is true now alone: it takes the place of what waits of the same topic, and is dropped where there is no room.
    func pass(_ bytes: ByteBuffer, topic: String) {
        _ = change { state in
            let piece = Piece(bytes: bytes, topic: topic)
            if let index = state.waiting.firstIndex(where: { $0.topic == topic }) {
                state.size += bytes.readableBytes - state.waiting[index].bytes.readableBytes
                state.waiting[index] = piece
            } else if state.hasRoom(for: piece) {
                state.add(piece)
            }
            return true
        }
    }

    /// No more comes.
    func end() {
        _ = change { state in
            state.isOver = true
            return true
        }
    }

    /// Ends the connection of one who has not taken what was sent for so long.
    func endIfStuck(since limit: ContinuousClock.Instant) {
        guard state.withLock({ $0.writing.map { $0 < limit } ?? false }) else { return }
        end()
        close()
    }

    // MARK: - For the connection

    /// Waits for something to send.
    func next() async -> Turn {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let turn = state.withLock { state in
                    state.writing = nil
                    let turn = Task.isCancelled ? .over : state.take()
                    if turn == nil { state.waiter = continuation }
                    return turn
                }
                if let turn { continuation.resume(returning: turn) }
            }
        } onCancel: {
            end()
        }
    }

    /// Hands bytes to the connection; what is not taken in time ends it (``endIfStuck(since:)``).
    func timed(_ body: () async throws -> Void) async rethrows {
        state.withLock { $0.writing = .now }
        defer { state.withLock { $0.writing = nil } }
        try await body()
    }
}
