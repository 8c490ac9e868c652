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

    /// Why a listener is no longer told with the others.
    enum Pause: Equatable {
        /// Records were dropped: the hub has them, after this sequence.
        case behind(after: Int64)
        case over
    }

    /// Hands bytes to the connection, and says when it has taken them, or has ended.
    typealias Write = @Sendable ([ByteBuffer], @escaping @Sendable (Bool) -> Void) -> Void

    private struct Piece {
        var bytes: ByteBuffer
        var sequence: Int64?
        /// Of a passing value: which it is.
        var topic: String?
    }

    private struct State {
        var waiting: [Piece] = []
        var size = 0
        /// Records up to here were handed to the connection, or wait.
        var last: Int64 = 0
        /// Records up to here were handed to the connection.
        var handed: Int64 = 0
        /// What the connection has not taken yet, and since when it takes nothing.
        var underWay = 0
        /// The opening was handed over, which comes before all else.
        var isOpen = false
        var stuckSince: ContinuousClock.Instant?
        var isBehind = false
        var isOver = false
        var waiter: CheckedContinuation<Pause, Never>?

        /// What is to be done now, with the lock given back.
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

        /// First the connection takes what it was given, or ends: nothing comes after the end of an answer.
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
            waiting.count < EventStream.mostEvents && size + piece.bytes.readableBytes <= EventStream.mostBytes
        }
    }

    let viewer: Viewer
    /// Whose records; `nil`: everybody's, and those in the inbox.
    let person: String?
    /// `nil`: all.
    let types: Set<String>?
    private let state = Mutex(State())
    private let hand: Write
    private let close: @Sendable () -> Void

    /// - Parameters:
    ///   - write: hands bytes over, in the order of the calls.
    ///   - close: ends the connection, whatever it waits for.
    init(
        _ viewer: Viewer, person: String?, types: Set<String>?, write: @escaping Write,
        close: @escaping @Sendable () -> Void
    ) {
        (self.viewer, self.person, self.types, hand, self.close) = (viewer, person, types, write, close)
    }

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

    /// The connection has taken what it was handed, or has ended.
    private func taken(_ isTaken: Bool) {
        change { state in
            state.end()
            if !isTaken { state.isOver = true }
        }
    }

    // MARK: - For the feed

    /// From which record on ``send(_:_:)`` is told of all.
    func begin(after sequence: Int64) {
        change { state in (state.last, state.handed, state.isBehind) = (sequence, sequence, false) }
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

    /// No more comes but what the connection has to take already.
    func end() { change { state in state.isOver = true } }

    /// Ends the connection of one who has not taken what was sent for so long.
    func endIfStuck(since limit: ContinuousClock.Instant) {
        guard state.withLock({ $0.stuckSince.map { $0 < limit } ?? false }) else { return }
        end()
        close()
    }

    // MARK: - For the listener's task

    /// Hands over the opening, and later what a listener has missed, and waits until the connection has taken it, or has ended.
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

    /// Ends, with the connection if it still has to take something: no one waits for that any more.
    private func abandon() {
        end()
        if state.withLock({ $0.underWay > 0 }) { close() }
    }

    /// Whether a task waits in ``pause()``.
    var isAwaited: Bool { state.withLock { $0.waiter != nil } }

    /// Whether nothing more is sent.
    var isOver: Bool { state.withLock { $0.isOver } }

    /// Waits while the listener is told with the others.
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
