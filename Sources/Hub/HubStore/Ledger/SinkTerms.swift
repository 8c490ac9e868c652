public import Samples

/// The name of a durable subscription: an instance, and a name that the instance chooses.
public struct SinkID: Hashable, Sendable, CustomStringConvertible {
    /// The `[plugin.<instance>]` that receives the records.
    public var instance: String
    /// The subscription's name within the instance.
    public var want: String

    /// Creates a name.
    ///
    /// Both parts must have at least one character when the sink is opened.
    public init(instance: String, want: String) { (self.instance, self.want) = (instance, want) }

    /// `instance/want`.
    public var description: String { "\(instance)/\(want)" }
}

/// The filter of a sink.
///
/// A member that is `nil` allows everything; all other members must match. Records without a person never match.
public struct SinkFilter: Hashable, Sendable {
    public var types: Set<TypeID>?
    /// Types excluded although ``types`` contains them or is `nil`.
    public var exceptTypes: Set<TypeID> = []
    /// Kinds as in ``KindSelection`` with changes followed; `nil` for all.
    public var kinds: Set<RecordKind>?
    /// Persons by uid or name.
    ///
    /// Unknown persons are looked up again when persons are added.
    public var persons: Set<String>?

    /// A filter.
    ///
    /// Without arguments it matches everything.
    public init(types: Set<TypeID>? = nil, kinds: Set<RecordKind>? = nil, persons: Set<String>? = nil) {
        (self.types, self.kinds, self.persons) = (types, kinds, persons)
    }
}

/// A sink's filter, its target's abilities, and the target's identity as a source.
public struct SinkTerms: Hashable, Sendable {
    /// The target's abilities.
    ///
    /// Records that it cannot take are skipped, with the reason.
    public struct Abilities: Hashable, Sendable {
        /// Values of past days.
        public var takesPastDates: Bool
        /// New versions of records that it has.
        public var takesEdits: Bool
        public var takesDeletions: Bool
        /// Values that were not measured: filled samples, and days carried over from another day.
        public var takesFilledValues: Bool

        /// Creates abilities.
        ///
        /// Without arguments the target takes everything.
        public init(
            takesPastDates: Bool = true, takesEdits: Bool = true, takesDeletions: Bool = true,
            takesFilledValues: Bool = true
        ) {
            (self.takesPastDates, self.takesEdits) = (takesPastDates, takesEdits)
            (self.takesDeletions, self.takesFilledValues) = (takesDeletions, takesFilledValues)
        }
    }

    /// The target as a source of records.
    ///
    /// Records that came from the target are not sent back to it.
    public struct Target: Hashable, Sendable {
        /// The sink's plugin kind.
        ///
        /// Records that the same program sent as a source are not delivered to it.
        public var plugin: String
        /// Names of the target's system in the origins of records, such as `exist`.
        public var systems: Set<String>
        /// The target's accounts.
        ///
        /// Records from another account of the same system are delivered.
        ///
        /// If empty, every account is the target's own.
        public var accounts: Set<String>

        /// Creates a target.
        ///
        /// Without `systems`, origins name it by its plugin kind.
        public init(plugin: String, systems: Set<String>? = nil, accounts: Set<String> = []) {
            (self.plugin, self.systems, self.accounts) = (plugin, systems ?? [plugin], accounts)
        }
    }

    public var filter: SinkFilter
    public var abilities: Abilities
    public var target: Target
    /// The IANA time zone for records without a known local time.
    ///
    /// It determines their day for `takesPastDates`.
    public var zone: String

    /// Creates the terms of a subscription.
    public init(
        filter: SinkFilter = SinkFilter(), abilities: Abilities = Abilities(), target: Target, zone: String = "UTC"
    ) {
        (self.filter, self.abilities, self.target, self.zone) = (filter, abilities, target, zone)
    }
}

/// The start of a new sink.
///
/// Ignored if a sink of that name exists.
public enum SinkStart: Hashable, Sendable {
    /// With records stored from now on.
    case now
    /// With all records of the store, in their current version.
    case beginning
    /// With changes after a cursor of this store's epoch.
    case after(Cursor)
}
