/// A typed value of a person over an instant or an interval, as its source gave it.
public struct Sample: Hashable, Sendable {
    /// Who read it, from where.
    public var source: Source
    /// Tells it from all other records of the source.
    public var key: RecordKey
    /// What it measures.
    public var type: TypeID
    /// What was measured, in the form of its kind.
    public var value: SampleValue
    /// When it was measured, or when the interval begins.
    public var start: Timestamp
    /// Equal to `start` for an instant; never before it.
    public var end: Timestamp
    /// IANA name of the zone it was measured in, where known.
    public var zone: String?
    /// Whom the source believes to have measured, where it believes anything.
    public var subject: Subject?
    /// Records of one group are stored together or not at all: one weigh-in, the members of a correlation.
    public var group: String?
    /// Whether the value was measured, or what it was made from.
    public var provenance: Provenance
    /// Everything else the source knows, keys as in HealthKit in lowerCamel.
    ///
    /// Bounded by `JSONObject.maximumBytes`.
    public var metadata: JSONObject?
    /// The source's own version number; compared only with others of the same identity.
    public var sourceVersion: Int64?
    /// Where it was born and which hubs it passed; empty when it was born at its source.
    public var origin: [OriginStep]
    /// Members this version of the protocol does not know, kept and returned as they came.
    public var extra: JSONObject?

    /// A sample; nothing is checked.
    ///
    /// Without `end` it is an instant.
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
    /// Nothing of its own: the members carry the same `group`.
    case correlation
    /// A fact about the person that does not change, such as a birth date.
    case characteristic(String, raw: Int64?)
    /// Series, clinical records and types the registry does not know: a text, or only an attached payload.
    case other(String?)

    /// The kind of a type that has such values.
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
