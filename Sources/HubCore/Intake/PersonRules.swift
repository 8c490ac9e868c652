import HubSettings
import Samples

/// Decides whose body a record is of.
///
/// A source never names a person: it says what it knows in `subject`, and these rules do the rest.
///
/// Nothing is guessed: what no rule decides is stored for nobody, with the reason, and waits in the inbox.
struct PersonRules: Sendable {
    private let people: [Candidate]

    private struct Candidate: Sendable {
        let person: Person
        let slots: [String: Int]
    }

    /// - Parameters:
    ///   - sections: the `[person.…]` tables of `hub.conf`.
    ///   - uids: the permanent uid of each, by name, as the store knows them.
    init(_ sections: [PersonSection], uids: [String: String]) {
        people = sections.compactMap { section in
            uids[section.name].map { Candidate(person: Person(uid: $0, name: section.name), slots: section.slots) }
        }
    }

    /// The person of a record with `subject` that `instance` sent.
    ///
    /// - Parameter allowed: the persons of the instance by `hub.conf`; `nil` means all.
    func assignment(of subject: Subject?, instance: String, allowed: [String]?) -> Assignment {
        let candidates = people.filter { allowed?.contains($0.person.name) ?? true }
        switch subject {
        case .slot(let slot):
            let owners = candidates.filter { $0.slots[instance] == slot }
            if owners.count == 1 { return .person(owners[0].person) }
            // Whoever has another slot on this device was it not, even where there is nobody else.
            if candidates.count == 1, candidates[0].slots[instance] != nil {
                return .nobody(reason: "subject: no person of hub.conf has slot \(slot) of \(instance)")
            }
        case .name(let name), .account(let name):
            if let named = candidates.first(where: { $0.person.name == name }) { return .person(named.person) }
        case nil:
            break
        }
        switch candidates.count {
        case 1: return .person(candidates[0].person)
        case 0: return .nobody(reason: "hub.conf has no person for \(instance)")
        default:
            let names = candidates.map(\.person.name).joined(separator: ", ")
            return .nobody(
                reason: "\(instance) is used by several persons (\(names)), and nothing tells which of them it was")
        }
    }

    /// The person a day record names, by name or uid.
    func person(named nameOrUID: String, allowed: [String]?) -> Person? {
        people.first { $0.person.name == nameOrUID || $0.person.uid == nameOrUID }
            .flatMap { allowed?.contains($0.person.name) ?? true ? $0.person : nil }
    }
}
