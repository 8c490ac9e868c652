import HubSettings
import HubStore
import HubWire
import Samples
import Testing

@testable import HubCore

/// Retention of records, at the door, on the feed and for sinks (chapter 6.11).
@Suite struct RetentionTests {
    private func setting(thin: Int? = nil, remove: Int? = nil) throws -> Setting {
        var setting = Setting()
        setting.retention = [
            RetentionSection(
                name: "old", types: [try TypeID("weight")], thinAfterDays: thin, removeAfterDays: remove)
        ]
        return setting
    }

    private func retention(_ peer: Peer, _ arguments: String = "{}", dryRun: Bool = false) async throws -> JSON {
        try await peer.command("retention", arguments, dryRun: dryRun).body
    }

    @Test func `R8.44 R6.43 a rule removes records without retractions, after the sink has received them`() async throws
    {
        try await withHub(try setting(remove: 30)) { hub, peer in
            let listener = try await hub.listener("sample/", "retraction/", "day/")
            let sink = try await hub.client("sink")
            try await sink.want()
            _ = try await peer.give([weight("a"), weight("b")])
            let delivery = try await sink.delivery()
            let plan = try await retention(peer, dryRun: true)
            #expect(
                plan["result"].fits(
                    #"{"dryRun":true,"rules":[{"rule":"old","removed":0,"waiting":1,"waitingFor":["sink/all"]}]}"#))
            await sink.deliver(delivery)
            try await hub.sink("sink/all") { $0["delivered"].int ?? 0 == delivery.keys.count }
            // The newest record is kept, because the head depends on it.
            _ = try await peer.give([height("h")])
            try await sink.accept()
            try await hub.sink("sink/all") { $0["delivered"].int == 3 }
            let done = try await retention(peer, #"{"rule":"old"}"#)
            #expect(done["result"]["rules"][0].fits(#"{"rule":"old","thinned":0,"removed":2,"waiting":0}"#))
            #expect(try await peer.all().records.map { $0["key"].string } == ["h"])
            let since = try await peer.all(#""since":"\#(try await peer.status()["epoch"].string ?? "")-0""#)
            #expect(since.records.map { $0["key"].string } == ["h"])
            let status = try await peer.status()
            #expect(status["records"].int == 1 && status["retention"][0]["removed"].int == 2)
            #expect(try await peer.give([weight("a", 99)]).results == ["duplicate"])
            var heard: [String?] = []
            while heard.count < 3 { heard.append(try await listener.next().record["key"].string) }
            #expect(heard == ["a", "b", "h"])
            #expect(await listener.nextIfAny(within: .milliseconds(200)) == nil)
            #expect(
                try await retention(peer, #"{"rule":"odl"}"#)["reason"].string?.contains("did you mean old") == true)
        }
    }

    @Test func `R6.44 thinned samples are published as a day with their numbers`() async throws {
        try await withHub(try setting(thin: 30)) { hub, peer in
            let listener = try await hub.listener("day/")
            _ = try await peer.give([weight("a", 70), weight("b", 71), weight("c", 72)])
            _ = try await peer.give([height("h")])
            #expect(try await retention(peer)["result"]["rules"][0]["thinned"].int == 3)
            let day = try await listener.next()
            #expect(day.topic == "day/weight/me/kept.kitchen-script/")
            #expect(
                day.record.fits(
                    #"{"kind":"day","value":71,"unit":"kg","date":"2024-03-15","method":"retention","metadata":{"count":3,"min":70,"max":72,"mean":71,"sum":213,"first":70,"last":72}}"#
                ))
            #expect(try await peer.all().records.map { $0["key"].string } == ["h"])
        }
    }

    @Test func `R8.160 statistics name the thinned days of their span, but not to plugins that may not read them`()
        async throws
    {
        var setting = try Setting.withTokens(["watch"])
        setting.retention = try self.setting(thin: 30).retention
        setting.plugins[0].grants.read = ["height"]
        setting.manifests["watch"] = Manifest(name: "watch", summary: "", version: "1", reads: ["*"], writes: ["*"])
        try await withHub(setting) { hub in
            func thinned(_ peer: Peer, _ more: String = "") async throws -> JSON {
                let answer = try await peer.query(#""types":["weight"]"# + more, want: "statistics")
                #expect(answer.body["statistics"]["intervals"] != .null, "\(answer)")
                return answer.body["statistics"]["thinned"]
            }
            let peer = try await hub.client()
            let days = ["15T00:30:00+01:00", "17T23:30:00+01:00", "17T22:00:00+01:00"].enumerated().map { place, time in
                #"{"type":"weight","value":7\#(place),"unit":"kg","start":"2024-03-\#(time)","key":"\#(place)"}"#
            }
            _ = try await peer.give(days)
            _ = try await peer.give([height("h")])
            #expect(try await thinned(peer) == .null)
            #expect(try await retention(peer)["result"]["rules"][0]["thinned"].int == 3)
            let all = JSON(
                #"{"days":2,"first":"2024-03-15","last":"2024-03-17","series":["kept.kitchen-script"]}"#)
            #expect(try await thinned(peer) == all)
            let byDay = #","interval":{"unit":"day","zone":"Europe/Berlin"}"#
            #expect(
                try await thinned(peer, #","from":"2024-03-16T00:00:00+01:00""# + byDay)["first"].string
                    == "2024-03-17")
            #expect(try await thinned(peer, #","to":"2024-03-17T00:00:00+01:00""# + byDay)["days"].int == 1)
            #expect(try await thinned(peer, #","from":"2024-03-18T00:00:00+01:00""# + byDay) == .null)
            #expect(try await thinned(peer, #","sources":["kitchen-script"]"#) == all)
            #expect(try await thinned(peer, #","sources":["scale"]"#) == .null)
            let watch = try await hub.plugin("watch")
            #expect(try await thinned(watch) == .null)
        }
    }

    @Test
    func `R6.44 samples that were thinned when the hub ended are removed at the next start, even without the rule`()
        async throws
    {
        let folder = try Folder()
        try await withHub(in: folder) { hub, peer in
            _ = try await peer.give((0..<120).map { weight("k\($0)") })
            _ = try await peer.give([height("h")])
        }
        let now = HubClock.system.now()
        let store = try Store(path: folder.data + "/hub.sqlite", now: now)
        let rule = RetentionRule(name: "old", types: [try TypeID("weight")], thinAfter: 30)
        // The first pause follows the samples without a person. At the second some of the thinned samples are removed.
        var pauses = 0
        _ = try await store.retain(
            rule, now: now,
            thin: { day in
                try await store.carryOut(.thin(day, isCumulative: false), recordedAt: now).first
            },
            pause: {
                pauses += 1
                return pauses < 2
            })
        try store.close()
        try await withHub(in: folder) { hub, peer in
            var keys: [String?] = []
            for _ in 0..<1_000 where keys != ["h"] { keys = try await peer.all().records.map { $0["key"].string } }
            #expect(keys == ["h"])
        }
    }

    @Test func `R6.43 R8.44 if the clock is far ahead of the newest record, nothing is removed and the hub reports it`()
        async throws
    {
        let folder = try Folder()
        var first = Setting()
        first.clock = .simulated(start: Timestamp(microseconds: 1_710_600_000_000_000), rate: 1)
        try await withHub(first, in: folder) { hub, peer in
            _ = try await peer.give([weight("a"), weight("b")])
        }
        try await withHub(try setting(remove: 30), in: folder) { hub, peer in
            #expect(try await retention(peer, dryRun: true)["result"]["rules"][0]["removed"].int == 1)
            let refused = try await retention(peer)
            #expect(refused["outcome"].string == "failed" && refused["code"].string == "clock")
            #expect(refused["reason"].string?.contains("days ahead of when it was last trusted") == true)
            #expect(try await peer.status()["retentionHeld"].string == refused["reason"].string)
            #expect(try await peer.all().records.map { $0["key"].string } == ["a", "b"])
        }
        try await withHub(try setting(remove: 30), in: folder) { hub, peer in
            _ = try await peer.give([weight("c")])
        }
        // A record stored since then does not confirm the clock.
        try await withHub(try setting(remove: 30), in: folder) { hub, peer async throws in
            #expect(try await retention(peer)["code"].string == "clock")
        }
        first.clock = .simulated(start: Timestamp(microseconds: 1_710_630_000_000_000), rate: 1)
        first.retention = try setting(remove: 1).retention
        try await withHub(first, in: folder) { hub, peer async throws in
            #expect(try await retention(peer)["result"]["rules"][0]["removed"].int == 2)
            #expect(try await peer.status()["retentionHeld"].string == nil)
        }
    }

    @Test func `R6.43 R8.44 a person can confirm a clock that is far ahead, also for the next hub process`()
        async throws
    {
        let folder = try Folder()
        var first = Setting()
        first.clock = .simulated(start: Timestamp(microseconds: 1_710_600_000_000_000), rate: 1)
        try await withHub(first, in: folder) { hub in
            _ = try await hub.client().give([weight("a"), weight("b")])
        }
        try await withHub(try setting(remove: 30), in: folder) { hub, peer in
            #expect(try await retention(peer)["code"].string == "clock")
            let tried = try await retention(peer, #"{"trust":true}"#, dryRun: true)
            #expect(tried["code"].string == "command")
            let done = try await retention(peer, #"{"trust":true}"#)
            #expect(done["result"]["rules"][0]["removed"].int == 1)
            #expect(try await peer.status()["retentionHeld"].string == nil)
        }
        try await withHub(try setting(remove: 30), in: folder) { hub, peer async throws in
            #expect(try await retention(peer)["outcome"].string == "done")
        }
    }

    @Test func `R6.44 a day of a cumulative declared type has the sum, and an undeclared type is not thinned`()
        async throws
    {
        var setting = Setting()
        setting.retention = [
            RetentionSection(name: "old", types: [try TypeID("x.acme.steps")], thinAfterDays: 30)
        ]
        let folder = try Folder()
        func steps(_ key: String, _ value: Int) -> String {
            #"{"type":"x.acme.steps","value":\#(value),"unit":"count","start":"2024-03-15T07:30:05Z","key":"\#(key)"}"#
        }
        let declares =
            #","declares":[{"id":"x.acme.steps","kind":"quantity","unit":"count","aggregation":"cumulative"}]"#
        try await withHub(setting, in: folder) { hub in
            let peer = try await hub.client("kitchen-script", plugin: nil, declares)
            _ = try await peer.give([steps("a", 3), steps("b", 4), weight("w")])
            #expect(try await retention(peer)["result"]["rules"][0]["thinned"].int == 2)
            #expect(try await peer.all(#""kinds":["day"]"#).records.map { $0["value"].int } == [7])
            _ = try await peer.give([steps("c", 5), weight("w2")])
        }
        try await withHub(setting, in: folder) { hub in
            let report = try await retention(try await hub.client())["result"]["rules"][0]
            #expect(report["thinned"].int == 0 && report["left"].int == 1)
            #expect(report["reason"].string?.hasPrefix("x.acme.steps is declared by no program") == true)
        }
    }
}
