import GRDB
import HubProcess
import Samples
import Testing

@testable import HubStore

/// Manual changes, case by case.
@Suite struct HandTests {
    let folder: TemporaryFolder
    let store: Store

    init() throws { (folder, store) = try newStore() }

    private func hand(_ action: ManualChange) async throws -> [ManualResult] {
        try await store.carryOut(action, recordedAt: 9)
    }

    private func persons() async throws -> (me: Person, you: Person) {
        let persons = try await store.ensurePersons(["me", "you"], recordedAt: 1)
        return (persons[0], persons[1])
    }

    private func assign(_ numbers: [Int64], _ person: Person?, groups: Bool = true) async throws -> [ManualResult] {
        try await hand(
            .assign(
                numbers: numbers, to: person.map(Assignment.person) ?? .nobody(reason: "a guest"), wholeGroups: groups,
                reason: nil))
    }

    private func value(_ value: Double, unit: String = "kg", canonical: Double? = nil) throws -> SampleEdit {
        var edit = SampleEdit(type: try type("weight"))
        edit.value = .quantity(value, unit: unit)
        edit.canonical = canonical.map { StoredRecord.CanonicalValue(value: $0, unit: "kg") }
        return edit
    }

    private func followed(_ person: Person, since: Samples.Cursor) async throws -> [StoredRecord] {
        let query = RecordQuery { ($0.persons, $0.since) = ([.person(person.uid)], since) }
        return try await store.all(query).records
    }

    // MARK: - Persons

    @Test
    func `R6.23 R6.24 a record assigned to another person leaves a retraction with the former person`() async throws {
        let (me, you) = try await persons()
        let beginning = store.cursor
        _ = try await store.put(try sample("a"), try sample("b"))
        let placement = try #require(try await assign([1], you)[0].result.placement)
        let departure = try #require(placement.departure)
        #expect((departure.record.sequence, departure.previous) == (3, 0))
        #expect((placement.sequence, placement.previous, placement.number) == (4, 0, 1))
        #expect(placement.record?.assignment == .person(you))
        #expect(departure.record.assignment == .person(me))
        let retraction = try #require(departure.record.record.retraction)
        #expect(retraction.author == .person)
        #expect(retraction.reason?.contains("you") == false)

        #expect(try await followed(me, since: beginning).map(\.sequence) == [2, 3])
        #expect(try await followed(me, since: beginning).last == departure.record)
        #expect(try await followed(you, since: beginning).map(\.sequence) == [4])
        #expect(try await store.all(RecordQuery()).records.map(\.sequence) == [2, 4])
        #expect(try await store.verifyAccounts() == [])
    }

    @Test func `a record that returns to a person no longer has a departure there`() async throws {
        let (me, you) = try await persons()
        let beginning = store.cursor
        _ = try await store.put(try sample("a"))
        _ = try await assign([1], you)
        let back = try #require(try await assign([1], me)[0].result.placement)
        #expect((back.departure?.record.sequence, back.sequence) == (4, 5))
        #expect(try await followed(me, since: beginning).map(\.sequence) == [5])
        #expect(try await followed(you, since: beginning).map(\.sequence) == [4])
        _ = try await assign([1], you)
        #expect(try await followed(me, since: beginning).map(\.sequence) == [6])
        #expect(try await followed(you, since: beginning).map(\.sequence) == [7])
        #expect(try await store.verifyAccounts() == [])
    }

    @Test func `a departure matches by type, source and number, and is left out for clients without retractions`()
        async throws
    {
        let (_, you) = try await persons()
        _ = try await store.put(try sample("a", group: "g"), try sample("b"))
        _ = try await assign([1, 2], you)
        var query = RecordQuery { $0.persons = [.person("me")] }
        #expect(try await store.all(query).records.map(\.number) == [1, 2])
        query.group = "g"
        #expect(try await store.all(query).records.map(\.number) == [1])
        query.group = nil
        query.numbers = [2]
        #expect(try await store.all(query).records.map(\.number) == [2])
        query.numbers = nil
        query.types = [try type("heartRate")]
        _ = try await store.put(try sample("c", type: "heartRate"))
        #expect(try await store.all(query).records.map(\.number) == [7])
        query.types = nil
        query.sources = ["sami"]
        #expect(try await store.all(query).records.isEmpty)
        query.sources = ["ihealth-hs3"]
        query.kinds = KindSelection([.quantity], followsChanges: false)
        #expect(try await store.all(query).records.map(\.number) == [7])
    }

    @Test func `R6.32 a record whose source changes its type leaves a retraction for followers of the old type`()
        async throws
    {
        let (me, _) = try await persons()
        let beginning = store.cursor
        func of(_ types: String...) async throws -> [StoredRecord] {
            var query = RecordQuery()
            query.types = Set(try types.map { try type($0) })
            query.since = beginning
            return try await store.all(query).records
        }
        _ = try await store.put(try sample("a"), try sample("b"))
        let placement = try #require(try await store.put(try sample("a", type: "height"))[0].placement)
        let left = try #require(placement.departure)
        #expect((left.record.number, left.record.sequence, placement.sequence, left.previous) == (1, 3, 4, 0))
        #expect(left.record.type == .weight && left.record.assignment == .person(me))
        let retraction = try #require(left.record.record.retraction)
        #expect(retraction.author == .source && retraction.reason == "no longer of this type")
        #expect(try await of("weight").map(\.sequence) == [2, 3])
        #expect(try await of("weight").last == left.record)
        #expect(try await of("height").map(\.sequence) == [4])
        // It has not left its person.
        #expect(try await followed(me, since: beginning).map(\.sequence) == [2, 4])
        // On to a third type, and back to the first.
        _ = try await store.put(try sample("a", type: "bodyMassIndex"))
        #expect(try await of("weight").map(\.sequence) == [2, 3])
        #expect(try await of("height").map(\.sequence) == [5])
        #expect(try await of("bodyMassIndex").map(\.sequence) == [6])
        _ = try await store.put(try sample("a", 71))
        #expect(try await of("weight").map(\.sequence) == [2, 8])
        #expect(try await of("height", "bodyMassIndex").map(\.sequence) == [5, 7])
        #expect(try await store.verifyAccounts() == [])
    }

    @Test func `departures of a store of the fourth format are found in the fifth`() async throws {
        _ = try await persons()
        _ = try await store.put(try sample("a"), try sample("b"))
        let you = try await store.ensurePersons(["me", "you"], recordedAt: 1)[1]
        _ = try await assign([1], you)
        try store.close()
        // Undoes the changes of the fifth migration.
        try folder.change(
            """
            DROP INDEX departure_open;
            ALTER TABLE departure DROP COLUMN retyped;
            CREATE UNIQUE INDEX departure_open ON departure (number, ifnull(person, 0)) WHERE ended IS NULL;
            DELETE FROM grdb_migrations WHERE identifier = 'v5';
            """)
        let store = try folder.open()
        var query = RecordQuery { $0.persons = [.person("me")] }
        #expect(try await store.all(query).records.map(\.sequence) == [2, 3])
        _ = try await store.put([.sample(try sample("a", type: "height"))], .person(you))
        query.types = [.weight]
        query.persons = nil
        #expect(try await store.all(query).records.map(\.sequence) == [2, 3, 5])
        #expect(try await store.verifyAccounts() == [])
    }

    @Test func `R6.33 an instance cannot change records outside its write scope, and a group is refused as a whole`()
        async throws
    {
        let (me, you) = try await persons()
        func give(_ records: Samples.Record..., of owner: Person, scope: WriteScope = WriteScope()) async throws
            -> [String]
        {
            let items = records.map { IntakeItem.success(IntakeRecord(record: $0, assignment: .person(owner))) }
            let batch = IntakeBatch(instance: "scale", items: items, scope: scope)
            return try await store.commit([batch], recordedAt: 2)[0].map { result in
                result.code ?? (result.isDuplicate ? "duplicate" : "stored")
            }
        }
        func gone(_ key: String) throws -> Samples.Record {
            .retraction(Retraction(identity: .sample(scale, try #require(RecordKey(key))), source: scale))
        }
        _ = try await give(.sample(try sample("yours")), of: you)
        _ = try await give(
            .sample(try sample("mine")), .sample(try sample("rate", type: "heartRate")),
            .sample(try sample("nobody's")), of: me)
        _ = try await assign([4], nil)
        let head = store.head
        let mine = WriteScope(types: ["weight"], persons: ["me"])
        #expect(
            try await give(.sample(try sample("yours", 1)), try gone("yours"), of: me, scope: mine) == [
                "forbidden", "forbidden",
            ])
        #expect(
            try await give(.sample(try sample("rate")), try gone("rate"), of: me, scope: mine) == [
                "forbidden", "forbidden",
            ])
        #expect(try await give(.sample(try sample("yours")), of: me, scope: mine) == ["duplicate"])
        #expect(
            try await give(
                .sample(try sample("new", group: "g")), .sample(try sample("yours", 1, group: "g")), of: me, scope: mine
            )
                == ["group", "forbidden"])
        #expect(store.head == head)
        #expect(
            try await give(.sample(try sample("mine", 1)), try gone("mine"), try gone("nobody's"), of: me, scope: mine)
                == ["stored", "stored", "stored"])
        #expect(try await store.verifyAccounts() == [])
    }

    @Test func `R6.35 a record that a person has reassigned can be corrected by its source, but by no other instance`()
        async throws
    {
        let (me, you) = try await persons()
        func give(_ record: Samples.Record, of owner: Person, scope: WriteScope) async throws -> StoreResult {
            let items = [IntakeItem.success(IntakeRecord(record: record, assignment: .person(owner)))]
            let batch = IntakeBatch(instance: "scale", items: items, scope: scope)
            return try await store.commit([batch], recordedAt: 2)[0][0]
        }
        let (mine, yours) = (WriteScope(types: ["weight"], persons: ["me"]), WriteScope(persons: ["you"]))
        _ = try await give(.sample(try sample("a")), of: me, scope: mine)
        _ = try await give(.sample(try sample("rate", type: "heartRate")), of: me, scope: WriteScope())
        // Twice, so that the last manual version is not the one that counts.
        _ = try await assign([1, 2], nil)
        _ = try await assign([1, 2], you)
        let corrected = try await give(.sample(try sample("a", 71, group: "g")), of: me, scope: mine)
        #expect(corrected.placement?.record?.assignment == .person(you), "\(corrected)")
        #expect(
            try await give(.sample(try sample("rate", 71, type: "heartRate")), of: me, scope: mine).code == "forbidden")
        // A manual assignment gives no right to write the record: its source never wrote it for `you`.
        _ = try await assign([1], me)
        #expect(try await give(.sample(try sample("a", 72)), of: you, scope: yours).code == "forbidden")
        _ = try await assign([1], you)
        let gone = Retraction(identity: .sample(scale, try #require(RecordKey("a"))), source: scale)
        #expect(try await give(.retraction(gone), of: me, scope: mine).placement?.record != nil)
        let back = try await give(.sample(try sample("a", 73)), of: me, scope: mine)
        #expect(back.placement?.record?.assignment == .person(you))
        #expect(try await store.verifyAccounts() == [])
    }

    @Test func `a group is assigned together, of one plugin only, unless the caller says otherwise`() async throws {
        let (_, you) = try await persons()
        let other = Source(plugin: "sami")
        _ = try await store.put(
            try sample("a", group: "g"), try sample("b", group: "g"), try sample("c", source: other, group: "g"))
        #expect(try await assign([2], you, groups: false).map(\.number) == [2])
        #expect(try await assign([1, 2], you).map(\.number) == [1, 2])
        #expect(try await store.records(numbers: [1, 2, 3]).map(\.assignment.person?.name) == ["you", "you", "me"])
    }

    @Test func `R6.22 later versions of a source keep the person, or none, that a person has chosen`() async throws {
        let (_, you) = try await persons()
        _ = try await store.put(try sample("a"), try sample("b"))
        _ = try await assign([1], you)
        _ = try await assign([2], nil)
        #expect(try await store.put(try sample("a"))[0].isDuplicate)
        let placement = try #require(try await store.put(try sample("a", 71))[0].placement)
        #expect(placement.record?.assignment == .person(you))
        #expect(placement.departure == nil)
        _ = try await store.put(try sample("b", 71))
        #expect(try await store.records(numbers: [2]).map(\.assignment) == [.nobody(reason: "a guest")])
        _ = try await store.retract(try sample("a"))
        _ = try await store.put(try sample("a", 71))
        #expect(try await store.records(numbers: [1]).map(\.assignment) == [.person(you)])
        #expect(try await store.verifyAccounts() == [])
    }

    @Test func `a new version that the rules assign to another person leaves a departure`() async throws {
        let (me, you) = try await persons()
        let beginning = store.cursor
        _ = try await store.put([.sample(try sample("a"))], .person(me))
        let results = try await store.put([.sample(try sample("a", 71))], .person(you))
        #expect(results[0].placement?.departure?.record.assignment == .person(me))
        #expect(try await followed(me, since: beginning).map(\.sequence) == [2])
        #expect(try await store.verifyAccounts() == [])
        #expect(try await store.accounts().first { $0.instance == IntakeCounts.hand }?.retractions == 1)
    }

    @Test func `rules change neither records that a person put into the inbox nor those with a person`() async throws {
        let (me, you) = try await persons()
        _ = try await store.put([.sample(try sample("a")), .sample(try sample("b"))], .nobody(reason: "no rule"))
        _ = try await store.put([.sample(try sample("c"))], .person(you))
        _ = try await assign([2], nil)
        let ruled = [1, 2, 3].map { ManualChange.RuledRecord(number: $0, assignment: .person(me)) }
        let results = try await hand(.assignByRules(ruled))
        #expect(results.map(\.result.isDuplicate) == [false, true, true])
        #expect(try await store.records(numbers: [1, 2, 3]).map(\.assignment.person?.name) == ["me", nil, "you"])
        // It is as if it had arrived now: the rules also decide for its next version.
        _ = try await store.put([.sample(try sample("a", 71))], .person(you))
        #expect(try await store.records(numbers: [1]).map(\.assignment) == [.person(you)])
        #expect(try await store.verifyAccounts() == [])
    }

    @Test func `a record enters and leaves the inbox as it does a person`() async throws {
        let (me, _) = try await persons()
        let beginning = store.cursor
        _ = try await store.put([.sample(try sample("a"))], .nobody(reason: "no rule"))
        let placement = try #require(try await assign([1], me)[0].result.placement)
        #expect(placement.departure?.record.assignment.person == nil)
        #expect(placement.departure?.previous == 1)
        let query = RecordQuery { ($0.persons, $0.since) = ([.nobody], beginning) }
        #expect(try await store.all(query).records.map(\.sequence) == [2])
        #expect(try await store.inboxCount() == 0)
        _ = try await assign([1], nil)
        #expect(try await store.all(query).records.map(\.sequence) == [5])
        #expect(try await followed(me, since: beginning).map(\.sequence) == [4])
        #expect(try await store.verifyAccounts() == [])
    }

    // MARK: - Edits

    @Test func `R6.27 an edit is visible to everyone, and the source's versions stay beneath it until it is undone`()
        async throws
    {
        _ = try await store.put(try sample("a", 70))
        let edited = try #require(try await hand(.edit(number: 1, try value(80.2)))[0].result.placement)
        #expect((edited.sequence, edited.previous) == (2, 1))
        #expect(edited.record?.edited == .value)
        #expect(try await store.put(try sample("a", 70))[0].isDuplicate)
        let beneath = try #require(try await store.put(try sample("a", 71))[0].placement)
        #expect((beneath.sequence, beneath.isCovered) == (3, true))
        #expect(try await store.put(try sample("a", 71))[0].isDuplicate)
        #expect(try await store.put(try sample("a", 70))[0].placement?.sequence == 4)
        #expect(try await store.put(try sample("a", 71))[0].placement?.sequence == 5)
        #expect(try await store.retract(try sample("a")).placement?.isCovered == true)
        #expect(try await store.put(try sample("a", 72))[0].placement?.isCovered == true)
        #expect(store.head == 7)
        #expect(try await store.records(numbers: [1]).map(\.record) == [.sample(try sample("a", 80.2))])
        #expect(try await store.page(RecordQuery()).records.map(\.sequence) == [2])

        let undone = try #require(try await hand(.undoEdit(numbers: [1]))[0].result.placement)
        #expect((undone.sequence, undone.previous) == (8, 2))
        #expect(undone.record?.record == .sample(try sample("a", 72)))
        #expect(undone.record?.edited == [])
        #expect(try await hand(.undoEdit(numbers: [1]))[0].result.isDuplicate)
        #expect(try await store.put(try sample("a", 73))[0].placement?.isCovered == false)
        #expect(try await store.verifyAccounts() == [])
    }

    @Test func `a record that its source retracted beneath an edit is gone once the edit is undone`() async throws {
        _ = try await store.put(try sample("a", 70))
        _ = try await hand(.edit(number: 1, try value(80)))
        _ = try await store.retract(try sample("a"), reason: "deleted")
        #expect(try await store.records(numbers: [1]).map(\.record) == [.sample(try sample("a", 80))])
        let undone = try await hand(.undoEdit(numbers: [1]))[0].result.placement
        #expect(undone?.isRetraction == true)
        #expect(try await store.verifyAccounts() == [])
    }

    @Test func `R6.25 edits accumulate, the original value is as the person entered it, and an instant stays one`()
        async throws
    {
        _ = try await store.put(try sample("a", 70), try sample("b", 70, at: 10, lasting: 5))
        _ = try await hand(.edit(number: 1, try value(176, unit: "lb", canonical: 79.83225712)))
        var edit = SampleEdit(type: try type("weight"))
        edit.start = Timestamp(microseconds: 5_000_000, offsetMinutes: 120)
        edit.metadata = JSONObject(#"{"note":"shoes on"}"#)
        edit.reason = "the clock was wrong"
        _ = try await hand(.edit(number: 1, edit))
        let record = try #require(try await store.records(numbers: [1]).first)
        #expect(record.edited == [.value, .start, .end, .metadata])
        #expect(record.canonical?.value == 79.83225712)
        let sample = try #require(record.record.sample)
        #expect(sample.value == .quantity(176, unit: "lb"))
        #expect((sample.start, sample.end) == (edit.start, edit.start))
        #expect(try await hand(.edit(number: 1, edit))[0].result.isDuplicate)

        edit.start = Timestamp(microseconds: 16_000_000)
        #expect(try await hand(.edit(number: 2, edit))[0].result.code == "time")
        let trace = try #require(try await store.trace(1))
        #expect(trace.versions.map(\.deed) == [nil, .edited, .edited])
        #expect(trace.versions.map(\.reason) == [nil, nil, "the clock was wrong"])
        #expect(trace.current == record)
    }

    @Test func `an impossible edit is refused with the reason`() async throws {
        _ = try await store.put(try sample("a", 70))
        _ = try await store.put([.day(try day("2024-03-15", 70))])
        #expect(try await hand(.edit(number: 9, try value(1)))[0].result.code == "unknown")
        #expect(try await hand(.edit(number: 2, try value(1)))[0].result.code == "kind")
        #expect(try await assign([2], nil)[0].result.code == "kind")
        var edit = SampleEdit(type: try type("weight"))
        edit.value = .category(name: "x", raw: 1)
        #expect(try await hand(.edit(number: 1, edit))[0].result.code == "kind")
        #expect(try await hand(.edit(number: 1, SampleEdit(type: try type("height"))))[0].result.code == "type")
        #expect(try await hand(.edit(number: 1, try value(.infinity)))[0].result.code == "value")
        _ = try await hand(.retract(numbers: [1], reason: nil))
        #expect(try await hand(.edit(number: 1, try value(1)))[0].result.code == "retracted")
        #expect(try await store.verifyAccounts() == [])
    }

    // MARK: - Retractions

    @Test func `R6.26 undoing a manual retraction restores the state as if it had not happened`() async throws {
        _ = try await store.put(try sample("a", 70), try sample("b", 70), try sample("c", 70), try sample("d", 70))
        _ = try await store.retract(try sample("b"), reason: "deleted")
        _ = try await hand(.edit(number: 3, try value(80)))
        _ = try await hand(.retract(numbers: [1, 2, 3], reason: "the dog"))
        _ = try await store.put(try sample("a", 71))
        let results = try await hand(.undoRetraction(numbers: [1, 2, 3, 4]))
        #expect(results.map(\.result.isDuplicate) == [false, false, false, true])
        let records = try await store.records(numbers: [1, 2, 3])
        #expect(records[0].record == .sample(try sample("a", 71)))
        #expect(results[1].result.placement?.isRetraction == true)
        let retraction = try #require(records[1].record.retraction)
        #expect((retraction.author, retraction.reason) == (.source, "deleted"))
        #expect(records[2].record == .sample(try sample("c", 80)))
        #expect(records[2].edited == .value)
        #expect(try await hand(.undoRetraction(numbers: [2]))[0].result.code == "retracted")
        #expect(try await store.verifyAccounts() == [])
    }

    @Test func `a day that a person retracted can be brought back by hand`() async throws {
        _ = try await store.put([.day(try day("2024-03-15", 70))])
        _ = try await hand(.retract(numbers: [1], reason: nil))
        let placement = try #require(try await hand(.undoRetraction(numbers: [1]))[0].result.placement)
        #expect((placement.sequence, placement.previous) == (3, 1))
        #expect(placement.record?.record == .day(try day("2024-03-15", 70)))
        #expect(try await store.put([.day(try day("2024-03-15", 70))])[0].isDuplicate)
        #expect(try await store.verifyAccounts() == [])
    }

    // MARK: - New records, rehearsals

    @Test func `an entry by hand is a record, and the same entry again a duplicate`() async throws {
        let (me, _) = try await persons()
        let entry = IntakeRecord(
            record: .sample(try sample("2024-03-15T06:30:00Z", source: Source(plugin: "hand"))),
            assignment: .person(me))
        let placement = try #require(try await hand(.log([entry]))[0].result.placement)
        #expect(placement.record?.assignment == .person(me))
        #expect(try await hand(.log([entry]))[0].result == .duplicate(number: 1, sequence: 1))
        #expect(try await store.trace(1)?.versions.map(\.deed) == [.logged])
        #expect(try await store.accounts().map(\.instance) == [IntakeCounts.hand])
        #expect(try await store.verifyAccounts() == [])
    }

    @Test func `a rehearsal returns exactly the results of the change and changes nothing`() async throws {
        let (_, you) = try await persons()
        _ = try await store.put(try sample("a", group: "g"), try sample("b", group: "g"))
        let before = try await store.all(RecordQuery())
        let action = ManualChange.assign(
            numbers: [1, 7], to: .person(you), wholeGroups: true, reason: "new words here")
        let rehearsed = try await store.rehearse(action, recordedAt: 9)
        #expect(try await store.all(RecordQuery()) == before)
        #expect(store.head == 2)
        #expect(try await hand(action) == rehearsed)
        #expect(rehearsed.map(\.number) == [1, 2, 7])
        #expect(try await store.verifyAccounts() == [])
    }

    @Test func `a change of too many records is refused as a whole`() async throws {
        let numbers = Array(1...Int64(ManualChange.maximumRecords + 1))
        let error = await failure { _ = try await hand(.retract(numbers: numbers, reason: nil)) }
        #expect(error?.code == .query)
    }

    @Test func `a store of the previous schema is upgraded with its rows and head`() async throws {
        let old = try TemporaryFolder()
        try old.makeOld(
            rows: """
                INSERT INTO meta VALUES (1, 'hub', 'abcdefgh', 0);
                INSERT INTO term VALUES (1, 'weight'), (2, 'kg'), (3, 'ihealth-hs3');
                INSERT INTO person VALUES (1, 'uid', 'me', 0);
                INSERT INTO source VALUES (1, 'ihealth-hs3', '00:4D:32:1A:2B:3C', NULL);
                INSERT INTO sample (number, seq, source, key, type, kind, person, start, duration, start_offset, end_offset,
                    value, unit, provenance, recorded_at, retracted)
                VALUES (1, 3, 1, 'a', 1, 0, 1, 0, 0, 60, 60, 70, 2, 0, 5, 2),
                    (2, 2, 1, 'b', 1, 0, 1, 0, 0, 60, 60, 70, 2, 0, 5, NULL);
                INSERT INTO sample_version (number, seq, source, key, type, kind, person, start, duration, start_offset,
                    end_offset, value, unit, provenance, recorded_at)
                VALUES (1, 1, 1, 'a', 1, 0, 1, 0, 0, 60, 60, 70, 2, 0, 5);
                INSERT INTO stream VALUES (1, 0, 1, 1, 3, 2, 2, 0), (2, 2, 1, 1, 3, 3, 1, 0);
                INSERT INTO account VALUES ('scale', 2, 2, 0, 0, 0, 0), ('hub', 1, 0, 0, 1, 0, 0);
                """)
        let store = try old.open()
        #expect(store.head == 3)
        #expect(try await store.verifyAccounts() == [])
        let results = try await store.carryOut(.undoRetraction(numbers: [1]), recordedAt: 9)
        #expect(results[0].result.placement?.record?.record == .sample(try sample("a")))
        _ = try await store.carryOut(
            .assign(numbers: [2], to: .nobody(reason: "?"), wholeGroups: true, reason: nil), recordedAt: 9)
        #expect(try await store.verifyAccounts() == [])
        #expect(store.head == 6)
    }
}
