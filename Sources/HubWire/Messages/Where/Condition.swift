public import Samples

extension QueryRequest {
    /// `where` of a QUERY: an expression that a record meets or does not meet (Protocol §8.1.1).
    ///
    /// A leaf is true or false and never unknown: a record without the thing that a leaf is about does not meet it, and `not` of
    /// the leaf is met by exactly the other records.
    public indirect enum Condition: Hashable, Sendable {
        /// All of them; at least one.
        case all([Condition])
        /// One of them at least.
        case any([Condition])
        case not(Condition)
        /// Of one of these types, by any name of theirs.
        case types([String])
        /// With one of these numbers.
        case numbers([Int64])
        /// With one of these keys of their sources.
        case keys([String])
        /// Whose source, its revision or the device has these properties.
        case properties(Facet, [PropertyMatch])
        /// When it was, as `from`, `to` and `strict` of QUERY.
        case time(from: Timestamp?, to: Timestamp?, strict: Set<SpanEnd>)
        /// Whether a person has typed it in.
        case userEntered(Bool)
        case metadata(String, MetadataTest)
        /// A quantity for which all of these hold.
        case quantity([Comparison<Double>], unit: String)
        /// A category with one of these values.
        case category([Choice])
        /// A workout of one of these activities.
        case activity([Choice])
        /// The time from start to end.
        case duration([Comparison<Double>], unit: String)
        /// The sum of the quantities of a type in the record's group.
        case total(type: String, [Comparison<Double>], unit: String)
        case part(of: Whole)
        /// A correlation or a workout in whose group there is for each of these types another record of it that meets its expression.
        case contains([Contained])
    }
}

extension QueryRequest.Condition {
    /// A value of an enumeration, by name or by number.
    public enum Choice: Hashable, Sendable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
        case name(String)
        case raw(Int64)

        public init(stringLiteral name: String) { self = .name(name) }
        public init(integerLiteral raw: Int64) { self = .raw(raw) }
    }

    /// What a record belongs to that has other records in its group.
    public enum Whole: Hashable, Sendable {
        case correlation
        case workout
        /// The correlation or workout of this number.
        case record(Int64)
    }

    /// What another record of the group has to meet.
    public struct Contained: Hashable, Sendable {
        public var type: String
        public var condition: QueryRequest.Condition

        public init(_ type: String, _ condition: QueryRequest.Condition) {
            (self.type, self.condition) = (type, condition)
        }
    }

    /// Whether it depends on more than the record itself: on others of its group, which change without it.
    var isOfGroup: Bool {
        switch self {
        case .all(let parts), .any(let parts): parts.contains(where: \.isOfGroup)
        case .not(let part): part.isOfGroup
        case .total, .part, .contains: true
        default: false
        }
    }

    /// Where a record comes from, with the properties that tell it.
    public enum Facet: String, Hashable, Sendable, CaseIterable {
        case source, revision, device

        public var properties: [String] {
            switch self {
            case .source: ["plugin", "device", "account"]
            case .revision: ["version", "productType", "operatingSystemVersion"]
            case .device:
                [
                    "name", "manufacturer", "model", "hardwareVersion", "firmwareVersion", "softwareVersion",
                    "localIdentifier", "udiDeviceIdentifier",
                ]
            }
        }

        /// The member of `metadata` that has them; `nil` of the source, which is a member of the record.
        public var metadata: String? {
            switch self {
            case .source: nil
            case .revision: "sourceRevision"
            case .device: "device"
            }
        }
    }

    /// How deep an expression may nest, how many expressions it may consist of, and how many items its lists may have in all.
    public static let maximumDepth = 16
    public static let maximumParts = 256
    public static let maximumItems = 1_000
    /// How many expressions may stand within `contains`, each of which is judged for every record of a group.
    public static let maximumContained = 32
}

/// The short way to write one: `.quantity(over: 80, "kg") && !.metadata("wasUserEntered")`.
extension QueryRequest.Condition {
    public static func && (left: Self, right: Self) -> Self {
        if case .all(let parts) = left { .all(parts + [right]) } else { .all([left, right]) }
    }

    public static func || (left: Self, right: Self) -> Self {
        if case .any(let parts) = left { .any(parts + [right]) } else { .any([left, right]) }
    }

    public static prefix func ! (condition: Self) -> Self { .not(condition) }

    public static func quantity(_ relation: Relation, _ value: Double, _ unit: String) -> Self {
        .quantity([Comparison(relation, value)], unit: unit)
    }

    public static func quantity(over value: Double, _ unit: String) -> Self { .quantity(.over, value, unit) }

    public static func quantity(under value: Double, _ unit: String) -> Self { .quantity(.under, value, unit) }

    public static func quantity(in range: ClosedRange<Double>, _ unit: String) -> Self {
        .quantity([Comparison(.atLeast, range.lowerBound), Comparison(.atMost, range.upperBound)], unit: unit)
    }

    public static func duration(_ relation: Relation, _ value: Double, _ unit: String) -> Self {
        .duration([Comparison(relation, value)], unit: unit)
    }

    public static func total(of type: String, _ relation: Relation, _ value: Double, _ unit: String) -> Self {
        .total(type: type, [Comparison(relation, value)], unit: unit)
    }

    /// Whether metadata has the member.
    public static func metadata(_ name: String) -> Self { .metadata(name, .present) }

    public static func metadata(_ name: String, _ relation: Relation, _ value: MetadataValue) -> Self {
        .metadata(name, .compared([Comparison(relation, value)]))
    }

    public static func metadata(_ name: String, in values: [MetadataValue]) -> Self { .metadata(name, .oneOf(values)) }

    public static func source(plugin: String) -> Self { .properties(.source, [PropertyMatch("plugin", plugin)]) }

    public static func device(_ property: String, _ value: String?) -> Self {
        .properties(.device, [PropertyMatch(property, value)])
    }

    public static func revision(_ property: String, _ value: String?) -> Self {
        .properties(.revision, [PropertyMatch(property, value)])
    }

    public static var userEntered: Self { .userEntered(true) }

    /// A correlation or a workout that contains a record of the type which meets the expression.
    public static func contains(_ type: String, _ condition: Self) -> Self { .contains([Contained(type, condition)]) }
}
