import HubSettings
import HubWire
import Testing

@testable import HubCore

/// Storing, changing and retracting records (chapter 6).
@Suite struct RecordTests {
    @Test func `R6.4 a record that a person retracted stays retracted, whatever the source sends`() async throws {
        try await withHub { hub, peer in
            #expect(try await peer.give([weight("a", 70), weight("b", 80)]).results == ["stored", "stored"])
            let dry = try await peer.command("retract", #"{"numbers":[1,2,7]}"#, dryRun: true)
            #expect(
                dry.body["result"]["records"].array.map { $0["outcome"].string } == ["stored", "stored", "unknown"])
            #expect(try await peer.all().records.count == 2)
            let done = try await peer.command("retract", #"{"numbers":[1],"reason":"the dog"}"#)
            #expect(
                done.body.fits(
                    #"{"outcome":"done","result":{"records":[{"number":1,"outcome":"stored","seq":3}]}}"#))
            let repeated = try await peer.give([weight("a", 70)])
            #expect(repeated.body["results"][0].fits(#"{"result":"duplicate","number":1,"seq":3}"#))
            // Later versions from the source are stored but not shown.
            let other = try await peer.give([weight("a", 71.5)])
            #expect(other.body["results"][0].fits(#"{"result":"stored","number":1,"seq":4}"#))
            #expect(try await peer.give([weight("a", 71.5)]).results == ["duplicate"])
            #expect(try await peer.give([#"{"kind":"retraction","key":"a"}"#]).results == ["stored"])
            let again = try await peer.command("retract", #"{"numbers":[1]}"#)
            #expect(again.body["result"]["records"][0]["outcome"].string == "duplicate")
            #expect(try await peer.all().records.map { $0["key"].string } == ["b"])
            let changes = try await peer.all(#""kinds":["retraction"]"#).records
            #expect(changes.count == 1 && changes[0].fits(#"{"by":"person","reason":"the dog","number":1,"seq":3}"#))
            #expect(try await peer.give([weight("a", 71.5)]).results == ["stored"])
            let undone = try await peer.command("retract", #"{"numbers":[1,2],"undo":true}"#)
            #expect(undone.body["result"]["records"].array.map { $0["outcome"].string } == ["stored", "duplicate"])
            #expect(try await peer.all().records.map { $0["value"].double } == [80, 71.5])
        }
    }

    @Test func `R6.72 a higher version of a sync identifier replaces the record, and others are ignored`()
        async throws
    {
        func synced(_ value: Double, _ version: Int) -> String {
            #"{"type":"weight","value":\#(value),"unit":"kg","start":"2024-03-15T07:30:05+01:00","metadata":{"HKSyncIdentifier":"a","HKSyncVersion":\#(version)}}"#
        }
        try await withHub { hub, peer in
            #expect(try await peer.give([synced(70, 2)]).results == ["stored"])
            #expect(
                try await peer.give([synced(71, 2), synced(72, 1), synced(70, 2)]).results
                    == Array(repeating: "duplicate", count: 3))
            #expect(try await peer.all().records.map { $0["value"].double } == [70])
            #expect(try await peer.give([synced(73, 3)]).results == ["stored"])
            let record = try await peer.all().records[0]
            #expect(record.fits(#"{"value":73,"key":"a","sourceVersion":3,"number":1}"#))
            // A retraction of the same identity. The same version again ends it [R6.5].
            #expect(try await peer.give([#"{"kind":"retraction","key":"a"}"#]).results == ["stored"])
            #expect(try await peer.give([synced(73, 2)]).results == ["duplicate"])
            #expect(try await peer.give([synced(73, 3)]).results == ["stored"])
        }
    }

    @Test func `R6.7 a source may not send members that the hub sets, in samples, days and retractions`() async throws {
        try await withHub { hub, peer async throws in
            for member in [
                #""person":"me""#, #""personId":"x""#, #""number":1"#, #""seq":1"#, #""unassigned":"x""#,
                #""original":{"value":1,"unit":"kg"}"#, #""edited":["value"]"#,
                #""implausible":["value"]"#,
            ] {
                #expect(try await peer.give([weight("k", 70, "," + member)]).results == ["reserved"], "\(member)")
            }
            #expect(try await peer.give([#"{"kind":"retraction","key":"k","number":1}"#]).results == ["reserved"])
            #expect(try await peer.give([day(more: #","seq":4"#)]).results == ["reserved"])
            #expect(try await peer.all().records.isEmpty)
        }
    }

    @Test func `R6.47 a plugin's days have its own series, and no answer reveals those of others`() async throws {
        func gone(_ series: String, date: String = "2024-03-15") -> String {
            #"{"kind":"retraction","type":"weight","person":"me","series":"\#(series)","date":"\#(date)"}"#
        }
        try await withHub { hub in
            let (mine, other) = (try await hub.client("mine"), try await hub.client("other"))
            let filler = try await hub.client("filler", plugin: "gap-filler")
            let filled = day(of: "X").replacing("X:mean30", with: "mean30")
            #expect(try await filler.give([filled]).results == ["stored"])
            #expect(try await mine.give([day(of: "mine")]).results == ["stored"])
            // The answers are the same for a day that exists and for one that does not.
            for date in ["2024-03-15", "2024-03-16"] {
                let foreign = [
                    day(of: "mine", date: date), filled.replacing("2024-03-15", with: date),
                    filled.replacing("mean30", with: "kept.watch").replacing("2024-03-15", with: date),
                    gone("mine:mean30", date: date), gone("mean30", date: date), gone("kept.watch", date: date),
                ]
                let answer = try await other.give(foreign)
                #expect(
                    answer.results == ["forbidden", "forbidden", "forbidden", "unknown", "unknown", "unknown"],
                    "\(answer)")
                let reasons = answer.body["results"].array.map { $0["reason"].string ?? "" }
                #expect(reasons[0].hasPrefix("series: \"mine:mean30\" is a series of mine; other names its own"))
                #expect(reasons[1].hasPrefix("series: \"mean30\" is a series of gap-filler; other names its own"))
            }
            #expect(try await filler.give([day(of: "mine"), gone("mine:mean30")]).results == ["forbidden", "unknown"])
            let days = try await other.all(#""kinds":["day"]"#).records
            #expect(days.map { $0["seq"].int } == [1, 2], "nothing was changed: \(days)")
            #expect(try await mine.give([gone("mine:mean30")]).results == ["stored"])
            // Erased days are not revealed either.
            let owner = try await hub.client("owner")
            var erased = try await owner.command("erase", #"{"numbers":[1,2]}"#)
            while erased.verb == "PROGRESS" { erased = try await owner.next() }
            #expect(erased.body["outcome"].string == "done", "\(erased)")
            #expect(
                try await other.give([gone("mine:mean30"), gone("mean30")]).results == ["unknown", "unknown"])
            #expect(try await mine.give([gone("mine:mean30")]).results == ["duplicate"])
        }
    }

    @Test func `R6.8 a record may name only the plugin kind of its session, or none`() async throws {
        try await withHub { hub in
            let peer = try await hub.client("kitchen", plugin: "kitchen-script")
            let answer = try await peer.give([
                weight("a", 1, #","source":{"plugin":"kitchen-script","device":"d"}"#),
                weight("b", 1, #","source":{"plugin":"kitchen"}"#),
                weight("c", 1),
            ])
            #expect(answer.results == ["stored", "source", "stored"])
            let sources = try await peer.all().records.map { $0["source"] }
            #expect(
                sources == [JSON(#"{"plugin":"kitchen-script","device":"d"}"#), JSON(#"{"plugin":"kitchen-script"}"#)])
        }
    }

    @Test func `R6.12 a unit of another dimension is rejected, and the reason names the expected unit`()
        async throws
    {
        try await withHub { hub, peer in
            for unit in ["in", "kilos", "", "count/min"] {
                let record =
                    #"{"type":"weight","value":1,"unit":"\#(unit)","start":"2024-03-15T07:30:05Z","key":"k"}"#
                let answer = try await peer.give([record])
                #expect(answer.results == ["unit"])
                #expect(answer.body["results"][0]["reason"].string?.contains("\"kg\"") == true, "\(unit): \(answer)")
            }
        }
    }

    @Test func `R6.16 R8.7 an instance writes and reads only the types and persons granted to it`() async throws {
        var setting = Setting.household
        setting.plugins = [
            PluginInstance(
                name: "scale", persons: .only(["me"]),
                grants: PluginInstance.Grants(read: ["weight"], write: ["weight", "bodyFatPercentage"]))
        ]
        setting.manifests["scale"] = Manifest(
            name: "scale", summary: "", version: "1", reads: ["weight", "heartRate"], writes: ["weight", "heartRate"])
        try await withHub(setting) { hub in
            let owner = try await hub.client("owner")
            _ = try await owner.give([
                day("me", of: "owner"), day("you", of: "owner"), weight("nobody"),
                #"{"type":"stepCount","value":1,"unit":"count","start":"2024-03-15T07:30:05Z","key":"s","subject":{"name":"me"}}"#,
                weight("mine", 70, #","subject":{"name":"me"}"#), weight("yours", 60, #","subject":{"name":"you"}"#),
            ])
            let scale = try await hub.peer()
            let welcome = try await scale.hello("scale")
            #expect(
                welcome["grants"]
                    == JSON(
                        #"{"read":{"types":["weight","heartRate"],"persons":["me"]},"write":{"types":["weight"],"persons":["me"]}}"#
                    ))
            #expect(welcome["persons"].array.map { $0["name"].string } == ["me"])
            let steps =
                #"{"type":"stepCount","value":1,"unit":"count","start":"2024-03-15T07:30:05Z","key":"s2"}"#
            let answer = try await scale.give([
                steps, weight("w"), day("me", of: "scale"), day("you", of: "scale", date: "2024-03-16"),
            ])
            #expect(answer.results == ["forbidden", "stored", "stored", "person"])
            // Records that it may not read are omitted as if they did not exist.
            let kinds = #""kinds":["quantity","day"]"#
            for question in ["", #","order":"time""#, #","numbers":[1,2,3,4,5,6,7,8]"#, #","persons":["me"]"#] {
                let seen = try await scale.all(kinds + question).records
                #expect(seen.allSatisfy { $0["type"].string == "weight" && $0["person"].string == "me" }, "\(question)")
                #expect(seen.count == 4, "\(question): \(seen.count)")
            }
            #expect(try await scale.all(#""nobody":true"#).records.isEmpty)
            #expect(try await scale.all(#""types":["stepCount"]"#).records.isEmpty)
            #expect(try await owner.all(#""nobody":true"#).records.count == 1)
            #expect(try await owner.all(kinds).records.count == 8)
        }
    }

    @Test func `R5.4 a rejected record rejects its group, and no other record`() async throws {
        try await withHub { hub, peer in
            let answer = try await peer.give([
                weight("a", 70, #","group":"g""#), weight("b", 70, #","group":"g","zone":7"#),
                weight("c", 70, #","group":"h""#), weight("d"),
            ])
            #expect(answer.results == ["group", "time", "stored", "stored"], "\(answer)")
            #expect(try await peer.all().records.compactMap { $0["key"].string } == ["c", "d"])
        }
    }

    @Test func `R6.20 a key has 1 to 64 bytes and no control or bidirectional character`() async throws {
        try await withHub { hub, peer async throws in
            let keys: [(String, String)] = [
                ("", "key"), (String(repeating: "k", count: 64), "stored"), (String(repeating: "k", count: 65), "key"),
                (String(repeating: "é", count: 32), "stored"), (String(repeating: "é", count: 33), "key"),
                (#"a\u0000"#, "key"), (#"a\u001f"#, "key"), (#"a\u007f"#, "key"), (#"a\u0080b"#, "key"),
                (#"a\u009fb"#, "key"), (#"a\u00a0b"#, "stored"), (#"\u202e1"#, "key"), (#"1\u2066"#, "key"),
                (#"1\u200f"#, "key"), (#"1\u2028"#, "key"), (#"1\u200b"#, "stored"),
            ]
            for (key, expected) in keys {
                #expect(try await peer.give([weight(key)]).results == [expected], "\(key)")
            }
        }
    }

    @Test func `R6.21 a record without a person is stored, appears only in the inbox, and has a reason`() async throws {
        var setting = Setting.household
        setting.slots = ["you": ["scale": 2]]
        try await withHub(setting) { hub in
            let listener = try await hub.listener("sample/", "retraction/", "hub/inbox/")
            let peer = try await hub.client("scale", plugin: "ihealth-hs3")
            let answer = try await peer.give([weight("a"), weight("b", 60, #","subject":{"slot":2}"#), weight("c")])
            #expect(answer.results == ["stored", "stored", "stored"])
            let heard = [try await listener.next(), try await listener.next(), try await listener.next()]
            #expect(heard.map(\.topic) == ["hub/inbox/", "sample/weight/you/ihealth-hs3/", "hub/inbox/"])
            #expect(heard.map(\.place) == [[1, 0], [2, 0], [3, 1]])
            #expect(heard[0].record["person"] == .null && heard[0].record["unassigned"].string?.isEmpty == false)
            #expect(heard[0].record.names.contains("person") && !heard[0].record.names.contains("personId"))
            #expect(try await peer.status()["inbox"].int == 2)
            // A retraction is published to the inbox, too.
            #expect(try await peer.give([#"{"kind":"retraction","key":"a"}"#]).results == ["stored"])
            let taken = try await listener.next()
            #expect(taken.topic == "hub/inbox/" && taken.place == [4, 3], "\(taken)")
            #expect(taken.record["kind"].string == "retraction", "\(taken)")
        }
    }

    @Test func `R4.11 two instances cannot declare one type differently`() async throws {
        func declares(_ unit: String) -> String {
            #","declares":[{"id":"x.acme.glow","kind":"quantity","unit":"\#(unit)","aggregation":"discreteArithmetic"}]"#
        }
        try await withHub { hub in
            let first = try await hub.client("first", declares("kg"))
            let record = #"{"type":"x.acme.glow","value":1000,"unit":"g","start":"2024-03-15T07:30:05Z","key":"k"}"#
            #expect(try await first.give([record]).results == ["stored"])
            #expect(
                try await first.all().records[0].fits(
                    #"{"value":1,"unit":"kg","original":{"value":1000,"unit":"g"}}"#))
            let second = try await hub.peer()
            let refused = try await second.ask(
                "HELLO", #"{"protocol":[1],"instance":"second","plugin":"p","version":"1"\#(declares("count"))}"#)
            #expect(refused.code == "field" && refused.body["closed"].truth == true)
            #expect(refused.body["reason"].string?.contains("first") == true)
            try await second.hello("second", declares("kg"))
            // An instance that does not declare the type cannot use it.
            let third = try await hub.client("third")
            #expect(try await third.give([record]).results == ["type"])
            // While no other instance uses a type, its owner may change it.
            let own =
                #","declares":[{"id":"x.acme.own","kind":"quantity","unit":"\#("kg")","aggregation":"discreteArithmetic"}]"#
            _ = try await hub.client("third", own)
            _ = try await hub.client("third", own.replacing("\"kg\"", with: "\"m\""))
            let many = (0..<300).map { #"{"id":"x.acme.t\#($0)","kind":"correlation"}"# }.joined(separator: ",")
            let tooMany = try await hub.peer()
            let answer = try await tooMany.ask(
                "HELLO", #"{"protocol":[1],"instance":"many","plugin":"p","version":"1","declares":[\#(many)]}"#)
            #expect(answer.code == "limit")
        }
    }

    @Test func `a record's payload is kept with keep_raw, and a missing payload is an error`()
        async throws
    {
        var setting = Setting()
        setting.keepRaw = true
        try await withHub(setting) { hub, peer in
            let body =
                #"{"batch":1,"records":[\#(weight("a", 1, #","payload":1"#)),\#(weight("b", 1, #","payload":2"#))]}"#
            await peer.send([Array("SAMPLES".utf8), Array(body.utf8), [1, 2, 3], [0xFF, 0x00]])
            let answer = try await peer.next()
            #expect(answer.results == ["stored", "payload"])
            #expect(answer.body["credit"]["bytes"].int == Int64(body.utf8.count + 5))
            let tooLarge = [UInt8](repeating: 7, count: 262_145)
            await peer.send([Array("SAMPLES".utf8), Array(#"{"batch":2,"records":[{}]}"#.utf8), tooLarge])
            #expect(try await peer.next().code == "limit")
        }
    }

    private func day(
        _ person: String = "me", of plugin: String = "kitchen-script", date: String = "2024-03-15", more: String = ""
    ) -> String {
        #"{"kind":"day","type":"weight","value":70,"unit":"kg","series":"\#(plugin):mean30","date":"\#(date)","method":"mean","basis":[],"person":"\#(person)"\#(more)}"#
    }
}
