import Foundation
import HubClient
import HubProcess
import HubWire
import Samples
import Testing
import ZeroMQ

@testable import HubCommand

/// The messages from a follower of the feed, with a hub that a test scripts.
@Suite(.timeLimit(.minutes(2))) struct FollowerTests {
    private static let epoch = "k7qz2m5a"

    /// Two records as a hub gives them, with sequences 1 and 2.
    private func records() async throws -> [String] {
        let hub = try await TestHub()
        try hub.give(CareTests.weights(1...2))
        let lines = try await hub.run(["samples", "--json"]).output.split(separator: "\n").map(String.init)
        return lines.sorted { first, _ in first.contains(#""seq":1,"#) || first.contains(#""seq":1}"#) }
    }

    @Test func `a record published between two pages of missed records is given once`() async throws {
        let records = try await records()
        try #require(records.count == 2)
        let folder = try TemporaryFolder()
        let (door, feed) = ("ipc://\(folder.path)/door", "ipc://\(folder.path)/feed")
        let isBound = AwaitableValue(false)
        async let hub: Void = blocking { try Self.serve(door, feed, records, isBound) }
        while !isBound.value { try await Task.sleep(for: .milliseconds(10)) }
        let seen = try await blocking {
            var seen: [Int64] = []
            let follower = try FeedFollower(
                feed: feed, prefixes: ["sample/"], since: Cursor(epoch: Self.epoch, sequence: 0)
            ) { try DoorClient(endpoint: door, command: "tap") }
            while seen.last != 2 {
                if case .message(_, let place, _)? = try follower.next(upTo: .seconds(1)) {
                    seen.append(place.sequence)
                }
            }
            return seen
        }
        #expect(seen == [1, 2])
        try await hub
    }

    @Test func `a follower does not query a hub that is away, and reports missed records after the hub is back`()
        async throws
    {
        let folder = try TemporaryFolder()
        let feed = "ipc://\(folder.path)/feed"
        let asked = try await blocking {
            func close(_ socket: consuming Socket) {}
            let publisher = try Socket(.xpub, in: try Context())
            try publisher.bind(feed)
            var asked = 0
            let follower = try FeedFollower(
                feed: feed, prefixes: ["sample/"], since: Cursor(epoch: Self.epoch, sequence: 0)
            ) { () throws -> DoorClient in
                asked += 1
                throw Failure(.noHub, "it does not answer")
            }
            var isBack = false
            while !isBack { if case .back? = try follower.next(upTo: .seconds(1)) { isBack = true } }
            close(publisher)
            var isAway = false
            while !isAway { if case .away? = try follower.next(upTo: .seconds(1)) { isAway = true } }
            let before = asked
            for _ in 0..<3 { _ = try follower.next(upTo: .milliseconds(1)) }
            return asked - before
        }
        #expect(asked == 0)
    }

    /// Answers until the second record is published, all on one thread.
    private static func serve(_ door: String, _ feed: String, _ records: [String], _ isBound: AwaitableValue<Bool>)
        throws
    {
        let context = try Context()
        let router = try Socket(.router, in: context)
        let publisher = try Socket(.xpub, in: context)
        // The last messages leave before the sockets close.
        try router.set(.linger, to: .seconds(30))
        try publisher.set(.linger, to: .seconds(30))
        try router.bind(door)
        try publisher.bind(feed)
        isBound.change { $0 = true }
        func publish(_ topic: String, _ place: String, _ body: String) throws {
            var message = Multipart()
            for text in [topic, place, body] { message.append(text) }
            _ = try publisher.sendMultipart(message)
        }
        func pulse(_ head: Int) throws {
            try publish(
                "hub/pulse/", "0 0 \(epoch)", #"{"epoch":"\#(epoch)","head":\#(head),"time":"2026-03-15T06:30:05Z"}"#)
        }
        /// The queries since the follower subscribed: by the third it has begun to read the feed.
        var (subscriptions, questions) = (0, 0)
        while questions < 7 {
            var frames = Multipart()
            while case .complete = try publisher.receiveMultipart(into: &frames) { subscriptions += 1 }
            guard try router.wait(for: .readable, upTo: .milliseconds(50)).contains(.readable),
                case .complete = try router.receiveMultipart(into: &frames), frames.count >= 3
            else {
                if subscriptions >= 2, questions < 4 { try pulse(9) }
                continue
            }
            let (peer, verb, body) = (frames.bytes(of: 0), frames.text(of: 1) ?? "", frames.text(of: 2) ?? "")
            var answer = ("WELCOME", scriptedWelcome)
            if verb == "QUERY" {
                if subscriptions >= 2 { questions += 1 }
                let id = body.firstMatch(of: /"id":([0-9]+)/).map { String($0.1) } ?? "0"
                var rest = #""records":[],"cursor":"\#(epoch)-0""#
                switch questions {
                case 4:
                    // The page is empty but not the last; the first record is published between the two pages.
                    rest = #""records":[],"next":"n","cursor":"\#(epoch)-0""#
                    try publish("sample/weight/me/test-pub/", "1 0 \(epoch)", records[0])
                case 5: try pulse(1)
                case 6:
                    rest = #""records":[\#(records[0])],"cursor":"\#(epoch)-1""#
                    try publish("sample/weight/me/test-pub/", "2 1 \(epoch)", records[1])
                    questions += 1
                default: try pulse(9)
                }
                answer = ("RESULT", "{\"id\":\(id),\(rest)}")
            } else if verb != "HELLO" {
                continue
            }
            var message = Multipart()
            message.append(peer)
            message.append(answer.0)
            message.append(answer.1)
            _ = try router.sendMultipart(message)
        }
    }
}
