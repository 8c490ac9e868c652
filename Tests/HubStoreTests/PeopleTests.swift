import GRDB
import HubProcess
import Platform
import Samples
import Testing

@testable import HubStore

/// The assignment of weigh-ins: by weight, for the whole group, and reproducibly for the same store.
@Suite struct PeopleTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test func `no trend learns from a weight marked as implausible, also after the store was reopened`() async throws {
        /// The person of a weigh-in of 62 kg after several marked ones of 450 kg from anna's own slot.
        func owner(_ marked: SampleMembers, _ folder: TemporaryFolder, reopened: Bool) async throws -> String? {
            var home = try await Home(folder, expecting: false)
            for day in 0..<6 {
                let second = Int64(day) * Home.day
                for (name, kilograms) in [("anna", 62.0), ("ben", 75)] where name == "ben" || day < 2 {
                    let word = (Subject.name(name), try home.person(name))
                    try await home.give(
                        try home.group("\(day) \(name)", kilograms, at: second, parts: 1), subject: word, now: second)
                }
                var batch = home.intake(
                    try home.group("\(day) wrong", 450, at: second + 60, parts: 1),
                    subject: (.name("anna"), try home.person("anna")))
                if case .success(var intake) = batch.items[0] {
                    intake.implausible = marked
                    batch.items[0] = .success(intake)
                }
                _ = try await home.store.commit([batch], recordedAt: (second + 60) * 1_000_000)
            }
            if reopened {
                try home.store.close()
                home = try await Home(folder, expecting: false)
            }
            let second = 7 * Home.day
            try await home.give(try home.group("then", 62.1, at: second, parts: 2), now: second)
            let query = RecordQuery { $0.isImplausible = true }
            #expect(try await home.store.all(query).records.count == (marked.isEmpty ? 0 : 6))
            #expect(try await home.store.implausibleCount() == (marked.isEmpty ? 0 : 6))
            let name = try await home.owners("then").first ?? nil
            try home.store.close()
            return name
        }
        #expect(try await owner([.value], TemporaryFolder(), reopened: false) == "anna")
        #expect(try await owner([.value], TemporaryFolder(), reopened: true) == "anna")
        #expect(
            try await owner([], TemporaryFolder(), reopened: false) == nil,
            "without the mark, the implausible weights would blur anna's usual weight")
    }

    // MARK: - A month

    private struct WeighIn {
        var name: String
        /// `nil` if the weigh-in is a guest's or misread.
        var person: String?
        var kilograms: Double
        var second: Int64
    }

    /// A household's month: weigh-ins of everyone on most mornings, a holiday, a diet, a guest for three days, and misread
    /// weighings.
    private static func month(_ random: inout SeededGenerator) -> [WeighIn] {
        var weighIns: [WeighIn] = []
        for day in 0..<31 {
            for (place, name) in Home.names.enumerated() where Int.random(in: 0..<10, using: &random) > 1 {
                // Carl is away for twelve days and returns heavier; anna loses weight steadily.
                if name == "carl", (10..<22).contains(day) { continue }
                var weight = Home.usual[place]
                if name == "anna" { weight -= Double(day) * 0.1 }
                if name == "carl", day >= 22 { weight += 1.6 }
                let noise = (0..<4).reduce(0) { sum, _ in sum + Double.random(in: -0.5...0.5, using: &random) }
                weighIns.append(
                    WeighIn(
                        name: "\(day) \(name)", person: name, kilograms: weight + noise * 0.8,
                        second: Int64(day) * Home.day + 25_000 + Int64(place) * 600))
            }
            if (14..<17).contains(day) {
                weighIns.append(
                    WeighIn(
                        name: "\(day) guest", kilograms: 103 + Double.random(in: -1...1, using: &random),
                        second: Int64(day) * Home.day + 40_000))
            }
            if day % 9 == 4 {
                weighIns.append(
                    WeighIn(
                        name: "\(day) misread", kilograms: [31.4, 44, 55][day / 9 % 3],
                        second: Int64(day) * Home.day + 26_500))
            }
        }
        return weighIns
    }

    @Test(arguments: Thoroughness.some([0, 1, 2, 3]))
    func `R6.29 in a household's month each weigh-in is assigned to the right person or waits`(
        round: Int
    ) async throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        let home = try await Home(folder)
        let month = Self.month(&random)
        for weighIn in month {
            try await home.give(
                try home.group(weighIn.name, weighIn.kilograms, at: weighIn.second), now: weighIn.second + 60)
        }
        var (found, all) = (0, 0)
        for weighIn in month {
            let owners = try await home.owners(weighIn.name)
            #expect(
                owners.count == 4 && Set(owners).count == 1,
                "seed \(seed): the records of \(weighIn) have different persons: \(owners)")
            let owner = owners[0]
            #expect(owner == nil || owner == weighIn.person, "seed \(seed): \(weighIn) was assigned to \(owner ?? "")")
            if weighIn.person != nil {
                all += 1
                found += owner == nil ? 0 : 1
            }
        }
        // A rule is only useful if a person does not have to sort most weigh-ins by hand.
        #expect(Double(found) >= Double(all) * 0.9, "seed \(seed): \(found) of \(all)")
        #expect(try await home.store.verifyAccounts() == [])
    }

    @Test func `without expected weights each weigh-in waits until a person has assigned the first ones`() async throws
    {
        let home = try await Home(folder, expecting: false)
        for (place, name) in Home.names.enumerated() {
            try await home.give(try home.group("0 \(name)", Home.usual[place], at: Int64(place)), now: 100)
            #expect(try await home.owners("0 \(name)").allSatisfy { $0 == nil })
        }
        for name in Home.names {
            let number = try #require(try await home.records("0 \(name)").first?.number)
            _ = try await home.store.carryOut(
                .assign(numbers: [number], to: try home.person(name), wholeGroups: true, reason: nil), recordedAt: 200)
            #expect(try await home.owners("0 \(name)").allSatisfy { $0 == name })
        }
        for (place, name) in Home.names.enumerated() {
            let second = Home.day + Int64(place)
            try await home.give(try home.group("1 \(name)", Home.usual[place] + 0.4, at: second), now: second)
            #expect(try await home.owners("1 \(name)").allSatisfy { $0 == name })
        }
    }

    // MARK: - Groups

    @Test func `R6.28 the records of a group end at the same person in any order and any batches`() async throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        let home = try await Home(folder)
        for round in 0..<60 {
            let kilograms = [62.3, 74.6, 88.1, 69, 100][round % 5]
            let expected = ["anna", "ben", "carl", nil, nil][round % 5]
            var parts = try home.group("g\(round)", kilograms, at: Int64(round) * 4_000, parts: 5).shuffled(
                using: &random)
            while !parts.isEmpty {
                let count = Int.random(in: 1...parts.count, using: &random)
                try await home.give(Array(parts.prefix(count)), now: Int64(round) * 4_000 + 60)
                parts.removeFirst(count)
            }
            let owners = try await home.owners("g\(round)")
            #expect(
                owners.count == 5 && owners.allSatisfy { $0 == expected }, "seed \(seed), round \(round): \(owners)")
        }
        #expect(try await home.store.verifyAccounts() == [])
        // A record that waited leaves the inbox as a new version, which followers receive.
        let waiting = try await home.store.inboxCount()
        #expect(waiting == 24 * 5)
    }

    @Test func `records that arrived before the weight are published after it, in the order of their sequences`()
        async throws
    {
        let home = try await Home(folder)
        let parts = try home.group("g", 62.1, at: 0)
        try await home.give(Array(parts.dropFirst()), now: 1)
        #expect(try await home.owners("g") == [nil, nil, nil])
        let results = try await home.give([parts[0]], now: 2)
        let placement = try #require(results.first?.placement)
        #expect(placement.record?.assignment.person?.name == "anna")
        #expect(placement.followers.count == 3)
        var last = placement.sequence
        for follower in placement.followers {
            let departure = try #require(follower.departure)
            #expect(departure.record.sequence == last + 1 && follower.sequence == last + 2)
            #expect(follower.record?.assignment.person?.name == "anna")
            last = follower.sequence
        }
        #expect(last == home.store.head)
    }

    @Test func `a slot decides for the whole group, and a person's decision overrides it`() async throws {
        let home = try await Home(folder)
        let parts = try home.group("g", 88, at: 0)
        try await home.give([parts[1]], now: 1)
        try await home.give([parts[2]], subject: (.slot(1), try home.person("ben")), now: 2)
        try await home.give([parts[0]], now: 3)
        #expect(try await home.owners("g") == ["ben", "ben", "ben"])
        let number = try #require(try await home.records("g").first?.number)
        _ = try await home.store.carryOut(
            .assign(numbers: [number], to: try home.person("anna"), wholeGroups: true, reason: nil), recordedAt: 4)
        try await home.give([parts[3]], subject: (.slot(1), try home.person("ben")), now: 5)
        let records = try await home.records("g")
        #expect(records.allSatisfy { $0.assignment.person?.name == "anna" })
        #expect(try await home.store.verifyAccounts() == [])
    }

    // MARK: - Reproducibility

    @Test
    func `R6.30 the same records in other transactions or over a restart get the same people and odds`() async throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        let month = Self.month(&random)
        var stories: [[String]] = []
        for way in 0..<3 {
            let folder = try TemporaryFolder()
            var home = try await Home(folder)
            var waiting: [IntakeBatch] = []
            for (place, weighIn) in month.enumerated() {
                waiting.append(home.intake(try home.group(weighIn.name, weighIn.kilograms, at: weighIn.second)))
                let size = way == 0 ? 1 : Int.random(in: 1...6, using: &random)
                guard waiting.count >= size || place == month.count - 1 else { continue }
                _ = try await home.store.commit(waiting, recordedAt: 40 * Home.day * 1_000_000)
                waiting = []
                if way == 2, Int.random(in: 0..<4, using: &random) == 0 {
                    try home.store.close()
                    home = try await Home(folder)
                }
            }
            var story: [String] = []
            for number in 1...home.store.head {
                guard let trace = try await home.store.trace(number), let version = trace.versions.last else {
                    continue
                }
                story.append(
                    "\(number) \(version.record.assignment.person?.name ?? "-") \(String(describing: version.ruling?.odds))"
                )
            }
            stories.append(story)
            try home.store.close()
        }
        #expect(stories[0] == stories[1], "seed \(seed)")
        #expect(stories[0] == stories[2], "seed \(seed)")
    }

    @Test func `R6.30 neither a repeat nor a new version of an assigned record changes its person`() async throws {
        let home = try await Home(folder)
        let first = try home.group("g", 64, at: 0, parts: 1)
        try await home.give(first, now: 1)
        #expect(try await home.record(first[0])?.assignment.person?.name == "anna")
        for day in 1...20 {
            let value = try home.group("d\(day)", 64 - Double(day) * 0.1, at: Int64(day) * Home.day, parts: 1)
            try await home.give(value, now: Int64(day) * Home.day)
        }
        #expect(try await home.give(first, now: 30 * Home.day)[0].isDuplicate)
        var other = first[0]
        other.value = .quantity(75, unit: "kg")
        #expect(try await home.give([other], now: 30 * Home.day)[0].placement != nil)
        #expect(try await home.record(other)?.assignment.person?.name == "anna")
        // A single record that waits is weighed again when its source corrects it.
        var misread = try home.group("misread", 7.5, at: 31 * Home.day, parts: 1)[0]
        try await home.give([misread], now: 31 * Home.day)
        #expect(try await home.record(misread)?.assignment.person == nil)
        misread.value = .quantity(74.9, unit: "kg")
        try await home.give([misread], now: 31 * Home.day)
        #expect(try await home.record(misread)?.assignment.person?.name == "ben")
        // So is the weight of a group, together with the group's other records, for any division into batches.
        for division in 0..<3 {
            let start = 32 * Home.day + Int64(division) * 1_000
            var parts = try home.group("together\(division)", 7.5, at: start)
            try await home.give(parts, now: start)
            #expect(try await home.records("together\(division)").allSatisfy { $0.assignment.person == nil })
            let weight = try #require(parts.firstIndex { $0.type == .weight })
            let other = try #require(parts.firstIndex { $0.type != .weight })
            parts[other].metadata = JSONObject(trusted: #"{"corrected":true}"#)
            parts[weight].value = .quantity(74.9, unit: "kg")
            switch division {
            case 0: try await home.give([parts[other], parts[weight]], now: start)
            case 1:
                try await home.give([parts[weight]], now: start)
                try await home.give([parts[other]], now: start)
            default:
                try await home.give([parts[other]], now: start)
                try await home.give([parts[weight]], now: start)
            }
            let found = try await home.records("together\(division)")
            #expect(
                found.count == parts.count && found.allSatisfy { $0.assignment.person?.name == "ben" }, "\(division)")
            let held = try #require(try await home.record(parts[other])?.record.sample)
            #expect(held.metadata == parts[other].metadata, "\(division)")
        }
        #expect(try await home.store.verifyAccounts() == [])
    }

    // MARK: - Manual corrections

    @Test func `a corrected person applies to the whole group, and values computed from the wrong profile are marked`()
        async throws
    {
        let home = try await Home(folder)
        let parts = try home.group("g", 74.8, at: 1_000)
        try await home.give(parts, subject: (.slot(3), try home.person("anna")), now: 1_060)
        let before = try await home.records("g")
        let numbers = [try #require(before.last?.number)]
        func assign(to name: String) async throws -> [StoredRecord] {
            _ = try await home.store.carryOut(
                .assign(numbers: numbers, to: try home.person(name), wholeGroups: true, reason: nil), recordedAt: 2_000)
            return try await home.records("g").sorted { $0.number < $1.number }
        }
        let corrected = try await assign(to: "ben")
        #expect(corrected.count == 4)
        for (old, new) in zip(before.sorted { $0.number < $1.number }, corrected) {
            guard case .sample(let was) = old.record, case .sample(let now) = new.record else { continue }
            #expect(new.assignment.person?.name == "ben" && now.value == was.value && now.start == was.start)
            #expect(now.metadata?.text == (was.type == .weight ? nil : #"{"profileOf":"anna"}"#))
        }
        // A repeat of the source remains a duplicate: the mark is the hub's.
        #expect(
            try await home.give(parts, subject: (.slot(3), try home.person("anna")), now: 3_000)
                .allSatisfy(\.isDuplicate))
        let back = try await assign(to: "anna")
        #expect(back.allSatisfy { $0.record.sample != nil && $0.record.sample?.metadata == nil })
        #expect(try await home.store.verifyAccounts() == [])
    }

    @Test func `a trend learns from manual corrections`() async throws {
        let home = try await Home(folder)
        for day in 0..<10 {
            try await home.give(
                try home.group("a\(day)", 62, at: Int64(day) * Home.day, parts: 1), now: Int64(day) * Home.day)
        }
        // A sudden higher weight, as with a plaster cast: it waits until a person has assigned it a few times.
        var numbers: [Int64] = []
        for day in 10..<13 {
            let second = Int64(day) * Home.day
            let sample = try home.group("h\(day)", 66, at: second, parts: 1)
            try await home.give(sample, now: second)
            let record = try #require(try await home.record(sample[0]))
            if record.assignment.person == nil { numbers.append(record.number) }
            _ = try await home.store.carryOut(
                .assign(numbers: [record.number], to: try home.person("anna"), wholeGroups: true, reason: nil),
                recordedAt: second * 1_000_000)
        }
        #expect(!numbers.isEmpty)
        let sample = try home.group("later", 66, at: 13 * Home.day, parts: 1)
        try await home.give(sample, now: 13 * Home.day)
        #expect(try await home.record(sample[0])?.assignment.person?.name == "anna")
    }

    @Test
    func `a waiting record shows its reason, its trace shows the rule, and current rules can assign it`() async throws {
        var home = try await Home(folder, expecting: false)
        let parts = try home.group("g", 74.6, at: 0)
        try await home.give(parts, now: 1)
        let waiting = try await home.records("g")
        guard case .nobody(let reason) = waiting[0].assignment else { throw Unexpected() }
        #expect(reason.hasPrefix("no weight of anna, ben, carl is known yet"))
        home.household = Household(zip(home.people, Home.usual).map { Household.Member($0, expectedWeight: $1) })
        let ruled = waiting.map {
            ManualChange.RuledRecord(
                number: $0.number, assignment: .nobody(reason: "several"), household: home.household)
        }
        let results = try await home.store.carryOut(.assignByRules(ruled.reversed()), recordedAt: 2)
        #expect(results.allSatisfy { $0.result.placement != nil })
        #expect(try await home.owners("g") == ["ben", "ben", "ben", "ben"])
        let trace = try #require(try await home.store.trace(waiting[0].number))
        let ruling = try #require(trace.versions.last?.ruling)
        let probability = try #require(ruling.probability)
        #expect(ruling.rule == .weight && probability > 0.95)
        #expect(ruling.odds?.hasPrefix("74.6 kg: ben ") == true)
        let fat = try #require(try await home.store.trace(waiting[1].number))
        #expect(fat.versions.last?.ruling?.rule == .group)
        #expect(try await home.store.verifyAccounts() == [])
    }

    @Test
    func `a store of format 3 is upgraded with its rows, and its weights count for later assignments`() async throws {
        try folder.makeOld(
            [StoreSchema.version1, LedgerSchema.version2, ManualSchema.version3],
            rows: """
                INSERT INTO meta VALUES (1, 'hub', 'abcdefgh', 0);
                INSERT INTO term VALUES (1, 'weight'), (2, 'kg'), (3, 'ihealth-hs5');
                INSERT INTO person VALUES (1, 'uid-a', 'anna', 0), (2, 'uid-b', 'ben', 0);
                INSERT INTO source VALUES (1, 'ihealth-hs5', '020000003001', NULL);
                INSERT INTO sample (number, seq, source, key, type, kind, person, start, duration, value, unit, grouping,
                    provenance, recorded_at, assigned)
                VALUES (1, 1, 1, 'a', 1, 0, 1, 0, 0, 62.1, 2, 'g', 0, 5, NULL), (2, 2, 1, 'b', 1, 0, 2, 0, 0, 75, 2, NULL, 0, 5, 1);
                INSERT INTO stream VALUES (1, 0, 1, 1, 3, 1, 1, 0), (2, 0, 1, 2, 3, 2, 1, 0);
                INSERT INTO account VALUES ('scale', 2, 2, 0, 0, 0, 0);
                """)
        let home = try await Home(folder, expecting: false)
        #expect(try await home.store.verifyAccounts() == [])
        try await home.give(try home.group("new", 74.6, at: 7_200), now: 7_200)
        #expect(try await home.owners("new") == ["ben", "ben", "ben", "ben"])
        // The rule that assigned older records is not known.
        #expect(try await home.store.trace(1)?.versions.last?.ruling == nil)
        #expect(try await home.store.verifyAccounts() == [])
    }

    private struct Unexpected: Error {}
}

extension Home {
    fileprivate func record(_ sample: Sample) async throws -> StoredRecord? {
        try await store.record(.sample(sample.source, sample.key))
    }
}
