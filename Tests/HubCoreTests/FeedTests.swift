import Foundation
import HubSettings
import HubStore
import Samples
import Testing

/// The feed (chapter 7).
@Suite struct FeedTests {
    @Test
    func `R7.1 records and manual retractions are published after their commit, in sequence order`()
        async throws
    {
        try await withHub { hub, peer in
            let listener = try await hub.listener("sample/", "retraction/")
            let owner = try await hub.client("owner")
            // One peer sends batches and another one retractions, as fast as possible.
            _ = try await peer.give((0..<50).map { weight("first\($0)") })
            for batch in 0..<40 { await peer.give(unanswered: (0..<5).map { weight("k\(batch)-\($0)") }) }
            for number in 1...20 {
                await owner.say(
                    "COMMAND",
                    #"{"id":\#(number),"instance":"hub","command":"retract","args":{"numbers":[\#(number)]}}"#)
                #expect(try await owner.next().body["outcome"].string == "done")
            }
            for _ in 0..<40 { #expect(try await peer.next().verb == "STORED") }
            var last: Int64 = 0
            var retractions = 0
            for _ in 0..<270 {
                let heard = try await listener.next()
                #expect(heard.sequence == last + 1, "\(heard)")
                last = heard.sequence
                if heard.topic == "retraction/weight/me/kitchen-script/" { retractions += 1 }
                // Each published record can be queried.
                #expect(heard.record["seq"].int == heard.sequence)
            }
            #expect(retractions == 20)
            #expect(try await owner.status()["head"].int == 270)
        }
    }

    @Test func `R7.2 R7.4 previous is the last sequence on exactly this topic, over restarts and backfill`()
        async throws
    {
        let folder = try Folder()
        func heart(_ key: String) -> String {
            #"{"type":"heartRate","value":60,"unit":"count/min","start":"2024-03-15T07:30:05Z","key":"\#(key)"}"#
        }
        try await withHub(in: folder) { hub, peer in
            let listener = try await hub.listener("sample/")
            _ = try await peer.give([weight("a"), heart("b"), weight("c")])
            #expect(try await listener.next().place == [1, 0])
            #expect(try await listener.next().place == [2, 0])
            #expect(try await listener.next().place == [3, 1])
            // Backfill is stored, but its records are not published.
            #expect(
                try await peer.give([weight("old1"), weight("old2")], backfill: true).results == ["stored", "stored"])
            _ = try await peer.give([heart("d"), weight("e")])
            #expect(try await listener.next().place == [6, 2])
            #expect(try await listener.next().place == [7, 5])
        }
        try await withHub(in: folder) { hub, peer in
            let listener = try await hub.listener("sample/", "retraction/")
            _ = try await peer.give([weight("f"), #"{"kind":"retraction","key":"a"}"#, weight("a", 1)])
            #expect(try await listener.next().place == [8, 7])
            let taken = try await listener.next()
            #expect(taken.place == [9, 0] && taken.topic == "retraction/weight/me/kitchen-script/")
            #expect(try await listener.next().place == [10, 8])
            let other = try await hub.client("other")
            _ = try await other.give([weight("f")])
            #expect(try await listener.next().place == [11, 0])
        }
    }

    @Test
    func `R7.3 a pulse follows a change of the head within a second, also for backfill, and once per burst`()
        async throws
    {
        try await withHub { hub in
            let listener = try await hub.listener("hub/pulse/")
            let peer = try await hub.peer()
            let epoch = try await peer.hello()["epoch"].string
            let begin = ContinuousClock.now
            for batch in 0..<20 { _ = try await peer.give([weight("k\(batch)")], backfill: batch % 2 == 0) }
            var pulses = 0
            while true {
                let pulse = try await listener.next()
                pulses += 1
                #expect(pulse.topic == "hub/pulse/" && pulse.place == [0, 0])
                #expect(pulse.record["epoch"].string == epoch && pulse.record["time"].string != nil)
                if pulse.record["head"].int == 20 { break }
            }
            // There is at least half a second between two pulses.
            #expect(Double(pulses) <= (ContinuousClock.now - begin) / .milliseconds(500) + 2)
        }
    }

    @Test func `R7.5 a listener that does not read does not delay others, which receive everything`() async throws {
        try await withHub { hub in
            let deaf = try await hub.listener("", reads: false)
            let listener = try await hub.listener("sample/")
            let peer = try await hub.client()
            var sequence: Int64 = 0
            for batch in 0..<12 {
                let padding = #","note":"\#(String(repeating: "n", count: 2_000))""#
                #expect(try await peer.give((0..<250).map { weight("k\(batch)-\($0)", 70, padding) }).verb == "STORED")
                for _ in 0..<250 {
                    sequence += 1
                    #expect(try await listener.next().place == [sequence, sequence - 1])
                }
            }
            await deaf.close()
        }
    }

    @Test func `a full window of records reaches a reading listener completely and in order`() async throws {
        try await withHub { hub, peer in
            let listener = try await hub.listener("sample/")
            for batch in 0..<10 { await peer.give(unanswered: (0..<1_000).map { weight("k\(batch)-\($0)") }) }
            for sequence in 1...10_000 as ClosedRange<Int64> {
                let heard = try await listener.next()
                guard heard.place == [sequence, sequence - 1] else {
                    Issue.record("expected \(sequence), heard \(heard.place)")
                    return
                }
            }
        }
    }

    @Test
    func `R5.9 LIVE is published with an allowed person, source and time, and never stored`()
        async throws
    {
        var setting = Setting.household
        setting.plugins = [.init(name: "scale", persons: .only(["you"]))]
        setting.clock = .simulated(start: Timestamp(microseconds: 1_710_484_205_000_000), rate: 1)
        try await withHub(setting) { hub in
            let listener = try await hub.listener("live/", "sample/", "device/")
            let scale = try await hub.client("scale", plugin: "ihealth-hs3")
            await scale.say(
                "LIVE",
                #"{"type":"bodyMass","value":72.10,"unit":"kg","person":"me","source":"x","time":"x","subject":{"name":"me"}}"#
            )
            let live = try await listener.next()
            #expect(live.topic == "live/weight/you/ihealth-hs3/" && live.place == [0, 0])
            #expect(live.record.fits(#"{"value":72.1,"unit":"kg","person":"you","source":"ihealth-hs3"}"#))
            #expect(live.record["time"].string?.hasPrefix("2024-03-15T06:30:") == true)
            #expect(live.text(2).contains("72.10"))

            let anyone = try await hub.client("anyone")
            await anyone.say("LIVE", #"{"type":"weight","progress":0.5}"#)
            let unassigned = try await listener.next()
            #expect(unassigned.topic == "live/weight/-/anyone/" && unassigned.record["person"] == .null)
            await anyone.say("LIVE", #"{"type":"weight","value":1,"unit":"kg","subject":{"name":"me"}}"#)
            #expect(try await listener.next().topic == "live/weight/me/anyone/")

            await scale.say("EVENT", #"{"event":"error","severity":"error","code":6,"text":"no link","instance":"x"}"#)
            let event = try await listener.next()
            #expect(event.topic == "device/ihealth-hs3/error/" && event.place == [0, 0])
            #expect(event.record.fits(#"{"instance":"scale","source":"ihealth-hs3","time":"*","code":6}"#))
            let plugin = try await anyone.status()["plugins"][0]
            #expect(plugin["lastError"].string == "no link" && plugin["hasError"].truth == true)
            await scale.say("EVENT", #"{"event":"error","resolved":true}"#)
            _ = try await listener.next()
            #expect(try await anyone.status()["plugins"][0]["lastError"].string == nil)
            #expect(try await anyone.status()["plugins"][0]["hasError"] == .null)
            await scale.say("EVENT", #"{"event":"error","severity":"warning","text":"stand still"}"#)
            _ = try await listener.next()
            let warned = try await anyone.status()["plugins"][0]
            #expect(warned["lastError"].string == "stand still" && warned["hasError"] == .null)
            await scale.say("EVENT", #"{"event":"error","resolved":true}"#)
            _ = try await listener.next()

            for (body, code) in [
                (#"{"type":7}"#, "field"), (#"{"value":1}"#, "field"),
                (#"{"type":"weight","progress":2}"#, "field"),
            ] {
                #expect(try await scale.ask("LIVE", body).code == code, "\(body)")
            }
            #expect(try await scale.ask("EVENT", #"{"event":"a/b"}"#).code == "field")
            #expect(try await anyone.all().records.isEmpty)
            #expect(await listener.nextIfAny(within: .milliseconds(20)) == nil)
        }
    }

    @Test func `R7.9 every message has the epoch, also the first after a restore and unstored ones`()
        async throws
    {
        let folder = try Folder()
        var epochs: [String] = []
        for round in 0..<2 {
            try await withHub(in: folder) { hub in
                let listener = try await hub.listener("")
                let peer = try await hub.peer()
                let epoch = try #require(try await peer.hello()["epoch"].string)
                epochs.append(epoch)
                #expect(try await peer.give([weight("k\(round)")]).results == ["stored"])
                await peer.say("LIVE", #"{"type":"weight","value":72.1,"unit":"kg"}"#)
                await peer.say("EVENT", #"{"event":"tick"}"#)
                var topics: Set<String> = []
                while !topics.isSuperset(of: ["sample", "live", "device", "hub"]) {
                    let heard = try await listener.next()
                    topics.insert(String(heard.topic.prefix { $0 != "/" }))
                    #expect(heard.epoch == epoch && heard.place.count == 2, "\(heard)")
                }
            }
            let store = try Store(path: folder.data + "/hub.sqlite", now: 0)
            try await store.newEpoch()
            try store.close()
        }
        #expect(Set(epochs).count == 2)
    }

    @Test func `R7.1 days and their retractions have separate topics`() async throws {
        try await withHub { hub in
            let listener = try await hub.listener("day/", "retraction/")
            let peer = try await hub.client("filler", plugin: "gap-filler")
            let day =
                #"{"kind":"day","type":"weight","value":70,"unit":"kg","series":"mean 30","date":"2024-03-15","method":"mean","basis":[],"person":"me"}"#
            let gone = #"{"kind":"retraction","type":"weight","person":"me","series":"mean 30","date":"2024-03-15"}"#
            #expect(try await peer.give([day, gone]).results == ["stored", "stored"])
            let first = try await listener.next()
            #expect(first.topic == "day/weight/me/mean%2030/" && first.place == [1, 0])
            let second = try await listener.next()
            #expect(second.topic == "retraction/weight/me/mean%2030/" && second.place == [2, 0])
            #expect(second.record.fits(#"{"kind":"retraction","by":"source","number":1,"seq":2}"#))
        }
    }
}
