import PhonePayloads
import Platform
import Samples
import Testing

/// Health Connect, scales and plain posts, in addition to the bodies of `Fixtures`.
@Suite struct OtherSenderTests {
    @Test func `Values that openScale has omitted, deleted or cleared are retracted`() throws {
        var ledger = OpenScaleLedger()
        func post(_ name: String) throws -> [String] {
            try Reading(try Fixture.bytes(name), .openScale).steps.flatMap { step in
                defer { ledger.apply(step) }
                return ledger.gone(by: step)
            }
        }
        #expect(try post("openscale-insert.json") == [])
        let update = ["hc.boneMass", "waistCircumference", "x.openscale.impedance"].map { "20260210T053102Z u1 \($0)" }
        #expect(try post("openscale-update.json") == update)
        #expect(OpenScaleLedger(ledger.text) == ledger && ledger.count == 1)
        let kept = ledger
        #expect(
            try post("openscale-delete.json") == ["bodyFatPercentage", "weight"].map { "20260210T053102Z u1 \($0)" })
        #expect(ledger.count == 0)
        ledger = kept
        #expect(
            try post("openscale-clear.json") == ["bodyFatPercentage", "weight"].map { "20260210T053102Z u1 \($0)" })
        #expect(ledger.count == 0)
        // With a lost state, every record that may have existed is retracted.
        #expect(try post("openscale-delete.json").contains("20260210T053102Z u1 weight"))
    }

    @Test func `Each record of a measurement has its own key, for any length of time, user and type`() throws {
        let body = #"{"event":"delete","userId":1000000,"date":"2026-02-10T05:31:02.001Z"}"#
        let step = try #require(try Reading(body, .openScale).steps.first)
        let keys = OpenScaleLedger().gone(by: step)
        #expect(keys.count > 20 && Set(keys).count == keys.count)
        #expect(keys.filter { RecordKey($0) == nil } == [])
        #expect(keys.contains { $0.hasSuffix(" x.openscale.impedance") })
    }

    @Test func `A ledger can be restored from its text after any steps`() {
        var seed = SeededGenerator(seed: 2)
        var ledger = OpenScaleLedger()
        for _ in 0..<500 {
            let user = "\(Int.random(in: 1...3, using: &seed))"
            let time = "2026021\(Int.random(in: 0...9, using: &seed))T053102Z"
            let step: OpenScaleStep =
                switch Int.random(in: 0...9, using: &seed) {
                case 0: .deleted(user: user, time: time)
                case 1 where Bool.random(using: &seed): .cleared(user: user)
                default:
                    .has(user: user, time: time, types: ["weight"] + (Bool.random(using: &seed) ? ["heartRate"] : []))
                }
            ledger.apply(step)
            #expect(OpenScaleLedger(ledger.text).text == ledger.text)
        }
    }

    @Test func `A time keeps its first offset after a journey, and a time that arrives late has none`() throws {
        let day: Int64 = 86_400_000_000
        let noon = try Timestamp(parsing: "2026-02-10T12:00:00Z").microseconds
        func record(_ time: Int64, _ offset: Int16) throws -> PhoneRecord {
            let key = try #require(RecordKey("\(time)"))
            let sample = Sample(
                source: Source(plugin: "http-ingest"), key: key, type: .weight, value: .quantity(80, unit: "kg"),
                start: Timestamp(microseconds: time, offsetMinutes: offset))
            return PhoneRecord(.sample(sample), .pointer(""))
        }
        var history = OffsetHistory()
        func offsets(_ times: [(Int64, Int16)], arrival: Int64) throws -> [Int16?] {
            var records = try times.map(record)
            _ = history.settle(&records, arrival: arrival)
            return records.map { record in
                guard case .sample(let sample) = record.record else { return -1 }
                return sample.start.offsetMinutes
            }
        }
        #expect(try offsets([(noon, 60), (noon + 1, 60)], arrival: noon + day) == [60, 60])
        // The same times from New York, and a new one there.
        #expect(try offsets([(noon, -300), (noon + 2 * day, -300)], arrival: noon + 2 * day) == [60, -300])
        // Back home: the time between has no known offset until now, and the time abroad keeps its offset.
        #expect(
            try offsets([(noon + day, 60), (noon + 2 * day, 60), (noon + 3 * day, 60)], arrival: noon + 3 * day) == [
                60, -300, 60,
            ])
        #expect(try offsets([(noon - 30 * day, 60)], arrival: noon + 3 * day) == [nil])
        #expect(try offsets([(noon - 30 * day, 120)], arrival: noon + 3 * day) == [nil])
        history = OffsetHistory(history.text)
        #expect(try offsets([(noon, 540), (noon + 2 * day, 540)], arrival: noon + 4 * day) == [60, -300])
    }

    @Test(arguments: 1...20) func `After any journeys, a time keeps the offset that it first had`(number: Int) throws {
        var seed = SeededGenerator(seed: UInt64(number))
        var history = OffsetHistory()
        var known: [Int64: Int16?] = [:]
        for _ in 0..<200 {
            let time = Int64.random(in: 0..<100, using: &seed) * 3_600_000_000
            let offset = Int16.random(in: -2...2, using: &seed) * 60
            // It may end with another offset, and at a time at which no sample begins.
            let end = time + Int64.random(in: 0..<5, using: &seed) * 1_800_000_000
            let other = Int16.random(in: -2...2, using: &seed) * 60
            let key = try #require(RecordKey("k"))
            var records = [
                PhoneRecord(
                    .sample(
                        Sample(
                            source: Source(plugin: "p"), key: key, type: .weight, value: .quantity(1, unit: "kg"),
                            start: Timestamp(microseconds: time, offsetMinutes: offset),
                            end: Timestamp(microseconds: end, offsetMinutes: other))), .pointer(""))
            ]
            _ = history.settle(&records, arrival: 100 * 3_600_000_000)
            guard case .sample(let sample) = records[0].record else { return }
            for moment in [sample.start, sample.end] {
                if let before = known[moment.microseconds] { #expect(before == moment.offsetMinutes) }
                known[moment.microseconds] = moment.offsetMinutes
            }
            if Bool.random(using: &seed) { history = OffsetHistory(history.text) }
        }
    }

    @Test(
        arguments: [
            (#"{"weight":80.4}"#, "20260211T085320Z weight", nil),
            (#"{"weight":"80,4","start":"2026-02-10 06:31:02 +0100"}"#, "20260210T053102Z weight", nil),
            (#"{"bodyMass":80.4,"start":"2026-02-10T06:31:02.25Z"}"#, "20260210T063102.250Z weight", nil),
            (
                #"{"type":"sleepAnalysis","value":"asleepCore","start":"2026-02-10T00:00:00+01:00","end":"2026-02-10T01:00:00+01:00"}"#,
                "20260209T230000Z sleepAnalysis", nil
            ),
            (#"{"type":"weight","value":"1.080,4"}"#, nil, " value"),
            (#"{"type":"weight","value":"80 kg"}"#, nil, " value"),
            (#"{"type":"weight","value":80,"start":"2026-03-29 02:30:00","zone":"Europe/Berlin"}"#, nil, " time"),
            (#"{"type":"weight","value":80,"start":"2026-10-25 02:30:00","zone":"Europe/Berlin"}"#, nil, " time"),
            (#"{"type":"weight","value":80,"start":"2026-02-10 02:30:00"}"#, nil, " time"),
            (#"{"type":"weight","value":80,"start":"2026-02-10 02:30:00","zone":"Mars/Base"}"#, nil, " time"),
            (#"{"weight":80,"time":"2026-02-10T06:31:02Z"}"#, nil, " time"),
            (#"{"weight":80,"timestamp":1770705062}"#, nil, " time"), (#"{"weight":80,"Date":"10.2."}"#, nil, " time"),
            (#"{"weight":80,"measured":"2026-02-10 06:31:02"}"#, nil, " time"),
            (#"{"wieght":80}"#, nil, " type"), (#"{"weight":80,"height":1.8}"#, nil, " type"),
            (#"{"type":"bodyFatPercentage","value":18.5}"#, nil, " value"),
            (
                #"{"kind":"day","type":"weight","value":80,"series":"x","date":"2026-02-10","method":"m","person":"me"}"#,
                nil, " kind"
            ),
        ] as [(String, String?, String?)])
    func `A plain post is read as it is meant, or refused with the error`(
        body: String, key: String?, fault: String?
    ) throws {
        let reading = try Reading(body, .plain)
        #expect(reading.keys == [key].compactMap { $0 } && reading.faults == [fault].compactMap { $0 })
        #expect(reading.verdicts() == [])
    }

    @Test func `Values computed from a profile are taken only on request, and only if the scale measured an impedance`()
        throws
    {
        let body = try Fixture.bytes("ble-scale-sync-webhook.json")
        let all = try Reading(body, .bleScaleSync, Reading.context { $0.takesComputed = true })
        #expect(all.samples.count == 7 && all.verdicts() == [])
        let none = try Reading(
            #"{"weight":80.4,"impedance":0,"bodyFatPercent":20}"#, .bleScaleSync,
            Reading.context { $0.takesComputed = true })
        #expect(none.samples.map(\.type) == [.weight])
    }

    @Test
    func `Counts have a source for each app, except those from before that distinction and values that are no sums`()
        throws
    {
        func steps(_ start: String, _ app: String) -> String {
            #"{"count":9,"start_time":"2026-02-10T\#(start):02Z","end_time":"2026-02-10T\#(start):50Z","metadata":{"data_origin":"\#(app)"}}"#
        }
        let list = [
            ("07:59", "com.band"), ("08:00", "com.band"), ("08:00", "com.phone"), ("08:00", "sums"), ("08:01", ""),
        ]
        let body =
            #"{"timestamp":"2026-02-10T10:00:00Z","steps":[\#(list.map(steps).joined(separator: ","))],"heart_rate":[{"bpm":60,"time":"2026-02-10T08:00:02Z","metadata":{"data_origin":"com.band"}}]}"#
        let since = try Timestamp(parsing: "2026-02-10T08:00:00Z").microseconds
        let reading = try Reading(body, .healthConnectWebhook, Reading.context { $0.appsSince = since })
        let accounts = reading.samples.map { $0.source.account ?? "" }
        #expect(
            accounts.prefix(3) == ["health-connect", "health-connect com.band", "health-connect com.phone"]
                && accounts[3] != "health-connect sums" && Set(accounts[1...3]).count == 3)
        #expect(accounts.suffix(2) == ["health-connect", "health-connect"] && reading.verdicts() == [])
        // Without that time everything is as before: identities of stored records do not change.
        let before = try Reading(body, .healthConnectWebhook)
        #expect(before.samples.allSatisfy { $0.source.account == "health-connect" } && before.keys == reading.keys)
        let gateway = try Reading(
            #"{"data":{"startTime":"2026-02-10T08:00:00Z","endTime":"2026-02-10T09:00:00Z","count":7,"metadata":{"id":"3f1d2c1a-8f0e-3b6c-9a44-0c5b8f6d0002","dataOrigin":"com.band"}}}"#,
            .healthConnectGateway(type: "Steps"), Reading.context { $0.appsSince = 0 })
        #expect(gateway.samples.map(\.source.account) == ["health-connect com.band"])
    }

    @Test func `The hub accepts records of Health Connect of every form`() throws {
        let body = #"""
            {"timestamp":"2026-02-10T10:00:00Z","nutrition":[{"calories":300,"protein_grams":12,"name":"Ham Sandwich","start_time":"2026-02-10T08:00:00Z","end_time":"2026-02-10T08:10:00Z"},{"calories":80,"start_time":"2026-02-10T09:00:00Z","end_time":"2026-02-10T09:10:00Z"}],
            "menstruation_period":[{"start_time":"2026-02-08T00:00:00Z","end_time":"2026-02-10T00:00:00Z"}],"ovulation_test":[{"result":1,"time":"2026-02-10T08:00:00Z"}],"cervical_mucus":[{"appearance":5,"time":"2026-02-10T08:00:00Z"},{"appearance":6,"time":"2026-02-10T08:00:00Z"}],
            "sexual_activity":[{"protection_used":1,"time":"2026-02-10T08:00:00Z"}],"intermenstrual_bleeding":[{"time":"2026-02-10T08:00:00Z"}],"skin_temperature":[{"delta_celsius":0.3,"time":"2026-02-10T08:00:00Z"}],
            "steps":[{"count":100,"start_time":"2026-02-10T08:00:00Z","end_time":"2026-02-10T08:15:00Z"},{"count":3,"start_time":"2026-02-10T08:01:02Z","end_time":"2026-02-10T08:02:00Z"}],"exercise":[{"type":"8","start_time":"2026-02-10T08:00:00Z","end_time":"2026-02-10T08:30:00Z","distance_meters":9000}]}
            """#
        let reading = try Reading(body, .healthConnectWebhook)
        #expect(reading.verdicts() == [] && reading.rejected == [] && reading.ignored.count == 1)
        #expect(reading.keys.contains("20260210T080000Z stepCount b"))
        #expect(reading.samples.filter { $0.type == .food }.count == 1)
        let series = try Reading(
            #"{"data":{"startTime":"2026-02-10T08:00:00Z","endTime":"2026-02-10T09:00:00Z","samples":[{"time":"2026-02-10T08:00:00Z","beatsPerMinute":60},{"time":"2026-02-10T08:00:05Z","beatsPerMinute":61}],"metadata":{"id":"3f1d2c1a-8f0e-3b6c-9a44-0c5b8f6d0002"}}}"#,
            .healthConnectGateway(type: "HeartRate"))
        #expect(series.samples.count == 2 && series.verdicts() == [])
    }
}
