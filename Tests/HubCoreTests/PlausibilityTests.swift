import Foundation
import HubSettings
import Samples
import Testing

@testable import HubCore

/// Impossible values are refused.
///
/// Implausible ones are stored and marked until a person confirms them.
@Suite struct PlausibilityTests {
    private func part(_ type: String, _ value: Double, _ unit: String, _ key: String, _ more: String = "") -> String {
        #"{"type":"\#(type)","value":\#(value),"unit":"\#(unit)","start":"2024-03-15T07:30:05+01:00","key":"\#(key)"\#(more)}"#
    }

    @Test func `R6.36 an impossible value is refused with the limit and its unit, and the rest is stored`()
        async throws
    {
        try await withHub { hub, peer in
            let answer = try await peer.give([
                weight("a", -5), weight("b", 0), weight("c", 72_300), part("bodyFatPercentage", 18.2, "%", "d"),
                weight("e", 72.3), weight("f", 3.2), part("weight", 1_600, "lb", "g"),
                part("heartRateRecoveryOneMinute", -4, "count/min", "h"),
            ])
            #expect(
                answer.results == ["value", "value", "value", "value", "stored", "stored", "value", "stored"])
            let reasons = answer.body["results"].array.map { $0["reason"].string ?? "" }
            #expect(reasons[0] == "value: weight is below 0.1 kg, which is impossible; check its unit")
            #expect(reasons[2] == "value: weight is above 700 kg, which is impossible; check its unit")
            #expect(reasons[3].contains("the fraction 0.18"))
            #expect(!reasons.joined().contains("72300") && !reasons.joined().contains("18.2"))
            #expect(try await peer.status()["implausible"].int == 0)
        }
    }

    @Test func `R6.36 a refused member refuses its group, and impossible manual entries are refused, too`()
        async throws
    {
        try await withHub { hub, peer in
            let group = #","group":"g""#
            let answer = try await peer.give([weight("a", 80, group), part("bodyFatPercentage", 18.2, "%", "b", group)])
            #expect(answer.results == ["group", "value"])
            let logged = try await peer.command("log", #"{"type":"weight","value":0,"unit":"kg"}"#)
            #expect(logged.text(1).contains("below 0.1 kg"), "\(logged)")
            _ = try await peer.give([weight("a", 80)])
            let edited = try await peer.command("edit", #"{"number":1,"value":72300,"unit":"kg"}"#)
            #expect(edited.text(1).contains("above 700 kg"), "\(edited)")
        }
    }

    @Test func `R6.37 an implausible sample is stored and marked on the feed, in answers and in the status`()
        async throws
    {
        try await withHub { hub, peer in
            let listener = try await hub.listener("sample/")
            #expect(
                try await peer.give([weight("a", 450), weight("b", 80), weight("a", 450)]).results == [
                    "stored", "stored", "duplicate",
                ])
            let mark = JSON(#"["value"]"#)
            #expect(try await listener.next().record["implausible"] == mark)
            #expect(try await listener.next().record["implausible"] == .null)
            let marked = try await peer.all(#""implausible":true"#).records
            #expect(marked.count == 1 && marked[0]["implausible"] == mark && marked[0]["number"].int == 1)
            for order in ["time", "-time", "sequence"] {
                let found = try await peer.all(#""implausible":true,"order":"\#(order)","types":["weight"]"#).records
                #expect(found.map { $0["number"].int } == [1], "\(order)")
            }
            #expect(try await peer.all(#""implausible":true,"types":["height"]"#).records.isEmpty)
            #expect(try await peer.status()["implausible"].int == 1)
            let story = try await peer.query(#""number":1"#, want: "trace").body["trace"]
            #expect(story["versions"][0]["record"]["implausible"] == mark)

            // The source corrects the value.
            #expect(try await peer.give([weight("a", 45)]).results == ["stored"])
            #expect(try await listener.next().record["implausible"] == .null)
            #expect(try await peer.status()["implausible"].int == 0)
            #expect(try await peer.all(#""implausible":true"#).records.isEmpty)
        }
    }

    @Test func `R6.37 editing a marked value confirms it, even with the same value, and undo restores the mark`()
        async throws
    {
        try await withHub { hub, peer in
            _ = try await peer.give([weight("a", 450)])
            func now() async throws -> JSON { try await peer.all().records[0] }
            _ = try await peer.command("edit", #"{"number":1,"note":"on a cattle scale"}"#)
            #expect(try await now()["implausible"] == JSON(#"["value"]"#), "a note does not confirm the value")
            _ = try await peer.command("edit", #"{"number":1,"value":450,"unit":"kg"}"#)
            var record = try await now()
            #expect(record["implausible"] == .null && record["value"].int == 450 && record["seq"].int == 3)
            #expect(record["edited"] == JSON(#"["value","metadata"]"#))
            #expect(try await peer.status()["implausible"].int == 0)
            // A second confirmation is a duplicate.
            let again = try await peer.command("edit", #"{"number":1,"value":450,"unit":"kg"}"#)
            #expect(again.body["result"]["records"][0]["outcome"].string == "duplicate")
            _ = try await peer.command("edit", #"{"number":1,"undo":true}"#)
            record = try await now()
            #expect(record["implausible"] == JSON(#"["value"]"#) && record["edited"] == .null)
            // Values that a person enters are marked, too.
            _ = try await peer.command("log", #"{"type":"weight","value":420,"unit":"kg"}"#)
            #expect(try await peer.status()["implausible"].int == 1)
        }
    }

    @Test
    func
        `R6.37 a time that lies ahead is marked, a person's word ends it, and a hub whose clock is not set marks none`()
        async throws
    {
        func future(_ key: String) -> String {
            #"{"type":"weight","value":80,"unit":"kg","start":"2099-01-01T07:00:00Z","key":"\#(key)"}"#
        }
        var setting = Setting()
        setting.clock = .simulated(start: Timestamp(microseconds: 1_795_000_000_000_000), rate: 1)
        try await withHub(setting) { hub, peer in
            #expect(try await peer.give([future("a")]).results == ["stored"])
            #expect(try await peer.all().records[0]["implausible"] == JSON(#"["start"]"#))
            _ = try await peer.command("edit", #"{"number":1,"start":"2026-11-01T07:00:00Z"}"#)
            let record = try await peer.all().records[0]
            #expect(record["implausible"] == .null && record["edited"] == JSON(#"["start","end"]"#))
        }
        setting.clock = .simulated(start: Timestamp(microseconds: 10_000_000), rate: 1)
        try await withHub(setting) { hub, peer async throws in
            #expect(try await peer.give([future("a")]).results == ["stored"])
            #expect(try await peer.all().records[0]["implausible"] == .null)
        }
    }

    @Test func `R6.38 a blood pressure needs exactly its two members in its batch, or the whole group is refused`()
        async throws
    {
        func pressure(_ group: String) -> String {
            #"{"type":"bloodPressure","start":"2024-03-15T07:30:05+01:00","key":"\#(group) bp","group":"\#(group)"}"#
        }
        func member(_ group: String, _ type: String, _ value: Double, _ key: String) -> String {
            part("bloodPressure\(type)", value, "mmHg", "\(group) \(key)", #","group":"\#(group)""#)
        }
        try await withHub { hub, peer in
            let (sys, dia) = (member("a", "Systolic", 121, "s"), member("a", "Diastolic", 79, "d"))
            #expect(try await peer.give([pressure("a"), sys]).results == ["group", "group"])
            #expect(
                try await peer.give([dia, pressure("a"), sys, weight("w")]).results == [
                    "stored", "stored", "stored", "stored",
                ])
            let twice = [pressure("b")] + ["s", "t"].map { member("b", "Systolic", 121, $0) }
            #expect(try await peer.give(twice).results == ["group", "group", "group"])
            let pulse = part("heartRate", 62, "count/min", "c p", #","group":"c""#)
            let more = [pressure("c"), member("c", "Systolic", 1, "s"), member("c", "Diastolic", 79, "d"), pulse]
            let refused = try await peer.give(more)
            #expect(refused.results == ["group", "group", "group", "group"])
            #expect(refused.body["results"][0]["reason"].string?.contains("bloodPressureDiastolic") == true)
            let alone = #"{"type":"bloodPressure","start":"2024-03-15T07:30:05+01:00","key":"d"}"#
            #expect(try await peer.give([alone]).results == ["group"])
            // One member may be corrected alone.
            #expect(try await peer.give([member("a", "Systolic", 122, "s")]).results == ["stored"])
        }
    }

    @Test func `R6.38 a food needs its nutrients and its name, or the whole group is refused`() async throws {
        func food(_ group: String, _ metadata: String = #"{"foodType":"Ham Sandwich"}"#) -> String {
            #"{"type":"food","start":"2024-03-15T07:30:05+01:00","key":"\#(group) f","group":"\#(group)","metadata":\#(metadata)}"#
        }
        func member(_ group: String, _ type: String, _ unit: String) -> String {
            part(type, 12, unit, "\(group) \(type)", #","group":"\#(group)""#)
        }
        try await withHub { hub, peer in
            #expect(try await peer.give([food("a")]).results == ["group"])
            let eaten = [member("a", "dietaryEnergyConsumed", "kcal"), member("a", "dietaryProtein", "g")]
            #expect(try await peer.give([food("a", "{}")] + eaten).results == ["metadata", "group", "group"])
            #expect(try await peer.give([food("a")] + eaten).results == ["stored", "stored", "stored"])
            let drunk = try await peer.give([food("b"), member("b", "heartRate", "count/min")])
            #expect(drunk.results == ["group", "group"])
            #expect(drunk.body["results"][0]["reason"].string?.contains("such as dietaryEnergyConsumed") == true)
        }
    }
}
