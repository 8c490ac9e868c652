import PluginKit

/// What a person has agreed to give to a study, from which day on.
struct Consent: Hashable, Sendable, Codable {
    var study: String
    /// The person's permanent uid.
    var person: String
    /// What the person was called then, for people.
    var name: String
    /// Ids.
    var types: [String]
    /// The first day, by the local clock of each record.
    var since: String
    /// The last one; `nil`: open.
    var until: String?
    /// SHA-256 of the words that the person was shown.
    var wordsDigest: [UInt8]
    /// How many there were before it of this person and study, and one: a subscription of its own for each.
    var ordinal: Int
    var given: String
    var withdrawn: String?
    /// Whether the centre is asked to erase what it has by this consent.
    var asksErasure = false
    /// The centre's number of that erasure.
    var erasure: Int64?
    /// Whether the centre knows of it as it is.
    var isTold = false
    /// Why the centre does not take it.
    var refusal: String?

    var isActive: Bool { withdrawn == nil }

    /// The subscription's name at the hub, which has room for a study of 40 letters and the beginning of a uid.
    var want: String { "\(study.prefix(40)).\(person.prefix(8)).\(ordinal)" }

    /// Whether a local day is one of those agreed to.
    func covers(_ date: LocalDate) -> Bool { date.text >= since && until.map { date.text <= $0 } ?? true }

    var days: String { since + (until.map { " to \($0)" } ?? " on") }

    /// Whether the centre has the same, as far as it can: it ends no later than the study.
    func isSame(as other: Hello.Want) -> Bool {
        guard other.study == study, other.person == person, Set(other.types) == Set(types), other.since == since else {
            return false
        }
        guard let until else { return true }
        return other.until.map { $0 <= until } ?? false
    }
}
