import HubProcess
import HubStore
import Platform
import Samples
import Testing

/// Invariants of manual changes, checked over random work of sources and people.
@Suite struct HandLawTests {
    /// A client that follows some people's records by their changes, with the records it has.
    private struct Follower {
        let persons: Set<RecordQuery.Owner>?
        var cursor: Samples.Cursor
        var records: [Int64: StoredRecord] = [:]

        mutating func catchUp(_ store: Store, _ random: inout SeededGenerator) async throws {
            var query = RecordQuery { ($0.persons, $0.since) = (persons, cursor) }
            query.limit = Int.random(in: 1...40, using: &random)
            let answer = try await store.all(query)
            for record in answer.records {
                #expect(record.sequence > cursor.sequence)
                take(record)
            }
            cursor = answer.cursor
        }

        mutating func take(_ record: StoredRecord) {
            records[record.number] = record.record.retraction == nil ? record : nil
        }
    }

    /// A listener to the topics of one person (`nil`: the inbox), with the records it has.
    private struct Listener {
        let person: Person?
        var records: [Int64: StoredRecord] = [:]

        mutating func hear(_ record: StoredRecord) {
            guard record.assignment.person == person else { return }
            records[record.number] = record.record.retraction == nil ? record : nil
        }
    }

    @Test(arguments: Thoroughness.some([1, 2, 3, 4] as [UInt64]))
    func `R6.4 R6.24 no source undoes a manual change, and every follower ends with its persons' records`(seed: UInt64)
        async throws
    {
        var random = SeededGenerator(seed: seed)
        let (folder, shadowFolder) = (try TemporaryFolder(), try TemporaryFolder())
        var store = try folder.open()
        let shadow = try shadowFolder.open()  // Receives only the changes of sources.
        let persons = try await store.ensurePersons(["me", "you"], recordedAt: 1)
        let owners: [Assignment] = persons.map(Assignment.person) + [.nobody(reason: "no rule"), .guest]
        var followers =
            ([[.person("me")], [.person("you")], [.nobody], [.person("me"), .nobody]] as [Set<RecordQuery.Owner>?])
            .map { Follower(persons: $0, cursor: store.cursor) }
        followers.append(Follower(persons: nil, cursor: store.cursor))
        // A sink for one person, and the records of its target.
        let terms = SinkTerms(filter: SinkFilter(persons: ["me"]), target: SinkTerms.Target(plugin: "exporter"))
        var sink = try await SinkSession(store, exporter, terms)
        var target: [Int64: StoredRecord] = [:]
        func deliver(_ share: Int) async throws {
            for record in try await sink.take() where Int.random(in: 0..<10, using: &random) < share {
                try await sink.answer(record, .delivered())
                target[record.number] = record.record.retraction == nil ? record : nil
            }
        }
        var listeners = (persons + [nil]).map { Listener(person: $0) }
        var topics: [String: Int64] = [:]
        var last: Int64 = 0
        // The manual decisions that no source may change: person, content and retraction.
        var assigned: [Int64: Assignment] = [:]
        var edited: [Int64: Sample] = [:]
        var gone: Set<Int64> = []
        // The sample with each number in `store`.
        var known: [Int64: Sample] = [:]

        func publish(_ result: StoreResult, _ plain: StoredRecord?) throws {
            guard let placement = result.placement else { return }
            #expect(placement.sequence > last, "seed \(seed)")
            if placement.isCovered {
                last = placement.sequence
                return
            }
            var told: [(record: StoredRecord, previous: Int64)] = []
            if let departure = placement.departure { told.append((departure.record, departure.previous)) }
            told.append((try #require(placement.record ?? plain), placement.previous))
            for (record, previous) in told {
                #expect(record.sequence > last, "seed \(seed)")
                last = record.sequence
                let topic = Self.topic(record)
                #expect(previous == topics[topic] ?? 0, "seed \(seed): \(topic)")
                topics[topic] = record.sequence
                for index in listeners.indices { listeners[index].hear(record) }
            }
        }

        for round in 0..<80 {
            for _ in 0..<Int.random(in: 1...5, using: &random) {
                let key = Int.random(in: 0..<16, using: &random)
                let owner = owners[Int.random(in: 0..<3, using: &random)]
                let record: Record
                if Int.random(in: 0..<4, using: &random) == 0,
                    known.values.contains(where: { $0.key.text == "k\(key)" })
                {
                    record = .retraction(
                        Retraction(
                            identity: .sample(scale, try #require(RecordKey("k\(key)"))), source: scale,
                            reason: ["gone", nil].randomElement(using: &random) ?? nil))
                } else {
                    record = .sample(
                        try sample(
                            "k\(key)", Double(Int.random(in: 0..<4, using: &random)),
                            at: Int64.random(in: 0..<9, using: &random), group: key < 9 ? "g\(key / 3)" : nil))
                }
                let result = try await store.put([record], owner)[0]
                let other = try await shadow.put([record], .nobody(reason: ""))[0]
                #expect((result.placement == nil) == (other.placement == nil), "seed \(seed) round \(round)")
                var plain: StoredRecord?
                if case .sample(let sample) = record, let placement = result.placement {
                    known[placement.number] = sample
                    plain = StoredRecord(IntakeRecord(record: record, assignment: owner), placement)
                }
                try publish(result, plain)
            }
            let numbers = known.keys.sorted().shuffled(using: &random).prefix(Int.random(in: 1...2, using: &random))
            guard let number = numbers.first else { continue }
            let action: ManualChange
            switch Int.random(in: 0..<8, using: &random) {
            case 0, 1:
                action = .assign(
                    numbers: Array(numbers), to: owners[Int.random(in: 0..<4, using: &random)],
                    wholeGroups: Bool.random(using: &random), reason: nil)
            case 2:
                var edit = SampleEdit(type: try type("weight"))
                edit.value = .quantity(100 + Double(round), unit: "kg")
                if Bool.random(using: &random) {
                    edit.start = Timestamp(microseconds: Int64(round) * 1_000_000, offsetMinutes: 60)
                }
                action = .edit(number: number, edit)
            case 3: action = .undoEdit(numbers: Array(numbers))
            case 4: action = .retract(numbers: Array(numbers), reason: "hand")
            case 5: action = .undoRetraction(numbers: Array(numbers))
            case 6: action = .undoAssignment(numbers: Array(numbers), wholeGroups: Bool.random(using: &random))
            default:
                action = .assignByRules(
                    numbers.map {
                        ManualChange.RuledRecord(number: $0, assignment: owners[Int.random(in: 0..<3, using: &random)])
                    })
            }
            // Sometimes with the expected versions, some of which are outdated (R8.186).
            var (asked, stale): ([Int64: Int64], Set<Int64>) = ([:], [])
            if Bool.random(using: &random) {
                for record in try await store.records(numbers: numbers.sorted()) {
                    let now = record.sequence
                    asked[record.number] = [now, now, 0, now + 1].randomElement(using: &random) ?? now
                    if asked[record.number] == now + 1 { stale.insert(record.number) }
                }
            }
            let change = asked.isEmpty ? action : .unlessChanged(asked, action)
            let rehearsed = try await store.rehearse(change, recordedAt: Int64(round))
            let results = try await store.carryOut(change, recordedAt: Int64(round))
            #expect(results == rehearsed, "seed \(seed) round \(round)")
            if case .assignByRules = action {
            } else {
                let left = Set(results.filter { $0.result.code == "changed" }.map(\.number))
                let named: Set<Int64> = if case .edit = action { [number] } else { Set(numbers) }
                #expect(left.isSuperset(of: stale.intersection(named)), "seed \(seed) round \(round)")
                #expect(stale.isEmpty ? left.isEmpty : left.isSubset(of: named), "seed \(seed) round \(round)")
            }
            for result in results {
                try publish(result.result, nil)
                guard let record = result.result.placement?.record else { continue }
                switch action {
                case .assign(_, let owner, _, _): assigned[result.number] = owner
                case .undoAssignment: assigned[result.number] = nil
                case .edit, .editTogether:
                    if case .sample(let sample) = record.record { edited[result.number] = sample }
                case .undoEdit: edited[result.number] = nil
                case .retract: gone.insert(result.number)
                case .undoRetraction: gone.remove(result.number)
                case .log, .assignByRules, .eraseNext, .thin, .unlessChanged, .within: break
                }
            }
            try await check(store, assigned, edited, gone, seed)
            if round % 5 == 0 {
                for index in followers.indices where Bool.random(using: &random) {
                    try await followers[index].catchUp(store, &random)
                }
            }
            if round % 3 == 0 { try await deliver(7) }
            if round == 40 {
                try store.close()
                store = try folder.open()
                sink = try await SinkSession(store, exporter, terms)
            }
        }
        #expect(store.head == last)
        #expect(try await store.verifyAccounts() == [], "seed \(seed)")
        for index in followers.indices {
            try await followers[index].catchUp(store, &random)
            let current = try await current(store, followers[index].persons)
            #expect(
                followers[index].records == current, "seed \(seed): \(String(describing: followers[index].persons))")
        }
        // A sink that opens again gets the unanswered deliveries again.
        sink = try await SinkSession(store, exporter, terms)
        try await deliver(10)
        try await deliver(10)
        #expect(target == (try await current(store, [.person("me")])), "seed \(seed)")
        _ = try await sink.account()
        for listener in listeners {
            let whose: RecordQuery.Owner = listener.person.map { .person($0.uid) } ?? .nobody
            #expect(listener.records == (try await current(store, [whose])), "seed \(seed)")
        }

        // Without edits and retractions by hand, a record is as the sources alone have made it.
        let all = known.keys.sorted()
        _ = try await store.carryOut(.undoRetraction(numbers: all), recordedAt: 99)
        _ = try await store.carryOut(.undoEdit(numbers: all), recordedAt: 99)
        for sample in known.values {
            let identity = RecordIdentity.sample(sample.source, sample.key)
            let (mine, other) = (try await store.record(identity), try await shadow.record(identity))
            #expect(mine?.record == other?.record, "seed \(seed)")
            #expect(mine?.edited == [])
        }
        #expect(try await store.verifyAccounts() == [], "seed \(seed)")
    }

    /// Checks that the manual decisions still apply.
    private func check(
        _ store: Store, _ assigned: [Int64: Assignment], _ edited: [Int64: Sample], _ gone: Set<Int64>, _ seed: UInt64
    ) async throws {
        for (number, owner) in assigned {
            #expect(try await store.records(numbers: [number]).first?.assignment == owner, "seed \(seed): \(number)")
        }
        for number in gone {
            let retraction = try await store.records(numbers: [number]).first?.record.retraction
            #expect(retraction?.author == .person, "seed \(seed): \(number)")
        }
        for (number, sample) in edited where !gone.contains(number) {
            #expect(
                try await store.records(numbers: [number]).first?.record == .sample(sample), "seed \(seed): \(number)")
        }
    }

    private func current(_ store: Store, _ persons: Set<RecordQuery.Owner>?) async throws -> [Int64: StoredRecord] {
        let query = RecordQuery { ($0.persons, $0.order) = (persons, .time) }
        let records = try await store.all(query).records
        return Dictionary(records.map { ($0.number, $0) }, uniquingKeysWith: { first, _ in first })
    }

    private static func topic(_ record: StoredRecord) -> String {
        guard let person = record.assignment.person else { return "inbox" }
        if case .retraction = record.record { return "retraction/\(person.name)" }
        return "sample/\(person.name)"
    }
}
