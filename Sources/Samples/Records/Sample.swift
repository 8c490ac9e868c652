/// A typed value of a person over an instant or an interval, as its source gave it.
public struct Sample: Hashable, Sendable {
    public var source: Source
    public var key: RecordKey
    public var type: TypeID
    public var value: SampleValue
    public var start: Timestamp
    /// Equal to `start` for an instant; never before it.
    public var end: Timestamp
    /// IANA name of the zone it was measured in, where known.
    public var zone: String?
    public var subject: Subject?
    /// Records of one group are stored together or not at all: one weigh-in, the members of a correlation.
    public var group: String?
    public var provenance: Provenance
    /// Everything else the source knows, keys as in HealthKit in lowerCamel. Bounded by `JSONObject.maximumBytes`.
    public var metadata: JSONObject?
    /// The source's own version number; compared only with others of the same identity.
    public var sourceVersion: Int64?
    public var origin: [OriginStep]
    /// Members this version of the protocol does not know, kept and returned as they came.
    public var extra: JSONObject?

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
