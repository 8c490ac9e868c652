import Foundation
import HubClient
import HubCore
import HubProcess
import HubWire
import Samples
import Testing

@testable import HubCommand
@testable import HubStore

/// The behaviour of the hub and its followers after the disk has lost confirmed records.
@Suite struct LostEndTests {
    private static func weights(_ numbers: ClosedRange<Int>) -> [String] {
        numbers.map {
            #"{"type":"weight","value":7\#($0).5,"unit":"kg","start":"2026-03-0\#($0)T07:30:05+01:00","key":"\#($0)"}"#
        }
    }

    private static let files = ["hub.sqlite", "hub.sqlite-wal", "hub.sqlite.sequences"]

    private func copy(_ names: [String], from old: String, to new: String) throws {
        for name in names {
            try? FileManager.default.removeItem(atPath: "\(new)/\(name)")
            if FileManager.default.fileExists(atPath: "\(old)/\(name)") {
                try FileManager.default.copyItem(atPath: "\(old)/\(name)", toPath: "\(new)/\(name)")
            }
        }
    }

    /// Kills the hub as if only these files had reached the disk.
    private func cutPower(_ hub: TestHub, keeping old: TemporaryFolder) async throws {
        await hub.kill()
        try copy(LostEndTests.files, from: old.path, to: hub.data)
        var record = try #require(try SequenceReserve.read(of: hub.data + "/hub.sqlite"))
        record.places[0].boot = "another-start"
        try Data(record.bytes).write(to: URL(filePath: hub.data + "/hub.sqlite.sequences"))
    }

    /// Gives one more record, and expects that the follower has started over after the fifth of the former ones.
    private func expectRestart(of follower: ChildProcess, _ hub: TestHub) async throws {
        try hub.give(LostEndTests.weights(6...6))
        let seen = await follower.result().output.split(separator: "\n").compactMap {
            $0.split(separator: "#").last.flatMap { Int($0) }
        }
        #expect(seen.prefix(8) == [1, 2, 3, 4, 5, 1, 2, 3])
        #expect(seen.count == 9 && seen[8] > 5, "\(seen): a sequence was used twice")
    }

    @Test func `a store replaced by an old file is reported for a week, and a follower starts over`()
        async throws
    {
        let hub = try await TestHub()
        let old = try TemporaryFolder()
        try hub.give(LostEndTests.weights(1...3))
        #expect(try await hub.stop() == 0)
        try copy(["hub.sqlite"], from: hub.data, to: old.path)
        try await hub.restart()
        let follower = try hub.start(["tap", "sample/weight/", "--since", "0", "--count", "9"])
        try hub.give(LostEndTests.weights(4...5))
        try await follower.line { $0.contains("#5") }
        #expect(try await hub.stop() == 0)
        try copy(["hub.sqlite"], from: old.path, to: hub.data)
        try await hub.restart()
        try await follower.line { $0.contains("restored") }

        try await hub.expect(
            ["status"], .unhealthy,
            output: "records are missing: it ends at sequence 3, and sequences up to 5 had been given")
        try await hub.expect(["doctor"], output: "records are missing: it ends at sequence 3")
        try await expectRestart(of: follower, hub)
        #expect(try await hub.run(["doctor", "--deep"]).output.contains("every index and counter is right"))
    }

    @Test func `R8.38 after a power cut a follower that is ahead of the hub starts over, in the same epoch`()
        async throws
    {
        let hub = try await TestHub()
        let old = try TemporaryFolder()
        try hub.give(LostEndTests.weights(1...3))
        let follower = try hub.start(["tap", "sample/weight/", "--since", "0", "--count", "9"])
        try await follower.line { $0.contains("#3") }
        let before = try JSON.decode(HubStatus.self, from: try await hub.run(["status", "--json"]).output.utf8)
        // As if no later write reached the disk.
        try copy(LostEndTests.files, from: hub.data, to: old.path)
        try hub.give(LostEndTests.weights(4...5))
        try await follower.line { $0.contains("#5") }
        try await cutPower(hub, keeping: old)
        try await hub.restart()
        try await follower.line { $0.contains("restored") }

        let after = try await hub.run(["status", "--json"])
        let status = try JSON.decode(HubStatus.self, from: after.output.utf8)
        #expect(after.code == 0 && status.epoch == before.epoch && status.head > 5)
        try await hub.expect(["doctor"], output: "nothing is known to be missing, and sequences go on above")
        try await expectRestart(of: follower, hub)
    }

    @Test func `R8.38 records published after a power cut do not hide the lost ones from a follower`() async throws {
        let hub = try await TestHub()
        let old = try TemporaryFolder()
        try hub.give(LostEndTests.weights(1...3))
        let follower = try ShutOutFollower(of: hub)
        try await follower.wait { $0.seen.count == 3 }
        try copy(LostEndTests.files, from: hub.data, to: old.path)
        try hub.give(LostEndTests.weights(4...5))
        try await follower.wait { $0.seen.count == 5 }
        try await cutPower(hub, keeping: old)
        follower.set(isShut: true)
        try await hub.restart()
        try await follower.wait { $0.isBack }
        for number in 6...9 { try hub.give(LostEndTests.weights(number...number)) }
        follower.set(isShut: false)
        try await follower.wait { $0.seen.count == 7 && $0.wasRestored || $0.seen.count > 7 }
        let (seen, wasRestored) = follower.end()
        #expect(wasRestored && seen.prefix(3) == [1, 2, 3] && seen.dropFirst(3).allSatisfy { $0 > 100_000 }, "\(seen)")
        #expect(try await hub.stop() == 0)
    }
}

/// Follows the feed on its own thread.
///
/// A test can keep it from the door, as if the door opened later than the feed.
private final class ShutOutFollower: Sendable {
    struct State {
        var seen: [Int64] = []
        var wasRestored = false
        /// Whether the hub has come back since the door was shut.
        var isBack = false
        var isShut = false
        var isOver = false
        var failure: String?
    }
    private let state = AwaitableValue(State())

    init(of hub: TestHub) throws {
        let (door, feed) = (hub.endpoints.door, hub.endpoints.feed)
        let epoch = try DoorClient(endpoint: door, command: "tap").open().epoch
        Thread.detachNewThread { [state] in
            do {
                let follower = try FeedFollower(
                    feed: feed, prefixes: ["sample/"], since: Cursor(epoch: epoch, sequence: 0)
                ) {
                    if state.value.isShut { throw DoorClient.absent(door) }
                    return try DoorClient(endpoint: door, command: "tap")
                }
                while !state.value.isOver {
                    guard let event = try follower.next(upTo: .milliseconds(50)) else { continue }
                    state.change { state in
                        switch event {
                        case .message(_, let place, _): state.seen.append(place.sequence)
                        case .restored: (state.wasRestored, state.seen) = (true, [])
                        case .back: state.isBack = true
                        case .away, .gap: break
                        }
                    }
                }
            } catch { state.change { $0.failure = "\(error)" } }
        }
    }

    func set(isShut: Bool) { state.change { ($0.isShut, $0.isBack) = (isShut, false) } }

    /// The test runner limits the time.
    func wait(until isMeant: (State) -> Bool) async throws {
        while !isMeant(state.value) {
            try #require(state.value.failure == nil)
            await Task.yield()
        }
    }

    func end() -> (seen: [Int64], wasRestored: Bool) {
        state.change { $0.isOver = true }
        return (state.value.seen, state.value.wasRestored)
    }
}
