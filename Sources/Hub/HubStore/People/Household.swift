public import Samples

/// The persons whom an instance may measure, and the data that distinguishes them.
///
/// A record with a household is assigned when it is stored, because the assignment depends on the records stored before it.
public struct Household: Hashable, Sendable {
    /// A person whom a weight may fit.
    public struct Member: Hashable, Sendable {
        public var person: Person
        /// The usual weight in kilograms from `hub.conf`; `nil` if not given.
        public var expectedWeight: Double?
        /// The standard deviation of the usual weight in kilograms.
        public var tolerance: Double

        /// Creates a member from its entry in `hub.conf`.
        public init(_ person: Person, expectedWeight: Double? = nil, tolerance: Double = Household.usualTolerance) {
            (self.person, self.expectedWeight, self.tolerance) = (person, expectedWeight, tolerance)
        }
    }

    /// The persons whom a weight may fit; empty if the record's subject excludes that and only its group can decide.
    public var members: [Member]
    /// The minimum probability for assigning a record by weight, above 0.5.
    public var certainty: Double
    /// The member who owns the device's slot, if the record names one; `nil` for all other records.
    ///
    /// The owner gets the record, unless its weight shows with ``certainty`` that it was another person.
    public var owner: Person?

    /// Creates a household without checking its values.
    public init(_ members: [Member], certainty: Double = Household.usualCertainty, owner: Person? = nil) {
        (self.members, self.certainty, self.owner) = (members, certainty, owner)
    }

    /// Kilograms.
    public static let usualTolerance = 3.0
    /// At this certainty, at most one in twenty such doubtful weighings is assigned to the wrong person.
    public static let usualCertainty = 0.95
}

/// The rule that assigned a version of a record to its person, or left it in the inbox.
public struct Ruling: Hashable, Sendable {
    /// The raw values are stored.
    public enum Rule: Int64, Hashable, Sendable {
        /// The source named the user of the device.
        case subject = 1
        /// The weight fits a person, or not well enough, or the owner of the slot is unlikely to weigh that much.
        case weight
        /// The record belongs to a group, whose weight or user decided.
        case group
    }

    public var rule: Rule
    /// The probability of the person, 0…1; for a record in the inbox, that of the likeliest person.
    ///
    /// `nil` if the rule computed no probability.
    public var probability: Double?
    /// The odds, for people: `71.9 kg: anna 62 %, ben 31 %`.
    public var odds: String?

    /// Creates a ruling from a rule and its result.
    public init(_ rule: Rule, probability: Double? = nil, odds: String? = nil) {
        (self.rule, self.probability, self.odds) = (rule, probability, odds)
    }
}
