import Foundation
import HubSettings
import HubWire
import Testing

@testable import HubCore

/// The turns of a session's subscriptions.
@Suite(.timeLimit(.minutes(1))) struct SinkTurnTests {
    @Test func `R10.20 records that waited for room in the session are delivered when another subscription makes room`()
        async throws
    {
        try await withHub { hub, source in
            // Each subscription may have one MiB of open deliveries, the session two.
            let note = #","metadata":{"note":"\#(String(repeating: "n", count: 15_000))"}"#
            let keys = (0..<90).map { "k\(100 + $0)" }
            for start in stride(from: 0, to: keys.count, by: 30) {
                #expect(try await source.give(keys[start..<start + 30].map { weight($0, 70, note) }).code == nil)
            }
            let sink = try await hub.client("files")
            let names = ["one", "two", "three", "four", "five"]
            for name in names {
                await sink.say("WANT", #"{"want":"\#(name)","start":"beginning",\#(Peer.credit)}"#)
            }
            // Answers nothing until no more deliveries arrive.
            var unanswered: [Frames] = []
            while let frames = await sink.nextIfAny(within: .milliseconds(500)) {
                if frames.verb == "DELIVER" { unanswered.append(frames) }
            }
            var delivered: [String: [String]] = [:]
            while !unanswered.isEmpty {
                let delivery = unanswered.removeFirst()
                delivered[delivery.body["want"].string ?? "", default: []] += delivery.keys
                await sink.deliver(delivery)
                guard unanswered.isEmpty, delivered.values.reduce(0, { $0 + $1.count }) < names.count * keys.count
                else { continue }
                unanswered.append(try await sink.delivery())
            }
            for name in names { #expect(delivered[name] == keys, "\(name)") }
        }
    }

    @Test func `R10.23 answers that could not be stored do not count under a later filter`() async throws {
        let folder = try Folder()
        let both = #","types":["weight","heartRate"]"#
        try await withHub(in: folder) { hub, source in
            let rate =
                #"{"type":"heartRate","value":60,"unit":"count/min","start":"2024-03-15T07:30:05+01:00","key":"b"}"#
            let given = try await source.give([weight("a"), rate, weight("c")])
            #expect(given.results == ["stored", "stored", "stored"])
            let sink = try await hub.client("files")
            try await sink.want("all", "beginning", #","types":["weight"]"#)
            let first = try await sink.delivery()
            #expect(first.keys == ["a", "c"])
            let fault = try StoreFault(folder, .sinkAccounts)
            await sink.deliver(first)
            try await eventually("the failure is in the log") {
                hub.log.lines.contains { $0.contains("answers of sinks cannot be stored") }
            }
            try fault.repair()
            var answer = try await sink.want("all", "beginning", both)
            while answer.verb != "WANT" {
                #expect(answer.code == "store" && answer.body["after"].int != nil, "\(answer)")
                try await Task.sleep(for: .milliseconds(100))
                answer = try await sink.want("all", "beginning", both)
            }
            // The records delivered from here on are not answered.
            try await hub.sink("files/all") { $0["delivered"].int == 2 }
            await sink.close()
            let next = try await hub.client("files")
            let pending = try #require(try await next.want("all", "beginning", both).body["pending"].int)
            var keys: [String] = []
            while Int64(keys.count) < pending, let delivery = await next.nextIfAny(within: .seconds(5)) {
                keys += delivery.keys
            }
            #expect(Int64(keys.count) == pending, "\(keys)")
        }
    }
}
