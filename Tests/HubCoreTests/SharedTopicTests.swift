import Foundation
import HubSettings
import HubWire
import Samples
import Testing

@testable import HubCore

/// `previous` on topics that carry more than a plugin may read (R7.30).
@Suite struct SharedTopicTests {
    private static func setting(
        _ read: [String], history: HistoryLimit? = nil, in folder: Folder? = nil
    ) throws -> Setting {
        var setting = try Setting.withTokens(["watch"], in: folder)
        setting.persons = ["me", "you"]
        setting.plugins[0].grants.read = read
        setting.plugins[0].grants.history = history
        setting.manifests["watch"] = Manifest(name: "watch", summary: "", version: "1", reads: ["*"], writes: ["*"])
        return setting
    }

    private static func pulse(_ key: String) -> String {
        #"{"type":"heartRate","value":60,"unit":"count/min","start":"2024-03-15T01:00:00Z","key":"\#(key)"}"#
    }

    /// The messages before the pulse with this head, without pulses.
    private static func heard(_ listener: Peer, untilHead head: Int64) async throws -> [Frames] {
        var messages: [Frames] = []
        while true {
            let message = try await listener.next()
            guard message.topic == "hub/pulse/" else {
                messages.append(message)
                continue
            }
            if message.record["head"].int == head { return messages }
        }
    }

    @Test func `R7.30 shared topics are those that may carry unreadable records`() throws {
        let shared: [Topic] = [
            .inbox, .day(type: "weight", person: "me", series: "mean30"),
            .retraction(type: "weight", person: "me", place: "scale"),
        ]
        for topic in shared { #expect(ReadGrant.sharedPrefixes.contains { topic.text.utf8.starts(with: $0) }) }
        let own = Topic.sample(type: "weight", person: "me", plugin: "scale")
        #expect(!ReadGrant.sharedPrefixes.contains { own.text.utf8.starts(with: $0) })
    }

    @Test func `R7.30 previous of the inbox counts only readable records, including backfill and missed ones`()
        async throws
    {
        let folder = try Folder()
        var setting = try Self.setting(["*", "!heartRate"], in: folder)
        let begin = try await withHub(setting, in: folder) { hub in
            let listener = try await GrantTests.listener(hub, "watch", ["hub/inbox/"])
            let source = try await hub.client("source")
            let head = try #require(try await source.status()["head"].int)
            _ = try await source.give([weight("a"), Self.pulse("b"), weight("c"), Self.pulse("d")])
            _ = try await source.give([Self.pulse("e")], backfill: true)
            _ = try await source.give([Self.pulse("f"), weight("g")])
            _ = try await source.give([weight("h"), Self.pulse("i")], backfill: true)
            _ = try await source.give([weight("j")])
            let heard = try await Self.heard(listener, untilHead: head + 10)
            #expect(heard.map { $0.sequence - head } == [1, 3, 7, 10])
            // The first is at most the head at the hub's start, and then come the readable records 1, 3 and 8.
            #expect(heard.map(\.previous).dropFirst() == [head + 1, head + 3, head + 8], "\(heard)")
            #expect((heard.first?.previous ?? .max) <= head)
            return head + 10
        }
        // The plugin's next process writes a new token file.
        func forgetToken() throws { try FileManager.default.removeItem(atPath: folder.data + "/plugins/watch/token") }
        try forgetToken()
        // A hub that starts must assume that a plugin with an older place has missed something.
        try await withHub(setting, in: folder) { hub in
            let listener = try await GrantTests.listener(hub, "watch", ["hub/inbox/"])
            let source = try await hub.client("source")
            _ = try await source.give([Self.pulse("k"), weight("l")])
            let head = try #require(try await source.status()["head"].int)
            let heard = try await Self.heard(listener, untilHead: head)
            #expect(heard.count == 1 && heard[0].previous >= begin && heard[0].previous < head - 1, "\(heard)")
        }
        try forgetToken()
        // A plugin that may read all gets the plain `previous`.
        setting.plugins[0].grants.read = ["*"]
        try await withHub(setting, in: folder) { hub in
            let listener = try await GrantTests.listener(hub, "watch", ["hub/inbox/"])
            let source = try await hub.client("source")
            _ = try await source.give([weight("m"), Self.pulse("n")])
            let head = try #require(try await source.status()["head"].int)
            #expect(try await Self.heard(listener, untilHead: head).last?.previous == head - 1)
        }
    }

    @Test func `R7.30 R8.121 previous does not count records older than a plugin may read`() async throws {
        let limit = HistoryLimit.since(try #require(LocalDate("2024-03-10")))
        try await withHub(try Self.setting(["*"], history: limit)) { hub in
            let listener = try await GrantTests.listener(hub, "watch", ["sample/"])
            let source = try await hub.client("source")
            let head = try #require(try await source.status()["head"].int)
            func mine(_ key: String, _ day: Int) -> String {
                weight(key, 70, #","subject":{"name":"me"}"#).replacing("2024-03-15", with: "2024-03-\(day)")
            }
            _ = try await source.give([mine("a", 15), mine("b", 10), mine("c", 16)])
            _ = try await source.give([mine("old", 1).replacing("03-1T", with: "03-01T"), mine("d", 17)])
            let heard = try await Self.heard(listener, untilHead: head + 5)
            #expect(heard.map { $0.sequence - head } == [1, 2, 3, 5], "\(heard)")
            #expect(heard.last?.previous == head + 3, "\(heard)")
        }
    }

    @Test func `R7.30 forgetting topics never hides a gap`() {
        var shared = SharedTopics(from: 5)
        let first = Topic.sample(type: "weight", person: "me", plugin: "p")
        #expect(shared.pass(first, 7) == 5 && shared.pass(first, 9) == 7)
        for number in 0..<SharedTopics.most {
            _ = shared.pass(.sample(type: "weight", person: "p\(number)", plugin: "p"), Int64(10 + number))
        }
        // `previous` may be later than the true one: a follower then queries in vain, but misses nothing.
        let previous = shared.pass(first, 20_000)
        #expect(previous >= 9 && previous < 20_000)
        // For a record committed before the feed existed, `previous` is still lower than its sequence.
        #expect(shared.pass(.sample(type: "weight", person: "q", plugin: "p"), 3) == 2)
    }
}
