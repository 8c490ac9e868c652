/// A typed value of a person at an instant or over an interval, as its source gave it.
public struct Sample: Hashable, Sendable {
    /// The plugin, device and account that the sample comes from.
    public var source: Source
    /// Distinguishes the sample from all other records of the source.
    public var key: RecordKey
    /// The measured type.
    public var type: TypeID
    /// The measured value, in the form of its kind.
    public var value: SampleValue
    /// When it was measured, or when the interval begins.
    public var start: Timestamp
    /// Equal to `start` for an instant; never before it.
    public var end: Timestamp
    /// IANA name of the zone it was measured in, if known.
    public var zone: String?
    /// The person the source believes was measured, if it gives one.
    public var subject: Subject?
    /// Records of one group are stored together or not at all, such as the members of one weigh-in or of a correlation.
    public var group: String?
    /// Whether the value was measured, or how it was derived.
    public var provenance: Provenance
    /// Everything else the source knows.
    ///
    /// Keys are HealthKit's, in lowerCamel.
    ///
    /// Bounded by `JSONObject.maximumBytes`.
    public var metadata: JSONObject?
    /// The source's version number, compared only between records of the same identity.
    public var sourceVersion: Int64?
    /// The system that created the record and the hubs it passed through; empty if its source created it.
    public var origin: [OriginStep]
    /// Members that this version of the protocol does not know, kept and returned unchanged.
    public var extra: JSONObject?

    /// Creates a sample without checking it.
    ///
    /// Without `end` the sample is an instant.
    public init(
        source: Source, key: RecordKey, type: TypeID, value: SampleValue, start: Timestamp, end: Timestamp? = nil,
        zone: String? = nil, subject: Subject? = nil, group: String? = nil, provenance: Provenance = .measured,
        metadata: JSONObject? = nil, sourceVersion: Int64? = nil, origin: [OriginStep] = [], extra: JSONObject? = nil
    ) {
        self.source = source
        self.key = key
        self.type = type
        self.value = value
        self.start = start
        self.end = end ?? start
        self.zone = zone
        self.subject = subject
        self.group = group
        self.provenance = provenance
        self.metadata = metadata
        self.sourceVersion = sourceVersion
        self.origin = origin
        self.extra = extra
    }
}

/// The value of a sample; its case is the sample's kind.
public enum SampleValue: Hashable, Sendable {
    /// A finite number in `unit`, both as the source wrote them.
    case quantity(Double, unit: String)
    /// One of the type's named values, such as `asleepCore` 3.
    case category(name: String, raw: Int64)
    /// An activity, such as `running` 37.
    case workout(activity: String, raw: Int64)
    /// No value; the members carry the same `group`.
    case correlation
    /// A fact about the person that does not change, such as a birth date.
    case characteristic(String, raw: Int64?)
    /// Series, clinical records and types the registry does not know: a text, or only an attached payload.
    case other(String?)

    /// The kind of a type whose samples have such values.
    public var kind: SampleKind {
        switch self {
        case .quantity: .quantity
        case .category: .category
        case .workout: .workout
        case .correlation: .correlation
        case .characteristic: .characteristic
        case .other: .other
        }
    }
}

/// A set of members of a sample: those that a person has edited, or those that are implausible.
///
/// The bits are those of the store's columns, and a bit never changes its meaning.
public struct SampleMembers: OptionSet, Hashable, Sendable {
    /// The members as bits, as the store keeps them.
    public let rawValue: UInt8

    /// Creates a set from bits; unknown bits are kept.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The value, with its unit.
    public static let value = SampleMembers(rawValue: 1)
    /// The time of measurement or the start of the interval: the instant, its offset, or both.
    public static let start = SampleMembers(rawValue: 2)
    /// The same for the end.
    public static let end = SampleMembers(rawValue: 4)
    /// The metadata, such as a person's note.
    public static let metadata = SampleMembers(rawValue: 8)

    /// Every member by its name on the wire, in canonical order.
    public static let named: [(member: SampleMembers, name: StaticString)] = [
        (.value, "value"), (.start, "start"), (.end, "end"), (.metadata, "metadata"),
    ]
}

/// How a value was obtained, so that measured and estimated values are never mixed.
public enum Provenance: Hashable, Sendable {
    /// A device or a person read it.
    case measured
    /// Computed from other records by a formula with a version.
    case derived(formula: String, version: String, basis: [Basis])
    /// Stands in for a value that was not measured.
    case filled(method: String, basis: [Basis])

    /// A record that a value was made from.
    public enum Basis: Hashable, Sendable {
        /// The hub's number for the record.
        case number(Int64)
        /// The key of a record of the same source, usually in the same group.
        case key(RecordKey)
    }
}

/// A system or hub that a record passed through; the first one created it.
public enum OriginStep: Hashable, Sendable {
    /// A system other than a hub, such as `withings`, and the account on it.
    case system(name: String, account: String?)
    /// A hub, by its random id.
    case hub(id: String)
}
