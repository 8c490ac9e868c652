import NIOCore
import PluginKit
import Synchronization

/// A listener with a bounded buffer.
///
/// Only the latest passing value of each kind waits. If records exceed the buffer, all waiting ones are dropped, and the listener
/// reads them from the hub.
final class EventStream: Sendable {
    static let maximumEvents = 1_000
    static let maximumBytes = 262_144

    /// Why a listener left its channel.
    enum Pause: Equatable {
        /// Records after this sequence were dropped; the hub has them.
        case behind(after: Int64)
        case over
    }

    /// Writes bytes to the connection; the callback reports whether they were taken or the connection has ended.
    typealias Write = @Sendable ([ByteBuffer], @escaping @Sendable (Bool) -> Void) -> Void

    private struct Piece {
        var bytes: ByteBuffer
        var sequence: Int64?
        /// The topic of a passing value.
        var topic: String?
    }

    private struct State {
        var waiting: [Piece] = []
        var size = 0
        /// The last record that was written or waits.
        var last: Int64 = 0
        /// The last record that was written to the connection.
        var handed: Int64 = 0
        /// Number of writes that the connection has not taken; `stuckSince` says since when it takes nothing.
        var underWay = 0
        /// The opening was written, which precedes all else.
        var isOpen = false
        var stuckSince: ContinuousClock.Instant?
        var isBehind = false
        var isOver = false
        var waiter: CheckedContinuation<Pause, Never>?

        /// The next action, to be done without the lock.
        enum Step {
            case write([ByteBuffer])
            case wake(CheckedContinuation<Pause, Never>, Pause)
        }

        mutating func step() -> Step? {
            if isOpen, !isOver, underWay == 0, !waiting.isEmpty {
                handed = waiting.last { $0.sequence != nil }?.sequence ?? handed
                let bytes = waiting.map(\.bytes)
                (waiting, size) = ([], 0)
                begin()
                return .write(bytes)
            }
            guard let waiter, let pause else { return nil }
            self.waiter = nil
            return .wake(waiter, pause)
        }

        /// The connection must first take pending writes or end, because nothing may follow the end of an answer.
        var pause: Pause? {
            guard underWay == 0 else { return nil }
            return isOver ? .over : isBehind ? .behind(after: handed) : nil
        }

        mutating func begin() {
            if underWay == 0 { stuckSince = .now }
            underWay += 1
        }

        mutating func end() {
            underWay -= 1
            stuckSince = underWay == 0 ? nil : .now
        }

        mutating func add(_ piece: Piece) {
            waiting.append(piece)
            size += piece.bytes.readableBytes
        }

        func hasRoom(for piece: Piece) -> Bool {
            waiting.count < EventStream.maximumEvents && size + piece.bytes.readableBytes <= EventStream.maximumBytes
        }
    }

    let viewer: Viewer
    /// The person whose records are sent; nil for everybody's, and those in the inbox.
    let person: String?
    /// Nil for all types.
    let types: Set<String>?
    private let state = Mutex(State())
    private let hand: Write
    private let close: @Sendable () -> Void

    /// - Parameters:
    ///   - write: writes bytes, in the order of the calls.
    ///   - close: ends the connection, even during a write.
    init(
        _ viewer: Viewer, person: String?, types: Set<String>?, write: @escaping Write,
        close: @escaping @Sendable () -> Void
    ) { (self.viewer, self.person, self.types, hand, self.close) = (viewer, person, types, write, close) }

    @discardableResult
    private func change<Result>(_ body: (inout State) -> Result) -> Result {
        let (result, step) = state.withLock { state in
            let result = body(&state)
            return (result, state.step())
        }
        switch step {
        case .write(let pieces)?: hand(pieces) { self.taken($0) }
        case .wake(let waiter, let pause)?: waiter.resume(returning: pause)
        case nil: break
        }
        return result
    }

    /// Notes that the connection has taken a write, or has ended.
    private func taken(_ isTaken: Bool) {
        change { state in
            state.end()
            if !isTaken { state.isOver = true }
        }
    }

    // MARK: - Called by the feed

    /// Sets the record after which ``send(_:_:)`` gets all records.
    func begin(after sequence: Int64) {
        change { state in (state.last, state.handed, state.isBehind) = (sequence, sequence, false) }
    }

    /// Sends a record, unless it was sent already, or only a position.
    ///
    /// - Returns: false if there was no room; then the listener is behind and gets no more records.
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

    /// Sends a passing value: it replaces a waiting one of the same topic, and is dropped if there is no room.
    func pass(_ bytes: ByteBuffer, topic: String) {
        change { state in
            let piece = Piece(bytes: bytes, topic: topic)
            if let index = state.waiting.firstIndex(where: { $0.topic == topic }) {
                state.size += bytes.readableBytes - state.waiting[index].bytes.readableBytes
                state.waiting[index] = piece
            } else if state.hasRoom(for: piece) {
                state.add(piece)
            }
        }
    }

    /// Ends the stream; the connection still takes pending writes.
    func end() { change { state in state.isOver = true } }

    /// Closes a connection that has taken no data since `limit`.
    func endIfStuck(since limit: ContinuousClock.Instant) {
        guard state.withLock({ $0.stuckSince.map { $0 < limit } ?? false }) else { return }
        end()
        close()
    }

    // MARK: - Called by the listener's task

    /// Writes the opening or missed records; returns when the connection has taken them or has ended.
    func write(_ pieces: [ByteBuffer]) async {
        state.withLock { state in
            state.begin()
            state.isOpen = true
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                hand(pieces) { isTaken in
                    self.taken(isTaken)
                    continuation.resume()
                }
            }
        } onCancel: {
            abandon()
        }
    }

    /// Ends the stream, and closes the connection if a write is pending.
    private func abandon() {
        end()
        if state.withLock({ $0.underWay > 0 }) { close() }
    }

    /// Whether a task waits in ``pause()``.
    var isAwaited: Bool { state.withLock { $0.waiter != nil } }

    /// Whether no more events are sent.
    var isOver: Bool { state.withLock { $0.isOver } }

    /// Waits while the listener is in a channel.
    func pause() async -> Pause {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let pause = state.withLock { state in
                    let pause = state.pause
                    if pause == nil { state.waiter = continuation }
                    return pause
                }
                if let pause { continuation.resume(returning: pause) }
            }
        } onCancel: {
            abandon()
        }
    }
}
