import JSON
import PhonePayloads
import Samples
import Testing

/// Members with a unit, and members that no reader uses.
@Suite struct UnitMemberTests {
    @Test(
        arguments: [
            #""unit":"lb""#, #""units":"lb""#, #""Unit":"lbs""#, #""UNITS":"LB""#, #""weight_unit":"lbs""#,
            #""weightUnit":"pounds""#,
            #""weight-units":"lb""#, #""unit_of_measurement":"lb""#, #""unitOfMeasurement":"lb""#, #""uom":"lb""#,
            #""value_unit":"lb""#, #""Einheit":"lb""#, #""mass_unit":"lb""#, #""weightunit":"lb""#, #""measure":"lbs""#,
            #""unit":"lb","weight_unit":"lbs""#, #""unit":"lb","height":180,"height_unit":"cm""#,
        ])
    func `A member with the unit is used, whatever its name is`(member: String) throws {
        let reading = try Reading(#"{"type":"weight","value":177.2,\#(member)}"#, .plain)
        #expect(reading.samples.map(\.value) == [.quantity(177.2, unit: "lb")], "\(reading.rejected)")
        #expect(reading.verdicts() == [])
        let short = try Reading(#"{"weight":177.2,\#(member.replacing(",\"height\":180", with: ""))}"#, .plain)
        if !member.contains("height") { #expect(short.samples.map(\.value) == [.quantity(177.2, unit: "lb")]) }
    }

    @Test(
        arguments: [
            #""units":"stones of old""#, #""weight_unit":"cm""#, #""unit_system":"imperial""#, #""units":3"#,
            #""unit":"kg","units":"lb""#, #""unit":{"name":"lb"}"#, #""system":"imperial""#, #""display_unit":"cm""#,
            #""unit":"kg","measure":"lbs""#,
        ])
    func `A unit that is none of the type, or that two members contradict, refuses the record`(member: String) throws {
        let reading = try Reading(#"{"weight":177.2,\#(member)}"#, .plain)
        #expect(reading.faults == [" unit"] && reading.records.isEmpty)
        #expect(
            reading.rejected.first.map { rejection in
                member.split(separator: "\"").contains { rejection.reason.contains($0) }
            } == true)
    }

    @Test(
        arguments: [
            (#""attributes":{"unit_of_measurement":"lb"}"#, "attributes/unit_of_measurement"),
            (#""metadata":{"unit":"lb"}"#, "metadata/unit"), (#""a":{"b":{"units":"lbs"}}"#, "a/b/units"),
            (#""lb":true"#, "lb"), (#""is_lbs":true"#, "is_lbs"), (#""imperial":true"#, "imperial"),
            (#""metric":false"#, "metric"), (#""kg":false"#, "kg"), (#""imperial":1"#, "imperial"),
            (#""imperial":"true""#, "imperial"),
            (#""attributes":{"unit_system":"imperial"}"#, "attributes/unit_system"),
            (#""list":[{"unit":"lb"}]"#, "list/0/unit"),
        ])
    func `A unit in a place that is not read refuses the record, and the answer names the place`(
        member: String, place: String
    ) throws {
        let reading = try Reading(#"{"weight":177.2,\#(member)}"#, .plain)
        #expect(reading.faults == [" unit"] && reading.records.isEmpty, "\(reading.samples)")
        #expect(reading.rejected.first?.reason.hasPrefix(place) == true, "\(reading.rejected)")
        let beside = try Reading(#"{"settings":{"unit":"lb"},"records":[{"weight":177.2}]}"#, .plain)
        #expect(beside.faults == ["/records/0 unit"])
    }

    @Test(
        arguments: [
            #""attributes":{"unit_of_measurement":"kg"}"#, #""battery":{"value":80,"unit":"%"}"#, #""metric":true"#,
            #""kg":true"#, #""lb":false"#, #""is_new":true"#, #""unit":"kg","settings":{"unit":"lb"}"#,
            #""goal":{"value":170,"unit":"lb"}"#, #""stone_removed":true"#, #""logged_in":true"#, #""value":null"#,
        ])
    func `A member with the same unit, or with a unit of another thing, refuses nothing`(member: String) throws {
        let reading = try Reading(#"{"weight":80.4,\#(member)}"#, .plain)
        #expect(reading.samples.map(\.value) == [.quantity(80.4, unit: "kg")], "\(reading.rejected)")
        let others = [#"{"stepCount":8001,"fall_detected":false}"#, #"{"heartRate":61,"imperial":true}"#]
        for other in others { #expect(try Reading(other, .plain).samples.count == 1) }
    }

    @Test func `A note that is a unit counts as the unit, and a second value refuses the record`() throws {
        let note = try Reading(#"{"weight":177.2,"note":"lb"}"#, .plain)
        #expect(note.samples.map(\.value) == [.quantity(177.2, unit: "lb")])
        for body in [#"{"weight":80.4,"value":79}"#, #"{"value":79,"weight":80.4}"#] {
            #expect(try Reading(body, .plain).faults == [" value"])
        }
    }

    @Test(
        arguments: [
            #""fecha":"2026-11-19""#, #""datum":"19.11.2026""#, #""measured":"11/19/2026""#, #""日付":"2026-11-19""#,
            #""日付":"2026年11月19日""#, #""label":"19/11/2026 07:00""#, #""stamp":"20261119T070000Z""#,
            #""epoch":1763535600"#, #""dt":"1763535600000""#, #""hour":"07:00""#, #""meta":{"d":"2026-11-19"}"#,
            #""sent":"Thu, 19 Nov 2026 07:00:00 GMT""#, #""on":"November 19, 2026""#, #""x":["7:30 pm"]"#,
            #""extra":{"fecha":"2026-11-19"}"#,
        ])
    func `A record without a start but with a time elsewhere is refused, whatever the member's name is`(
        member: String
    ) throws {
        #expect(try Reading(#"{"weight":80.4,\#(member)}"#, .plain).faults == [" time"])
        #expect(try Reading(#"{"weight":80.4,"start":"2026-11-20T07:00:00Z",\#(member)}"#, .plain).samples.count == 1)
    }

    @Test func `A time beside the records, in a member of any name, is not ignored`() throws {
        let reading = try Reading(#"{"fecha":"2026-11-19","records":[{"weight":80.4}]}"#, .plain)
        #expect(reading.faults == ["/records/0 time"])
    }

    @Test(
        arguments: [
            #""mac":"00:11:22:33:44:55""#, #""firmware":"1.10.2""#, #""ip":"192.168.1.20""#, #""serial":12345678"#,
            #""id":"a3f1-22""#, #""impedance":512"#, #""name":"Scale 2026""#, #""gateway_ip":"10.0.10.12""#,
            #""firmware":"1.10.12""#, #""sw_build_id":"20230415""#, #""user_id":1234567890"#, #""code":4006381333931"#,
            #""location":"Hauptstraße 12, 1010 Wien""#, #""device":"MacBook Pro 14 2023""#, #""range":"32:10""#,
            #""street":"Hauptstraße 12, 1010 Wien""#, #""net":"10.0.10.12""#,
        ])
    func `A record without a start begins now if none of its members is a time`(member: String) throws {
        let reading = try Reading(#"{"weight":80.4,\#(member)}"#, .plain)
        #expect(reading.samples.map(\.start.microseconds) == [Reading.arrival], "\(reading.rejected)")
    }

    @Test func `A unit beside the records holds for each of them, and a value may contain its unit`() throws {
        let list = try Reading(
            #"{"units":"lb","records":[{"weight":177.2,"start":"2026-11-20T07:00:00Z"},{"weight":80,"unit":"kg","start":"2026-11-20T08:00:00Z"}]}"#,
            .plain)
        #expect(list.samples.map(\.value) == [.quantity(177.2, unit: "lb"), .quantity(80, unit: "kg")])
        let inner = try Reading(#"{"weight":{"value":177.2,"units":"lb"}}"#, .plain)
        #expect(inner.samples.map(\.value) == [.quantity(177.2, unit: "lb")])
        let date = try Reading(#"{"date":"2026-11-19","records":[{"weight":80}]}"#, .plain)
        #expect(date.faults == ["/records/0 time"])
    }

    @Test func `The answer names each member that was not read, in every reader`() throws {
        func names(_ reading: Reading) -> [String] { reading.ignored.filter(\.isMember).compactMap(\.name) }
        let plain = try Reading(
            #"{"weight":80.4,"weight_unit":"kg","bmi":25.1,"basal_metabolism":1757.2,"visceral_fat":null,"source":"s"}"#,
            .plain)
        #expect(names(plain) == ["bmi", "basal_metabolism", "source"] && plain.samples.count == 1)
        #expect(plain.ignored.first.map { "\($0.place)" } == "/bmi")
        let records = try Reading(
            #"{"person_name":"x","records":[{"weight":80.4,"body_fat":20.1,"start":"2026-11-20T07:05:00+01:00"},{"weight":80.5,"body_fat":20.2,"start":"2026-11-21T07:05:00+01:00"}]}"#,
            .plain)
        #expect(names(records) == ["person_name", "body_fat"])
        #expect(records.ignored.last.map { "\($0.place) \($0.points ?? 0)" } == "/records/0/body_fat 2")
        let start = #""start":"2026-11-20T00:00:00+01:00""#
        for name in Sample.partNames {
            let part = try Reading(#"{"type":"weight","value":80.4,\#(start),"\#(name)":{},"bmi":25.1}"#, .plain)
            #expect(names(part) == ["bmi"], "\(name)")
        }
        let figures = #"{"appleStandHours":{"value":11,"unit":"count"}}"#
        let day = try Reading(
            #"{"type":"activitySummary",\#(start),"key":"2026-11-20","activitySummary":\#(figures),"summary":1}"#,
            .plain)
        #expect(names(day) == ["summary"])
        #expect(day.samples.map { $0.activitySummary?.appleStandHours?.value } == [11])
        let point = #"{"date":"2026-11-20 07:00:00 +0100","qty":80,"source":"W","metadata":{"a":1},"note":""}"#
        #expect(names(try Reading(metric: "weight_body_mass", "kg", [point])) == ["metadata"])
        let pressure = #"{"date":"2026-11-20 07:00:00 +0100","systolic":120,"diastolic":80,"pulse":60}"#
        #expect(names(try Reading(metric: "blood_pressure", "mmHg", [pressure])) == ["pulse"])
        let webhook = try Reading(
            #"{"timestamp":"2026-11-20T09:00:00Z","exercise":[{"type":"56","title":"Morgenlauf","laps":[1],"start_time":"2026-11-20T05:00:00Z","end_time":"2026-11-20T05:30:00Z"}],"weight":[{"kilograms":80,"time":"2026-11-20T05:00:00Z","bmi":24}]}"#,
            .healthConnectWebhook)
        #expect(names(webhook) == ["laps", "bmi"])
        #expect(webhook.samples.first?.metadata?.text.contains(#""title":"Morgenlauf""#) == true)
        let gateway = try Reading(
            #"{"data":[{"time":"2026-02-10T08:00:00Z","weight":{"inKilograms":80},"clothes":"none","metadata":{"id":"3f1d2c1a-8f0e-3b6c-9a44-0c5b8f6d0002"}}]}"#,
            .healthConnectGateway(type: "Weight"))
        #expect(names(gateway) == ["clothes"] && gateway.samples.count == 1)
        let scale = try Reading(
            #"{"event":"insert","userId":1,"date":"2026-02-10T05:31:02.000Z","weight":80,"mood":"good"}"#, .openScale)
        #expect(names(scale) == ["mood"] && scale.samples.count == 1)
        let ble = try Reading(#"{"weight":80.4,"impedance":498,"colour":"red"}"#, .bleScaleSync)
        #expect(names(ble) == ["colour", "impedance"])
    }

    @Test func `An item with another unit than its form has is refused in every reader`() throws {
        let point = #"{"date":"2026-11-20 07:00:00 +0100","qty":177,"source":"W","units":"lb"}"#
        #expect(try Reading(metric: "weight_body_mass", "kg", [point]).faults == ["/data/metrics/0/data/0 unit"])
        #expect(try Reading(metric: "weight_body_mass", "lb", [point]).samples.count == 1)
        let webhook = try Reading(
            #"{"timestamp":"2026-11-20T09:00:00Z","weight":[{"kilograms":177,"unit":"lb","time":"2026-11-20T05:00:00Z"}]}"#,
            .healthConnectWebhook)
        #expect(webhook.faults == ["/weight/0 unit"])
        let scale = try Reading(
            #"{"event":"insert","userId":1,"date":"2026-02-10T05:31:02.000Z","weight":177,"weight_unit":"lbs"}"#,
            .openScale)
        #expect(scale.faults == [" unit"])
        #expect(try Reading(#"{"weight":177,"unit":"lb"}"#, .bleScaleSync).faults == [" unit"])
        #expect(try Reading(#"{"weight":80,"unit":"kg"}"#, .bleScaleSync).samples.count == 1)
    }

    @Test func `A list is read as records, and an unknown type gets a suggestion`() throws {
        let reading = try Reading(
            #"[{"value":"7961","type":"step","unit":"count","date":"2026-11-19"},{"value":"80.4","type":"weight","unit":"kg","start":"2026-11-19T07:00:00Z"}]"#,
            .plain)
        #expect(
            reading.faults == ["/0 type"] && reading.rejected.first?.reason.hasSuffix("did you mean stepCount?") == true
        )
        #expect(reading.ignored.compactMap(\.name) == ["date"] && reading.keys == ["20261119T070000Z weight"])
        for (name, meant) in [
            ("steps", "stepCount"), ("step", "stepCount"), ("weigth", "weight"), ("heart_rate", "heartRate"),
        ] {
            let one = try Reading(#"{"type":"\#(name)","value":1,"start":"2026-11-19T07:00:00Z"}"#, .plain)
            #expect(
                one.rejected.first?.reason.contains(meant) == true && one.rejected.first?.code == "type",
                "\(one.rejected)")
        }
    }
}
