import Foundation
import NIOCore
import PluginKit
import Synchronization
import Testing

@testable import Web

/// The buffer of a listener.
struct EventStreamTests {
    private static let viewer = Viewer(token: AccessKey(), person: nil, scope: .read)

    /// A connection that takes data when the test says so.
    private final class Connection: Sendable {
        private struct State {
            var handed: [[ByteBuffer]] = []
            var untaken: [@Sendable (Bool) -> Void] = []
            var isTaking = false
            var closings = 0
        }

        private let state = Mutex(State())

        var closings: Int { state.withLock { $0.closings } }

        /// The writes since the last call.
        func handed() -> [[ByteBuffer]] {
            state.withLock { state in
                defer { state.handed = [] }
                return state.handed
            }
        }

        @Sendable func write(_ pieces: [ByteBuffer], _ done: @escaping @Sendable (Bool) -> Void) {
            let isTaking = state.withLock { state in
                state.handed.append(pieces)
                if !state.isTaking { state.untaken.append(done) }
                return state.isTaking
            }
            if isTaking { done(true) }
        }

        /// Takes pending writes, and all later ones at once.
        func takeAll() {
            let untaken = state.withLock { state in
                defer { state.untaken = [] }
                state.isTaking = true
                return state.untaken
            }
            for done in untaken { done(true) }
        }

        func stopTaking() { state.withLock { $0.isTaking = false } }

        /// Fails pending writes.
        @Sendable func close() {
            let untaken = state.withLock { state in
                defer { state.untaken = [] }
                state.closings += 1
                return state.untaken
            }
            for done in untaken { done(false) }
        }
    }

    /// A stream whose opening was sent, on a connection that takes no more data.
    private func stream(_ connection: Connection) async -> EventStream {
        let stream = EventStream(Self.viewer, person: nil, types: nil, write: connection.write, close: connection.close)
        connection.takeAll()
        await stream.write([ByteBuffer(string: "opening")])
        connection.stopTaking()
        #expect(connection.handed().count == 1)
        return stream
    }

    private func event(_ sequence: Int64, bytes: Int = 100) -> ByteBuffer {
        EventText.event(
            "record", id: Cursor(epoch: "aaaaaaaa", sequence: sequence), data: [UInt8](repeating: 0x20, count: bytes))
    }

    @Test func `the buffer of a stuck listener is bounded, and the listener continues from the hub`() async {
        for bytes in [1, 20_000] {
            let connection = Connection()
            let stream = await stream(connection)
            // The first record is being written; later ones wait.
            #expect(stream.send(event(1, bytes: bytes), 1))
            var taken: Int64 = 1
            while stream.send(event(taken + 1, bytes: bytes), taken + 1) { taken += 1 }
            #expect(
                taken - 1 <= Int64(EventStream.maximumEvents) && (taken - 1) * Int64(bytes) <= EventStream.maximumBytes)
            #expect(taken >= 12)
            #expect(connection.handed() == [[event(1, bytes: bytes)]])
            connection.takeAll()
            // The others were dropped, so the hub is queried for all after the first.
            #expect(await stream.pause() == .behind(after: 1))
            // Then it listens again from its new position.
            stream.begin(after: 5_000)
            #expect(stream.send(event(4_999), 4_999) && stream.send(event(5_001), 5_001))
            #expect(connection.handed() == [[event(5_001)]])
        }
    }

    @Test func `only the latest value of a live topic waits, and it replaces no record`() async {
        let connection = Connection()
        let stream = await stream(connection)
        stream.pass(ByteBuffer(string: "first"), topic: "live/weight/0")
        for number in 0..<10_000 { stream.pass(ByteBuffer(string: "\(number)"), topic: "live/weight/\(number % 2)") }
        #expect(connection.handed() == [[ByteBuffer(string: "first")]])
        connection.takeAll()
        #expect(connection.handed() == [[ByteBuffer(string: "9998"), ByteBuffer(string: "9999")]])
        connection.stopTaking()
        #expect(stream.send(event(1, bytes: 1), 1))
        for number in 0..<Int64(EventStream.maximumEvents) {
            #expect(stream.send(event(number + 2, bytes: 1), number + 2))
        }
        stream.pass(ByteBuffer(string: "1"), topic: "live/weight/1")
        connection.takeAll()
        #expect(connection.handed().map(\.count) == [1, EventStream.maximumEvents])
    }

    @Test func `a record is sent once, and not again after a break`() async {
        let connection = Connection()
        let stream = await stream(connection)
        stream.begin(after: 10)
        for sequence: Int64 in [9, 10, 11, 11, 12, 13] { #expect(stream.send(event(sequence), sequence)) }
        connection.takeAll()
        #expect(connection.handed() == [[event(11)], [event(12), event(13)]])
    }

    @Test func `nothing is sent before the opening`() async {
        let connection = Connection()
        let stream = EventStream(Self.viewer, person: nil, types: nil, write: connection.write, close: connection.close)
        stream.pass(ByteBuffer(string: "80.4"), topic: "live/weight/0")
        #expect(connection.handed().isEmpty)
        connection.takeAll()
        await stream.write([ByteBuffer(string: "opening")])
        #expect(connection.handed() == [[ByteBuffer(string: "opening")], [ByteBuffer(string: "80.4")]])
    }

    @Test func `only the connection of a stuck listener is closed`() async {
        let connection = Connection()
        let stream = await stream(connection)
        stream.endIfStuck(since: .now)
        #expect(connection.closings == 0)
        #expect(stream.send(event(1), 1))
        stream.endIfStuck(since: .now - .seconds(30))
        #expect(connection.closings == 0)
        stream.endIfStuck(since: .now + .seconds(1))
        #expect(connection.closings == 1)
        #expect(await stream.pause() == .over)
        #expect(!stream.send(event(2), 2))
    }

    @Test func `a waiting task is woken by the end, by a connection that ends, and by its cancellation`() async {
        for cause in 0..<3 {
            let (connection, waiting) = (Connection(), Flag())
            let stream = await stream(connection)
            if cause == 1 { #expect(stream.send(event(1), 1)) }
            let task = Task {
                waiting.raise()
                return await stream.pause()
            }
            while !waiting.isRaised { await Task.yield() }
            switch cause {
            case 0: stream.end()
            case 1: connection.close()
            default: task.cancel()
            }
            #expect(await task.value == .over)
        }
    }

    private final class Flag: Sendable {
        private let state = Mutex(false)
        var isRaised: Bool { state.withLock { $0 } }
        func raise() { state.withLock { $0 = true } }
    }

    @Test func `a stuck listener's stream ends only when the connection takes the data or is closed`() async {
        for takes in [true, false] {
            let connection = Connection()
            let stream = await stream(connection)
            #expect(stream.send(event(1), 1))
            stream.end()
            let task = Task { await stream.pause() }
            while !stream.isAwaited { await Task.yield() }
            if takes { connection.takeAll() } else { stream.endIfStuck(since: .now + .seconds(1)) }
            #expect(await task.value == .over)
            #expect(connection.closings == (takes ? 0 : 1) && connection.handed() == [[event(1)]])
        }
    }

    @Test func `a task that is cancelled while its listener is stuck closes the connection`() async {
        let connection = Connection()
        let stream = await stream(connection)
        let task = Task { await stream.write([self.event(1)]) }
        while connection.handed().isEmpty { await Task.yield() }
        task.cancel()
        await task.value
        #expect(connection.closings == 1 && stream.isOver)
    }

    @Test func `the number of seats is limited, and a returned seat is free`() throws {
        let seats = ListenerLimit()
        var taken: [ListenerLimit.Slot] = []
        for _ in 0..<ListenerLimit.mostEach { taken.append(try seats.take(Self.viewer)) }
        #expect(throws: RequestRefusal.self) { try seats.take(Self.viewer) }
        let others = (0..<10).map { _ in Viewer(token: AccessKey(), person: nil, scope: .read) }
        for number in 0..<(ListenerLimit.most - ListenerLimit.mostEach) {
            taken.append(try seats.take(others[number % 10]))
        }
        #expect(throws: RequestRefusal.self) { try seats.take(others[0]) }
        taken.removeFirst()
        taken.append(try seats.take(others[0]))
    }
}
