import HubWire
import Samples
import Testing

/// The rules for HealthKit's keys in a sample's metadata (Protocol §6.7).
@Suite struct RecordMetadataTests {
    private func sample(_ text: String) throws -> Sample {
        guard case .sample(let sample) = try decode(text).get() else { throw RecordRejection(.kind, "no sample") }
        return sample
    }

    @Test
    func `R6.70 a value of the wrong kind for its key is refused by name, and unknown keys are kept`()
        throws
    {
        let wrong = try rejection(weight(#""group":"g","metadata":{"HKWasUserEntered":"yes"}"#))
        #expect(wrong?.code == .metadata && wrong?.group == "g")
        #expect(wrong?.reason == "metadata.HKWasUserEntered: expected true or false")
        let kept = try sample(weight(#""metadata":{"HKWasUserEntered":true,"mine":{"a":[1]}}"#))
        #expect(kept.metadata?.text == #"{"HKWasUserEntered":true,"mine":{"a":[1]}}"#)
    }

    @Test func `R6.71 a sample without a metadata key that its type requires is refused`() throws {
        func insulin(_ more: String) -> String {
            #"{"type":"insulinDelivery","value":4,"unit":"IU","start":"2024-03-15T07:30:05+01:00","key":"k"\#(more)}"#
        }
        #expect(try rejection(insulin(""))?.code == .metadata)
        #expect(try rejection(insulin(#","metadata":{"insulinDeliveryReason":3}"#))?.code == .metadata)
        #expect(try sample(insulin(#","metadata":{"HKInsulinDeliveryReason":2}"#)).type == .insulinDelivery)
        #expect(try rejection(weight(#""metadata":{"syncVersion":1}"#))?.code == .metadata)
    }

    @Test func `R6.72 a sync identifier sets the key, its version the source version, and other values are refused`()
        throws
    {
        let plain = #"{"type":"weight","value":72.3,"unit":"kg","start":"2024-03-15T07:30:05+01:00""#
        let sync = #","metadata":{"HKMetadataKeySyncIdentifier":"a1","HKMetadataKeySyncVersion":3}"#
        let alone = try sample(plain + sync + "}")
        #expect(alone.key.text == "a1" && alone.sourceVersion == 3)
        #expect(alone.metadata?.text.contains("SyncIdentifier") == true, "it comes back")
        #expect(try sample(plain + sync + #","key":"a1","sourceVersion":3}"#) == alone)
        for other in [#","key":"uuid"}"#, #","sourceVersion":4}"#] {
            #expect(try rejection(plain + sync + other)?.code == .key)
        }
        let long = String(repeating: "a", count: 65)
        let refused = try rejection(plain + #","metadata":{"syncIdentifier":"\#(long)","syncVersion":1}}"#)
        #expect(refused?.code == .key && refused?.reason.contains("found 65") == true)
        #expect(try rejection(plain + "}")?.code == .key)
    }

    @Test func `R6.70 each record of a batch is checked by its own metadata, even if similar to earlier ones`()
        throws
    {
        let plain = #""start":"2024-03-15T07:30:05+01:00""#
        func insulin(_ metadata: String) -> String {
            #"{"type":"insulinDelivery","value":4,"unit":"IU","key":"k",\#(plain)\#(metadata)}"#
        }
        func weigh(_ more: String) -> String { #"{"type":"weight","value":72.3,"unit":"kg",\#(plain)\#(more)}"# }
        let reason = #","metadata":{"insulinDeliveryReason":2}"#
        let entered = #","key":"k","metadata":{"wasUserEntered":true}"#
        let sync = #","metadata":{"syncIdentifier":"a1","syncVersion":3}"#
        let records: [(text: String, key: String?)] = [
            (insulin(reason), "k"), (insulin(""), nil), (weigh(#","key":"k""#), "k"), (insulin(""), nil),
            (insulin(#","metadata":{"insulinDeliveryReason":3}"#), nil), (insulin(reason), "k"), (insulin(reason), "k"),
            (weigh(entered), "k"), (weigh(entered.replacing("true", with: "\"yes\"")), nil), (weigh(entered), "k"),
            (weigh(entered.replacing("wasUserEntered", with: "WasUserEntered")), "k"),
            (weigh(sync), "a1"), (weigh(sync), "a1"), (weigh(sync.replacing("a1", with: "a2")), "a2"),
            (weigh(#","metadata":{"syncVersion":3}"#), nil),
        ]
        let read = try samples(#"{"batch":1,"records":[\#(records.map(\.text).joined(separator: ","))]}"#).records
        let keys = read.map { result -> String? in
            guard case .success(.sample(let sample)) = result else { return nil }
            return sample.key.text
        }
        #expect(keys == records.map(\.key))
        for case .failure(let rejection) in read { #expect(rejection.code == .metadata, "\(rejection.reason)") }
    }

    @Test
    func `R6.73 a workout's parts are checked, kept beside other members, and may be as large as a record`()
        throws
    {
        func swim(_ more: String) -> String {
            #"{"type":"workout","value":"swimming","start":"2024-03-16T07:00:00+01:00","end":"2024-03-16T07:32:00+01:00","key":"k"\#(more)}"#
        }
        let wrong = try rejection(swim(#","workout":{"events":[{"type":"rest","start":"2024-03-16T07:00:00Z"}]}"#))
        #expect(wrong?.code == .value && wrong?.reason.hasPrefix("workout.events[0].type: expected") == true)
        #expect(
            try rejection(swim(#","extra":{"workout":{"duration":-1}}"#))?.code == .value,
            "extra members are checked too")
        let laps = (0..<300).map { #"{"type":"lap","start":"2024-03-16T07:00:00.\#($0)+01:00"}"# }
        let part = #"{"duration":1800,"events":[\#(laps.joined(separator: ","))]}"#
        #expect(part.utf8.count > JSONObject.maximumBytes)
        let sent = try sample(swim(#","workout":\#(part),"mine":1"#))
        #expect(sent.workout?.events.count == 300 && sent.workoutDuration == 1_800)
        let stored = StoredRecord(
            record: .sample(sent), number: 7, sequence: 9,
            assignment: .person(Person(uid: "6f1c2a9e5b7d4c30", name: "me")),
            type: .workout)
        let text = string(encoded(stored))
        #expect(text.contains(#""workout":\#(part),"extra":{"mine":1},"number":7"#))
        let back = try decodeStored(encoded(stored))
        guard case .sample(let read) = back.record else { throw RecordRejection(.kind, "no sample") }
        #expect(read.workout == sent.workout && string(encoded(back)) == text)
        #expect(try decode(string(encoded(.sample(sent)))).get() == .sample(sent))
        // In other types it is an unknown member.
        #expect(try sample(weight(#""workout":{"duration":-1}"#)).extra?.text == #"{"workout":{"duration":-1}}"#)
    }

    @Test func `R6.74 an activity summary is checked, its key is the day, and it is kept unchanged`() throws {
        func day(_ key: String, _ part: String) -> String {
            #"{"type":"activitySummary","start":"2024-03-15T00:00:00+01:00","end":"2024-03-16T00:00:00+01:00","key":"\#(key)"\#(part)}"#
        }
        let part = #"{"activeEnergyBurned":{"value":412.0,"goal":500,"unit":"kcal"}}"#
        #expect(try rejection(day("2024-03-15", ""))?.code == .value)
        #expect(try rejection(day("1", #","activitySummary":\#(part)"#))?.code == .key)
        let wrong = try rejection(day("2024-03-15", #","activitySummary":{"appleStandHours":{"value":1,"unit":"kg"}}"#))
        #expect(wrong?.code == .unit && wrong?.reason.hasPrefix("activitySummary.appleStandHours.unit: ") == true)
        let sent = try sample(day("2024-03-15", #","activitySummary":\#(part),"mine":1"#))
        #expect(sent.activitySummary?.activeEnergyBurned?.goal == 500)
        let stored = StoredRecord(
            record: .sample(sent), number: 7, sequence: 9,
            assignment: .person(Person(uid: "6f1c2a9e5b7d4c30", name: "me")), type: .activitySummary)
        #expect(string(encoded(stored)).contains(#""activitySummary":\#(part),"extra":{"mine":1},"number":7"#))
        guard case .sample(let read) = try decodeStored(encoded(stored)).record else {
            throw RecordRejection(.kind, "no sample")
        }
        #expect(read.activitySummary == sent.activitySummary)
        #expect(read.activitySummaryDate == LocalDate("2024-03-15"))
    }
}
