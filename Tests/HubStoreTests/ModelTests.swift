import HubProcess
import HubStore
import Platform
import Samples
import Testing

/// A simple model of the store in memory.
private struct Model {
    struct Entry {
        var number: Int64
        var sequence: Int64
        var put: Record
        var retraction: Retraction?
        var assignment: Assignment
        /// The source's versions of a sample beneath a person's retraction.
        var beneath: (put: Record, retraction: Retraction?)?
    }

    var head: Int64 = 0
    var entries: [RecordIdentity: Entry] = [:]
    var topics: [String: Int64] = [:]
    var account: [String: Int64] = [:]

    mutating func place(_ topic: String) -> Int64 {
        head += 1
        let previous = topics[topic] ?? 0
        topics[topic] = head
        return previous
    }

    func topic(_ entry: Entry) -> String {
        guard let person = entry.assignment.person else { return "inbox" }
        switch (entry.put, entry.retraction) {
        case (.sample(let sample), nil): return "sample/\(sample.type.rawValue)/\(person.name)/\(sample.source.plugin)"
        case (.sample(let sample), _?):
            return "retraction/\(sample.type.rawValue)/\(person.name)/\(sample.source.plugin)"
        case (.day(let day), nil): return "day/\(day.type.rawValue)/\(person.name)/\(day.series)"
        case (.day(let day), let retraction?):
            return "retraction/\(day.type.rawValue)/\(person.name)/\(retraction.source.plugin)"
        case (.retraction, _): return ""
        }
    }

    /// The expected result: a code for a rejection; the entry and previous sequence of a stored record; neither for a
    /// duplicate.
    mutating func apply(_ record: Record, _ assignment: Assignment) -> (code: String?, Entry?, previous: Int64) {
        let known = entries[record.identity]
        var entry: Entry
        switch record {
        case .retraction(let retraction):
            guard let known else { return ("unknown", nil, 0) }
            if known.retraction?.author == .person {
                return retraction.author == .person ? (nil, nil, 0) : cover(record, known)
            }
            let floor = known.retraction?.sourceVersion ?? version(known.put)
            if let standing = known.retraction, standing.reason == retraction.reason,
                standing.sourceVersion == retraction.sourceVersion
            {
                return (nil, nil, 0)
            }
            if retraction.author == .source, let given = retraction.sourceVersion, let floor, given < floor {
                return (nil, nil, 0)
            }
            entry = known
            if retraction.author == .person { entry.beneath = (known.put, known.retraction) }
            entry.retraction = retraction
        case .sample, .day:
            if let known {
                if known.retraction?.author == .person { return cover(record, known) }
                let floor = known.retraction?.sourceVersion ?? version(known.put)
                if let given = version(record), let floor, given < floor { return (nil, nil, 0) }
                if known.retraction == nil, known.put == record { return (nil, nil, 0) }
            }
            entry = Entry(number: known?.number ?? head + 1, sequence: 0, put: record, assignment: assignment)
        }
        let previous = place(topic(entry))
        entry.sequence = head
        entries[record.identity] = entry
        return (nil, entry, previous)
    }

    /// Keeps a source's version of a sample that a person retracted; for a day it is a duplicate.
    private mutating func cover(_ record: Record, _ known: Entry) -> (code: String?, Entry?, previous: Int64) {
        guard case .sample = known.put, let standing = known.beneath else { return (nil, nil, 0) }
        let floor = standing.retraction?.sourceVersion ?? version(standing.put)
        if case .retraction(let retraction) = record {
            if let old = standing.retraction, old.reason == retraction.reason,
                old.sourceVersion == retraction.sourceVersion
            {
                return (nil, nil, 0)
            }
            if let given = retraction.sourceVersion, let floor, given < floor { return (nil, nil, 0) }
            entries[record.identity]?.beneath?.retraction = retraction
        } else {
            if let given = version(record), let floor, given < floor { return (nil, nil, 0) }
            if standing.retraction == nil, standing.put == record { return (nil, nil, 0) }
            entries[record.identity]?.beneath = (record, nil)
        }
        head += 1
        var covered = known
        covered.sequence = head
        return (nil, covered, 0)
    }

    func version(_ record: Record) -> Int64? {
        if case .sample(let sample) = record { sample.sourceVersion } else { nil }
    }

    func stored(_ entry: Entry) -> StoredRecord {
        let type =
            switch entry.put {
            case .sample(let sample): sample.type
            case .day(let day): day.type
            case .retraction: preconditionFailure("a model entry is never a retraction")
            }
        return StoredRecord(
            record: entry.retraction.map(Record.retraction) ?? entry.put, number: entry.number,
            sequence: entry.sequence,
            assignment: entry.assignment, type: type)
    }

    var changes: [StoredRecord] { entries.values.map(stored).sorted { $0.sequence < $1.sequence } }
}

@Suite struct ModelTests {
    @Test(arguments: Thoroughness.some([1, 2, 3, 4, 5, 6] as [UInt64])) func `the store agrees with the model`(
        seed: UInt64
    ) async throws {
        var random = SeededGenerator(seed: seed)
        let folder = try TemporaryFolder()
        var store = try folder.open()
        let names = ["me", "you"]
        let persons = try await store.ensurePersons(names, recordedAt: 1)
        let types = try ["weight", "heartRate", "stepCount"].map { try type($0) }
        let sources = [scale, Source(plugin: "ihealth-hs3"), Source(plugin: "sami", account: "a")]
        var model = Model()
        var cursors: [Samples.Cursor] = [store.cursor]

        func assignment(of key: Int) -> Assignment {
            key % 5 == 0 ? .nobody(reason: "no rule") : .person(persons[key % 2])
        }

        func randomSample(_ key: Int, group: String?) throws -> Sample {
            let start = Int64.random(in: 0..<200, using: &random)
            var made = try sample(
                "k\(key)", Double(Int.random(in: 0..<3, using: &random)), source: sources[key % 3], at: start,
                lasting: key % 4 == 0 ? Int64.random(in: 0..<50, using: &random) : 0, group: group,
                version: key % 3 == 0 ? Int64.random(in: 0..<4, using: &random) : nil)
            made.type = types[key % 3]
            return made
        }

        for round in 0..<60 {
            var records: [(Record, Assignment)] = []
            var broken: Set<String> = []
            for place in 0..<Int.random(in: 1...12, using: &random) {
                let key = Int.random(in: 0..<40, using: &random)
                switch Int.random(in: 0..<10, using: &random) {
                case 0..<6:
                    let group = Bool.random(using: &random) ? "g\(round)-\(place % 2)" : nil
                    var made = try randomSample(key, group: group)
                    if Int.random(in: 0..<20, using: &random) == 0 {
                        made.value = .quantity(.infinity, unit: "kg")
                        if let group { broken.insert(group) }
                    }
                    records.append((.sample(made), assignment(of: key)))
                case 6, 7:
                    var made = try day(
                        "2024-03-0\(key % 9 + 1)", Double(Int.random(in: 0..<2, using: &random)), person: names[key % 2]
                    )
                    made.type = types[key % 3]
                    records.append((.day(made), .person(persons[key % 2])))
                default:
                    let known = model.entries.values.sorted { $0.number < $1.number }.randomElement(using: &random)
                    guard let known else { continue }
                    let made = Retraction(
                        identity: known.put.identity, source: known.put.source,
                        reason: Bool.random(using: &random) ? "gone" : nil,
                        sourceVersion: known.number % 3 == 0 ? Int64.random(in: 0..<4, using: &random) : nil)
                    records.append((.retraction(made), .nobody(reason: "")))
                }
            }
            let batch = IntakeBatch(
                instance: "scale", records: records.map { IntakeRecord(record: $0, assignment: $1) })
            let results = try await store.commit([batch], recordedAt: Int64(round))[0]
            for ((record, owner), result) in zip(records, results) {
                if case .sample(let sample) = record {
                    var refused = sample.group.map(broken.contains) ?? false
                    if case .quantity(let value, _) = sample.value, !value.isFinite { refused = true }
                    if refused {
                        #expect(result.code == "value" || result.code == "group", "seed \(seed)")
                        continue
                    }
                }
                let expected = model.apply(record, owner)
                #expect(result.code == expected.code, "seed \(seed) round \(round)")
                #expect(result.placement?.number == expected.1?.number, "seed \(seed) round \(round)")
                #expect(result.placement?.sequence == expected.1?.sequence, "seed \(seed) round \(round)")
                if expected.1 != nil {
                    #expect(result.placement?.previous == expected.previous, "seed \(seed) round \(round)")
                }
            }
            if round % 13 == 0,
                let known = model.entries.values.sorted(by: { $0.number < $1.number }).randomElement(using: &random)
            {
                let made = Retraction(
                    identity: known.put.identity, source: known.put.source, author: .person, reason: "no")
                let expected = model.apply(.retraction(made), known.assignment)
                let result = try await store.retract(numbers: [known.number], reason: "no", recordedAt: 9)[0]
                #expect(result.placement?.sequence == expected.1?.sequence, "seed \(seed)")
            }
            if round % 7 == 0 { cursors.append(store.cursor) }
            if round == 30 {
                try store.close()
                store = try folder.open()
            }
        }
        #expect(store.head == model.head)
        #expect(try await store.verifyAccounts() == [])
        try await compare(store, model, cursors, types, &random, seed)
    }

    private func compare(
        _ store: Store, _ model: Model, _ cursors: [Samples.Cursor], _ types: [TypeID], _ random: inout SeededGenerator,
        _ seed: UInt64
    ) async throws {
        let changes = model.changes
        for cursor in cursors {
            let query = RecordQuery { ($0.since, $0.limit) = (cursor, Int.random(in: 1...50, using: &random)) }
            let answer = try await store.all(query)
            #expect(answer.records == changes.filter { $0.sequence > cursor.sequence }, "seed \(seed)")
            #expect(answer.cursor == store.cursor)
        }
        for _ in 0..<40 {
            var query = RecordQuery { $0.limit = Int.random(in: 1...30, using: &random) }
            query.order = [.sequence, .time, .newestFirst].randomElement(using: &random) ?? .sequence
            if Bool.random(using: &random) { query.types = [types[Int.random(in: 0..<3, using: &random)]] }
            if Bool.random(using: &random) {
                query.persons = [[.person("me")], [.nobody], [.person("you"), .nobody]].randomElement(using: &random)
            }
            if Int.random(in: 0..<3, using: &random) == 0 { query.sources = ["sami"] }
            if Bool.random(using: &random) { query.from = Int64.random(in: 0..<250, using: &random) * 1_000_000 }
            if Bool.random(using: &random) { query.to = Int64.random(in: 0..<250, using: &random) * 1_000_000 }
            (query.strictStart, query.strictEnd) = (Bool.random(using: &random), Bool.random(using: &random))
            if Int.random(in: 0..<4, using: &random) == 0 {
                query.kinds = KindSelection([.quantity, .retraction], followsChanges: false)
            }
            let expected = changes.filter { fits($0, query, model) }.sorted { left, right in
                if query.order == .sequence { return left.sequence < right.sequence }
                let (one, two) = ((span(left, model).start, left.number), (span(right, model).start, right.number))
                return query.order == .time ? one < two : one > two
            }
            let answer = try await store.all(query).records
            #expect(answer == expected, "seed \(seed) query \(query)")
        }
        for record in changes { #expect(try await store.record(record.record.identity) == record, "seed \(seed)") }
    }

    private func span(_ record: StoredRecord, _ model: Model) -> (start: Int64, end: Int64) {
        switch model.entries[record.record.identity]?.put {
        case .sample(let sample): return (sample.start.microseconds, sample.end.microseconds)
        case .day(let day):
            let start = Int64(day.date.daysSinceEpoch) * 86_400_000_000
            return (start, start + 86_399_999_999)
        default: return (0, 0)
        }
    }

    private func fits(_ record: StoredRecord, _ query: RecordQuery, _ model: Model) -> Bool {
        let isRetraction = record.record.retraction != nil
        let isDay = record.record.day != nil
        if isRetraction, !(query.kinds.map { !$0.takenBack.isEmpty } ?? (query.order == .sequence)) { return false }
        if isDay, query.kinds != nil { return false }
        if let types = query.types, !types.contains(record.type) { return false }
        if let persons = query.persons, !persons.contains(record.assignment.person.map { .person($0.name) } ?? .nobody)
        {
            return false
        }
        if let sources = query.sources, !sources.contains(record.record.source.plugin) { return false }
        let (start, end) = span(record, model)
        if let from = query.from, (query.strictStart ? start : end) < from { return false }
        if query.strictEnd, let from = query.from, end < from { return false }
        if let to = query.to, start >= to || (query.strictEnd && end >= to) { return false }
        return true
    }
}
