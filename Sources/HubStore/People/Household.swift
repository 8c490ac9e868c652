public import Samples

/// The persons an instance may have measured, and what tells them apart.
///
/// A record that comes with one is judged when it is stored: what it says of whose it is depends on what was stored before it,
/// and that is known for certain only then.
public struct Household: Hashable, Sendable {
    /// A person whom a weight may fit.
    public struct Member: Hashable, Sendable {
        public var person: Person
        /// The usual weight in kilograms, as `hub.conf` says; `nil` where it does not.
        public var expectedWeight: Double?
        /// By how many kilograms the usual weight may be wrong: its standard deviation.
        public var tolerance: Double

        /// A member of whom `hub.conf` says so much.
        public init(_ person: Person, expectedWeight: Double? = nil, tolerance: Double = Household.usualTolerance) {
            (self.person, self.expectedWeight, self.tolerance) = (person, expectedWeight, tolerance)
        }
    }

    /// Whom a weight may fit; empty where the record's own subject rules that out, and its group alone can tell.
    public var members: [Member]
    /// The least probability with which a person is given a record by weight, above 0.5.
    public var certainty: Double
    /// The member to whom the device's slot belongs, if the record names one; `nil` for all other records.
    ///
    /// The owner gets the record, unless its weight says with ``certainty`` that it was another person.
    public var owner: Person?

    /// Nothing is checked.
    public init(_ members: [Member], certainty: Double = Household.usualCertainty, owner: Person? = nil) {
        (self.members, self.certainty, self.owner) = (members, certainty, owner)
    }

    /// Kilograms.
    public static let usualTolerance = 3.0
    /// One weighing in twenty at most of those that are this doubtful goes to the wrong person.
    public static let usualCertainty = 0.95
}

/// By which rule a version of a record came to its person, or into the inbox.
public struct Ruling: Hashable, Sendable {
    /// The numbers stand in the store.
    public enum Rule: Int64, Hashable, Sendable {
        /// The source said which user of the device it was.
        case subject = 1
        /// Its weight fits a person, or not well enough; or the owner of the slot hardly weighs so much.
        case weight
        /// It belongs to a group, whose weight or user told.
        case group
    }

    public var rule: Rule
    /// How likely the person is, 0…1; of a record that waits, the likeliest one.
    ///
    /// `nil` where nothing was weighed up.
    public var probability: Double?
    /// What was weighed up, in words for people: `71.9 kg: anna 62 %, ben 31 %`.
    public var odds: String?

    /// A rule and what it found.
    public init(_ rule: Rule, probability: Double? = nil, odds: String? = nil) {
        (self.rule, self.probability, self.odds) = (rule, probability, odds)
    }
}
