import DoorPeer
import Foundation
import HubClient
import HubWire
import Samples
import Synchronization
import TortureDiary

/// Asks for the accounts again and again during the round.
final class Watcher: Sendable {
    private let state = Mutex((sightings: [Sighting](), isOver: false, hasEnded: false))

    /// - Parameter door: the owner's endpoint.
    init(_ door: String) {
        Thread.detachNewThread { [self] in
            while !state.withLock(\.isOver) {
                let asked = millisecondsNow()
                // Longer than the time after which the hub reports that its disk does not answer.
                let status = try? DoorPeer(door, instance: "torture", #","mode":"once""#, patience: .seconds(5)).ask(
                    "\"want\":\"status\"", "status", as: StatusSample.self)
                if let status {
                    let sighting = Sighting(asked: asked, answered: millisecondsNow(), status: status)
                    state.withLock { $0.sightings.append(sighting) }
                }
                Thread.sleep(forTimeInterval: 0.2)
            }
            state.withLock { $0.hasEnded = true }
        }
    }

    /// Stops asking and returns all answers.
    func end() async -> [Sighting] {
        state.withLock { $0.isOver = true }
        _ = await poll(within: .seconds(10)) { state.withLock(\.hasEnded) }
        return state.withLock(\.sightings)
    }
}

/// Follows the feed from its beginning, as `hub tap --since 0` does.
final class Follower: Sendable {
    private let state = Mutex((lines: [FeedLine](), isOver: false, hasEnded: false))

    init(feed: String, door: String) {
        Thread.detachNewThread { [self] in
            do { try follow(feed, door) } catch { note(.failed("\(error)")) }
            state.withLock { $0.hasEnded = true }
        }
    }

    private func follow(_ feed: String, _ door: String) throws {
        let open = { try DoorClient(endpoint: door, command: "tap") }
        let beginning = Cursor(epoch: try open().open().epoch, sequence: 0)
        let follower = try FeedFollower(feed: feed, prefixes: ["sample/", "retraction/"], since: beginning, door: open)
        while !state.withLock(\.isOver) {
            if let event = try follower.next(upTo: .milliseconds(100)) { note(try Self.event(event)) }
        }
    }

    private func note(_ event: FeedLine.Event) {
        let line = FeedLine(at: millisecondsNow(), event: event)
        state.withLock { $0.lines.append(line) }
    }

    private static func event(_ event: FeedFollower.Event) throws -> FeedLine.Event {
        switch event {
        case .message(_, let place, let body):
            .record(epoch: place.epoch, try JSONDecoder().decode(Story.Record.self, from: Data(body)))
        case .restored: .restored
        case .gap(let topic, let after, let before): .failed("a gap on \(topic.text) from \(after) to \(before)")
        case .away: .away
        case .back: .back
        }
    }

    var lines: [FeedLine] { state.withLock(\.lines) }

    func end() async -> [FeedLine] {
        state.withLock { $0.isOver = true }
        _ = await poll(within: .seconds(10)) { state.withLock(\.hasEnded) }
        return lines
    }
}
