import Foundation
import GRDB
import HubProcess
import Platform
import Samples
import Testing

@testable import HubStore

/// Rollups of whole hours, which make statistics of years fast and must not change any answer.
@Suite struct RollupTests {
    let folder: TemporaryFolder
    let store: Store

    init() throws { (folder, store) = try newStore() }

    private static let second: Int64 = 1_000_000
    /// A day before the night to Sunday, 29 March 2026, when Berlin's clocks go forward.
    private static let begin = 1_774_656_000 * second
    private static let types: [(id: String, unit: String, style: AggregationStyle)] = [
        ("stepCount", "count", .cumulative), ("weight", "kg", .discreteArithmetic),
        ("heartRate", "count/min", .discreteTemporallyWeighted),
        ("environmentalAudioExposure", "dBASPL", .discreteEquivalentContinuousLevel),
    ]
    private static let sources = [
        Source(plugin: "watch"), Source(plugin: "hand"), Source(plugin: "phone", device: "pocket"),
    ]
    private static let priority = ["phone", "watch"]

    private func query(_ type: (id: String, unit: String, style: AggregationStyle)) throws -> StatisticsQuery {
        var query = StatisticsQuery(of: "me", try TypeID(type.id), unit: type.unit, type.style)
        query.priority = Self.priority
        return query
    }

    /// Computes pieces until all rollups are kept, or at most this number.
    private func roll(_ store: Store, pieces: Int = .max, phase: Int64 = 0) async throws {
        for type in Self.types {
            var left = pieces
            while left > 0,
                try await store.rollUp(
                    try query(type), phase: phase, now: .max / 2, from: RollupPlan.Density(samples: 1, ofDay: 0))
            {
                left -= 1
            }
        }
    }

    private func answer(_ query: StatisticsQuery, _ store: Store) async throws -> [StatisticsRow] {
        var (walk, rows) = (StatisticsWalk(query), [StatisticsRow]())
        while true {
            while !walk.isOver { walk = try await store.advance(walk) }
            rows += walk.rows
            guard let next = walk.next else { return rows }
            var rest = query
            rest.first = next
            walk = StatisticsWalk(rest)
        }
    }

    /// All figures of an answer.
    private func text(_ rows: [StatisticsRow], _ style: AggregationStyle) -> [String] {
        func text(_ tally: Tally) -> String {
            "\(tally.count) \(String(describing: tally.first)) \(String(describing: tally.latest)) \(tally.isCounted) \(tally.duration) \(String(describing: tally.minimum)) \(String(describing: tally.maximum)) \(String(describing: style == .cumulative ? tally.total : tally.average(style)))"
        }
        return rows.map { row in
            "\(row.from) \(row.to) \(text(row.total)) \(row.sources.map { "\($0.source) \(text($0.tally))" })"
        }
    }

    private func expectSame(_ query: StatisticsQuery, _ store: Store, _ comment: Comment) async throws {
        var without = query
        without.usesRollups = false
        let (left, right) = (try await answer(query, store), try await answer(without, store))
        #expect(text(left, query.style) == text(right, query.style), comment)
    }

    private func question(_ random: inout SeededGenerator) throws -> StatisticsQuery {
        var asked = try query(try #require(Self.types.randomElement(using: &random)))
        func time() -> Int64 {
            let time = Self.begin + Int64.random(in: -90_000...900_000, using: &random) * Self.second
            return Bool.random(using: &random) ? time : time / 3_600_000_000 * 3_600_000_000
        }
        asked.from = Bool.random(using: &random) ? time() : nil
        asked.to = Bool.random(using: &random) ? time() : nil
        if let from = asked.from, let to = asked.to, from >= to { asked.to = nil }
        asked.isBySource = Bool.random(using: &random)
        asked.limit = [2, 9, 1_000].randomElement(using: &random) ?? 1
        if Int.random(in: 0..<8, using: &random) == 0 { asked.priority = [] }
        if Int.random(in: 0..<5, using: &random) == 0 {
            asked.sources = [["watch"], ["hand", "phone"]].randomElement()
        }
        if Int.random(in: 0..<5, using: &random) == 0 { asked.since = time() }
        guard Int.random(in: 0..<5, using: &random) > 0 else { return asked }
        let unit = try #require(Intervals.Unit.allCases.randomElement(using: &random))
        let zone = ["Europe/Berlin", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC"].randomElement(using: &random)
        let count = unit == .hour ? Int.random(in: 1...30, using: &random) : Int.random(in: 1...2, using: &random)
        let anchor = Int64.random(in: 400_000...500_000, using: &random) * 3_600
        asked.intervals = Intervals(
            every: count, unit,
            anchor: (Bool.random(using: &random) ? anchor : anchor + 1_234) * Self.second, zone: zone ?? "UTC")
        return asked
    }

    /// One change of the store, by any operation on samples.
    private func change(
        _ store: Store, _ random: inout SeededGenerator, _ known: inout [Sample], _ me: Assignment, _ you: Assignment
    ) async throws {
        func sample(_ key: String) throws -> Sample {
            // Almost the same sample from another source.
            if Int.random(in: 0..<3, using: &random) == 0, var other = known.randomElement(using: &random) {
                other.source = try #require(Self.sources.randomElement(using: &random))
                other.key = try #require(RecordKey(key))
                if Bool.random(using: &random) { other.end = other.start }
                return other
            }
            let type = try #require(Self.types.randomElement(using: &random))
            let most = [0, 0, 60, 600, 9_000, 100_000, 400_000, 4_000_000].randomElement(using: &random) ?? 0
            let value = Double.random(in: 40...120, using: &random)
            let start = Self.begin + Int64.random(in: 0..<800_000, using: &random) * Self.second
            let length = most == 0 ? 0 : Int64.random(in: 1...Int64(most), using: &random) * Self.second
            return Sample(
                source: try #require(Self.sources.randomElement(using: &random)), key: try #require(RecordKey(key)),
                type: try TypeID(type.id), value: .quantity(value, unit: type.unit),
                start: Timestamp(microseconds: start, offsetMinutes: 60),
                end: Timestamp(microseconds: start + length, offsetMinutes: 60))
        }
        let old = known.randomElement(using: &random)
        var number: Int64?
        if let old { number = try await store.record(.sample(old.source, old.key))?.number }
        let hand: ManualChange?
        switch (Int.random(in: 0..<12, using: &random), old, number) {
        case (0, let old?, _):
            _ = try await store.retract(old)
            return
        case (1...2, let old?, _):
            var next = try sample(old.key.text)
            next = Sample(
                source: old.source, key: old.key, type: next.type, value: next.value, start: next.start, end: next.end)
            _ = try await store.put([.sample(next)], me)
            return
        case (3, let old?, let number?):
            var edit = SampleEdit(type: old.type)
            edit.start = Timestamp(
                microseconds: Self.begin + Int64.random(in: 0..<800_000, using: &random) * Self.second,
                offsetMinutes: 0)
            edit.end = edit.start
            hand = .edit(number: number, edit)
        case (4, _, let number?): hand = .undoEdit(numbers: [number])
        case (5, _, let number?): hand = .retract(numbers: [number], reason: nil)
        case (6, _, let number?): hand = .undoRetraction(numbers: [number])
        case (7, _, let number?):
            hand = .assign(
                numbers: [number], to: Bool.random(using: &random) ? you : me, wholeGroups: false, reason: nil)
        case (8, _, let number?) where Int.random(in: 0..<3, using: &random) == 0:
            _ = try await store.beginErasure(of: .numbers([number]), removingCopies: true)
            try await store.finishErasing(recordedAt: 3)
            return
        default: hand = nil
        }
        if let hand {
            _ = try await store.carryOut(hand, recordedAt: 3)
            return
        }
        let samples = try (0..<Int.random(in: 1...6, using: &random)).map { place in
            try sample("\(known.count + place)")
        }
        let records = samples.map { sample in
            IntakeRecord(
                record: .sample(sample), assignment: me,
                implausible: Int.random(in: 0..<12, using: &random) == 0 ? .value : [])
        }
        _ = try await store.commit([IntakeBatch(instance: "test", records: records)], recordedAt: 2)
        known += samples
    }

    @Test(arguments: [0, 30]) func `R8.55 rollups change no answer, whatever is stored, changed and removed`(
        phase: Int64
    ) async throws {
        let seed = Thoroughness.seed(1)
        var random = SeededGenerator(seed: seed)
        let me = try await store.me()
        let you = Assignment.person(try await store.ensurePersons(["you"], recordedAt: 1)[0])
        var known: [Sample] = []
        for step in 0..<280 {
            try await change(store, &random, &known, me, you)
            if step % 10 == 0 { try await roll(store, pieces: Int.random(in: 0...6, using: &random), phase: phase) }
            let isChecked = step > 100 && (Thoroughness.isWhole || step % 3 == 0)
            if isChecked { try await expectSame(try question(&random), store, "seed \(seed), step \(step)") }
        }
        try await roll(store, phase: phase)
        let (days, holes) = try await store.read("test") { db in
            (
                try Int.fetchOne(db, sql: "SELECT count(*) FROM rollup_day WHERE hours IS NOT NULL") ?? 0,
                try Int.fetchOne(db, sql: "SELECT count(*) FROM rollup_day WHERE hours IS NULL") ?? 0
            )
        }
        #expect(days > 20 && holes == 0, "seed \(seed): \(days)")
        for _ in 0..<Thoroughness.rounds(200) {
            try await expectSame(try question(&random), store, "seed \(seed), at the end")
        }
        try store.close()
        #expect(try StoreFile(folder.store).rollupFaults() == [], "seed \(seed)")
    }

    private func heartRate(_ key: String, _ value: Double, at second: Int64) throws -> Samples.Record {
        let time = Timestamp(microseconds: Self.begin + second * Self.second, offsetMinutes: 0)
        return .sample(
            Sample(
                source: Self.sources[0], key: try #require(RecordKey(key)), type: try TypeID("heartRate"),
                value: .quantity(value, unit: "count/min"), start: time, end: time))
    }

    /// Heart rates of these days, one in each period of `minutes`.
    private func fill(_ store: Store, days: Range<Int64> = 0..<10, every minutes: Int = 1) async throws {
        for day in days {
            var records: [Samples.Record] = []
            for minute in stride(from: Int64(0), to: 1_440, by: minutes) {
                records.append(
                    try heartRate("\(day) \(minute)", Double(60 + minute % 40), at: day * 86_400 + minute * 60))
            }
            _ = try await store.put(records)
        }
    }

    private func kept(_ store: Store) async throws -> Int {
        try await store.read("test") { db in
            try Int.fetchOne(db, sql: "SELECT count(*) FROM rollup_day WHERE hours IS NOT NULL") ?? 0
        }
    }

    @Test func `rollups of days before yesterday are kept, and a day with a change is computed again`() async throws {
        try await fill(store)
        let heart = try query(Self.types[2])
        #expect(try await store.rollupCandidates().map(\.type) == [try TypeID("heartRate")])
        while try await store.rollUp(heart, phase: 0, now: .max / 2) {}
        #expect(try await kept(store) == 8)
        // A late reading invalidates its day and the day before, whose last reading it may end.
        _ = try await store.put([try heartRate("late", 190, at: 3 * 86_400 + 5)])
        #expect(try await kept(store) == 6)
        while try await store.rollUp(heart, phase: 0, now: .max / 2) {}
        #expect(try await kept(store) == 8)
        try store.close()
        // Another hub on the same store knows the rollups.
        let next = try folder.open()
        _ = try await next.put([try heartRate("late", 191, at: 3 * 86_400 + 5)])
        #expect(try await kept(next) == 6)
    }

    @Test func `a sample with a wrong time, in the year 1 or 9999, does not prevent rollups`() async throws {
        try await fill(store)
        for year in [-62_135_000_000, 253_402_000_000] as [Int64] {
            _ = try await store.put([try heartRate("odd \(year)", 60, at: year - Self.begin / Self.second)])
        }
        let heart = try query(Self.types[2])
        while try await store.rollUp(heart, phase: 0, now: Self.begin + 9 * 86_400 * Self.second) {}
        // One of them is the sample of the year 1.
        #expect(try await kept(store) == 9)
    }

    @Test func `a change of many days at once ends the rollups from the first of them, which are computed again`()
        async throws
    {
        try await fill(store, days: 0..<50, every: 10)
        let heart = try query(Self.types[2])
        while try await store.rollUp(heart, phase: 0, now: .max / 2) {}
        #expect(try await kept(store) == 48)
        _ = try await store.put(try (0..<48).map { try heartRate("late \($0)", 190, at: Int64($0) * 86_400 + 7) })
        var day = heart
        day.intervals = Intervals(.day, zone: "UTC")
        try await expectSame(day, store, "while no rollup is valid")
        while try await store.removeEndedRollups() {}
        #expect(try await kept(store) == 0)
        while try await store.rollUp(heart, phase: 0, now: .max / 2) {}
        #expect(try await kept(store) == 48)
        try await expectSame(day, store, "after the rollup was started again")
    }

    /// Steps of whole hours.
    private func steps(_ key: String, _ value: Double, at hour: Int64, hours: Int64 = 1) throws -> Samples.Record {
        func time(_ hour: Int64) -> Timestamp {
            Timestamp(microseconds: Self.begin + hour * 3_600 * Self.second, offsetMinutes: 0)
        }
        return .sample(
            Sample(
                source: Self.sources[0], key: try #require(RecordKey(key)), type: try TypeID("stepCount"),
                value: .quantity(value, unit: "count"), start: time(hour), end: time(hour + hours)))
    }

    @Test func `R8.55 a sum over many days, and each change of it, keeps the rollups of the time before`() async throws
    {
        _ = try await store.put(try (0..<1_440).map { try steps("\($0)", Double($0), at: $0) })
        try await roll(store)
        #expect(try await kept(store) == 58)
        var day = try query(Self.types[0])
        day.intervals = Intervals(.day, zone: "UTC")
        for value in [7_000, 7_100] as [Double] {
            _ = try await store.put([try steps("long", value, at: 480, hours: 35 * 24)])
            while try await store.removeEndedRollups() {}
            #expect(try await kept(store) == 20)
            try await expectSame(day, store, "with \(value), before the rollup is computed again")
            try await roll(store)
            #expect(try await kept(store) == 58)
            try await expectSame(day, store, "with \(value)")
        }
        try store.close()
        #expect(try StoreFile(folder.store).rollupFaults() == [])
    }

    @Test
    func `ended rollups that are not yet removed do not affect answers when days are computed again`() async throws {
        let hours = Array(Int64(0)..<1_440)
        _ = try await store.put(try hours.map { try steps("\($0)", 1, at: $0) })
        try await roll(store)
        // All samples but the first and the last are retracted, so the rollups of the days between become useless.
        for hour in hours.dropFirst().dropLast() {
            _ = try await store.retract(try #require(try steps("\(hour)", 1, at: hour).sample))
        }
        _ = try await store.put([try steps("long", 7_000, at: 1, hours: 35 * 24)])
        _ = try await store.retract(try #require(try steps("long", 7_000, at: 1).sample))
        var day = try query(Self.types[0])
        day.intervals = Intervals(.day, zone: "UTC")
        try await roll(store)
        try await expectSame(day, store, "after the rollup was computed again")
        #expect(try await kept(store) == 1)
        try store.close()
        #expect(try StoreFile(folder.store).rollupFaults() == [])
    }

    @Test func `a rollup is not kept if a sample it depends on was stored during its computation`() async throws {
        try await fill(store)
        let heart = try query(Self.types[2])
        // The rollup has begun, and a piece is computed but not kept yet.
        #expect(try await store.rollUp(heart, phase: 0, now: .max / 2))
        var asked = heart
        (asked.isBySource, asked.usesRollups) = (true, false)
        let question = asked
        let plan = try await store.readSnapshot("test") { reader in
            try RollupPlan(question, phase: 0, now: .max / 2, .usual, reader)
        }
        guard case .build(let rollup, let days) = plan else {
            Issue.record("the plan has no rollup to compute")
            return
        }
        let isBuilding = try await store.onWriter("test") { [writer = store.writer] _ in writer.build(rollup, days) }
        #expect(isBuilding)
        let piece = try await store.readSnapshot("test") { reader in
            try RollupPiece(of: rollup, days, question, reader)
        }
        _ = try await store.put([try heartRate("late", 190, at: 7)])
        try await store.write("test", 0) { try $0.caches.rollups.keep(piece, in: $0.db) }
        #expect(try await kept(store) == 0)
    }

    @Test func `hub doctor finds a rollup that differs from its samples`() async throws {
        try await fill(store)
        while try await store.rollUp(try query(Self.types[2]), phase: 0, now: .max / 2) {}
        try store.close()
        #expect(try StoreFile(folder.store).rollupFaults() == [])
        let file = try folder.open()
        try await file.write("test", 0) { transaction in
            let slots = try Int64.fetchAll(transaction.db, sql: "SELECT slot FROM rollup_day ORDER BY slot")
            try transaction.db.execute(
                sql: """
                    UPDATE rollup_day SET (total, hours) = (SELECT total, hours FROM rollup_day WHERE slot = ?2)
                    WHERE slot = ?1
                    """, arguments: [slots[3], slots[4]])
        }
        // Answers use the wrong rollup, so hub doctor has to find it.
        var day = try query(Self.types[2])
        day.intervals = Intervals(.day, zone: "UTC")
        let rows = try await answer(day, file)
        #expect(rows[3].total.latest == rows[4].total.latest)
        try file.close()
        #expect(
            try StoreFile(folder.store).rollupFaults()
                == ["statistics of heartRate of me: those kept of 2026-03-31 do not match its samples"])
    }
}
