import HubSettings
import HubStore
import HubWire
import Samples

/// Decides which person a record belongs to, as far as its source tells, and which persons its weight may identify otherwise.
///
/// A source never names a person of the hub; its `subject` contains its information. The rules do not guess: an undecided record is stored without
/// a person, with the reason, and waits in the inbox.
struct PersonRules: Sendable {
    private let people: [Candidate]
    /// The persons that the store knows.
    private let known: [Person]
    private let certainty: Double

    private struct Candidate: NamedPerson, Sendable {
        let person: Person
        let displayName: String?
        let slots: [String: Int]
        let member: Household.Member

        var name: String { person.name }
    }

    /// The result of the rules for a record before it is stored.
    struct Finding: Hashable, Sendable {
        /// The assignment by the source's information.
        var assignment: Assignment
        /// The persons that its group or its weight may identify; `nil` if at most one person is possible.
        var household: Household?
    }

    /// - Parameters:
    ///   - sections: the `[person.…]` tables of `hub.conf`.
    ///   - uids: the permanent uid of each person, by name, as in the store.
    ///   - known: all persons of the store, including those that `hub.conf` no longer names.
    ///   - certainty: the least probability at which a weight identifies a person.
    init(
        _ sections: [PersonSection], uids: [String: String], known: [Person] = [],
        certainty: Double = HubSection.usualAssignCertainty
    ) {
        (self.known, self.certainty) = (known, certainty)
        people = sections.compactMap { section in
            uids[section.name].map { uid in
                let person = Person(uid: uid, name: section.name)
                return Candidate(
                    person: person, displayName: section.displayName, slots: section.slots,
                    member: Household.Member(
                        person, expectedWeight: section.expectedWeight,
                        tolerance: section.weightTolerance ?? PersonSection.usualWeightTolerance))
            }
        }
    }

    /// The assignment of a record with `subject` that `instance` sent, and the persons that its weight may identify.
    ///
    /// - Parameter allowed: the persons of the instance by `hub.conf`; `nil` means all.
    func finding(of subject: Subject?, instance: String, allowed: [String]?) -> Finding {
        let candidates = people.filter { allowed?.contains($0.person.name) ?? true }
        guard candidates.count > 1 else {
            return Finding(assignment: only(candidates.first, subject, instance))
        }
        switch subject {
        case .slot(let slot):
            if let owner = candidates.first(where: { $0.slots[instance] == slot }) {
                return Finding(
                    assignment: .person(owner.person), household: household(candidates, owner: owner.person))
            }
            // Persons with another slot on this device are excluded.
            let others = candidates.filter { $0.slots[instance] == nil }
            return Finding(
                assignment: .nobody(reason: "no person of hub.conf has slot \(slot) of \(instance)"),
                household: household(others))
        case .name(let name), .account(let name):
            let named = candidates.named(name).map { Assignment.person($0.person) }
            // The source knows the person, so a weight does not overrule it.
            return Finding(
                assignment: named
                    ?? .nobody(
                        reason: "\(instance) names a person that hub.conf does not have, or that it may not write for"),
                household: household([]))
        case nil:
            let names = candidates.map { $0.displayName ?? $0.name }.joined(separator: ", ")
            return Finding(
                assignment: .nobody(
                    reason:
                        "\(instance) is used by several persons (\(names)), and nothing tells which of them it was"),
                household: household(candidates))
        }
    }

    private func household(_ candidates: [Candidate], owner: Person? = nil) -> Household {
        Household(candidates.map(\.member), certainty: certainty, owner: owner)
    }

    /// The assignment with at most one candidate.
    private func only(_ candidate: Candidate?, _ subject: Subject?, _ instance: String) -> Assignment {
        guard let candidate else { return .nobody(reason: "hub.conf has no person for \(instance)") }
        // A person with another slot on this device is excluded, even as the only person.
        if case .slot(let slot) = subject, let own = candidate.slots[instance], own != slot {
            return .nobody(reason: "subject: no person of hub.conf has slot \(slot) of \(instance)")
        }
        return .person(candidate.person)
    }

    /// The person that a day record names, by name or uid.
    func person(named nameOrUID: String, allowed: [String]?) -> Person? {
        people.first { $0.person.name == nameOrUID || $0.person.uid == nameOrUID }
            .flatMap { allowed?.contains($0.person.name) ?? true ? $0.person : nil }
    }

    /// The person of a day that its source retracts; for an instance with all persons, also one that `hub.conf` no longer names.
    func formerPerson(named nameOrUID: String, allowed: [String]?) -> Person? {
        person(named: nameOrUID, allowed: allowed)
            ?? (allowed == nil ? known.first { $0.name == nameOrUID || $0.uid == nameOrUID } : nil)
    }
}
