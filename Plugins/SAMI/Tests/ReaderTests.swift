import Foundation
import JSON
import PluginKit
import Testing

@testable import SAMI

@Suite struct ReaderTests {
    private func value(_ json: String) throws -> JSONTree { try #require(JSONTree(reading: json)) }

    private func records(
        _ data: String, _ units: [String: String], type: String = "Withings Device", mid: String = "m",
        ts: Int64 = 1_421_281_794_212
    ) throws -> [Sample] {
        let message = try #require(
            ServiceMessage(try value(#"{"mid":"\#(mid)","sdid":"d","ts":\#(ts),"data":\#(data)}"#)))
        let fields = JSONTree.object(units.mapValues { .object(["type": .text("Double"), "unit": .text($0)]) })
        let manifest = ServiceManifest(.object(["properties": .object(["fields": fields])]))
        return MessageReader(
            deviceType: type, manifest: manifest, source: Source(plugin: "sami", device: "d", account: "u")
        ).records(of: message)
    }

    @Test func `A weight has the manifest's unit, and the fields of a message stay together`() throws {
        let samples = try records(
            #"{"weight":179.5,"fatRatio":21.5,"fatMassWeight":17,"groupId":7,"category":1}"#,
            ["weight": "lb", "groupId": "", "category": ""])
        #expect(samples.map(\.type.rawValue) == ["x.sami.withings.fatMass", "bodyFatPercentage", "weight"])
        #expect(
            samples.map(\.value) == [
                .quantity(17, unit: "kg"), .quantity(0.215, unit: "%"), .quantity(179.5, unit: "lb"),
            ])
        #expect(Set(samples.map(\.group)) == ["d 1421281794212"])
        #expect(samples[2].key.text == "1421281794212 weight")
        #expect(samples[2].start.microseconds == 1_421_281_794_212_000)
    }

    @Test func `The same reading under another message id is the same record`() throws {
        let (first, second) = (
            try records(#"{"weight":80}"#, ["weight": "kg"], mid: "a"),
            try records(#"{"weight":80}"#, ["weight": "kg"], mid: "b")
        )
        #expect(first == second)
    }

    @Test func `A field without a row, with an unknown unit or another dimension is kept as it is`() throws {
        let samples = try records(
            #"{"weight":80,"sleep":{"state":2},"mood":"fine","boneMass":3}"#,
            ["weight": "mmHg", "boneMass": "parsec", "mood": ""])
        let sample = try #require(samples.first)
        #expect(samples.count == 1 && sample.type.rawValue == "x.sami.other")
        let metadata = try value(try #require(sample.metadata).text)
        #expect(
            metadata["fields"] == (try value(#"{"weight":80,"sleep":{"state":2},"mood":"fine","boneMass":3}"#)).sorted)
        #expect(metadata["units"]?["weight"]?.text == "mmHg")
        #expect(metadata["deviceType"]?.text == "Withings Device")
    }

    @Test func `A field without a row gets its own type with the kind and unit of its manifest`() throws {
        let manifest = ServiceManifest(
            try value(
                """
                {"properties":{"fields":{"activity":{"type":"Integer","unit":""},"light":{"type":"Double","unit":"lx"},
                "pace":{"type":"Float","unit":"km/h"},"mood":{"type":"String","unit":""},"on":{"type":"Boolean"},
                "trace":{"type":"Integer","unit":"","isCollection":true},"heartRate":{"type":"Integer","unit":"b/min"},
                "a b":{"type":"Long","unit":"s"},"sleep":{"state":{"type":"Integer","unit":""}}}}}
                """))
        let types = FieldTypes.declarations("SAMI Gear Fit", manifest)
        #expect(
            types.map { "\($0.id) \($0.kind) \($0.unit ?? "-")" } == [
                "x.sami.samiGearFit.a_b quantity s", "x.sami.samiGearFit.activity quantity count",
                "x.sami.samiGearFit.light other -", "x.sami.samiGearFit.mood other -", "x.sami.samiGearFit.on other -",
                "x.sami.samiGearFit.pace quantity km/hr", "x.sami.samiGearFit.sleep.state quantity count",
                "x.sami.samiGearFit.trace other -",
            ])
        let message = try #require(
            ServiceMessage(
                try value(
                    #"{"mid":"m","sdid":"d","ts":1,"data":{"activity":3,"light":12.5,"pace":7.2,"mood":"fine","on":true,"#
                        + #""trace":[1,2],"heartRate":61,"a b":5,"sleep":{"state":2,"dream":1},"unknown":9}}"#)))
        var reader = MessageReader(
            deviceType: "SAMI Gear Fit", manifest: manifest,
            types: Dictionary(uniqueKeysWithValues: types.map { ($0.id, $0) }), source: Source(plugin: "sami"))
        let samples = reader.records(of: message)
        let values = Dictionary(uniqueKeysWithValues: samples.map { ($0.type.rawValue, $0.value) })
        #expect(values["x.sami.samiGearFit.activity"] == .quantity(3, unit: "count"))
        #expect(values["x.sami.samiGearFit.pace"] == .quantity(7.2, unit: "km/hr"))
        #expect(values["x.sami.samiGearFit.light"] == .other("12.5"))
        #expect(values["x.sami.samiGearFit.mood"] == .other("fine"))
        #expect(values["x.sami.samiGearFit.on"] == .other("true"))
        #expect(values["x.sami.samiGearFit.trace"] == .other("[1,2]"))
        #expect(values["x.sami.samiGearFit.sleep.state"] == .quantity(2, unit: "count"))
        #expect(values["heartRate"] == .quantity(61, unit: "count/min"))
        let light = try #require(samples.first { $0.type.rawValue == "x.sami.samiGearFit.light" })
        #expect(light.metadata?.text == #"{"unit":"lx"}"#)
        // A field that is not in the manifest has no unit, and so no type.
        let rest = try #require(samples.first { $0.type.rawValue == "x.sami.other" })
        let fields = try value(try #require(rest.metadata).text)["fields"]
        #expect(fields == (try value(#"{"sleep.dream":1,"unknown":9}"#)))
        // No value is lost if the hub does not accept the types.
        reader.types = [:]
        #expect(reader.records(of: message).map(\.type.rawValue).sorted() == ["heartRate", "x.sami.other"])
    }

    @Test func `A message without a weight is not an error, and an empty one makes no record`() throws {
        #expect(try records(#"{"height":1.8}"#, ["height": "m"]).map(\.type.rawValue) == ["x.sami.withings.height"])
        #expect(try records("{}", [:]) == [])
    }

    @Test func `A goal is not a weight`() throws {
        let samples = try records(#"{"weight":70,"category":2}"#, ["weight": "kg", "category": ""])
        #expect(samples.map(\.type.rawValue) == ["x.sami.other"])
    }

    @Test func `A calorie of the tracker is a kilocalorie, and steps are counts`() throws {
        let eaten = try records(
            #"{"calories":640.5,"comments":"lunch"}"#, ["calories": "J*4.184", "comments": ""],
            type: "SAMI Example Calorie Tracker")
        #expect(eaten.first?.value == .quantity(640.5, unit: "kcal"))
        #expect(eaten.map(\.type.rawValue) == ["dietaryEnergyConsumed", "x.sami.other"])
        let walked = try records(
            #"{"numberOfSteps":1200,"floorsAscended":3,"floorsDescended":2,"distance":900.5}"#,
            ["numberOfSteps": "", "floorsAscended": "", "floorsDescended": "", "distance": "m"],
            type: "iPhone Pedometer")
        #expect(
            Set(walked.map(\.type.rawValue)) == [
                "stepCount", "flightsClimbed", "x.sami.floorsDescended", "distanceWalkingRunning",
            ])
    }

    @Test func `Keys sort by time, and long field names get different keys`() throws {
        let early = try #require(MessageReader.key(999, "weight")).text
        let late = try #require(MessageReader.key(1_421_281_794_212, "weight")).text
        #expect(early < late)
        let long = String(repeating: "x", count: 100)
        let (one, other) = (
            try #require(MessageReader.key(1, long + "a")).text, try #require(MessageReader.key(1, long + "b")).text
        )
        #expect(one != other && one.utf8.count <= 64)
    }

    @Test func `Dates of a user are read in seconds and in milliseconds`() throws {
        for number in ["1403042304", "1403042304000"] {
            let user = try #require(ServiceUser(try value(#"{"id":"u","createdOn":\#(number)}"#)))
            #expect(user.createdOn?.microseconds == 1_403_042_304_000_000)
        }
    }

    @Test func `Every declared type and every unit of the map is valid`() throws {
        #expect(SAMI.fullManifest.faults == [])
        var registry = TypeRegistry.standard
        for declared in FieldMap.declared {
            registry = try registry.registering(
                HealthType(
                    declaring: try TypeID(declared.id), kind: declared.kind, unit: declared.unit,
                    aggregation: declared.aggregation))
        }
        for name in FieldMap.written { #expect(registry.type(try TypeID(name)) != nil, "\(name)") }
    }
}
