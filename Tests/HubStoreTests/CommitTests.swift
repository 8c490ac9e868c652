import HubProcess
import HubStore
import HubWire
import Samples
import Testing

@Suite struct CommitTests {
    let folder: TemporaryFolder
    let store: Store

    init() throws { (folder, store) = try newStore() }

    @Test func `a record is returned exactly as its source gave it`() async throws {
        let key = try #require(RecordKey("2024-03-15T07:30:05 \u{1F600} e\u{301}"))
        let start = Timestamp(microseconds: -62_000_000_000_000_001, offsetMinutes: -210)
        let values: [SampleValue] = [
            .quantity(0.1 + 0.2, unit: "lb"), .category(name: "asleepCore", raw: 3),
            .workout(activity: "running", raw: 37),
            .correlation, .characteristic("1970-01-01", raw: nil), .characteristic("female", raw: 1), .other(nil),
            .other(""),
            .quantity(.greatestFiniteMagnitude, unit: "%"), .quantity(-.leastNonzeroMagnitude, unit: "count"),
        ]
        let provenances: [Provenance] = [
            .measured, .derived(formula: "bia", version: "2", basis: []),
            .derived(formula: "bia", version: "2", basis: [.number(7), .key(key)]),
            .filled(method: "mean", basis: [.number(-1)]),
        ]
        let subjects: [Subject?] = [nil, .account("a:b"), .slot(-2), .name("\u{301}x\u{0}")]
        var records: [Record] = []
        for (index, value) in values.enumerated() {
            records.append(
                .sample(
                    Sample(
                        source: Source(
                            plugin: "sami", device: index % 2 == 0 ? nil : "", account: index % 3 == 0 ? nil : "me@x"),
                        key: try #require(RecordKey("\(key.text)\(index)")), type: try type("weight"), value: value,
                        start: start,
                        end: Timestamp(
                            microseconds: start.microseconds + Int64(index), offsetMinutes: index % 2 == 0 ? nil : 840),
                        zone: index % 2 == 0 ? "Europe/Berlin" : nil, subject: subjects[index % subjects.count],
                        group: index % 2 == 0 ? "g\(index)" : nil, provenance: provenances[index % provenances.count],
                        metadata: JSONObject(#"{"a":1.0e3}"#), sourceVersion: index % 2 == 0 ? .min : nil,
                        origin: [
                            .system(name: "a\nb\\n", account: nil), .system(name: "HealthKit", account: "x\\"),
                            .hub(id: "h"),
                            .hub(id: ""),
                        ],
                        extra: index % 2 == 0 ? JSONObject(#"{"x":[]}"#) : nil)))
        }
        let reason = Assignment.nobody(reason: "no rule")
        let results = try await store.put(records, reason)
        let stored = try await store.records(numbers: results.compactMap { $0.placement?.number })
        #expect(stored.map(\.record) == records)
        for (record, given) in zip(stored, records) {
            guard case .sample(let back) = record.record, case .sample(let sent) = given else { continue }
            #expect(Array(back.key.text.utf8) == Array(sent.key.text.utf8))
        }
        #expect(stored.allSatisfy { $0.assignment == reason && $0.canonical == nil && $0.number == $0.sequence })
        let repeated = try await store.put(records, reason)
        let news = repeated.filter { !$0.isDuplicate }
        #expect(news.isEmpty)
    }

    @Test func `the canonical value is stored beside the original`() async throws {
        let owner = try await store.me()
        var pounds = try sample("a")
        pounds.value = .quantity(154.3, unit: "lb")
        let canonical = StoredRecord.CanonicalValue(value: 69.98930273, unit: "kg")
        let intake = IntakeRecord(
            record: .sample(pounds), assignment: owner, canonical: canonical, rawPayload: [0, 255, 7])
        let results = try await store.commit([IntakeBatch(instance: "scale", records: [intake])], recordedAt: 5)
        let placement = try #require(results[0][0].placement)
        let stored = try #require(try await store.records(numbers: [placement.number]).first)
        #expect(stored.record == .sample(pounds))
        #expect(stored.canonical == canonical)
        #expect(try await store.payload(sequence: placement.sequence) == [0, 255, 7])
        #expect(try await store.payload(sequence: 99) == nil)
    }

    @Test func `the same content again is a duplicate, and different content is a new version at the end`() async throws
    {
        let first = try await store.put(try sample("a", 70), try sample("b", 71))
        #expect(first.map(\.placement?.sequence) == [1, 2])
        #expect(try await store.put(try sample("a", 70)) == [.duplicate(number: 1, sequence: 1)])
        let changed = try #require(try await store.put(try sample("a", 72))[0].placement)
        #expect((changed.number, changed.sequence, changed.previous) == (1, 3, 2))
        #expect(try await store.put(try sample("a", 72)) == [.duplicate(number: 1, sequence: 3)])
        #expect(store.head == 3)
    }

    @Test func `a record that occurs twice in one batch is stored once`() async throws {
        let results = try await store.put(try sample("a", 70), try sample("a", 70), try sample("a", 71))
        #expect(results[0].placement?.sequence == 1)
        #expect(results[1] == .duplicate(number: 1, sequence: 1))
        #expect(results[2].placement?.sequence == 2)
        #expect(try await store.recordCount() == 1)
    }

    @Test func `identity is source and key, byte by byte`() async throws {
        let results = try await store.put(
            try sample("e\u{301}"), try sample("\u{E9}"), try sample("e\u{301}", source: Source(plugin: "ihealth-hs3")),
            try sample("e\u{301}", source: Source(plugin: "ihealth-hs3", device: "")),
            try sample("e\u{301}", source: Source(plugin: "ihealth-hs3", account: "")))
        #expect(results.map(\.placement?.sequence) == [1, 2, 3, 4, 5])
        let back = try await store.record(
            .sample(Source(plugin: "ihealth-hs3", account: ""), try #require(RecordKey("e\u{301}"))))
        #expect(back?.number == 5)
    }

    @Test
    func `a lower source version is a duplicate and a higher one is stored even with the same value`() async throws {
        #expect(try await store.put(try sample("a", 70, version: 5))[0].placement != nil)
        #expect(try await store.put(try sample("a", 60, version: 4)) == [.duplicate(number: 1, sequence: 1)])
        #expect(try await store.put(try sample("a", 70, version: 5))[0].isDuplicate)
        #expect(try await store.put(try sample("a", 71, version: 5))[0].placement?.sequence == 2)
        #expect(try await store.put(try sample("a", 71, version: 9))[0].placement?.sequence == 3)
        // Version 7 arrives late and must not count as newer than 9.
        #expect(try await store.put(try sample("a", 72, version: 7)) == [.duplicate(number: 1, sequence: 3)])
        #expect(try await store.put(try sample("a", 73))[0].placement?.sequence == 4)
    }

    @Test func `one bad record rejects its whole group and no other record`() async throws {
        let results = try await store.put(
            try sample("a", group: "weigh-in"), try sample("b", .nan, group: "weigh-in"),
            try sample("c", group: "other"), try sample("d"))
        #expect(results.map(\.code) == ["group", "value", nil, nil])
        #expect(results[2].placement?.sequence == 1)
        #expect(try await store.recordCount() == 2)
    }

    @Test func `a record that the codec refused rejects its group and is counted`() async throws {
        let owner = try await store.me()
        let refusal = RecordRejection(.unit, "furlong is not a unit of weight", group: "g")
        let batch = IntakeBatch(
            instance: "scale",
            items: [
                .failure(refusal),
                .success(IntakeRecord(record: .sample(try sample("a", group: "g")), assignment: owner)),
                .success(IntakeRecord(record: .sample(try sample("b")), assignment: owner)),
            ])
        let results = try await store.commit([batch], recordedAt: 1)[0]
        #expect(results[0] == .rejected(refusal))
        #expect(results[1].code == "group")
        #expect(results[2].placement != nil)
        let account = try #require(try await store.accounts().first)
        #expect((account.received, account.stored, account.rejected) == (3, 1, 2))
    }

    @Test func `an invalid record is rejected with the name of the wrong field`() async throws {
        var backwards = try sample("a", at: 10)
        backwards.end.microseconds = 9_000_000
        var far = try sample("b")
        far.start.microseconds = .max
        far.end.microseconds = .max
        var unitless = try sample("c")
        unitless.value = .quantity(1, unit: "")
        let nameless = try sample("d", source: Source(plugin: ""))
        let results = try await store.put(backwards, far, unitless, nameless)
        #expect(results.map(\.code) == ["time", "time", "unit", "source"])
        let stranger = Assignment.person(Person(uid: "nobody", name: "Nobody"))
        #expect(try await store.put([.sample(try sample("e"))], stranger).map(\.code) == ["person"])
        #expect(store.head == 0)
    }

    @Test func `batches of many instances share a commit and keep their own accounts`() async throws {
        let owner = try await store.me()
        let batches = try (0..<5).map { index in
            IntakeBatch(
                instance: "i\(index)",
                records: [
                    IntakeRecord(
                        record: .sample(try sample("k", source: Source(plugin: "p\(index)"))), assignment: owner)
                ])
        }
        let results = try await store.commit(batches + batches, recordedAt: 1)
        #expect(
            results.map { $0.map(\.isDuplicate) } == Array(repeating: [false], count: 5)
                + Array(repeating: [true], count: 5))
        #expect(
            try await store.accounts().map { [$0.received, $0.stored, $0.duplicates] }
                == Array(repeating: [2, 1, 1], count: 5))
        #expect(try await store.verifyAccounts() == [])
    }

    @Test func `previous is the last sequence of the same topic, also after a restart`() async throws {
        #expect(try await store.put(try sample("a"))[0].placement?.previous == 0)
        #expect(try await store.put(try sample("b", type: "heartRate"))[0].placement?.previous == 0)
        #expect(try await store.put(try sample("c"))[0].placement?.previous == 1)
        let unassigned = Assignment.nobody(reason: "no rule")
        #expect(try await store.put([.sample(try sample("d"))], unassigned)[0].placement?.previous == 0)
        #expect(
            try await store.put([.sample(try sample("e", type: "heartRate"))], unassigned)[0].placement?.previous == 4)
        try store.close()
        let again = try folder.open()
        #expect(again.head == 5)
        #expect(again.hubID == store.hubID)
        #expect(again.epoch == store.epoch)
        let placements = try await again.put(try sample("f"), try sample("g", type: "heartRate")).map(\.placement)
        #expect(placements.map(\.?.previous) == [3, 2])
        #expect(placements.map(\.?.sequence) == [6, 7])
    }

    @Test func `concurrent commits of many tasks use every sequence once`() async throws {
        let owner = try await store.me()
        let sequences = try await withThrowingTaskGroup(of: [Int64].self) { group in
            for task in 0..<8 {
                group.addTask { [store] in
                    var sequences: [Int64] = []
                    for index in 0..<25 {
                        let result = try await store.put([.sample(try sample("\(task)-\(index)"))], owner)
                        sequences += result.compactMap { $0.placement?.sequence }
                    }
                    return sequences
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(sequences.sorted() == Array(1...200))
    }
}
