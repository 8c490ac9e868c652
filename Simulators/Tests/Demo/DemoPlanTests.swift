import HubClient
import HubWire
import Samples
import Testing

@testable import HubDemo

/// The invented month, and the account that checks a demonstration against it.
@Suite struct DemoPlanTests {
    @Test func `equal seeds give equal months, different seeds different ones`() {
        let told = { (seed: UInt64) in DemoLife.plan(days: 31, seed: seed).weighings }
        #expect(told(7) == told(7))
        #expect(told(7) != told(8))
        #expect(told(7).count > 80)
    }

    @Test(arguments: 1...UInt64(20)) func `every seed and length gives a playable month`(_ seed: UInt64) {
        for days in 1...DemoTime.longest {
            let plan = DemoLife.plan(days: days, seed: seed)
            let places = plan.weighings.map(\.place)
            #expect(Set(places).count == places.count, "a scale shows each weight once")
            #expect(zip(plan.steps, plan.steps.dropFirst()).allSatisfy { $0.time <= $1.time })
            #expect(plan.steps.allSatisfy { $0.time.day <= days })
            #expect(
                plan.weighings.allSatisfy { (50...1490).contains($0.tenthsOfKilogram) }, "what all of them can weigh")
            var away: Set<DemoScale> = []
            for step in plan.steps {
                switch step.deed {
                case .leaves: #expect(away.insert(step.scale).inserted)
                case .returns: #expect(away.remove(step.scale) != nil)
                case .fails, .newBatteries: #expect(!away.contains(step.scale), "it would not be seen")
                case .remembers, .weighs: break
                }
            }
            #expect(away.isEmpty, "\(days) days: weigh-ins kept in a scale must reach the hub")
        }
    }

    @Test func `a whole month contains every kind of event`() {
        let plan = DemoLife.plan(days: 31, seed: 1)
        var kinds: Set<String> = []
        for weighing in plan.weighings {
            switch weighing.who {
            case .person: kinds.insert(weighing.hasShoes ? "shoes" : "person")
            case .guest: kinds.insert("guest")
            case .misread: kinds.insert("misread")
            case .encumbered: kinds.insert("encumbered")
            }
        }
        #expect(kinds == ["person", "shoes", "guest", "misread", "encumbered"])
        var (back, failed): (Set<DemoScale>, Set<DemoScale>) = ([], [])
        for step in plan.steps {
            if case .returns = step.deed { back.insert(step.scale) }
            if case .fails = step.deed { failed.insert(step.scale) }
        }
        #expect(back == Set(DemoScale.allCases), "each gives its memory")
        #expect(failed == Set(DemoScale.allCases), "each has an error")
        #expect(DemoTime(1, 7, 5).dayName == "Sun 1 March" && DemoTime(-2, 7, 5).local == "2026-02-26T07:05:00")
        #expect(DemoTime(31, 7, 5).dayName == "Tue 31 March" && DemoTime(-2, 7, 5).dayName == "Thu 26 February")
    }

    @Test(arguments: 1...UInt64(20)) func `the year before the month has its three holes for every seed`(
        _ seed: UInt64
    ) throws {
        let year = DemoLife.plan(days: 1, seed: seed).year
        #expect(year.readings.count > 150 && year.readings.map(\.time) == year.readings.map(\.time).sorted())
        #expect(Set(year.readings.map(\.time)).count == year.readings.count, "a time is a key")
        let measured = Set(year.readings.map(\.time.day))
        for hole in DemoYear.holes {
            #expect(measured.isDisjoint(with: Set(hole)))
            #expect(measured.isSuperset(of: [hole.lowerBound - 1, hole.upperBound + 1]))
        }
        let first = try #require(year.readings.first).time
        #expect(first.local.hasPrefix("2025-03-01T06:") && DemoYear.holes.map(\.count) == [3, 12, 45])
        #expect(DemoCalendar.timestamp(of: first).text.hasSuffix("+01:00") || DemoCalendar.zone == "UTC")
    }

    @Test func `a scale's diary follows its own events`() {
        var diary = ScaleProcess.EventLog()
        for line in [
            #"{"event":"listening","address":"udp://127.0.0.1:4711","deviceId":"02"}"#, "no event",
            #"{"event":"done"}"#,
            #"{"event":"weighing","how":"step on","kg":"62.1","user":"1"}"#, #"{"event":"acknowledged","key":"a"}"#,
            #"{"event":"weighing","how":"store","kg":"80.4"}"#, #"{"event":"stored","key":"b"}"#,
            #"{"event":"refused","text":"no"}"#, #"{"event":"clockSet","local":"x"}"#,
        ] { diary.note(line) }
        #expect(diary.address == "udp://127.0.0.1:4711")
        let told = [
            ScaleProcess.TypedWeighing(kilograms: "62.1", user: "1"),
            ScaleProcess.TypedWeighing(kilograms: "80.4", user: nil),
        ]
        #expect(diary.weighings == told)
        #expect([diary.confirmed, diary.stored, diary.clockSet] == [1, 1, 1])
        #expect(diary.refused == ["no"])
    }

    // MARK: The days

    private func date(_ text: String) throws -> LocalDate { try #require(LocalDate(text)) }

    @Test func `a day is the mean of its weigh-ins, or carried for thirty days, or empty`() throws {
        let first = try date("2024-01-01")
        let readings = [(0, 800), (0, 806), (0, 811), (2, 790), (40, 720), (40, 721)].map { days, tenths in
            DemoDays.Reading(date: first.adding(days: days), tenthsOfKilogram: tenths)
        }
        let days = DemoDays.days(readings, first, first.adding(days: 41)).map(\.day.hundredths)
        let hole = [Int?](repeating: nil, count: 8)
        #expect(days == [8057, 8057] + Array(repeating: 7900, count: 30) + hole + [7205, 7205])
    }

    @Test func `the check finds each kind of wrong day at Exist, but none that is not due`() throws {
        let first = try date("2024-01-01")
        let readings = [0, 35].map { DemoDays.Reading(date: first.adding(days: $0), tenthsOfKilogram: 700 + $0) }
        let last = first.adding(days: 36)
        let whole = Dictionary(
            uniqueKeysWithValues: DemoDays.days(readings, first, last.adding(days: 1)).compactMap { date, day in
                day.hundredths.map { (date, Double($0) / 100) }
            })
        func judged(_ change: (inout [LocalDate: Double]) -> Void) -> DemoDays {
            var held = whole
            change(&held)
            return DemoDays(of: "anna", readings, through: last, held: held)
        }
        let well = judged { _ in }
        #expect(well.problems.isEmpty && [well.measured, well.carried, well.empty] == [2, 30, 5])
        #expect(judged { $0[last.adding(days: 1)] = nil }.problems.isEmpty)
        let faults: [(String, (inout [LocalDate: Double]) -> Void)] = [
            ("nothing on 2024-01-02: 70.0 kg is carried from 2024-01-01", { $0[first.adding(days: 1)] = nil }),
            ("has 70.01 on 2024-01-01: the mean", { $0[first] = 70.01 }),
            ("has 70.0 on 2024-01-31: no one was weighed", { $0[first.adding(days: 30)] = 70 }),
            ("a value on 2023-12-31, before the first", { $0[first.adding(days: -1)] = 70 }),
            ("has 70.0 on 2024-02-07: 73.5 kg is carried", { $0[last.adding(days: 1)] = 70 }),
        ]
        for (words, fault) in faults {
            let days = judged(fault)
            #expect(days.problems.count == 1 && days.missing + days.wrong == 1)
            #expect(days.problems.contains { $0.contains(words) }, "\(words): \(days.problems)")
            var account = try account()
            account.add(days)
            #expect(!account.addsUp && account.lines(colours: false).contains("That does not add up:"))
        }
    }

    // MARK: The account

    private let plan = DemoLife.plan(days: 20, seed: 3)

    private var told: [DemoWeighing.Place: Int] {
        Dictionary(plan.weighings.map { ($0.place, 1) }) { first, _ in first }
    }

    /// The records of a faultless hub.
    private func records(_ weighing: DemoWeighing) throws -> [StoredRecord] {
        let time = try Timestamp(parsing: weighing.time.local + "+01:00")
        let source = Source(plugin: weighing.scale.instance, device: weighing.scale.device)
        let owner = weighing.person.map { Assignment.person(Person(uid: $0, name: $0)) } ?? .nobody(reason: "")
        return try (0..<weighing.parts).map { part in
            let type: TypeID = part == 0 ? .weight : .bodyFatPercentage
            let value = part == 0 ? Double(weighing.tenthsOfKilogram) / 10 : 0.2
            let sample = Sample(
                source: source, key: try #require(RecordKey("\(weighing.place.text) \(part)")), type: type,
                value: .quantity(value, unit: part == 0 ? "kg" : "%"), start: time,
                group: weighing.scale == .hs5 ? weighing.place.text : nil)
            return StoredRecord(record: .sample(sample), number: 1, sequence: 1, assignment: owner, type: type)
        }
    }

    private func account(
        told: [DemoWeighing.Place: Int]? = nil, _ change: (inout [[StoredRecord]]) throws -> Void = { _ in }
    ) throws -> DemoAccount {
        var stored = try plan.weighings.map(records)
        try change(&stored)
        return DemoAccount(plan, told: told ?? self.told, refused: [], records: stored.flatMap(\.self))
    }

    private func place(_ isMeant: (DemoWeighing) -> Bool) throws -> Int {
        let place = plan.weighings.indices.first { isMeant(plan.weighings[$0]) }
        return try #require(place)
    }

    private func inbox(_ account: DemoAccount) -> Int { account.scales.reduce(0) { $0 + $1.inbox } }

    @Test func `complete records add up, even with a person's weigh-in in the inbox`() throws {
        let whole = try account()
        #expect(whole.addsUp && whole.problems.isEmpty)
        let weighIns: Int = whole.scales.reduce(0) { $0 + $1.weighIns }
        #expect(weighIns == plan.weighings.count)
        let own = try place { $0.person != nil && $0.parts == 1 }
        let waiting = try account { $0[own][0].assignment = .nobody(reason: "anna 60 %") }
        #expect(waiting.addsUp)
        let (before, after) = (inbox(whole), inbox(waiting))
        #expect(after == before + 1)
    }

    private typealias Stored = [[StoredRecord]]

    private func refuse(_ problem: String, _ fault: (inout Stored) -> Void) throws {
        let account = try account(fault)
        #expect(!account.addsUp)
        #expect(account.problems.contains { $0.contains(problem) }, "\(problem): \(account.problems)")
        #expect(account.lines(colours: false).contains("That does not add up:"))
    }

    /// Changes the sample of a record.
    private func change(_ record: inout StoredRecord, _ body: (inout Sample) -> Void) {
        guard case .sample(var sample) = record.record else { return }
        body(&sample)
        record.record = .sample(sample)
    }

    @Test func `missing, doubled, misassigned, misdated and unknown records do not add up`() throws {
        let guest = try place { $0.person == nil }
        let body = try place { $0.parts == 7 }
        let ben = Assignment.person(Person(uid: "ben", name: "ben"))
        try refuse("is not in the store") { $0[0] = [] }
        try refuse("is in the store 2 times") { $0[0] += $0[0] }
        try refuse("is with ben, and it was anna") { $0[0][0].assignment = ben }
        try refuse("is with ben, and it was ") { $0[guest][0].assignment = ben }
        try refuse("6 of 7 values") { $0[body].removeLast() }
        try refuse("not all with one person") { $0[body][3].assignment = .nobody(reason: "") }
        try refuse("and is stored as of") { stored in
            change(&stored[0][0]) {
                $0.start = Timestamp(microseconds: $0.start.microseconds + 60_000_000, offsetMinutes: 60)
            }
        }
        try refuse("and no scale weighed it") { stored in
            var other = stored[0][0]
            change(&other) { $0.value = .quantity(140, unit: "kg") }
            stored.append([other])
        }
    }

    @Test func `unused scales and unplanned or refused weigh-ins do not add up`() throws {
        #expect(DemoAccount(plan, told: [:], refused: [], records: []).addsUp == false)
        var more = told
        more[DemoWeighing.Place(device: DemoScale.hs3.device, tenthsOfKilogram: 1400)] = 1
        #expect(try account(told: more).problems == ["HS3: 140.0 kg was weighed 1 times, which was not planned"])
        #expect(
            DemoAccount(plan, told: told, refused: ["no room"], records: []).problems.first
                == "a scale refused: no room")
    }
}
