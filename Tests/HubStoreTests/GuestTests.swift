import HubProcess
import Platform
import Samples
import Testing

@testable import HubStore

/// Readings that a person has assigned to a guest: they are kept, but have no person and are not in the inbox.
@Suite struct GuestTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func query(guest: Bool?, nobody: Bool = true, since: Samples.Cursor? = nil) -> RecordQuery {
        var query = RecordQuery()
        if nobody { query.persons = [.nobody] }
        (query.isGuest, query.since) = (guest, since)
        return query
    }

    private func assign(
        _ store: Store, _ numbers: [Int64], _ assignment: Assignment, groups: Bool = true, reason: String? = nil
    ) async throws -> [ManualResult] {
        try await store.carryOut(
            .assign(numbers: numbers, to: assignment, wholeGroups: groups, reason: reason), recordedAt: 9)
    }

    private func undo(_ store: Store, _ numbers: [Int64], groups: Bool = true) async throws -> [ManualResult] {
        try await store.carryOut(.undoAssignment(numbers: numbers, wholeGroups: groups), recordedAt: 10)
    }

    /// Stores a weigh-in of 68.5 kg, which waits in the inbox with its odds; returns its records.
    private func waiting(_ home: Home, _ name: String = "g") async throws -> [StoredRecord] {
        try await home.give(try home.group(name, 68.5, at: 0), now: 1)
        return try await home.records(name)
    }

    @Test func `R6.75 a guest's weigh-in leaves the inbox as a group, is kept, and returns with its former odds`()
        async throws
    {
        let home = try await Home(folder)
        let (store, before) = (home.store, try await waiting(home))
        #expect(try await store.inboxCount() == 4)
        let results = try await assign(store, [before[1].number], .guest, reason: "an uncle")
        #expect(results.count == 4 && results.allSatisfy { $0.result.placement?.departure == nil })
        #expect(try await store.inboxCount() == 0)
        #expect(try await store.all(query(guest: false)).records == [])
        let guests = try await store.all(query(guest: true)).records
        #expect(guests.map(\.assignment) == Array(repeating: .guest, count: 4))
        #expect(Set(guests.map(\.record)) == Set(before.map(\.record)))
        #expect(try await store.all(query(guest: nil)).records.count == 4)
        #expect(try await store.all(query(guest: true, nobody: false)).records == guests)
        #expect(try await store.all(query(guest: false, nobody: false)).records == [])
        #expect(try await assign(store, [1], .guest).allSatisfy { $0.result.isDuplicate })
        let story = try #require(try await store.trace(1))
        #expect(story.versions.map(\.deed) == [nil, .assigned] && story.versions[1].reason == "an uncle")

        let back = try await undo(store, [before[2].number])
        #expect(back.count == 4)
        #expect(try await home.records("g").map(\.assignment) == before.map(\.assignment))
        #expect(try await store.inboxCount() == 4)
        #expect(try await undo(store, [1]).allSatisfy { $0.result.isDuplicate })
        let again = try #require(try await store.trace(1)).versions
        #expect(again.map(\.deed) == [nil, .assigned, .assignmentUndone])
        #expect(again[0].ruling != nil && again[2].ruling == again[0].ruling && again[1].ruling == nil)
        #expect(try await store.verifyAccounts() == [])
    }

    @Test func `R6.75 later records of a guest's group are the guest's, too, and return with it`() async throws {
        let home = try await Home(folder)
        let parts = try home.group("g", 68.5, at: 0)
        try await home.give(Array(parts[..<2]), now: 1)
        let reason = try await home.records("g")[0].assignment
        _ = try await assign(home.store, [1], .guest)
        try await home.give(Array(parts[2...]), now: 2)
        #expect(try await home.records("g").map(\.assignment.isGuest) == [true, true, true, true])
        #expect(try await home.store.inboxCount() == 0)
        // A correction remains the guest's and does not affect any trend.
        var heavier = parts[0]
        heavier.value = .quantity(68.75, unit: "kg")
        try await home.give([heavier], now: 3)
        #expect(try await home.records("g").map(\.assignment.isGuest) == [true, true, true, true])
        #expect(try await undo(home.store, [5]).count == 4)
        #expect(try await home.records("g").map(\.assignment) == Array(repeating: reason, count: 4))
        #expect(try await home.store.inboxCount() == 4)
        #expect(try await home.store.verifyAccounts() == [])
    }

    @Test func `a guest's reading can be given to a person or to the inbox, and rules do not change it`() async throws {
        let home = try await Home(folder)
        let store = home.store
        _ = try await waiting(home)
        _ = try await assign(store, [1], .guest)
        let ruled = ManualChange.RuledRecord(number: 1, assignment: try home.person("anna"))
        #expect(try await store.carryOut(.assignByRules([ruled]), recordedAt: 9)[0].result.isDuplicate)
        let put = try await assign(store, [1], .nobody(reason: "ask ben"))
        #expect(put.allSatisfy { $0.result.placement?.departure == nil })
        #expect(try await store.inboxCount() == 4)
        _ = try await assign(store, [1], .guest)
        let given = try await assign(store, [1], try home.person("ben"))
        #expect(given.allSatisfy { $0.result.placement?.departure?.record.assignment.person == nil })
        #expect(try await home.owners("g") == Array(repeating: "ben", count: 4))
        // After undo it is as if no person had decided.
        _ = try await undo(store, [1])
        #expect(try await home.records("g").allSatisfy { $0.assignment.isInInbox })
        #expect(try await store.verifyAccounts() == [])
    }

    @Test func `a person's reading that becomes a guest's leaves the person, and returns with undo`() async throws {
        let home = try await Home(folder)
        try await home.give(try home.group("g", 62, at: 0), now: 1)
        #expect(try await home.owners("g") == Array(repeating: "anna", count: 4))
        let left = try await assign(home.store, [1], .guest)
        #expect(left.allSatisfy { $0.result.placement?.departure?.record.assignment.person?.name == "anna" })
        #expect(try await home.store.inboxCount() == 0)
        var annas = RecordQuery { $0.persons = [.person("anna")] }
        annas.since = Samples.Cursor(epoch: home.store.epoch, sequence: 4)
        #expect(try await home.store.all(annas).records.allSatisfy { $0.record.retraction != nil })
        _ = try await undo(home.store, [1])
        #expect(try await home.owners("g") == Array(repeating: "anna", count: 4))
        #expect(try await home.store.verifyAccounts() == [])
    }

    @Test func `R6.75 a follower of the inbox learns that a guest's reading left and that it returned`() async throws {
        let home = try await Home(folder)
        let store = home.store
        _ = try await waiting(home)
        let seen = store.cursor
        _ = try await assign(store, [1], .guest)
        let left = try await store.all(query(guest: false, since: seen)).records
        #expect(left.map(\.number) == [1, 2, 3, 4])
        #expect(left.allSatisfy { $0.record.retraction != nil })
        #expect(try await store.all(query(guest: true, since: seen)).records.allSatisfy { $0.assignment.isGuest })
        // A follower of all records without a person gets each as it is now.
        #expect(try await store.all(query(guest: nil, since: seen)).records.allSatisfy { $0.assignment.isGuest })
        let gone = store.cursor
        _ = try await undo(store, [1])
        #expect(try await store.all(query(guest: false, since: gone)).records.allSatisfy { $0.assignment.isInInbox })
        let ceased = try await store.all(query(guest: true, since: gone)).records
        #expect(ceased.count == 4)
        #expect(ceased.allSatisfy { $0.record.retraction != nil })
    }

    @Test func `if two people decide at once on the same version, one is refused with the reason`() async throws {
        let home = try await Home(folder)
        _ = try await waiting(home)
        let person = try home.person("ben")
        func decide(_ assignment: Assignment) -> ManualChange {
            .unlessChanged([1: 1], .assign(numbers: [1], to: assignment, wholeGroups: true, reason: nil))
        }
        async let mine = home.store.carryOut(decide(.guest), recordedAt: 9)
        async let yours = home.store.carryOut(decide(person), recordedAt: 9)
        let results = [try await mine, try await yours]
        let winner = try #require(results.firstIndex { $0.count == 4 })
        #expect(results[1 - winner].map(\.result.code) == ["changed"])
        let stands: Assignment = winner == 0 ? .guest : person
        #expect(try await home.records("g").map(\.assignment) == Array(repeating: stands, count: 4))
        #expect(try await home.store.verifyAccounts() == [])
    }

    @Test func `implausible values of a guest's reading are not counted`() async throws {
        let home = try await Home(folder)
        var batch = home.intake(try home.group("g", 640, at: 0, parts: 1))
        guard case .success(var intake) = batch.items[0] else { return }
        intake.implausible = .value
        batch.items[0] = .success(intake)
        _ = try await home.store.commit([batch], recordedAt: 1)
        #expect(try await home.store.implausibleCount() == 1)
        _ = try await assign(home.store, [1], .guest)
        #expect(try await home.store.implausibleCount() == 0)
        var marked = RecordQuery()
        (marked.isImplausible, marked.isGuest) = (true, false)
        for order in [RecordQuery.Order.time, .sequence] {
            marked.order = order
            #expect(try await home.store.all(marked).records == [])
        }
        marked.isGuest = nil
        #expect(try await home.store.all(marked).records.count == 1)
        _ = try await undo(home.store, [1])
        #expect(try await home.store.implausibleCount() == 1)
        #expect(try await home.store.verifyAccounts() == [])
    }

    @Test(arguments: Thoroughness.some([1, 2, 3, 4, 5, 6, 7, 8] as [UInt64]))
    func `after any manual changes the inbox and guest readings are counted and found in every order`(_ seed: UInt64)
        async throws
    {
        var random = SeededGenerator(seed: seed)
        let home = try await Home(folder)
        let store = home.store
        for number in 0..<12 {
            let kilograms = Double.random(in: 55...95, using: &random)
            try await home.give(
                try home.group(
                    "g\(number)", kilograms, at: Int64(number) * 60, parts: Int.random(in: 1...3, using: &random)),
                now: Int64(number))
        }
        let owners = [.guest, .nobody(reason: "who?"), try home.person("anna")]
        for round in 0..<60 {
            let number = Int64.random(in: 1...store.head, using: &random)
            let owner = try #require(owners.randomElement(using: &random))
            let groups = Bool.random(using: &random)
            let change: ManualChange =
                switch Int.random(in: 0..<6, using: &random) {
                case 0...2: .assign(numbers: [number], to: owner, wholeGroups: groups, reason: nil)
                case 3: .undoAssignment(numbers: [number], wholeGroups: groups)
                case 4: .retract(numbers: [number], reason: nil)
                default: .undoRetraction(numbers: [number])
                }
            let rehearsed = try await store.rehearse(change, recordedAt: Int64(round))
            #expect(try await store.carryOut(change, recordedAt: Int64(round)) == rehearsed, "seed \(seed)")
            #expect(try await store.verifyAccounts() == [], "seed \(seed) round \(round)")
        }
        let all = try await store.all(RecordQuery()).records.filter { $0.record.sample != nil }
        #expect(try await store.inboxCount() == Int64(all.count { $0.assignment.isInInbox }), "seed \(seed)")
        for order in [RecordQuery.Order.sequence, .time, .newestFirst, .sorted([.latestEnd])] {
            for isGuest in [true, false] {
                var asked = query(guest: isGuest)
                (asked.order, asked.kinds) = (order, KindSelection(nil, followsChanges: false))
                let found = try await store.all(asked).records
                let expected = all.filter { isGuest ? $0.assignment.isGuest : $0.assignment.isInInbox }
                #expect(
                    Set(found) == Set(expected) && found.count == expected.count,
                    "seed \(seed) \(order) \(isGuest): \(found.map(\.number)) \(expected.map(\.number))")
            }
        }
        let damaged = folder.path + "/salvaged.sqlite"
        let waiting = try await store.inboxCount()
        try store.close()
        _ = try StoreSalvage(folder.store).carryOut(to: damaged, now: 5)
        let salvaged = try Store(path: damaged, now: 9)
        #expect(try await salvaged.inboxCount() == waiting, "seed \(seed)")
        #expect(try await salvaged.verifyAccounts() == [], "seed \(seed)")
    }

    @Test func `an upgrade counts the inbox again: a reading that a person had given to a guest is no longer in it`()
        async throws
    {
        let format = try #require(OldFormat.all.last)
        try format.unpack(into: folder.path)
        let rows = try format.rows.filter { $0.hasPrefix("sample ") && $0.contains(" NULL 'guest' ") }
        #expect(rows.count == 1 && rows[0].hasPrefix("sample 55 "))
        let store = try folder.open()
        #expect(try await store.inboxCount() == 4)
        #expect(try await store.all(query(guest: true)).records.map(\.number) == [55])
        #expect(try await store.verifyAccounts() == [])
        _ = try await undo(store, [55])
        #expect(try await store.records(numbers: [55]).map(\.assignment) == [.nobody(reason: "several")])
        #expect(try await store.inboxCount() == 5)
        #expect(try await store.trace(55)?.versions.last?.deed == .assignmentUndone)
        #expect(try await store.verifyAccounts() == [])
        try store.close()
        #expect(try StoreFile(folder.store).schemaFaults() == [])
    }

    @Test(arguments: OldFormat.all.filter { ["18", "19"].contains($0.name) })
    func `an upgrade counts implausible samples whether or not the old store has the word "guest"`(
        _ format: OldFormat
    ) async throws {
        try format.unpack(into: folder.path)
        let store = try folder.open()
        #expect(try await store.implausibleCount() == 1)
        let marked = RecordQuery { $0.isImplausible = true }
        #expect(try await store.all(marked).records.count == 1)
    }

    @Test func `a backup contains guest readings as the store does`() async throws {
        let home = try await Home(folder)
        _ = try await waiting(home)
        _ = try await assign(home.store, [1], .guest)
        try home.store.close()
        let backup = folder.path + "/backup.sqlite"
        _ = try StoreFile(folder.store).backUp(to: backup)
        let copy = try Store(path: backup, now: 9)
        #expect(try await copy.all(query(guest: true)).records.count == 4)
        #expect(try await copy.inboxCount() == 0)
    }
}
