import Foundation
import HubSettings
import HubWire
import Testing

@testable import HubCore

/// Several people at one scale, at the door and on the feed (chapter 6.8).
@Suite struct HouseholdTests {
    private static func setting(_ more: (inout [PersonSection]) -> Void = { _ in }) -> Setting {
        var people = [("anna", 62.0), ("ben", 75), ("carl", 88)].map { name, weight in
            var person = PersonSection(name: name)
            person.expectedWeight = weight
            return person
        }
        people[0].slots = ["scale": 0]
        people[1].slots = ["scale": 1]
        more(&people)
        var setting = Setting()
        setting.people = people
        setting.plugins = [PluginInstance(name: "scale", executable: "/bin/true")]
        setting.manifests["scale"] = Manifest(name: "scale", summary: "A scale.", version: "1", writes: ["*"])
        return setting
    }

    /// A record of a weigh-in.
    private func part(_ group: String, _ type: String, _ value: Double, _ unit: String, _ more: String = "") -> String {
        #"{"type":"\#(type)","value":\#(value),"unit":"\#(unit)","start":"2024-03-15T07:30:05+01:00","#
            + #""key":"\#(group) \#(type)","group":"\#(group)"\#(more)}"#
    }

    private func weight(_ group: String, _ value: Double, _ more: String = "") -> String {
        part(group, "weight", value, "kg", more)
    }

    private func fat(_ group: String, _ more: String = "") -> String {
        part(group, "bodyFatPercentage", 0.21, "%", more)
    }

    private func person(_ record: JSON) -> String { record["person"].string ?? "-" }

    @Test func `R6.28 R6.23 records that waited for their weight follow it on the feed, once per listener`()
        async throws
    {
        try await withHub(Self.setting()) { hub in
            let listener = try await hub.listener("sample/", "retraction/", "hub/inbox/")
            let scale = try await hub.client("scale")
            #expect(try await scale.give([fat("g")]).results == ["stored"])
            #expect(try await scale.give([weight("g", 74.8)]).results == ["stored"])
            var heard: [Frames] = []
            while heard.count < 4 { heard.append(try await listener.next()) }
            #expect(
                heard.map(\.topic) == [
                    "hub/inbox/", "sample/weight/ben/scale/", "hub/inbox/", "sample/bodyFatPercentage/ben/scale/",
                ])
            #expect(heard.map(\.sequence) == [1, 2, 3, 4])
            #expect(heard[2].record.fits(#"{"kind":"retraction","number":1}"#))
            #expect(try await hub.client("reader").all(#""group":"g""#).records.map(person) == ["ben", "ben"])
            // Repeats are duplicates.
            #expect(try await scale.give([weight("g", 74.8), fat("g")]).results == ["duplicate", "duplicate"])
        }
    }

    @Test func `R6.29 below the required certainty the whole weigh-in waits, with the possible persons as the reason`()
        async throws
    {
        try await withHub(Self.setting()) { hub in
            let scale = try await hub.client("scale")
            _ = try await scale.give([fat("g"), weight("g", 68.5), weight("h", 61.7)])
            let waiting = try await hub.client("owner").all(#""nobody":true"#).records
            #expect(waiting.count == 2)
            for record in waiting {
                let reason = try #require(record["unassigned"].string)
                #expect(reason.hasPrefix("68.5 kg: ") && reason.contains("anna") && reason.contains("ben"), "\(reason)")
            }
            let owner = try await hub.client("owner")
            let ruling = try await owner.query(#""number":3"#, want: "trace").body["trace"]["versions"][0]["ruling"]
            let probability = try #require(ruling["probability"].double)
            #expect(ruling["rule"].string == "weight" && probability >= 0.95)
            #expect(ruling["odds"].string?.hasPrefix("61.7 kg: anna ") == true)
        }
    }

    @Test
    func `R6.29 a weight that is unlikely for the slot's owner waits with its weigh-in, with the odds as the reason`()
        async throws
    {
        try await withHub(Self.setting()) { hub in
            let scale = try await hub.client("scale")
            let slot = #","subject":{"slot":0}"#
            _ = try await scale.give([weight("a", 62.3, slot), fat("a", slot)])
            _ = try await scale.give([fat("b", slot), weight("b", 84.7, slot)])
            #expect(try await hub.client("reader").all().records.map(person) == ["anna", "anna", "-", "-"])
            let owner = try await hub.client("owner")
            for record in try await owner.all(#""nobody":true"#).records {
                let reason = try #require(record["unassigned"].string)
                #expect(reason.hasPrefix("84.7 kg: carl ") && reason.hasSuffix("; the slot is anna's"), "\(reason)")
            }
            // Current rules give the same result, a person decides, and a repeat of the source changes nothing.
            let rules = try await owner.command("assign", #"{"rules":true}"#).body["result"]
            #expect(rules["assigned"] == JSON("{}"), "\(rules)")
            _ = try await owner.command("assign", #"{"numbers":[4],"to":"ben"}"#)
            #expect(
                try await scale.give([weight("b", 84.7, slot), fat("b", slot)]).results == ["duplicate", "duplicate"])
            #expect(try await owner.all(#""group":"b""#).records.map(person) == ["ben", "ben"])
            // A weight that its source corrects is assigned again, together with its weigh-in.
            _ = try await scale.give([weight("c", 120, slot), fat("c", slot)])
            #expect(try await owner.all(#""group":"c""#).records.map(person) == ["-", "-"])
            _ = try await scale.give([weight("c", 62.0, slot)])
            #expect(try await owner.all(#""group":"c""#).records.map(person) == ["anna", "anna"])
        }
    }

    @Test func `R6.29 a slot decides if its owner's weight is unknown`() async throws {
        let unknown = Self.setting { people in for index in people.indices { people[index].expectedWeight = nil } }
        try await withHub(unknown) { hub in
            let scale = try await hub.client("scale")
            _ = try await scale.give([weight("a", 84.7, #","subject":{"slot":0}"#)])
            #expect(try await hub.client("reader").all().records.map(person) == ["anna"])
        }
    }

    @Test func `R6.30 a slot beats the weight, and people with other slots are excluded`() async throws {
        try await withHub(Self.setting()) { hub in
            let scale = try await hub.client("scale")
            _ = try await scale.give([
                weight("a", 70, #","subject":{"slot":0}"#), fat("a", #","subject":{"slot":0}"#),
                weight("b", 75.1, #","subject":{"slot":7}"#), weight("c", 88.2, #","subject":{"slot":7}"#),
                weight("d", 75, #","subject":{"name":"dora"}"#),
            ])
            #expect(try await hub.client("reader").all().records.map(person) == ["anna", "anna", "-", "carl", "-"])
            // A new version from the source keeps its person.
            _ = try await scale.give([weight("c", 62, #","subject":{"slot":7}"#)])
            #expect(try await hub.client("reader").all(#""numbers":[4]"#).records.map(person) == ["carl"])
        }
    }

    @Test func `R6.31 correcting a person keeps values and times, and marks values computed from a profile`()
        async throws
    {
        try await withHub(Self.setting()) { hub in
            let listener = try await hub.listener("sample/", "retraction/")
            let scale = try await hub.client("scale")
            let slot = #","subject":{"slot":0},"metadata":{"ohm":512}"#
            _ = try await scale.give([weight("a", 65, slot), fat("a", slot)])
            let owner = try await hub.client("owner")
            let before = try await owner.all().records
            let answer = try await owner.command("assign", #"{"numbers":[2],"to":"ben"}"#)
            #expect(answer.body["result"]["records"].array.map { $0["outcome"].string } == ["stored", "stored"])
            let after = try await owner.all().records
            #expect(after.map(person) == ["ben", "ben"])
            for (old, new) in zip(
                before.sorted { $0["number"].int ?? 0 < $1["number"].int ?? 0 },
                after.sorted { $0["number"].int ?? 0 < $1["number"].int ?? 0 })
            {
                for member in ["value", "unit", "start", "end", "key", "group", "original", "subject"] {
                    #expect(old[member] == new[member], "\(member)")
                }
                let isWeight = new["type"].string == "weight"
                #expect(new["metadata"] == JSON(isWeight ? #"{"ohm":512}"# : #"{"ohm":512,"profileOf":"anna"}"#))
            }
            var heard: [String] = []
            while heard.count < 6 { heard.append(try await listener.next().topic) }
            #expect(heard.count { $0.hasPrefix("retraction/") && $0.contains("/anna/") } == 2)
            #expect(
                try await scale.give([weight("a", 65, slot), fat("a", slot)]).results == ["duplicate", "duplicate"])
            // A person's note does not change whose profile the mark names.
            _ = try await owner.command("edit", #"{"number":2,"note":"wrong slot"}"#)
            #expect(try await owner.all(#""numbers":[2]"#).records[0]["metadata"]["profileOf"].string == "anna")
            _ = try await owner.command("assign", #"{"numbers":[2],"to":"anna"}"#)
            #expect(
                try await owner.all(#""numbers":[2]"#).records[0]["metadata"]
                    == JSON(#"{"ohm":512,"note":"wrong slot"}"#))
        }
    }

    @Test func `R6.75 R6.22 a guest's weigh-in leaves the inbox, keeps no person, and can return with its odds`()
        async throws
    {
        try await withHub(Self.setting()) { hub in
            let listener = try await hub.listener("sample/", "retraction/", "hub/inbox/")
            let (scale, owner) = (try await hub.client("scale"), try await hub.client("owner"))
            let sink = try await hub.client("sink")
            try await sink.want()
            _ = try await scale.give([fat("g"), weight("g", 68.5)])
            let reason = try #require(try await owner.all(#""nobody":true"#).records[0]["unassigned"].string)
            #expect(try await owner.status()["inbox"].int == 2)

            let done = try await owner.command("assign", #"{"numbers":[1],"guest":true,"reason":"an uncle"}"#)
            let records = done.body["result"]["records"].array
            #expect(records.map { $0["outcome"].string } == ["stored", "stored"])
            #expect(records.allSatisfy { $0["record"].fits(#"{"person":null,"unassigned":"guest"}"#) })
            #expect(try await owner.status()["inbox"].int == 0)
            #expect(try await owner.all(#""nobody":true,"guest":false"#).records == [])
            #expect(try await owner.all(#""guest":true"#).records.count == 2)
            #expect(try await owner.all(#""nobody":true"#).records.count == 2)
            #expect(try await owner.all(#""guest":false"#).records == [])
            #expect(try await owner.query(#""guest":true,"persons":["anna"]"#).code == "query")
            let rules = try await owner.command("assign", #"{"rules":true}"#).body["result"]
            #expect(rules["assigned"] == JSON("{}") && rules["left"] == JSON("{}"), "\(rules)")
            // The source continues with a repeat, a correction and a late part.
            #expect(
                try await scale.give([weight("g", 68.5), weight("g", 61.9), part("g", "leanBodyMass", 50, "kg")])
                    .results
                    == ["duplicate", "stored", "stored"])
            #expect(try await owner.all(#""nobody":true,"guest":false"#).records == [])
            #expect(try await owner.all(#""guest":true"#).records.count == 3)

            let undone = try await owner.command("assign", #"{"numbers":[2],"undo":true}"#)
            #expect(
                undone.body["result"]["records"].array.map { $0["outcome"].string } == ["stored", "stored", "stored"])
            let back = try await owner.all(#""nobody":true,"guest":false"#).records
            #expect(back.map { $0["unassigned"].string } == [reason, reason, reason])
            let twice = try await owner.command("assign", #"{"numbers":[2],"undo":true}"#)
            #expect(twice.body["result"]["records"].array.allSatisfy { $0["outcome"].string == "duplicate" })
            let versions = try await owner.query(#""number":2"#, want: "trace").body["trace"]["versions"].array
            #expect(versions.compactMap { $0["deed"].string } == ["assigned", "assignmentUndone"])
            #expect(versions.compactMap { $0["reason"].string } == ["an uncle"])
            #expect(versions.last?["ruling"]["odds"].string == reason)

            // All messages are on the inbox's topic only, in their current form and without a gap. A sink gets nothing.
            var heard: [Frames] = []
            while heard.count < 9 { heard.append(try await listener.next()) }
            #expect(heard.allSatisfy { $0.topic == "hub/inbox/" && $0.record["kind"].string == "quantity" })
            #expect(heard.map(\.sequence) == Array(1...9) && heard.map(\.previous) == Array(0...8))
            #expect(heard[2..<6].allSatisfy { $0.record["unassigned"].string == "guest" })
            #expect(try await hub.sink("sink/all") { $0["pending"].int == 0 }["wanted"].int == 0)
        }
    }

    @Test func `R6.75 no source or rule can make a guest's reading, even if a person is called guest`()
        async throws
    {
        let setting = Self.setting { people in people[2].name = "guest" }
        try await withHub(setting) { hub in
            let (scale, owner) = (try await hub.client("scale"), try await hub.client("owner"))
            let claimed = weight("a", 61.9, #","unassigned":"guest""#)
            let answer = try await scale.give([claimed, weight("b", 61.9, #","subject":{"name":"guest"}"#)])
            #expect(answer.body["results"][0]["code"].string == "reserved", "\(answer)")
            _ = try await scale.give([weight("c", 88, ""), weight("d", 120, ""), weight("e", 81, "")])
            #expect(try await owner.all(#""guest":true"#).records == [])
            #expect(try await owner.all(#""persons":["guest"]"#).records.count >= 1)
        }
    }

    @Test func `current rules assign waiting groups to the persons whose weight they fit`() async throws {
        let folder = try Folder()
        let unknown = Self.setting { people in for index in people.indices { people[index].expectedWeight = nil } }
        try await withHub(unknown, in: folder) { hub in
            let scale = try await hub.client("scale")
            _ = try await scale.give([fat("g"), weight("g", 74.8), weight("h", 68.4)])
            #expect(try await hub.client("reader").all().records.map(person) == ["-", "-", "-"])
        }
        try await withHub(Self.setting(), in: folder) { hub in
            let owner = try await hub.client("owner")
            let dry = try await owner.command("assign", #"{"rules":true}"#, dryRun: true).body["result"]
            #expect(dry["assigned"] == JSON(#"{"ben":2}"#) && dry["left"].names.count == 1)
            let result = try await owner.command("assign", #"{"rules":true}"#).body["result"]
            #expect(result["assigned"] == JSON(#"{"ben":2}"#))
            #expect(try await owner.all(#""persons":["ben"]"#).records.count == 2)
        }
    }

    @Test func `a device's last state survives a restart of the hub, except whether it is connected`()
        async throws
    {
        let folder = try Folder()
        func devices(_ events: String...) async throws -> [JSON] {
            try await withHub(Self.setting(), in: folder) { hub in
                let scale = try await hub.client("scale")
                for event in events { await scale.say("EVENT", event) }
                _ = try await scale.ask("PING")
                return try await hub.client("owner").status()["devices"].array
            }
        }
        let before = try await devices(
            #"{"event":"connected","device":"S5"}"#, #"{"event":"battery","device":"S5","data":{"low":true}}"#,
            #"{"event":"error","severity":"error","device":"S5","code":6,"text":"HS5: check the batteries (Lo)"}"#)
        let after = try await devices()
        #expect(before.count == 1 && after.count == 1)
        for member in [
            "instance", "device", "batteryLow", "lastError", "lastErrorCode", "lastErrorSeverity", "lastErrorAt",
            "lastHeard",
        ] {
            #expect(after[0][member] == before[0][member] && after[0][member] != .null, "\(member)")
        }
        #expect(before[0]["connected"] == JSON("true") && after[0]["connected"] == .null)
        // A truncated or foreign file does not prevent the start.
        try Data("{\"x".utf8).write(to: URL(filePath: folder.data + "/devices.json"))
        #expect(try await devices().isEmpty)
    }

    @Test func `a device that was never reached has no last-heard time, whatever events report`() async throws {
        try await withHub(Self.setting()) { hub in
            let (owner, scale) = (try await hub.client("owner"), try await hub.client("scale"))
            for event in [
                #"{"event":"authentication","device":"S3"}"#,
                #"{"event":"error","severity":"error","device":"S3","text":"no route to it"}"#,
                #"{"event":"error","device":"S3","resolved":true}"#, #"{"event":"disconnected","device":"S3"}"#,
                #"{"event":"connected","device":"S5"}"#,
                #"{"event":"error","severity":"error","device":"S5","text":"no route to it"}"#,
            ] { await scale.say("EVENT", event) }
            _ = try await scale.ask("PING")
            let devices = try await owner.status()["devices"].array
            #expect(devices.map { $0["device"].string } == ["S3", "S5"])
            #expect(devices[0]["lastHeard"] == .null && devices[1]["lastHeard"] != .null)
        }
    }

    @Test func `devices are shown with battery and last error, until the error is resolved`() async throws {
        try await withHub(Self.setting()) { hub in
            let owner = try await hub.client("owner")
            let scale = try await hub.client("scale")
            for event in [
                #"{"event":"connected","device":"S5"}"#, #"{"event":"battery","device":"S5","data":{"percent":12}}"#,
                #"{"event":"error","severity":"warning","device":"S5","code":7,"text":"HS4: stand still, movement while measuring (Er7)"}"#,
            ] { await scale.say("EVENT", event) }
            _ = try await scale.ask("PING")
            var devices = try await owner.status()["devices"].array
            #expect(devices.count == 1)
            #expect(
                devices[0].fits(
                    #"{"instance":"scale","device":"S5","connected":true,"battery":12,"batteryLow":true,"#
                        + #""lastErrorSeverity":"warning","lastError":"HS4: stand still, movement while measuring (Er7)"}"#
                ))
            await scale.say("EVENT", #"{"event":"error","device":"S5","resolved":true}"#)
            _ = try await scale.ask("BYE")
            devices = try await owner.status()["devices"].array
            #expect(devices[0]["lastError"] == .null && devices[0]["connected"] == .null)
            // Records count as a sign of a known device, but do not add an unknown one.
            for device in ["S5", "S6"] {
                let before = try await owner.status()["devices"].array[0]["lastHeard"]
                let again = try await hub.client("scale")
                _ = try await again.give([weight("of \(device)", 75, #","source":{"device":"\#(device)"}"#)])
                devices = try await owner.status()["devices"].array
                let isHeard = devices[0]["lastHeard"] != before
                #expect(devices.count == 1)
                #expect(isHeard == (device == "S5"))
            }
            // Events of instances that are not configured are ignored.
            let stranger = try await hub.client("stranger")
            await stranger.say("EVENT", #"{"event":"connected","device":"x"}"#)
            _ = try await stranger.ask("PING")
            #expect(try await owner.status()["devices"].array.count == 1)
        }
    }
}
