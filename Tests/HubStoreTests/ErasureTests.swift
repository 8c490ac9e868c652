import Foundation
import GRDB
import HubProcess
import Samples
import Synchronization
import Testing

@testable import HubStore

/// No file contains erased records, whenever the hub is killed, and other records are unchanged.
@Suite struct ErasureTests {
    let folder: TemporaryFolder
    let store: Store

    init() throws { (folder, store) = try newStore() }

    // MARK: - Search for traces

    /// A part of a record, as its bytes in a file.
    private struct Needle {
        let what: String
        let bytes: Data

        init(_ text: String) { (what, bytes) = (text, Data(text.utf8)) }
        init(_ number: Double) {
            (what, bytes) = ("\(number)", withUnsafeBytes(of: number.bitPattern.bigEndian) { Data($0) })
        }
        init(_ number: Int64) { (what, bytes) = ("\(number)", withUnsafeBytes(of: number.bigEndian) { Data($0) }) }
    }

    private static let texts = [
        "needle-key", "needle-old-key", "needle-metadata", "needle-edited", "needle-extra", "needle-group",
        "needle-account",
        "needle-device", "needle-origin", "needle-formula", "needle-zone", "needle-payload", "needle-receipt",
        "needle-why",
        "needle-source-why", "needle-note", "needle-activity", "needle-text", "needle-method", "needle-failure",
    ]
    private static let values = [71.390_725_341_9, 157.389_650_1, 68.123_456_789, 70.987_654_321, 66.102_030_405]
    private static let start: Int64 = 1_701_234_567_654_321
    private static let needles =
        texts.map { Needle($0) } + values.map { Needle($0) } + [Needle(start), Needle(start + 60_000_001)]

    /// The needles found in each file of a folder.
    private func found(in path: String, _ needles: [Needle] = needles) throws -> Set<String> {
        var found: Set<String> = []
        for file in try FileManager.default.contentsOfDirectory(atPath: path) {
            let data = try Data(contentsOf: URL(fileURLWithPath: path + "/" + file))
            for needle in needles where data.range(of: needle.bytes) != nil {
                found.insert("\(needle.what) in \(file)")
            }
        }
        return found
    }

    // MARK: - Stored records

    private static let device = Source(plugin: "scale", device: "needle-device", account: "needle-account")

    private func rich(_ key: String, _ value: SampleValue, at time: Int64 = start) throws -> Sample {
        Sample(
            source: Self.device, key: try #require(RecordKey(key)), type: try type("weight"), value: value,
            start: Timestamp(microseconds: time, offsetMinutes: 60),
            end: Timestamp(microseconds: time, offsetMinutes: 60),
            zone: "needle-zone", subject: .name("needle-note"), group: "needle-group",
            provenance: .derived(formula: "needle-formula", version: "1", basis: [.number(1)]),
            metadata: JSONObject(#"{"a":"needle-metadata"}"#), origin: [.system(name: "needle-origin", account: nil)],
            extra: JSONObject(#"{"b":"needle-extra"}"#))
    }

    /// Stores records of all kinds with every member, versions, edits, retractions, payloads and deliveries; returns
    /// their numbers.
    private func fill(_ store: Store) async throws -> [Int64] {
        let me = try await store.me()
        var sink = try await SinkSession(store)
        _ = try await store.put(try others(0..<1_500))
        var first = IntakeRecord(
            record: .sample(try rich("needle-key", .quantity(Self.values[1], unit: "lb"))), assignment: me,
            canonical: .init(value: Self.values[0], unit: "kg"))
        first.rawPayload = Array("needle-payload".utf8) + [UInt8](repeating: 9, count: 9_000)
        let results = try await store.commit([IntakeBatch(instance: "scale", records: [first])], recordedAt: 3)
        var numbers = [try #require(results[0][0].placement).number]
        _ = try await store.put([.sample(try rich("needle-key", .quantity(Self.values[2], unit: "kg")))])
        var edit = SampleEdit(type: try type("weight"))
        edit.value = .quantity(Self.values[3], unit: "kg")
        edit.metadata = JSONObject(#"{"c":"needle-edited"}"#)
        edit.start = Timestamp(microseconds: Self.start + 60_000_001, offsetMinutes: 60)
        edit.reason = "needle-why"
        _ = try await store.carryOut(.edit(number: numbers[0], edit), recordedAt: 4)
        // One that its source retracted, one of each other kind, and a day.
        let taken = try rich("needle-old-key", .quantity(Self.values[2], unit: "kg"))
        numbers.append(try #require(try await store.put(taken)[0].placement).number)
        _ = try await store.retract(taken, reason: "needle-source-why")
        for (key, value) in [
            ("workout", SampleValue.workout(activity: "needle-activity", raw: 3)),
            ("category", .category(name: "needle-activity", raw: 1)),
            ("other", .other("needle-text")), ("characteristic", .characteristic("needle-text", raw: 2)),
            ("correlation", .correlation),
        ] {
            numbers.append(try #require(try await store.put(try rich("needle-key \(key)", value))[0].placement).number)
        }
        var value = try day("2026-03-01", Self.values[4])
        (value.method, value.metadata) = ("needle-method", JSONObject(#"{"d":"needle-metadata"}"#))
        numbers.append(try #require(try await store.put([.day(value)])[0].placement).number)
        for record in try await sink.take(1_000) {
            let isOurs = numbers.contains(record.number)
            try await sink.answer(
                record, isOurs ? .delivered(receipt: "needle-receipt \(record.number)") : .delivered())
        }
        _ = try await store.put(try others(1_500..<3_000))
        // Many similar ones, between the others in every index.
        let many = try await store.put(
            try (0..<300).map {
                .sample(try rich("\($0 &* 7_919 % 3_001)-needle-key", .quantity(Self.values[0], unit: "kg")))
            })
        numbers += many.compactMap { $0.placement?.number }
        _ = try await store.put([.sample(try rich("needle-key", .quantity(Self.values[4], unit: "kg")))])
        let left = try await sink.take(1_000)
        if let refused = left.first(where: { numbers.contains($0.number) }) {
            try await sink.answer(refused, .refused(reason: "needle-failure"))
        }
        try await sink.answer(left.filter { sink.flight[$0.number] != nil })
        return numbers
    }

    private static func key(_ record: StoredRecord) -> String {
        if case .sample(_, let key) = record.record.identity { key.text } else { "" }
    }

    private func others(_ range: Range<Int>) throws -> [Samples.Record] {
        try range.map { .sample(try sample("\($0 &* 7_919 % 3_001)-other", 60 + Double($0) / 7, at: Int64($0))) }
    }

    /// All records and versions except those with these numbers, as rows of the file.
    private func rest(_ path: String, without numbers: [Int64]) throws -> [Row] {
        let queue = try DatabaseQueue(path: path)
        defer { try? queue.close() }
        return try queue.read { db in
            let list = numbers.map(String.init).joined(separator: ",")
            return try ["sample", "sample_version", "day", "day_version", "payload", "deed", "departure"].flatMap {
                table in
                try Row.fetchAll(db, sql: "SELECT * FROM \(table) WHERE number NOT IN (\(list)) ORDER BY number, seq")
            }
        }
    }

    /// Checks the store after the records are erased and the sinks have been notified.
    private func expectGone(_ store: Store, _ numbers: [Int64], _ note: Comment? = nil) async throws {
        #expect(try found(in: folder.path) == [], note)
        #expect(try await store.verifyAccounts() == [], note)
        #expect(try await store.erasure() == nil, note)
        for record in try await store.records(numbers: numbers) {
            #expect(record.record.retraction?.reason == "erased", note)
        }
    }

    // MARK: - Tests

    @Test func `R6.40 after an erasure no file of the store has a byte of the records, and all else is unchanged`()
        async throws
    {
        let numbers = try await fill(store)
        let before = try rest(folder.store, without: numbers)
        let names = Set(try found(in: folder.path).map { String($0.prefix { $0 != " " }) })
        #expect(
            names == Set(Self.needles.map { String($0.what.prefix { $0 != " " }) }),
            "each searched value must exist before the erasure")

        let plan = try await store.planErasure(of: .numbers(numbers + [numbers[0] - 100_000]))
        #expect(plan.records == Int64(numbers.count) && plan.versions > plan.records && plan.bytes > 9_000)
        #expect(plan.unknown == [numbers[0] - 100_000])
        #expect(try #require(plan.sinks[exporter]) > 290)
        #expect(try await store.beginErasure(of: .numbers(numbers), removingCopies: true) == plan.records)
        try await store.finishErasing()

        // The sink has the records: until it is notified, the retractions contain their names.
        let waiting = try await store.namedErasures()
        #expect(waiting.records > 290 && waiting.sinks == [exporter])
        #expect(
            try found(in: folder.path, [Needle(Self.values[0]), Needle("needle-metadata"), Needle(Self.start)]) == [])
        var sink = try await SinkSession(store)
        let told = try await sink.take(1_000)
        #expect(told.contains { $0.record.retraction != nil && Self.key($0) == "needle-key" })
        try await sink.answer(told)
        try await store.removeErasedNames()
        #expect(try await store.namedErasures().records == 0)
        #expect(try await store.finishErasure())

        try await expectGone(store, numbers)
        #expect(try rest(folder.store, without: numbers) == before)
        try store.close()
        #expect(try found(in: folder.path) == [])
        #expect(try StoreFile(folder.store).faults(.counters) == [])
        #expect(try await folder.open().verifyAccounts() == [])
    }

    @Test func `R6.40 after a kill at any moment an erasure has not begun, or the next hub completes it`() async throws
    {
        let numbers = try await fill(store)
        try await store.forgetSink(exporter, recordedAt: 8)
        var stages: [(String, TemporaryFolder)] = []
        func kill(_ when: String) throws { stages.append((when, try folder.killed())) }
        try kill("before")
        _ = try await store.beginErasure(of: .numbers(numbers), removingCopies: true)
        try kill("chosen")
        var steps = 0
        while try await !store.carryOut(.eraseNext, recordedAt: 9).isEmpty {
            steps += 1
            try kill("after step \(steps)")
        }
        try kill("records")
        #expect(try await store.finishErasure())
        try kill("finished")
        try store.close()
        #expect(steps > 2)

        for (when, left) in stages {
            let store = try left.open()
            try await store.dropErasure()
            if when == "before" {
                #expect(try await store.erasure() == nil)
                #expect(try await store.records(numbers: numbers).count == numbers.count)
                continue
            }
            try await store.finishErasing(recordedAt: 10, "\(when)")
            #expect(try found(in: left.path) == [], "\(when)")
            #expect(try await store.verifyAccounts() == [], "\(when)")
        }
    }

    @Test func `R8.162 a meal is erased with all its members, but a member alone`() async throws {
        func part(_ key: String, _ value: SampleValue) throws -> Sample {
            var sample = try sample(key, group: "meal")
            sample.value = value
            return sample
        }
        _ = try await store.put(
            try part("whole", .correlation), try part("a", .quantity(1, unit: "kg")),
            try part("b", .quantity(2, unit: "kg")), try sample("other"))
        #expect(try await store.planErasure(of: .numbers([2])).records == 1)
        #expect(try await store.planErasure(of: .numbers([1, 1])).records == 3)
        #expect(try await store.beginErasure(of: .numbers([1]), removingCopies: true) == 3)
        try await store.finishErasing()
        let left = try await store.all(RecordQuery()).records.filter { $0.record.sample != nil }
        #expect(left.map(\.number) == [4])
    }

    private func made(_ date: String, _ value: Double, of basis: [Int64]) throws -> Samples.Record {
        var day = try day(date, value)
        day.basis = basis.map { .number($0) }
        if basis.contains(1) { day.metadata = JSONObject(#"{"d":"needle-metadata"}"#) }
        return .day(day)
    }

    @Test func `R6.48 a day loses each version made of an erased record, and may be computed again`() async throws {
        var sink = try await SinkSession(store)
        _ = try await store.put(try sample("a", Self.values[0]), try sample("b", 60))
        var numbers: [Int64] = []
        for (date, value, basis) in [
            ("2026-03-01", Self.values[1], [1, 2]), ("2026-03-02", Self.values[0], [1]),
            ("2026-03-03", Self.values[2], [1]), ("2026-03-04", Self.values[3], [1]), ("2026-03-05", 60, [Int64(2)]),
        ] {
            let stored = try await store.put([try made(date, value, of: basis)])
            numbers.append(try #require(stored[0].placement).number)
        }
        // Meanwhile one day has a version without the record, its source has retracted another, and a person a third.
        _ = try await store.put([try made("2026-03-01", 60, of: [2])])
        let gone = RecordIdentity.day(
            person: "me", type: .weight, series: "mean30", date: try #require(LocalDate("2026-03-03")))
        let source = Source(plugin: "gap-filler")
        _ = try await store.put([.retraction(Retraction(identity: gone, source: source))])
        _ = try await store.retract(numbers: [numbers[3]], recordedAt: 5)
        try await sink.answer(try await sink.take(100))
        #expect(try found(in: folder.path, Self.values.prefix(4).map { Needle($0) }).count >= 4)

        try await store.erase([1])
        #expect(
            try found(in: folder.path, Self.values.prefix(4).map { Needle($0) } + [Needle("needle-metadata")]) == [])
        #expect(try await store.verifyAccounts() == [])
        let records = try await store.records(numbers: numbers)
        #expect(records.map(\.record.day?.value) == [60, nil, nil, nil, 60])
        let story = try #require(try await store.trace(numbers[0]))
        #expect(story.versionCount == 2)
        let erased = try #require(story.versions[0].record.record.retraction)
        #expect(erased.reason == "erased")
        // The sink gets a retraction.
        let told = try await sink.take(100)
        #expect(told.contains { $0.record.retraction != nil && $0.number == numbers[1] })

        // The gap-filler may compute the day again without the erased record.
        #expect(try await store.put([try made("2026-03-02", 61, of: [2])])[0].placement?.number == numbers[1])
        #expect(try await store.put([try made("2026-03-06", Self.values[0], of: [1])])[0].code == "unknown")
        let undone = try await store.carryOut(.undoRetraction(numbers: [numbers[3]]), recordedAt: 9)
        #expect(undone[0].result.placement?.isRetraction == true)
        #expect(try await store.put([try made("2026-03-04", 61, of: [2])])[0].placement?.number == numbers[3])
        #expect(try await store.verifyAccounts() == [])
        try store.close()
        #expect(try StoreFile(folder.store).faults(.counters) == [])
    }

    @Test func `R6.48 a day with an incomplete basis is erased with any record of its time`() async throws {
        let (early, late): (Int64, Int64) = (20_500 * 86_400, 20_540 * 86_400)
        _ = try await store.put(try sample("a", 70, at: early), try sample("b", 60, at: late))
        func cut(_ date: Int, _ value: Double) throws -> Samples.Record {
            var day = try day("2026-03-01", value, series: "maximum")
            (day.date, day.basis) = (LocalDate(daysSinceEpoch: date), [.number(2)])
            day.metadata = JSONObject(#"{"basisCount":1440}"#)
            return .day(day)
        }
        _ = try await store.put([try cut(20_500, Self.values[0]), try cut(20_540, Self.values[1])])
        try await store.erase([1])
        #expect(try found(in: folder.path, [Needle(Self.values[0])]) == [])
        #expect(try found(in: folder.path, [Needle(Self.values[1])]) != [])
        #expect(try await store.verifyAccounts() == [])
    }

    @Test func `an interrupted choice is dropped, and no record is erased`() async throws {
        _ = try await store.put(try sample("a"))
        try await store.pool.write { db in
            try db.execute(
                sql: """
                    INSERT INTO erasure (id, stage, copies, total) VALUES (1, 0, 1, 0);
                    INSERT INTO erasure_record (number) VALUES (1)
                    """)
        }
        #expect(try await store.carryOut(.eraseNext, recordedAt: 9) == [])
        try await store.dropErasure()
        #expect(try await store.erasure() == nil)
        #expect(try await store.records(numbers: [1]).first?.type == .weight)
        #expect(try await store.beginErasure(of: .numbers([7]), removingCopies: true) == 0)
        #expect(try await store.erasure() == nil)
    }

    @Test func `R6.41 a new version of an erased record is a duplicate until a person allows it again`() async throws {
        _ = try await store.put(try sample("a"), try sample("b"))
        _ = try await store.put([.day(try day("2026-03-01", 71))])
        try await store.erase([1, 3])
        let head = store.head
        #expect(try await store.put(try sample("a", 99))[0] == .duplicate(number: 1, sequence: 4))
        #expect(try await store.retract(try sample("a")).isDuplicate)
        #expect(try await store.put([.day(try day("2026-03-01", 80))])[0].isDuplicate)
        #expect(store.head == head)
        for action in [
            ManualChange.retract(numbers: [1], reason: nil), .undoRetraction(numbers: [1]), .undoEdit(numbers: [1]),
            .assign(numbers: [1], to: try await store.me(), wholeGroups: true, reason: nil),
            .edit(number: 1, SampleEdit(type: .weight)),
            .unlessChanged([1: 1], .retract(numbers: [1], reason: nil)),
            .unlessChanged([1: 1], .edit(number: 1, SampleEdit(type: .weight))),
        ] {
            #expect(try await store.carryOut(action, recordedAt: 9)[0].result.code == "erased")
        }
        let trace = try #require(try await store.trace(1))
        #expect(trace.versions.count == 1 && trace.retracted == nil && trace.versionCount == 1 && trace.next == nil)

        // Also after a restart.
        try store.close()
        let again = try folder.open()
        #expect(try await again.put(try sample("a", 99))[0].isDuplicate)
        #expect(try await again.allowAgain([1, 2, 3]).map(\.result.code) == [nil, "unknown", nil])
        #expect(try await again.put(try sample("a", 99))[0].placement?.number == head + 1)
        // Its former number remains that of an erased record.
        #expect(try await again.put([.day(try day("2026-03-01", 80))])[0].code == "unknown")
        #expect(try await again.put([try made("2026-03-01", 80, of: [2])])[0].placement?.number == head + 2)
        #expect(try await again.verifyAccounts() == [])
    }

    @Test func `R6.40 all records of a person can be erased with the name, and others keep theirs`() async throws {
        let persons = try await store.ensurePersons(["needle-anna", "ben"], recordedAt: 1)
        for person in persons {
            _ = try await store.put(try (0..<5).map { .sample(try sample("\(person.name) \($0)")) }, .person(person))
        }
        _ = try await store.put([.day(try day("2026-03-01", 71, person: "needle-anna"))], .person(persons[0]))
        var query = RecordQuery { $0.persons = [.person("needle-anna")] }
        #expect(try await store.planErasure(of: .matching(query)).records == 6)
        #expect(
            try await store.beginErasure(of: .matching(query), forgetting: "needle-anna", removingCopies: true) == 6)
        try await store.finishErasing()
        #expect(try found(in: folder.path, [Needle("needle-anna"), Needle(persons[0].uid)]) == [])
        #expect(try await store.persons().contains(persons[1]))
        #expect(try await store.planErasure(of: .matching(query)) == ErasurePlan())
        query.persons = [.person("ben")]
        #expect(try await store.all(query).records.count == 5)
        #expect(try await store.verifyAccounts() == [])
        let anna = try #require(try await store.ensurePersons(["needle-anna"], recordedAt: 9).first)
        #expect(anna.uid != persons[0].uid)
        #expect(try await store.put([.sample(try sample("new"))], .person(anna))[0].placement != nil)
    }

    @Test
    func `a word of another record stays; one used only by erased records is removed and can return`() async throws {
        let (shared, own) = (try sample("a"), try sample("b"))
        var records = [shared, own, try sample("c")]
        (records[0].zone, records[1].zone, records[2].zone) = ("Europe/Berlin", "needle-zone", "Europe/Berlin")
        _ = try await store.put(records.map(Record.sample))
        try await store.erase([1, 2])
        #expect(try found(in: folder.path, [Needle("needle-zone")]) == [])
        var again = try sample("d")
        again.zone = "needle-zone"
        _ = try await store.put(again)
        let zones = try await store.records(numbers: [3, store.head]).map(\.record.sample?.zone)
        #expect(zones == ["Europe/Berlin", "needle-zone"])
    }

    @Test func `older copies of the store are removed with the records unless they are to be kept`() async throws {
        _ = try await store.put(try sample("a"), try sample("b"))
        let copy = folder.store + ".replaced-20260101T000000Z"
        try FileManager.default.copyItem(atPath: folder.store, toPath: copy)
        #expect(StoreCopies.beside(folder.store) == [copy])
        try await store.erase([1], removingCopies: false)
        #expect(StoreCopies.beside(folder.store) == [copy])
        try await store.erase([2])
        #expect(StoreCopies.beside(folder.store) == [])
    }

    @Test func `a reader that still needs the log delays the erasure, not the hub`() async throws {
        _ = try await store.put(try sample("needle-key"))
        _ = try await store.beginErasure(of: .numbers([1]), removingCopies: true)
        let reader = try SnapshotHold(folder)
        while try await !store.carryOut(.eraseNext, recordedAt: 9).isEmpty {}
        #expect(try await !store.finishErasure())
        #expect(try await store.erasure()?.stage == .files)
        _ = try await store.put(try sample("b"))
        try reader.release()
        #expect(try await store.finishErasure())
        #expect(try found(in: folder.path) == [])
    }

    @Test func `R6.7 the reserved prefix of erased names is refused in keys, sources and words`() async throws {
        _ = try await store.put(try sample("a"))
        let mine = Source(plugin: "scale", device: "~erased-1")
        let account = Source(plugin: "scale", account: "~erased-1")
        var formula = try sample("formula")
        formula.provenance = .derived(formula: "~erased-1", version: "1", basis: [])
        var zone = try sample("zone")
        zone.zone = "~erased-1"
        let bad = [
            try sample("~erased-1"), try sample("b", source: mine), try sample("c", source: account), formula, zone,
            try rich("name", .category(name: "~erased-1", raw: 1)),
            try rich("activity", .workout(activity: "~erased-1", raw: 3)),
        ]
        var day = try day("2026-03-01", 70)
        day.method = "~erased-1"
        let results = try await store.put(bad.map(Record.sample) + [.day(day), .sample(try sample("~erase"))])
        #expect(results.map(\.code) == Array(repeating: "reserved", count: 8) + [nil])
        try await store.erase([1])
        // It would be a version of the erased record.
        #expect(try await store.put(try sample("~erased-1"))[0].code == "reserved")
        #expect(try await store.retract(try sample("~erased-1")).code == "reserved")
    }

    @Test func `R6.40 names stored before the prefix was reserved do not block an erasure`() async throws {
        var records = try (0..<4).map { try rich("needle-\($0)", .quantity(70, unit: "kg")) }
        records[3] = try sample("other", source: Source(plugin: "scale", device: "other", account: "needle-account"))
        records[3].zone = "other-zone"
        _ = try await store.put(records.map(Record.sample))
        try await store.pool.write { db in
            try db.execute(
                sql: """
                    UPDATE sample SET key = '~erased-1' WHERE number = 2;
                    UPDATE term SET text = '~erased-' || (SELECT id FROM term WHERE text = 'needle-zone')
                        WHERE text = 'other-zone';
                    UPDATE source SET device = '~erased-' || (SELECT id FROM source WHERE device = 'needle-device'),
                        account = '~erased-' || (SELECT id FROM source WHERE device = 'needle-device')
                        WHERE device = 'other'
                    """)
        }
        try store.close()
        let again = try folder.open()
        try await again.erase([1, 2, 3])
        let erased = try await again.records(numbers: [1, 2, 3])
        let keys = erased.map { $0.record.retraction == nil ? "" : Self.key($0) }
        #expect(keys[0].hasPrefix("~erased-1-") && keys[1...] == ["~erased-2", "~erased-3"])
        #expect(try found(in: folder.path, ["needle-0", "needle-zone", "needle-device"].map(Needle.init)) == [])
        try await again.erase([4])
        #expect(try await again.verifyAccounts() == [])
    }

    // MARK: - Names that sinks still need

    /// A store with an erased record that a sink has, and the sink.
    private func untold() async throws -> (Store, SinkSession) {
        _ = try await store.put(try rich("needle-key", .quantity(70, unit: "kg")), try sample("b"))
        var sink = try await SinkSession(store)
        try await sink.answer(try await sink.take(10))
        _ = try await store.beginErasure(of: .numbers([1]), removingCopies: true)
        while try await !store.carryOut(.eraseNext, recordedAt: 9).isEmpty {}
        return (store, sink)
    }

    private static let names = [Needle("needle-key"), Needle("needle-device"), Needle("needle-account")]

    @Test func `R6.40 a name removed while an erasure empties the log is removed with its device`() async throws {
        var (store, sink) = try await untold()
        let reader = try SnapshotHold(folder)
        #expect(try await !store.finishErasure())
        #expect(try await store.erasure()?.stage == .files)
        try await sink.answer(try await sink.take(10))
        try await store.removeErasedNames()
        try reader.release()
        #expect(try await store.finishErasure())
        #expect(try await store.erasure() == nil)
        #expect(try found(in: folder.path, Self.names) == [])
    }

    @Test func `R6.40 a name removed while records are being chosen is removed with its device`() async throws {
        var (store, sink) = try await untold()
        #expect(try await store.finishErasure())
        try await store.pool.write { db in
            try db.execute(sql: "INSERT INTO erasure (id, stage, copies, total) VALUES (1, 0, 1, 0)")
        }
        try await sink.answer(try await sink.take(10))
        try await store.removeErasedNames()
        try await store.dropErasure()
        #expect(try await store.finishErasure())
        #expect(try await store.erasure() == nil)
        #expect(try found(in: folder.path, Self.names) == [])
    }

    @Test func `R6.40 names stay while an erasure is being finished, and only one task finishes it`() async throws {
        var (store, sink) = try await untold()
        try await sink.answer(try await sink.take(10))
        let wasFinishing = store.isFinishingErasure.exchange(true, ordering: .acquiring)
        #expect(!wasFinishing)
        try await store.removeErasedNames()
        #expect(try await store.namedErasures().records == 1)
        #expect(try await !store.finishErasure())
        store.isFinishingErasure.store(false, ordering: .releasing)
        try await store.removeErasedNames()
        #expect(try await store.finishErasure())
        #expect(try found(in: folder.path, Self.names) == [])
    }

    // MARK: - Unfinished copies

    /// Creates the files that killed programs leave beside a store.
    private func leaveDrafts() throws {
        let rehearsal = folder.path + "/rehearsal"
        try FileManager.default.createDirectory(atPath: rehearsal, withIntermediateDirectories: true)
        let drafts = ["compacting", "restoring", "restoring-journal", "salvaging", "summing", "verifying"]
        let files =
            (drafts + ["before-v3.part"]).map { folder.store + "." + $0 } + [
                rehearsal + "/hub.sqlite", rehearsal + ".lock",
            ]
        for file in files { try Data("needle-key".utf8).write(to: URL(fileURLWithPath: file)) }
    }

    private func drafts() throws -> [String] {
        let own = ["", "-wal", "-shm", ".sequences", ".lock"].map { "hub.sqlite" + $0 }
        return try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { !own.contains($0) }.sorted()
    }

    @Test func `an erasure removes the unfinished copies of killed programs but not those in progress`() async throws {
        _ = try await store.put(try sample("needle-key"))
        try leaveDrafts()
        try Data().write(to: URL(fileURLWithPath: folder.store + ".before-v2"))
        #expect(StoreCopies.beside(folder.store) == [folder.store + ".before-v2"])
        let mine = try DraftFile(folder.store + ".verifying")
        try await store.erase([1], removingCopies: false)
        #expect(try drafts() == ["hub.sqlite.before-v2", "hub.sqlite.verifying"])
        try mine.flush()
    }

    @Test func `the start of the hub removes the unfinished copies of killed programs`() throws {
        try store.close()
        try leaveDrafts()
        #expect(try drafts().count == 9)
        try folder.open().close()
        #expect(try drafts() == [])
    }
}

/// A reader of another program that still needs the write-ahead log.
private struct SnapshotHold {
    private let queue: DatabaseQueue

    init(_ folder: TemporaryFolder) throws {
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        queue = try DatabaseQueue(path: folder.store, configuration: configuration)
        try queue.writeWithoutTransaction { db in try db.execute(sql: "BEGIN; SELECT count(*) FROM sample") }
    }

    func release() throws {
        try queue.writeWithoutTransaction { db in try db.execute(sql: "COMMIT") }
        try queue.close()
    }
}
