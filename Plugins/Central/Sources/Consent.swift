import PluginKit

/// A person's consent to give types of records to a study, from one day on.
struct Consent: Hashable, Sendable, Codable {
    var study: String
    /// The person's permanent uid.
    var person: String
    /// The person's name at that time, for display.
    var name: String
    /// Ids of the types.
    var types: [String]
    /// The first day, by the local clock of each record.
    var since: String
    /// The last day; nil if there is none.
    var until: String?
    /// SHA-256 of the words that the person was shown.
    var wordsDigest: [UInt8]
    /// One more than the number of earlier consents of this person to this study, so that each has a separate subscription.
    var ordinal: Int
    var given: String
    var withdrawn: String?
    /// Whether the centre is asked to erase the records of this consent.
    var asksErasure = false
    /// The centre's number of that erasure.
    var erasure: Int64?
    /// Whether the centre has this state of the consent.
    var isTold = false
    /// Why the centre refused the consent.
    var refusal: String?

    var isActive: Bool { withdrawn == nil }

    /// The subscription's name at the hub: 40 letters of the study, the beginning of the uid, and the ordinal.
    var want: String { "\(study.prefix(40)).\(person.prefix(8)).\(ordinal)" }

    /// Whether the consent covers a local day.
    func covers(_ date: LocalDate) -> Bool { date.text >= since && until.map { date.text <= $0 } ?? true }

    var days: String { since + (until.map { " to \($0)" } ?? " on") }

    /// Whether the centre has the same consent; the centre may end it with the study.
    func isSame(as other: HelloAnswer.Want) -> Bool {
        guard other.study == study, other.person == person, Set(other.types) == Set(types), other.since == since else {
            return false
        }
        guard let until else { return true }
        return other.until.map { $0 <= until } ?? false
    }
}
