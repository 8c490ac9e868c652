import Foundation
import HubWire
import JSON
import PhonePayloads
import Samples
import Testing

/// Bodies of every sender, and the records that they make (`Fixtures/expected.json`, synthetic).
///
/// ``Difference`` explains each record that differs from that file.
@Suite struct FixtureTests {
    nonisolated(unsafe) static let expected =
        (try? Fixture.json("expected.json"))?["files"] as? [String: [String: Any]] ?? [:]
    static let names = expected.keys.sorted()

    private static let formats: [String: PhoneFormat] = [
        "/ingest/hae": .healthAutoExport, "/ingest/hc-webhook": .healthConnectWebhook,
        "/ingest/openscale": .openScale, "/ingest/ble-scale-sync": .bleScaleSync, "/ingest/plain": .plain,
        "/api/v2/sync/Weight": .healthConnectGateway(type: "Weight"),
        "/api/v2/sync/SleepSession": .healthConnectGateway(type: "SleepSession"),
    ]

    private func reading(_ name: String, _ expected: [String: Any]) throws -> Reading {
        let request = expected["request"] as? [String: Any] ?? [:]
        let headers = request["headers"] as? [String: String] ?? [:]
        let format = try #require(Self.formats[request["path"] as? String ?? ""])
        let records = expected["records"] as? [[String: Any]] ?? []
        return try Reading(
            try Fixture.bytes(name), format,
            Reading.context { context in
                context.grouping = headers["automation-aggregation"]
                context.zone = expected["zone"] as? String ?? "UTC"
                context.person = records.lazy.compactMap { $0["person"] as? String }.first
                if name.hasPrefix("hc-webhook-partial") { context.person = "ben" }
            })
    }

    @Test func `Every expectation has a body, and every body has an expectation`() throws {
        #expect(Self.names.count == 42)
        for name in Self.names { _ = try Fixture.bytes(name) }
    }

    /// The bodies that are no JSON object, and the tests that use them.
    static let elsewhere = [
        "bad-multipart.txt": "DoorTests", "plain-bad-type.txt": "DoorTests", "ble-scale-sync.jsonl": "below",
        "openscale-mqtt.jsonl": "below, BrokerTests",
        // Its neighbour with lines of JSON has the same content and more; no address accepts this one.
        "ble-scale-sync.csv": "nowhere",
    ]

    @Test func `Each body is tested here or elsewhere`() {
        #expect(Set(Self.names.filter { !$0.hasSuffix(".json") }) == Set(Self.elsewhere.keys))
        for name in Self.names where Self.elsewhere[name] == nil {
            let request = Self.expected[name]?["request"] as? [String: Any]
            #expect(Self.formats[request?["path"] as? String ?? ""] != nil, "\(name) has an address that is not known")
        }
    }

    @Test(arguments: names.filter { elsewhere[$0] == nil })
    func `Each body makes the expected records, rejections and omissions`(name: String) throws {
        let expected = try #require(Self.expected[name])
        guard expected["status"] as? Int == 200 else {
            #expect(throws: PhoneError.self) { _ = try self.reading(name, expected) }
            return
        }
        let reading = try self.reading(name, expected)
        let wanted = (expected["records"] as? [[String: Any]] ?? []).filter { $0["kind"] as? String != "retraction" }
        let found = reading.records.filter {
            guard case .sample(let sample) = $0.record else { return true }
            return sample.type != .workoutRoute
        }
        #expect(found.count == wanted.count)
        for (record, wanted) in zip(found, wanted) {
            let difference = Difference.between(
                try Reading.json(record.record), try Difference.asOfToday(wanted, in: name))
            #expect(difference == [], "\(name) \(record.place)")
        }
        let rejected = (expected["rejected"] as? [[String: String]] ?? []).map {
            "\($0["at"] ?? "") \($0["code"] ?? "")"
        }
        #expect(reading.faults == rejected)
        let ignored = (expected["ignored"] as? [[String: Any]] ?? []).map { Difference.omission($0) }
        #expect(reading.ignored.map { Difference.omission($0) } == ignored)
        #expect(reading.verdicts() == [], "the hub would not take this")
    }

    @Test func `Each stored record has the expected value, in the unit of its type`() throws {
        for (name, expected) in Self.expected where expected["status"] as? Int == 200 {
            guard Self.formats[(expected["request"] as? [String: Any])?["path"] as? String ?? ""] != nil else {
                continue
            }
            let reading = try self.reading(name, expected)
            let wanted = (expected["records"] as? [[String: Any]] ?? []).filter { $0["wire"] != nil }
            for record in wanted {
                let wire = try #require(record["wire"] as? [String: Any])
                let key = record["key"] as? String ?? ""
                guard let sample = reading.samples.first(where: { $0.key.text == key }) else {
                    #expect(key.contains("<arrival>"), "\(name): \(key) is not there")
                    continue
                }
                guard case .quantity(let value, let unit) = sample.value else { return #expect(Bool(false)) }
                let type = try #require(PhoneTypes.registry.type(sample.type))
                let stored = try #require(try type.canonicalValue(value, unit: unit))
                let number = try #require(wire["value"] as? Double)
                // The file has some values with nine digits.
                #expect(abs(stored - number) <= abs(number) * 1e-9, "\(name): \(key)")
                #expect(type.unit == wire["unit"] as? String)
            }
        }
    }

    @Test func `The list of all weighings by MQTT and the lines of a file have their own times`() throws {
        let lines = try String(decoding: Fixture.bytes("openscale-mqtt.jsonl"), as: UTF8.self).split(separator: "\n")
        let message = try #require(JSONSerialization.jsonObject(with: Data(String(lines[4]).utf8)) as? [String: Any])
        let body = try JSONSerialization.data(withJSONObject: try #require(message["payload"]))
        let history = try Reading(Array(body), .openScaleHistory(user: "1"))
        #expect(
            history.samples.map { "\($0.key.text) \($0.value)" } == [
                "20260210T053102Z u1 weight \(SampleValue.quantity(80.4, unit: "kg"))",
                "20260210T053102Z u1 bodyFatPercentage \(SampleValue.quantity(0.185, unit: "%"))",
                "20260210T053102Z u1 hc.boneMass \(SampleValue.quantity(3.2, unit: "kg"))",
                "20260211T053000Z u1 weight \(SampleValue.quantity(80.1, unit: "kg"))",
            ])
        #expect(history.verdicts() == [])
        let file = try Reading(try Fixture.bytes("ble-scale-sync.jsonl"), .bleScaleLines)
        #expect(file.keys == ["20260210T053102.417Z Mira weight"])
    }

    @Test func `The route of a workout is in its group, with the clock and the numbers of the phone`() throws {
        let reading = try Reading(try Fixture.bytes("hae-workouts-v2.json"), .healthAutoExport)
        let route = try #require(reading.samples.first { $0.type == .workoutRoute })
        let workout = try #require(reading.samples.first)
        #expect(route.group == workout.group && route.group != nil)
        let points = try #require(route.route)
        #expect(
            points == [
                RoutePoint(
                    try Timestamp(parsing: "2026-02-10T18:00:03+01:00"), latitude: 52.5001, longitude: 13.4001,
                    altitude: 34.1, horizontalAccuracy: 4, verticalAccuracy: 3, speed: 2.8, course: 91)
            ])
        let old = try Reading(try Fixture.bytes("hae-workouts-v1.json"), .healthAutoExport)
        #expect(old.samples.first { $0.type == .workoutRoute }?.route?.first?.latitude == 52.5)
    }
}

/// The differences between today's protocol and `expected.json`, which was written before it.
enum Difference {
    /// The expected record in the form of today's protocol.
    static func asOfToday(_ record: [String: Any], in name: String) throws -> [String: Any] {
        var record = record
        // Another test checks how it is stored.
        record["wire"] = nil
        // R6.47: a series belongs to the plugin that makes it.
        if let series = record["series"] as? String { record["series"] = "http-ingest:\(series)" }
        var metadata = record["metadata"] as? [String: Any] ?? [:]
        // Samples.md: a device is an object, so that QUERY finds it.
        var device: [String: String] = [:]
        device["manufacturer"] = metadata.removeValue(forKey: "deviceManufacturer") as? String
        device["model"] = metadata.removeValue(forKey: "deviceModel") as? String
        // The fixture has both members of HCGateway; the expectation lacks one.
        if name == "hcgateway-sleep.json" { device["manufacturer"] = "Acme" }
        if !device.isEmpty { metadata["device"] = device }
        // R6.70: a quantity in metadata is an object of value and unit.
        for key in [
            "averageMETs", "elevationAscended", "weatherTemperature", "weatherHumidity", "heartRateEventThreshold",
        ] {
            if let text = metadata[key] as? String { metadata[key] = try quantity(text) }
        }
        // R6.71: a menstrual flow must have it.
        if record["type"] as? String == "menstrualFlow", metadata["menstrualCycleStart"] == nil {
            metadata["menstrualCycleStart"] = false
        }
        if record["type"] as? String == "workout" { try moveTotals(&record, &metadata) }
        // It is in the body, as in the newer bodies.
        if name == "openscale-v05-insert.json", record["type"] as? String == "weight" { metadata["openScaleId"] = 3 }
        // Its voltages are kept in other records of its group.
        if record["type"] as? String == "electrocardiogram" { record["group"] = record["key"] }
        // A record of an instant is sent without an end.
        if let end = record["end"] as? String, end == record["start"] as? String { record["end"] = nil }
        // An object without members carries no information.
        record["metadata"] = metadata.isEmpty ? nil : metadata
        // R6.73: a route is in the group of its workout, so the workout has a group.
        if (record["key"] as? String)?.contains("7F01") == true || name == "hae-workouts-v1.json" {
            record["group"] = record["key"]
        }
        if name == "hae-workouts-v2.json",
            let location = ["7F01": "Outdoor"][String((record["key"] as? String ?? "").suffix(4))]
        {
            metadata["location"] = location
            record["metadata"] = metadata
        }
        return record
    }

    /// R6.73: the totals that a source reports for a whole workout are in its member `workout`.
    private static func moveTotals(_ record: inout [String: Any], _ metadata: inout [String: Any]) throws {
        var (workout, totals): ([String: Any], [[String: Any]]) = ([:], [])
        if let duration = metadata.removeValue(forKey: "duration") as? String {
            workout["duration"] = try quantity(duration)["value"]
        }
        let names: [(String, String, String)] = [
            ("distance", "distanceWalkingRunning", "sum"), ("activeEnergyBurned", "activeEnergyBurned", "sum"),
            ("stepCount", "stepCount", "sum"), ("averageHeartRate", "heartRate", "average"),
            ("maximumHeartRate", "heartRate", "maximum"),
        ]
        for (key, type, statistic) in names {
            guard let text = metadata.removeValue(forKey: key) as? String else { continue }
            totals.append(try quantity(text).merging(["type": type, "statistic": statistic]) { left, _ in left })
        }
        // The body has it, but the expectation does not.
        if metadata["exerciseType"] != nil {
            totals.append(["type": "hc.stepsCadence", "statistic": "average", "value": 160, "unit": "count/min"])
        }
        if !totals.isEmpty { workout["totals"] = totals }
        record["workout"] = workout.isEmpty ? nil : workout
    }

    private static func quantity(_ text: String) throws -> [String: Any] {
        let parts = text.split(separator: " ").map(String.init)
        return ["value": try #require(Double(parts[0])), "unit": parts[1]]
    }

    /// The members that differ, with both values.
    static func between(_ found: [String: Any], _ wanted: [String: Any]) -> [String] {
        var found = found
        let source = found.removeValue(forKey: "source") as? [String: String]
        var faults = source?["device"] == "phone" ? [] : ["source: \(source ?? [:])"]
        // The token determines the person.
        if (found["subject"] as? [String: Any])?["account"] != nil { found["subject"] = nil }
        if let workout = found["workout"] as? [String: Any] { found["workout"] = sorted(workout) }
        for (name, value) in wanted {
            let other = found.removeValue(forKey: name)
            var value = value
            if name == "workout", let workout = value as? [String: Any] { value = sorted(workout) }
            let text = "\(value)".replacing(
                "<arrival>", with: name == "start" ? "2026-02-11T08:53:20Z" : "20260211T085320Z")
            if text != "\(value)" {
                if text != "\(other ?? "")" { faults.append("\(name): \(other ?? "-"), not \(text)") }
            } else if other.map({ NSDictionary(dictionary: ["_": $0]) }) != NSDictionary(dictionary: ["_": value]) {
                faults.append("\(name): \(other ?? "-"), not \(value)")
            }
        }
        // Members of the record besides the expected ones: its kind, and both name and number of a value.
        for name in ["kind", "raw", "value"] where wanted[name] == nil { found[name] = nil }
        return faults + found.keys.sorted().map { "\($0) is not expected: \(found[$0] ?? "")" }
    }

    private static func sorted(_ workout: [String: Any]) -> [String: Any] {
        var workout = workout
        if let totals = workout["totals"] as? [[String: Any]] {
            workout["totals"] = totals.sorted {
                "\($0["type"] ?? "")\($0["statistic"] ?? "")" < "\($1["type"] ?? "")\($1["statistic"] ?? "")"
            }
        }
        return workout
    }

    static func omission(_ wanted: [String: Any]) -> String {
        // In today's wording.
        let why = (wanted["why"] as? String ?? "").replacing("unit km is no speed", with: "km is not a unit of speed")
        return "\(wanted["at"] ?? "") \(wanted["name"] ?? "-") \(wanted["points"] ?? "-") \(why)"
    }

    static func omission(_ found: PhoneOmission) -> String {
        "\(found.place) \(found.name ?? "-") \(found.points.map(String.init) ?? "-") \(found.why)"
    }
}
