import HubStore
import HubWire
import Samples

/// Converts decoded records to input for the store: checks grants and plausibility, and adds the canonical value, the person and the payload.
struct BatchIntake {
    let instance: String
    let policy: InstancePolicy
    var rules: PersonRules { didSet { usual = nil } }
    let validation: RecordValidation
    private let scope: WriteScope
    /// The finding for a record whose source does not name a person, which is nearly every record.
    private var usual: PersonRules.Finding?
    /// Whether the batch has a record whose members must be checked; most batches have none.
    private var hasCorrelation = false

    init(instance: String, policy: InstancePolicy, rules: PersonRules, validation: RecordValidation) {
        (self.instance, self.policy, self.rules, self.validation) = (instance, policy, rules, validation)
        scope = WriteScope(policy.grants.write)
    }

    /// - Parameters:
    ///   - now: the hub's clock, in microseconds since 1970.
    ///   - payload: the bytes of a payload frame.
    mutating func batch(_ message: SamplesMessage, at now: Int64, payload: (Int) -> [UInt8]) -> IntakeBatch {
        let usual = usual ?? finding(of: nil)
        self.usual = usual
        hasCorrelation = false
        var items = message.records.enumerated().map { index, result in
            let raw = policy.keepsRaw ? message.payloads[index].map(payload) : nil
            return item(result, raw: raw, at: now, usual)
        }
        if hasCorrelation {
            for (place, fault) in CorrelationCheck(validation.registry).faults(of: message.records) {
                items[place] = .failure(fault)
            }
        }
        return IntakeBatch(
            instance: instance, items: items, scope: scope, limits: InstanceLimits(factor: policy.limitFactor))
    }

    /// The person of a record with this subject, as far as its source tells, and the persons that its weight may identify.
    func finding(of subject: Subject?) -> PersonRules.Finding {
        rules.finding(of: subject, instance: instance, allowed: policy.persons)
    }

    private mutating func item(
        _ result: Result<Record, RecordRejection>, raw: [UInt8]?, at now: Int64, _ usual: PersonRules.Finding
    ) -> IntakeItem {
        do throws(RecordRejection) {
            return .success(try judge(try result.get(), raw: raw, at: now, usual))
        } catch {
            return .failure(error)
        }
    }

    private mutating func judge(
        _ record: Record, raw: [UInt8]?, at now: Int64, _ usual: PersonRules.Finding
    ) throws(RecordRejection) -> IntakeRecord {
        switch record {
        case .sample(let sample):
            try allow(sample.type, group: sample.group)
            let finding = sample.subject == nil ? usual : finding(of: sample.subject)
            if case .correlation = sample.value { hasCorrelation = true }
            let found = try validation.findings(of: record, at: now)
            return IntakeRecord(
                record: record, assignment: finding.assignment, canonical: found.canonical,
                implausible: found.implausible, rawPayload: raw, household: finding.household)
        case .day(var day):
            try allow(day.type, group: nil)
            if let fault = day.seriesFault { throw RecordRejection(.forbidden, fault, group: nil) }
            let person = try permitted(rules.person(named: day.person, allowed: policy.persons), day.person)
            day.person = person.uid
            return IntakeRecord(
                record: .day(day), assignment: .person(person), canonical: try validation.canonical(of: record),
                rawPayload: raw)
        case .retraction(var retraction):
            if case .day(let name, let type, let series, let date) = retraction.identity {
                try allow(type, group: nil)
                // Day values of a person that hub.conf has lost since can still be retracted (R6.45).
                let person = try permitted(rules.formerPerson(named: name, allowed: policy.persons), name)
                retraction.identity = .day(person: person.uid, type: type, series: series, date: date)
            }
            return IntakeRecord(
                record: .retraction(retraction), assignment: .nobody(reason: "as of the record it takes back"),
                rawPayload: raw)
        }
    }

    private func allow(_ type: TypeID, group: String?) throws(RecordRejection) {
        guard policy.grants.write.allows(type: type.rawValue) else {
            throw RecordRejection(
                .forbidden,
                "type: \(instance) may not write \(type.rawValue); its manifest and grants allow \(policy.grants.write.types.joined(separator: ", "))",
                group: group)
        }
    }

    private func permitted(_ person: Person?, _ name: String) throws(RecordRejection) -> Person {
        guard let person else {
            throw RecordRejection(
                .person, "person: \"\(name)\" is not a person that \(instance) may write; hub.conf names them")
        }
        return person
    }
}

/// Checks that the correlations of a batch have their members: a blood pressure one systolic and one diastolic value, a food its nutrients.
struct CorrelationCheck {
    private let registry: TypeRegistry

    init(_ registry: TypeRegistry) { self.registry = registry }

    /// The faults of a batch's records, by their places.
    func faults(of records: [Result<Record, RecordRejection>]) -> [Int: RecordRejection] {
        faults(
            of: records.enumerated().compactMap { place, result in
                guard case .success(.sample(let sample)) = result else { return nil }
                return (place, sample)
            })
    }

    func faults(of samples: [(place: Int, sample: Sample)]) -> [Int: RecordRejection] {
        let correlations = samples.filter { if case .correlation = $0.sample.value { true } else { false } }
        guard !correlations.isEmpty else { return [:] }
        var groups: [String: [TypeID]] = [:]
        for (_, sample) in samples {
            if let group = sample.group { groups[group, default: []].append(sample.type) }
        }
        var faults: [Int: RecordRejection] = [:]
        for (place, sample) in correlations {
            var members = sample.group.flatMap { groups[$0] } ?? []
            if let itself = members.firstIndex(of: sample.type) { members.remove(at: itself) }
            guard let wanted = missing(of: sample.type, among: members) else { continue }
            faults[place] = RecordRejection(
                .group, "group: a \(sample.type) comes in one batch and one group with \(wanted); send the group whole",
                group: sample.group)
        }
        return faults
    }

    /// The members that the type requires; `nil` if `members` are right.
    private func missing(of type: TypeID, among members: [TypeID]) -> String? {
        let required = registry.type(type)?.requiredMembers ?? []
        if !required.isEmpty, members.sorted() != required.sorted() {
            return "one \(required.map(\.rawValue).joined(separator: " and one ")), and no other samples"
        }
        guard type == .food else { return nil }
        let isFood = !members.isEmpty && members.allSatisfy { registry.type($0)?.group == "nutrition" }
        return isFood
            ? nil : "one or more samples of nutrition, such as dietaryEnergyConsumed, and no others"
    }
}
