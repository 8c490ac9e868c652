import Foundation
import NIOCore
import PluginKit
import Synchronization
import Testing

@testable import Web

/// What waits for one who listens.
struct EventStreamTests {
    private static let viewer = Viewer(token: AccessKey(), person: nil, scope: .read)

    private func stream(close: @escaping @Sendable () -> Void = {}) -> EventStream {
        EventStream(Self.viewer, person: nil, types: nil, close: close)
    }

    private func event(_ sequence: Int64, bytes: Int = 100) -> ByteBuffer {
        EventText.event(
            "record", id: Cursor(epoch: "aaaaaaaa", sequence: sequence), data: [UInt8](repeating: 0x20, count: bytes))
    }

    @Test func `who does not read holds so much and no more, and is told to read on from the hub`() async {
        for bytes in [1, 20_000] {
            let stream = stream()
            var taken: Int64 = 0
            while stream.send(event(taken + 1, bytes: bytes), taken + 1) { taken += 1 }
            #expect(taken <= Int64(EventStream.mostEvents) && taken * Int64(bytes) <= EventStream.mostBytes)
            #expect(taken >= 12)
            guard case .behind = await stream.next() else {
                Issue.record("it is not behind")
                return
            }
            // From where it is then it listens again.
            stream.begin(after: 5_000)
            #expect(stream.send(event(4_999), 4_999) && stream.send(event(5_001), 5_001))
            guard case .send(let pieces, let sequence) = await stream.next() else {
                Issue.record("nothing is to be sent")
                return
            }
            #expect(pieces == [event(5_001)] && sequence == 5_001)
        }
    }

    @Test func `of a moving value the latest waits, and none takes the place of a record`() async {
        let stream = stream()
        for number in 0..<10_000 {
            stream.pass(ByteBuffer(string: "\(number)"), topic: "live/weight/\(number % 2)")
        }
        guard case .send(let pieces, let sequence) = await stream.next() else {
            Issue.record("nothing is to be sent")
            return
        }
        #expect(pieces == [ByteBuffer(string: "9998"), ByteBuffer(string: "9999")] && sequence == nil)
        for number in 0..<Int64(EventStream.mostEvents) {
            #expect(stream.send(event(number + 1, bytes: 1), number + 1))
        }
        stream.pass(ByteBuffer(string: "1"), topic: "live/weight/1")
        guard case .send(let records, _) = await stream.next() else {
            Issue.record("nothing is to be sent")
            return
        }
        #expect(records.count == EventStream.mostEvents)
    }

    @Test func `a record is sent once, and what was sent before the break is not sent again`() async {
        let stream = stream()
        stream.begin(after: 10)
        for sequence: Int64 in [9, 10, 11, 11, 12] { #expect(stream.send(event(sequence), sequence)) }
        guard case .send(let pieces, let sequence) = await stream.next() else {
            Issue.record("nothing is to be sent")
            return
        }
        #expect(pieces == [event(11), event(12)] && sequence == 12)
    }

    @Test func `the connection of one who takes nothing is closed, and of no other`() async {
        let closed = Mutex(0)
        let stream = stream { closed.withLock { $0 += 1 } }
        stream.endIfStuck(since: .now)
        #expect(closed.withLock { $0 } == 0)
        #expect(stream.send(event(1), 1))
        guard case .send = await stream.next() else {
            Issue.record("nothing is to be sent")
            return
        }
        stream.endIfStuck(since: .now - .seconds(30))
        #expect(closed.withLock { $0 } == 0)
        stream.endIfStuck(since: .now + .seconds(1))
        #expect(closed.withLock { $0 } == 1)
        guard case .over = await stream.next() else {
            Issue.record("it goes on")
            return
        }
    }

    @Test func `one who waits is woken by the end, and by a cancelled task`() async {
        let ended = stream()
        async let turn = ended.next()
        ended.end()
        if case .over = await turn {} else { Issue.record("it was not woken") }
        let cancelled = stream()
        let task = Task { await cancelled.next() }
        task.cancel()
        if case .over = await task.value {} else { Issue.record("it was not woken") }
    }

    @Test func `there are so many seats, and a seat that is left is free`() throws {
        let seats = EventSeats()
        var taken: [EventSeats.Seat] = []
        for _ in 0..<EventSeats.mostEach { taken.append(try seats.take(Self.viewer)) }
        #expect(throws: Refusal.self) { try seats.take(Self.viewer) }
        let others = (0..<10).map { _ in Viewer(token: AccessKey(), person: nil, scope: .read) }
        for number in 0..<(EventSeats.most - EventSeats.mostEach) { taken.append(try seats.take(others[number % 10])) }
        #expect(throws: Refusal.self) { try seats.take(others[0]) }
        taken.removeFirst()
        taken.append(try seats.take(others[0]))
    }
}
