import Foundation
import GRDB
import HubProcess
import Platform
import Samples
import Testing

@testable import HubStore

/// A store with several sinks, and models of the expected state of each.
private struct LedgerRun {
    let folder: TemporaryFolder
    var store: Store
    var random: SeededGenerator
    let seed: UInt64
    let persons: [Person]
    let types: [TypeID]
    var records: [Int64: ModelVersion] = [:]
    var sinks: [SinkID: SinkModel] = [:]
    var positions: [SinkID: Int64] = [:]
    /// The deliveries in flight in this session, and the unanswered ones of earlier sessions.
    var flights: [SinkID: [Int64: StoredRecord]] = [:]
    /// The sequence up to which earlier sessions may have delivered without an answer, and the versions that were
    /// delivered again.
    var givenBefore: [SinkID: Int64] = [:]
    var repeats: [SinkID: Set<Int64>] = [:]
    var lost: [SinkID: [StoredRecord]] = [:]
    var now: Int64 = 86_400_000_000 * 10

    init(seed: UInt64) async throws {
        self.seed = seed
        random = SeededGenerator(seed: seed)
        folder = try TemporaryFolder()
        store = try folder.open()
        persons = try await store.ensurePersons(["me", "you"], recordedAt: 1)
        types = try ["weight", "heartRate", "stepCount"].map { try type($0) }
    }

    mutating func chance(_ one: Int, in all: Int) -> Bool { Int.random(in: 0..<all, using: &random) < one }

    var where_: Comment { "seed \(seed), head \(store.head)" }

    // MARK: - Records

    mutating func randomPut() throws -> (Samples.Record, Assignment) {
        let key = Int.random(in: 0..<14, using: &random)
        if key >= 11 {
            let person = persons[key % 2]
            var made = try day(
                "1970-01-\(10 + key % 3)", Double(Int.random(in: 0..<3, using: &random)), person: person.name)
            made.type = types[key % 3]
            return (.day(made), .person(person))
        }
        let source = [scale, Source(plugin: "sami", account: "a"), Source(plugin: "ihealth-hs3")][key % 3]
        var made = try sample(
            "k\(key)", Double(Int.random(in: 0..<4, using: &random)), source: source,
            at: Int64.random(in: 9 * 86_400..<12 * 86_400, using: &random))
        made.type = types[chance(1, in: 8) ? Int.random(in: 0..<3, using: &random) : key % 3]
        if chance(1, in: 4) { made.provenance = .filled(method: "mean", basis: []) }
        let owner: Assignment =
            chance(1, in: 8) ? .nobody(reason: "no rule") : .person(persons[chance(1, in: 6) ? 1 - key % 2 : key % 2])
        return (.sample(made), owner)
    }

    mutating func commit() async throws {
        var batch: [(Samples.Record, Assignment)] = []
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            if chance(1, in: 4),
                let known = records.values.sorted(by: { $0.record.number < $1.record.number })
                    .randomElement(using: &random)
            {
                let source = known.put.source
                let reason = ["gone", "wrong"].randomElement(using: &random)
                batch.append(
                    (
                        .retraction(Retraction(identity: known.put.identity, source: source, reason: reason)),
                        .nobody(reason: "")
                    ))
            } else {
                batch.append(try randomPut())
            }
        }
        // One version of each record, because the store could not be asked about its decision for one in the middle.
        var seen: Set<RecordIdentity> = []
        batch = batch.filter { seen.insert($0.0.identity).inserted }
        let intake = IntakeBatch(instance: "scale", records: batch.map { IntakeRecord(record: $0, assignment: $1) })
        let results = try await store.commit([intake], recordedAt: now)[0]
        for ((record, owner), result) in zip(batch, results) {
            guard let placement = result.placement else { continue }
            let type =
                switch record {
                case .sample(let sample): sample.type
                case .day(let day): day.type
                case .retraction: types[0]
                }
            try await follow(
                placement,
                StoredRecord(
                    record: record, number: placement.number, sequence: placement.sequence, assignment: owner,
                    type: type))
        }
    }

    /// A manual change of one record.
    mutating func handle() async throws {
        guard
            let known = records.values.sorted(by: { $0.record.number < $1.record.number }).randomElement(using: &random)
        else { return }
        let number = known.record.number
        let whose: [Assignment] = [.person(persons[0]), .person(persons[1]), .nobody(reason: "guest")]
        let action: ManualChange =
            switch Int.random(in: 0..<4, using: &random) {
            case 0: .retract(numbers: [number], reason: nil)
            case 1: .undoRetraction(numbers: [number])
            default:
                .assign(
                    numbers: [number], to: whose[Int.random(in: 0..<3, using: &random)], wholeGroups: false, reason: nil
                )
            }
        guard let placement = try await store.carryOut(action, recordedAt: now)[0].result.placement else { return }
        try await follow(placement, try #require(placement.record))
    }

    /// Updates the models of the sinks for a stored version.
    private mutating func follow(_ placement: Placement, _ given: StoredRecord) async throws {
        if placement.isCovered { return }
        let old = records[placement.number]
        let stored = placement.record ?? given
        var new = ModelVersion(record: stored, put: stored.record)
        if new.isRetraction, let old { new.put = old.put }
        records[placement.number] = new
        for id in sinks.keys where sinks[id]?.commit(placement.number, old, new) == false {
            // The store knows less precisely whether the target may have an old version, so the test asks for its
            // decision.
            let state = try await delivery(placement.number, id)
            if let state, state.sequence == placement.sequence, state.state == .pending {
                sinks[id]?.want(placement.number, placement.sequence, isDeparture: true)
            }
        }
    }

    func delivery(_ number: Int64, _ id: SinkID) async throws -> SinkDelivery? {
        try await store.trace(number)?.deliveries.first { $0.sink == id }
    }

    // MARK: - Sinks

    mutating func open(_ id: SinkID, _ terms: SinkTerms, from start: SinkStart) async throws {
        let isNew = sinks[id] == nil
        var before = try? await store.sink(id).cursor.sequence
        let state = try await store.openSink(id, terms, from: start, recordedAt: now)
        if isNew {
            var model = SinkModel(terms)
            let after =
                switch start {
                case .now: store.head
                case .beginning: Int64(0)
                case .after(let cursor): cursor.sequence
                }
            for (number, version) in records where version.record.sequence > after && model.matches(version) {
                model.want(number, version.record.sequence)
            }
            sinks[id] = model
            before = after
        } else if let model = sinks[id], let before {
            var model = model
            let isFilterNew = model.terms.filter != terms.filter
            model.terms = terms
            model.isPaused = false
            if isFilterNew { try await recount(&model, id, after: before) }
            sinks[id] = model
        }
        positions[id] = state.cursor.sequence
        givenBefore[id] = nil
        lost[id, default: []] += (flights[id] ?? [:]).values.sorted { $0.number < $1.number }
        flights[id] = [:]
    }

    /// Counts the waiting versions after the cursor that have no row under the new filter.
    private mutating func recount(_ model: inout SinkModel, _ id: SinkID, after cursor: Int64) async throws {
        let rows = try await store.pool.read { db in
            let sql = """
                SELECT number, seq FROM delivery WHERE sink = (SELECT id FROM sink WHERE instance = ? AND want = ?)
                """
            return Set(
                try Row.fetchAll(db, sql: sql, arguments: [id.instance, id.want]).map { [$0[0] as Int64, $0[1]] })
        }
        for (number, version) in records {
            let sequence = version.record.sequence
            let entry = model.entries[number]
            if rows.contains([number, sequence]) || sequence <= cursor { continue }
            let isOpen = entry?.sequence == sequence && entry?.state.isOpen == true
            if isOpen, !model.matches(version) {
                model.count("wanted", -1)
                model.count("pending", -1)
                model.entries[number] = nil
            } else if !isOpen, model.matches(version) {
                model.want(number, sequence)
            }
        }
    }

    /// Takes all available deliveries and compares them with the model.
    mutating func take(_ id: SinkID) async throws {
        guard var model = sinks[id], let position = positions[id] else { return }
        var after = position
        var flight = flights[id] ?? [:]
        let busy = Set(flight.keys)
        var given: [StoredRecord] = []
        var rounds = 0
        while true {
            let page = try await store.deliveries(
                of: id, after: after, limits: DeliveryLimits(records: Int.random(in: 1...5, using: &random)),
                inFlight: Set(flight.keys), at: now)
            try #require(page.position >= after, where_)
            let before = givenBefore[id] ?? min(page.givenBefore, store.head)
            givenBefore[id] = before
            for record in page.records where page.isRepeat(record, givenBefore: before) {
                repeats[id, default: []].insert(record.sequence)
            }
            after = page.position
            for record in page.records {
                try #require(flight[record.number] == nil, where_)
                flight[record.number] = record
            }
            given += page.records
            rounds += 1
            if !page.hasMore { break }
            try #require(rounds < 1_000, where_)
        }
        positions[id] = after
        flights[id] = flight
        let taken = Dictionary(uniqueKeysWithValues: given.map { ($0.number, $0) })
        for (number, entry) in model.entries where entry.state.isOpen && !busy.contains(number) && !model.isPaused {
            if case .retrying(let at) = entry.state, at > now { continue }
            let version = try #require(records[number])
            let (skip, isCertain) = model.verdict(number, version, now)
            let record = taken[number]
            if isCertain { try #require((record == nil) == skip, "\(where_), record \(number), sink \(id)") }
            if let record {
                try #require(record.sequence == entry.sequence, where_)
                if entry.isDeparture || version.isRetraction {
                    guard case .retraction = record.record else {
                        Issue.record("expected a retraction: \(where_)")
                        continue
                    }
                } else {
                    try #require(record == version.record, where_)
                    model.given[number, default: [:]][record.sequence, default: 0] += 1
                }
            } else {
                model.move(number, to: .skipped)
                model.settled[number] = entry.sequence
            }
        }
        let expected = Set(model.entries.filter { $0.value.state.isOpen }.keys)
        try #require(Set(taken.keys).isSubset(of: expected), where_)
        if model.isPaused { try #require(given.isEmpty, where_) }
        sinks[id] = model
    }

    mutating func answer(_ id: SinkID, _ record: StoredRecord) async throws {
        guard var model = sinks[id] else { return }

        let result: SinkResult =
            switch Int.random(in: 0..<12, using: &random) {
            case 0..<5: .delivered()
            case 5, 6: .delivered(receipt: "r\(record.sequence)")
            case 7, 8: .retry(at: now + Int64.random(in: 0..<20, using: &random), reason: "busy")
            case 9, 10: .refused(reason: "no")
            default: .unauthorized(reason: "log in")
            }
        let isRetraction = record.record.retraction != nil
        if flights[id]?[record.number]?.sequence == record.sequence { flights[id]?[record.number] = nil }
        let lowest = (flights[id] ?? [:]).values.map(\.sequence).min() ?? .max
        let settlement = SinkSettlement(
            sink: id,
            answers: [
                SinkAnswer(
                    number: record.number, sequence: record.sequence, result: result,
                    isRepeat: repeats[id]?.contains(record.sequence) == true)
            ],
            reached: min(positions[id] ?? 0, lowest - 1))
        try await store.settle([settlement], recordedAt: now)
        model.answer(record.number, record.sequence, isRetraction: isRetraction, result)
        sinks[id] = model
        // A repeat of the same answer changes nothing.
        if chance(1, in: 6), case .delivered = result { try await store.settle([settlement], recordedAt: now) }
    }

    mutating func replay(_ id: SinkID) async throws {
        guard var model = sinks[id] else { return }
        var query = RecordQuery()
        if chance(1, in: 2) { query.types = [types[Int.random(in: 0..<3, using: &random)]] }
        if chance(1, in: 2) {
            query.since = Samples.Cursor(epoch: store.epoch, sequence: Int64.random(in: 0...store.head, using: &random))
        }
        var expected: Set<Int64> = []
        var isCertain = true
        let cursor = try await store.sink(id).cursor.sequence
        for (number, version) in records where model.matches(version) {
            let sequence = version.record.sequence
            if let types = query.types, !types.contains(version.record.type) { continue }
            if let since = query.since, sequence <= since.sequence { continue }
            let entry = model.entries[number]
            if let entry, entry.sequence == sequence, entry.state.isOpen { continue }
            try #require(entry?.sequence == sequence || sequence <= cursor, where_)
            let verdict = model.verdict(number, version, now)
            if !verdict.isCertain { isCertain = false }
            if !verdict.skip { expected.insert(number) }
        }
        let promised = try await store.replay(to: id, matching: query, dryRun: true, at: now)
        let done = try await store.replay(to: id, matching: query, at: now)
        try #require(promised == done, where_)
        if isCertain { try #require(done == Int64(expected.count), where_) }
        for (number, version) in records where model.matches(version) {
            let known = model.entries[number]
            if known?.sequence == version.record.sequence, known?.state.isOpen == true { continue }
            if !isCertain {
                guard try await delivery(number, id)?.state == .pending else { continue }
            } else if !expected.contains(number) {
                continue
            }
            model.want(number, version.record.sequence)
        }
        sinks[id] = model
    }

    mutating func restart() async throws {
        try store.close()
        store = try folder.open(now: now)
        for (id, model) in sinks.sorted(by: { $0.key.want < $1.key.want }) {
            try await open(id, model.terms, from: .beginning)
        }
    }

    // MARK: - Comparing

    func check() async throws {
        try #require(try await store.verifyAccounts() == [], where_)
        let overviews = try await store.sinks()
        try #require(overviews.count == sinks.count)
        for (number, version) in records {
            let deliveries = try #require(try await store.trace(number)).deliveries
            for (id, model) in sinks {
                let traced = deliveries.first { $0.sink == id }
                guard let entry = model.entries[number], entry.sequence == version.record.sequence else {
                    try #require(
                        traced.map { $0.sequence < version.record.sequence } ?? true, "\(where_) \(number) \(id)")
                    continue
                }
                try #require(traced?.state.model == entry.state, "\(where_) \(number) \(id)")
                try #require(traced?.sequence == entry.sequence, where_)
                if let delivered = model.delivered[number], traced?.receipt != nil || entry.state == .delivered {
                    try #require(traced?.receipt?.sequence == delivered, "\(where_) \(number) \(id)")
                }
            }
        }
        for overview in overviews {
            let model = try #require(sinks[overview.state.id])
            let account = overview.state.account
            let counts = [
                "wanted": account.wanted, "delivered": account.delivered, "pending": account.pending,
                "retrying": account.retrying, "refused": account.refused, "superseded": account.superseded,
                "skipped": account.skipped,
            ]
            try #require(counts.filter { $0.value != 0 } == model.counts, "\(where_), sink \(overview.state.id)")
            try #require((overview.state.paused != nil) == model.isPaused, where_)
        }
    }
}

@Suite struct LedgerModelTests {

    /// Number of random runs; `HUB_LEDGER_SEEDS` sets another.
    private static let seeds =
        ProcessInfo.processInfo.environment["HUB_LEDGER_SEEDS"].flatMap(UInt64.init) ?? (Thoroughness.isWhole ? 4 : 1)

    @Test(arguments: 1...seeds)
    func `the ledger agrees with the model for any answers in any order`(seed: UInt64) async throws {
        var run = try await LedgerRun(seed: seed)
        for _ in 0..<4 { try await run.commit() }
        let all = SinkID(instance: "files", want: "all")
        let narrow = SinkID(instance: "exist", want: "narrow")
        let days = SinkID(instance: "sami", want: "days")
        try await run.open(all, SinkTerms(target: .init(plugin: "files")), from: .beginning)
        try await run.open(
            narrow,
            SinkTerms(
                filter: SinkFilter(types: Set(run.types.prefix(2)), persons: ["me"]),
                abilities: .init(takesEdits: seed % 2 == 0, takesDeletions: seed % 3 == 0),
                target: .init(plugin: "exist")), from: .now)
        try await run.open(
            days,
            SinkTerms(
                filter: SinkFilter(kinds: [.day, .quantity], persons: ["you"]),
                abilities: .init(takesPastDates: seed % 2 == 1, takesFilledValues: false),
                target: .init(plugin: "sami", accounts: ["a"])),
            from: .after(Samples.Cursor(epoch: run.store.epoch, sequence: 2)))
        let takenBack = SinkID(instance: "gaps", want: "taken-back")
        try await run.open(
            takenBack, SinkTerms(filter: SinkFilter(kinds: [.retraction]), target: .init(plugin: "gap-filler")),
            from: .now)
        let ids = [all, narrow, days, takenBack]
        try await run.check()
        for step in 0..<160 {
            let id = ids[Int.random(in: 0..<ids.count, using: &run.random)]
            switch Int.random(in: 0..<100, using: &run.random) {
            case 0..<24: try await run.commit()
            case 24..<30: try await run.handle()
            case 30..<55: try await run.take(id)
            case 55..<85:
                for _ in 0..<3 {
                    let flight = (run.flights[id] ?? [:]).values.sorted { $0.number < $1.number }
                    guard let record = flight.randomElement(using: &run.random) else { continue }
                    try await run.answer(id, record)
                }
            case 85..<88:
                if let record = (run.lost[id] ?? []).randomElement(using: &run.random) {
                    try await run.answer(id, record)
                }
            case 88..<91: try await run.replay(id)
            case 91..<94: try await run.open(id, try #require(run.sinks[id]).terms, from: .now)
            case 94..<96 where id != days:
                var terms = try #require(run.sinks[id]).terms
                terms.filter.types = run.chance(1, in: 3) ? nil : [run.types[Int.random(in: 0..<3, using: &run.random)]]
                // Other tests cover answers to deliveries of an older filter.
                try await run.open(id, terms, from: .now)
                run.lost[id] = []
            case 96..<97: try await run.restart()
            default: run.now += 5
            }
            if step % 4 == 0 { try await run.check() }
        }
        try await run.check()
    }
}
