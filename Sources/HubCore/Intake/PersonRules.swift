import HubSettings
import HubStore
import Samples

/// Decides whose body a record is of, as far as its source has said so, and whom its weight may tell where not.
///
/// A source never names a person: it says what it knows in `subject`. Nothing is guessed: what no rule decides is stored without a person, with
/// the reason, and waits in the inbox.
struct PersonRules: Sendable {
    private let people: [Candidate]
    /// Whom the store knows.
    private let known: [Person]
    private let certainty: Double

    private struct Candidate: NamedPerson, Sendable {
        let person: Person
        let displayName: String?
        let slots: [String: Int]
        let member: Household.Member

        var name: String { person.name }
    }

    /// What is known of a record's person before it is stored.
    struct Finding: Hashable, Sendable {
        /// By what the source said.
        var assignment: Assignment
        /// Whom its group or its weight may tell; `nil` where only one person comes into question, or none.
        var household: Household?
    }

    /// - Parameters:
    ///   - sections: the `[person.…]` tables of `hub.conf`.
    ///   - uids: the permanent uid of each, by name, as the store knows them.
    ///   - known: all whom the store knows, also those that `hub.conf` does not name any more.
    ///   - certainty: the least probability with which a weight tells.
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

    /// The person of a record with `subject` that `instance` sent, as far as its source has said.
    ///
    /// - Parameter allowed: the persons of the instance by `hub.conf`; `nil` means all.
    func assignment(of subject: Subject?, instance: String, allowed: [String]?) -> Assignment {
        finding(of: subject, instance: instance, allowed: allowed).assignment
    }

    /// The same, and who else may tell.
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
            // Who has another slot on this device was it not.
            let others = candidates.filter { $0.slots[instance] == nil }
            return Finding(
                assignment: .nobody(reason: "no person of hub.conf has slot \(slot) of \(instance)"),
                household: household(others))
        case .name(let name), .account(let name):
            let named = candidates.named(name).map { Assignment.person($0.person) }
            // Who it was its source knows: a weight has no say against that.
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

    /// With one person there is nothing to tell apart.
    private func only(_ candidate: Candidate?, _ subject: Subject?, _ instance: String) -> Assignment {
        guard let candidate else { return .nobody(reason: "hub.conf has no person for \(instance)") }
        // Who has another slot on this device was it not, even where there is no other person.
        if case .slot(let slot) = subject, let own = candidate.slots[instance], own != slot {
            return .nobody(reason: "subject: no person of hub.conf has slot \(slot) of \(instance)")
        }
        return .person(candidate.person)
    }

    /// The person a day record names, by name or uid.
    func person(named nameOrUID: String, allowed: [String]?) -> Person? {
        people.first { $0.person.name == nameOrUID || $0.person.uid == nameOrUID }
            .flatMap { allowed?.contains($0.person.name) ?? true ? $0.person : nil }
    }

    /// The person of a day that its source takes back: where the instance has all persons, also one whom `hub.conf` does not name any more.
    func formerPerson(named nameOrUID: String, allowed: [String]?) -> Person? {
        person(named: nameOrUID, allowed: allowed)
            ?? (allowed == nil ? known.first { $0.name == nameOrUID || $0.uid == nameOrUID } : nil)
    }
}
