import GRDB
import HubWire
import Samples

/// The result of the assignment of a sample.
struct AssignmentResult {
    var assignment: Assignment
    var ruling: Ruling?
    /// Whether a person assigned the records measured together with it.
    var isByHand = false
    /// See `SampleRow.profileOf`.
    var profileOf: String?

    /// Whether the source itself named the user of the device.
    var isNamed: Bool { ruling == nil && assignment.person != nil && !isByHand || ruling?.rule == .subject }
}

/// The judgement of a group, found at the first of its records in a batch.
struct GroupAssignment {
    var judgement: AssignmentResult
    /// The key of the deciding weight, if it is in this batch.
    var decider: RecordKey?
    /// Records of the group from earlier batches that wait for a judgement.
    var waiting: [SampleRow]
}

/// A batch that is being stored.
struct BatchInProgress {
    var items: [IntakeItem]
    var refusals: [RecordRejection?]?
    var words: [String: GroupAssignment] = [:]

    /// The batch's records of a group that will be stored.
    func members(of group: String) -> [(sample: Sample, intake: IntakeRecord)] {
        items.enumerated().compactMap { place, item in
            guard refusals?[place] == nil, case .success(let intake) = item, case .sample(let sample) = intake.record,
                sample.group == group
            else { return nil }
            return (sample, intake)
        }
    }
}

extension WriteTransaction {
    /// The assignment of a household's sample.
    ///
    /// The first of these decides: a person's assignment of its group, the user named by its source, its group, its weight. A weight that is unlikely
    /// for the owner of its slot waits, together with its group.
    mutating func judge(_ sample: Sample, _ intake: IntakeRecord, _ household: Household) throws -> AssignmentResult {
        guard let group = sample.group else {
            return try decide(sample, intake.canonical, intake.assignment, household)
        }
        let word = try word(on: group, sample, household)
        if word.judgement.assignment.person == nil,
            let judgement = try recomputeOdds(sample, intake, group, household)
        {
            return judgement
        }
        var judgement = word.judgement
        if judgement.isByHand {
            judgement.profileOf = BodyProfile.told(sample, intake.assignment)
        } else if intake.assignment.person != nil, judgement.assignment.person != nil {
            return bySubject(intake.assignment, sample)
        } else if word.decider != sample.key {
            judgement.ruling?.rule = .group
        }
        return judgement
    }

    /// The assignment of a waiting sample by the current rules, as if it arrived now.
    mutating func judge(waiting row: SampleRow, _ ruled: ManualChange.RuledRecord, _ household: Household) throws
        -> AssignmentResult
    {
        if ruled.assignment.person != nil {
            let group = try row.sample.group.map { try rows(of: $0, row.sample.source.plugin) } ?? [row]
            if let weight = Self.weight(of: group.map(\.sample)),
                let anchor = group.first(where: { $0.sample.key == weight.key }), anchor.personID == 0,
                !anchor.isAssignedByHand, let doubt = try doubt(anchor.sample, anchor.canonical, household)
            {
                return doubt
            }
            return AssignmentResult(
                assignment: ruled.assignment, ruling: row.sample.subject.map { _ in Ruling(.subject) })
        }
        guard let group = row.sample.group else {
            return try weigh(row.sample, row.canonical, ruled.assignment, household)
        }
        let others = try rows(of: group, row.sample.source.plugin)
        let isWeight = Self.weight(of: others.map(\.sample))?.key == row.sample.key
        if isWeight {
            let judgement = try weigh(row.sample, row.canonical, ruled.assignment, household)
            if judgement.assignment.person != nil { return judgement }
        }
        if var judgement = follow(others) {
            judgement.isByHand = false
            return judgement
        }
        guard let weight = Self.weight(of: others.map(\.sample)),
            let anchor = others.first(where: { $0.sample.key == weight.key }), !anchor.isAssignedByHand
        else { return AssignmentResult(assignment: row.assignment) }
        var judgement = try weigh(anchor.sample, anchor.canonical, ruled.assignment, household)
        if anchor.number != row.number { judgement.ruling?.rule = .group }
        return judgement
    }

    /// The judgement by a waiting group's weight after its source corrected the weight; nil for any other record.
    private mutating func recomputeOdds(
        _ sample: Sample, _ intake: IntakeRecord, _ group: String, _ household: Household
    ) throws -> AssignmentResult? {
        guard sample.type == .weight, let known = try find(sample.source, sample.key), known.personID == 0,
            !known.isAssignedByHand, addsInformation(sample, for: try sourceVersion(of: known))
        else { return nil }
        let stored = try rows(of: group, sample.source.plugin)
        guard Self.weight(of: stored.map(\.sample))?.key == sample.key else { return nil }
        let judgement = try decide(sample, intake.canonical, intake.assignment, household)
        let others = stored.filter { $0.personID == 0 && !$0.isAssignedByHand && $0.sample.key != sample.key }
        batch?.words[group] = GroupAssignment(judgement: judgement, decider: sample.key, waiting: others)
        return judgement
    }

    private func bySubject(_ assignment: Assignment, _ sample: Sample) -> AssignmentResult {
        // An account is the source's own statement; a slot is the hub's interpretation.
        if case .slot = sample.subject { return AssignmentResult(assignment: assignment, ruling: Ruling(.subject)) }
        return AssignmentResult(assignment: assignment)
    }

    /// The assignment of a sample that has no group, or whose weight decides for its group.
    private mutating func decide(
        _ sample: Sample, _ canonical: StoredRecord.CanonicalValue?, _ assignment: Assignment, _ household: Household
    ) throws -> AssignmentResult {
        guard assignment.person != nil else { return try weigh(sample, canonical, assignment, household) }
        return try doubt(sample, canonical, household) ?? bySubject(assignment, sample)
    }

    /// Why a weight waits although its slot has an owner: the odds show with certainty that it was another person.
    ///
    /// `nil` if the slot decides. That includes all records other than weights, and owners whose weight is unknown.
    private mutating func doubt(
        _ sample: Sample, _ canonical: StoredRecord.CanonicalValue?, _ household: Household
    ) throws -> AssignmentResult? {
        guard let owner = household.owner, let place = household.members.firstIndex(where: { $0.person == owner }),
            let odds = try odds(of: sample, canonical, household, owner: place), odds.shares[place].isKnown,
            odds.shares[place].probability < 1 - household.certainty
        else { return nil }
        return AssignmentResult(
            assignment: .nobody(reason: "\(odds.text); the slot is \(owner.name)'s"),
            ruling: Ruling(.weight, probability: odds.best.map { odds.shares[$0].probability }, odds: odds.text))
    }

    /// Nil for any record but a measured weight, and if there is no member to compare with.
    private mutating func odds(
        of sample: Sample, _ canonical: StoredRecord.CanonicalValue?, _ household: Household, owner: Int? = nil
    ) throws -> WeightOdds? {
        guard sample.type == .weight, sample.provenance == .measured, !household.members.isEmpty,
            case .quantity(let value, _) = sample.value
        else { return nil }
        return try WeightOdds(
            of: canonical?.value ?? value,
            at: WeightTrends.moment(of: sample.start.microseconds, recordedAt: recordedAt), among: household.members,
            owner: owner
        ) { place in
            guard let person = caches.personID(household.members[place].person.uid) else { return [] }
            return try caches.trends.weighings(of: person, in: db)
        }
    }

    // MARK: - Weight

    private mutating func weigh(
        _ sample: Sample, _ canonical: StoredRecord.CanonicalValue?, _ fallback: Assignment, _ household: Household
    ) throws -> AssignmentResult {
        guard let odds = try odds(of: sample, canonical, household) else {
            return AssignmentResult(assignment: fallback)
        }
        let members = household.members
        let likeliest = odds.best.map { odds.shares[$0].probability }
        let ruling = Ruling(.weight, probability: likeliest, odds: odds.text)
        if let found = odds.found(at: household.certainty) {
            return AssignmentResult(assignment: .person(members[found].person), ruling: ruling)
        }
        guard odds.shares.contains(where: \.isKnown) else {
            let names = members.map(\.person.name).joined(separator: ", ")
            return AssignmentResult(
                assignment: .nobody(
                    reason: "no weight of \(names) is known yet: assign this one, or give expected_weight in hub.conf"))
        }
        return AssignmentResult(assignment: .nobody(reason: odds.text), ruling: ruling)
    }

    /// The first weight of a group, by its start.
    private static func weight(of samples: [Sample]) -> Sample? {
        samples.filter { $0.type == .weight }
            .min { ($0.start.microseconds, $0.key.text) < ($1.start.microseconds, $1.key.text) }
    }

    /// Adds a new weighing to its person's trend.
    mutating func learn(_ sample: Sample, _ intake: IntakeRecord, number: Int64, person: Int64, isByHand: Bool) {
        guard !caches.trends.isEmpty, person != 0, sample.type == .weight, sample.provenance == .measured,
            intake.implausible.isEmpty, case .quantity(let value, _) = sample.value
        else { return }
        caches.trends.add(
            WeightModel.Weighing(
                number: number, start: sample.start.microseconds, kilograms: intake.canonical?.value ?? value,
                isByHand: isByHand), of: person, recordedAt: recordedAt)
    }

    // MARK: - Groups

    private mutating func word(on group: String, _ sample: Sample, _ household: Household) throws -> GroupAssignment {
        if let known = batch?.words[group] { return known }
        let stored = try rows(of: group, sample.source.plugin)
        let members = batch?.members(of: group) ?? []
        var word = GroupAssignment(
            judgement: AssignmentResult(
                assignment: .nobody(reason: "it came without the weight of its group, which would tell whose it is")),
            waiting: stored.filter { $0.personID == 0 && !$0.isAssignedByHand })
        if let judgement = follow(stored) {
            word.judgement = judgement
        } else if let named = members.sorted(by: { $0.sample.key.text < $1.sample.key.text })
            .first(where: { $0.intake.assignment.person != nil })
        {
            word.judgement = AssignmentResult(assignment: named.intake.assignment, ruling: Ruling(.group))
            let weights = stored.map { ($0.sample, $0.canonical) } + members.map { ($0.sample, $0.intake.canonical) }
            if let weight = Self.weight(of: weights.map(\.0)), weight.subject == named.sample.subject,
                let first = weights.first(where: { $0.0.key == weight.key }),
                let doubt = try doubt(first.0, first.1, named.intake.household ?? household)
            {
                (word.judgement, word.decider) = (doubt, weight.key)
            }
        } else if let weight = Self.weight(of: stored.map(\.sample)),
            let row = stored.first(where: { $0.sample.key == weight.key })
        {
            word.judgement = AssignmentResult(assignment: row.assignment, ruling: Ruling(.group))
        } else if let weight = Self.weight(of: members.map(\.sample)),
            let member = members.first(where: { $0.sample.key == weight.key })
        {
            word.judgement = try weigh(weight, member.intake.canonical, member.intake.assignment, household)
            word.decider = weight.key
        }
        batch?.words[group] = word
        return word
    }

    /// The assignment of a group's stored records: a person's decision, or that of its weight, or without a weight the one that all share.
    private func follow(_ stored: [SampleRow]) -> AssignmentResult? {
        let weight = Self.weight(of: stored.map(\.sample))
        let anchors = stored.filter { row in weight.map { $0.key == row.sample.key } ?? true }
        guard let anchor = anchors.first, anchors.allSatisfy({ $0.personID == anchor.personID }),
            anchor.personID != 0 || anchor.isAssignedByHand
        else {
            // If the source named a user for one of them, that applies to all.
            return stored.first { $0.personID != 0 && !$0.isAssignedByHand }.map {
                AssignmentResult(assignment: $0.assignment, ruling: Ruling(.group))
            }
        }
        return AssignmentResult(
            assignment: anchor.assignment, ruling: Ruling(.group), isByHand: anchors.allSatisfy(\.isAssignedByHand))
    }

    /// The stored records of a group.
    ///
    /// Groups are small; larger ones than a batch can hold do not exist.
    func rows(of group: String, _ plugin: String) throws -> [SampleRow] {
        let sql = """
            SELECT \(SampleColumn.list) FROM sample INDEXED BY sample_group
            WHERE grouping = ?1 AND source IN (SELECT id FROM source WHERE plugin = ?2) ORDER BY number LIMIT 1000
            """
        let statement = try RawStatement(cached: sql, in: db)
        defer { statement.clear() }
        statement.bind(1, group)
        statement.bind(2, plugin)
        var rows: [SampleRow] = []
        while try statement.step() { rows.append(try SampleRow(statement, caches.termCache, db)) }
        return rows
    }

    /// Assigns the waiting records of a group to the person found for it, so that records measured together stay together.
    mutating func assignWaitingMembers(_ group: String) throws -> [Placement] {
        guard let word = batch?.words[group], !word.waiting.isEmpty, word.judgement.assignment.person != nil else {
            return []
        }
        batch?.words[group]?.waiting = []
        var account = caches.account(of: IntakeCounts.hand)
        var placements: [Placement] = []
        for noted in word.waiting {
            // Read it again: since the judgement, its source may have corrected it or a person may have assigned it.
            guard let waiting = try find(noted.sample.source, noted.sample.key), waiting.personID == 0,
                !waiting.isAssignedByHand
            else { continue }
            var row = waiting
            (row.assignment, row.isAssignedByHand) = (word.judgement.assignment, word.judgement.isByHand)
            row.personID = personID(row.assignment)
            if row.isAssignedByHand { row.profileOf = BodyProfile.told(row.sample, waiting.assignment) }
            let placement = try replace(waiting, with: row)
            try note(
                Ruling(.group, probability: word.judgement.ruling?.probability, odds: word.judgement.ruling?.odds),
                placement)
            account.count(.stored(placement))
            placements.append(placement)
        }
        setAccount(account)
        return placements
    }

    /// Binds the parts of a judgement other than the person.
    mutating func bind(_ judgement: AssignmentResult) throws {
        if judgement.isByHand { insertSample.bind(SampleColumn.assigned.parameter, 1 as Int64) }
        if let name = judgement.profileOf {
            insertSample.bind(SampleColumn.profileOf.parameter, try caches.term(name, .own, in: db))
        }
    }

    /// Completes storing a judged sample: stores its ruling, assigns its group, and builds the published record.
    mutating func settle(
        _ judgement: AssignmentResult, _ sample: Sample, _ intake: IntakeRecord, _ placement: Placement
    ) throws -> Placement {
        if let ruling = judgement.ruling { try note(ruling, placement) }
        let followers = try sample.group.map { try assignWaitingMembers($0) } ?? []
        var record = StoredRecord(intake, placement)
        if let name = judgement.profileOf, name != judgement.assignment.person?.name {
            var shown = sample
            shown.metadata = BodyProfile.marked(sample.metadata, with: name)
            record.record = .sample(shown)
        }
        return Placement(
            number: placement.number, sequence: placement.sequence, previous: placement.previous, record: record,
            followers: followers)
    }

    /// Copies the ruling of an earlier version to a version that shows it again.
    func repeatRuling(of sequence: Int64, _ placement: Placement) throws {
        let insert = try RawStatement(
            cached: """
                INSERT INTO ruling (seq, number, rule, probability, odds)
                SELECT ?1, number, rule, probability, odds FROM ruling WHERE seq = ?2
                """, in: db)
        insert.bind(1, placement.sequence)
        insert.bind(2, sequence)
        try insert.run()
    }

    func note(_ ruling: Ruling, _ placement: Placement) throws {
        let insert = try RawStatement(
            cached: "INSERT INTO ruling (seq, number, rule, probability, odds) VALUES (?1, ?2, ?3, ?4, ?5)", in: db)
        insert.bind(1, placement.sequence)
        insert.bind(2, placement.number)
        insert.bind(3, ruling.rule.rawValue)
        if let probability = ruling.probability { insert.bind(4, probability) }
        insert.bind(5, ruling.odds)
        try insert.run()
    }
}
