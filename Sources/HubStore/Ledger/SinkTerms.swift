public import Samples

/// A durable subscription by name: what an instance wants under a name of its own choice.
public struct SinkID: Hashable, Sendable, CustomStringConvertible {
    /// The `[plugin.<instance>]` that receives.
    public var instance: String
    /// The subscription's name within the instance.
    public var want: String

    /// A name; both parts must have at least one character when the sink is opened.
    public init(instance: String, want: String) { (self.instance, self.want) = (instance, want) }

    /// `instance/want`.
    public var description: String { "\(instance)/\(want)" }
}

/// What a sink wants.
///
/// Every member that is `nil` leaves its side open; those that are set must all hold. Records without a person never match.
public struct SinkFilter: Hashable, Sendable {
    public var types: Set<TypeID>?
    /// What is not wanted although ``types`` has it, or is `nil`.
    public var exceptTypes: Set<TypeID> = []
    /// As ``KindSelection`` reads them where changes are followed; `nil` for everything.
    public var kinds: Set<RecordKind>?
    /// Persons by uid or name; one who is not known yet is looked for again when a person is made known.
    public var persons: Set<String>?

    /// A filter; without arguments everything.
    public init(types: Set<TypeID>? = nil, kinds: Set<RecordKind>? = nil, persons: Set<String>? = nil) {
        (self.types, self.kinds, self.persons) = (types, kinds, persons)
    }
}

/// What a sink wants, what its target can take, and where the target is known as a source.
public struct SinkTerms: Hashable, Sendable {
    /// What the target can take; what it cannot is skipped, with the reason.
    public struct Abilities: Hashable, Sendable {
        /// Values of days that are over.
        public var takesPastDates: Bool
        /// New versions of what it has.
        public var takesEdits: Bool
        public var takesDeletions: Bool
        /// Values that were not measured: filled samples, and days carried over from another day.
        public var takesFilledValues: Bool

        /// Abilities; without arguments all.
        public init(
            takesPastDates: Bool = true, takesEdits: Bool = true, takesDeletions: Bool = true,
            takesFilledValues: Bool = true
        ) {
            (self.takesPastDates, self.takesEdits) = (takesPastDates, takesEdits)
            (self.takesDeletions, self.takesFilledValues) = (takesDeletions, takesFilledValues)
        }
    }

    /// The target as a place where records come from: what came from there does not go back there.
    public struct Target: Hashable, Sendable {
        /// The sink's plugin kind: what the same program gave as a source is not delivered to it.
        public var plugin: String
        /// Names under which origins know the target's system, such as `exist`.
        public var systems: Set<String>
        /// The target's accounts; what came from another account of the same system is delivered.
        ///
        /// Empty: any account is its own.
        public var accounts: Set<String>

        /// A target; without `systems` origins know it by its plugin kind.
        public init(plugin: String, systems: Set<String>? = nil, accounts: Set<String> = []) {
            (self.plugin, self.systems, self.accounts) = (plugin, systems ?? [plugin], accounts)
        }
    }

    public var filter: SinkFilter
    public var abilities: Abilities
    public var target: Target
    /// The IANA zone that tells which day it is where a record does not know its local time; for `takesPastDates`.
    public var zone: String

    /// Terms of a subscription.
    public init(
        filter: SinkFilter = SinkFilter(), abilities: Abilities = Abilities(), target: Target, zone: String = "UTC"
    ) {
        (self.filter, self.abilities, self.target, self.zone) = (filter, abilities, target, zone)
    }
}

/// Where a sink begins; counts only when its name is new.
public enum SinkStart: Hashable, Sendable {
    /// With what is stored from now on.
    case now
    /// With everything the store has, in its current version.
    case beginning
    /// With what changed after a cursor of this store's epoch.
    case after(Cursor)
}
