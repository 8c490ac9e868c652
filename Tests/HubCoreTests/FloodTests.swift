import HubWire
import Testing

@testable import HubCore

/// Floods of messages and sessions from peers.
@Suite struct FloodTests {
    @Test func `Thousands of sessions write a limited number of lines`() async throws {
        try await withHub { hub in
            let peer = try await hub.peer()
            for number in 0..<2_000 { try await peer.hello("stranger-\(number)") }
            let lines = hub.log.lines.filter { $0.contains("session began") || $0.contains("session ended") }
            #expect((1...130).contains(lines.count), "\(lines.count) lines")
        }
    }

    @Test func `R4.7 sessions of disconnected peers make room`() async throws {
        var setting = Setting()
        setting.policy.limits.sessions = 16
        try await withHub(setting) { hub in
            for number in 0..<15 {
                let peer = try await hub.client("short-\(number)")
                await peer.close()
            }
            // The end of a connection arrives asynchronously, and the hub checks for it at most once a second.
            let late = try await hub.peer()
            try await eventually("a session is free") {
                let answer = try await late.ask(
                    "HELLO", #"{"protocol":[1],"instance":"late","plugin":"late","version":"1"}"#)
                return answer.verb == "WELCOME"
            }
        }
    }

    @Test func `R4.7 disconnected peers return their credit before a new one is refused`() async throws {
        var setting = Setting()
        // The timeout for silence alone would take ten minutes.
        setting.memoryLimit = ByteSize(bytes: 1 << 30)
        try await withHub(setting) { hub in
            var guests: [Peer] = []
            while true {
                let peer = try await hub.peer()
                let name = "guest-\(guests.count)"
                let body = #"{"protocol":[1],"instance":"\#(name)","plugin":"\#(name)","version":"1"}"#
                guests.append(peer)
                guard try await peer.ask("HELLO", body).verb == "WELCOME" else { break }
            }
            #expect(guests.count < 240, "credit runs out before sessions do")
            for guest in guests { await guest.close() }
            let late = try await hub.peer()
            try await eventually("credit is available again") {
                let body = #"{"protocol":[1],"instance":"late","plugin":"late","version":"1"}"#
                return try await late.ask("HELLO", body).verb == "WELCOME"
            }
        }
    }

    @Test func `R4.7 when guests fill the sessions there is still room for a session in mode once`() async throws {
        var setting = Setting()
        setting.policy.limits.sessions = 16
        try await withHub(setting) { hub in
            var guests: [Peer] = []
            for number in 0..<15 { guests.append(try await hub.client("guest-\(number)")) }
            let another = try await hub.peer()
            let refused = try await another.ask(
                "HELLO", #"{"protocol":[1],"instance":"another","plugin":"another","version":"1"}"#)
            #expect(refused.code == "limit")
            let watcher = try await hub.peer()
            try await watcher.hello("watcher", mode: "once")
            #expect(try await watcher.status()["sessions"].array.count == 16)
            for guest in guests { await guest.close() }
        }
    }

    @Test func `Queries of a session that restarts often do not delay those of others`() async throws {
        try await withHub { hub, source in
            for batch in 0..<5 { _ = try await source.give((0..<1_000).map { weight("\(batch) \($0)") }) }
            let loud = try await hub.peer()
            for number in 0..<2_000 {
                await loud.say("HELLO", #"{"protocol":[1],"instance":"loud","plugin":"loud","version":"1"}"#)
                await loud.say("QUERY", #"{"id":\#(number),"want":"records"}"#)
            }
            let watcher = try await hub.client("watcher", #","mode":"once""#)
            #expect(try await watcher.status()["records"].int == 5_000)
            #expect(try await source.all().records.count == 5_000)
        }
    }

    @Test func `Lines beyond the allowance are counted, and the allowance refills with time`() {
        var allowance = TokenBucket(size: 3, rate: 10, now: 0)
        func written(_ times: [Int64]) -> Int { times.filter { allowance.take(at: $0) }.count }
        func omitted() -> Int { allowance.takeRefused() }
        #expect(written(Array(repeating: 0, count: 10)) == 3)
        #expect(omitted() == 7)
        #expect(omitted() == 0)
        #expect(written([99]) == 0)
        #expect(written([100]) == 1)
        #expect(written([150]) == 0)
        #expect(written(Array(repeating: 1_000_000, count: 10)) == 3)
        #expect(omitted() == 9)
    }
}
