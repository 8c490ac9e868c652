public import Samples

extension QueryRequest {
    /// `where` of a QUERY: an expression that a record meets or does not meet (Protocol §8.1.1).
    ///
    /// A leaf is true or false, never unknown: a record that lacks the property does not meet the leaf, and `not` of the leaf is met by exactly
    /// the other records.
    public indirect enum Condition: Hashable, Sendable {
        /// All of the expressions are met; at least one is required.
        case all([Condition])
        /// At least one of the expressions is met.
        case any([Condition])
        case not(Condition)
        /// The record has one of these types, by any of their names.
        case types([String])
        /// The record has one of these numbers.
        case numbers([Int64])
        /// The record has one of these keys of its source.
        case keys([String])
        /// The record's source, source revision or device has these properties.
        case properties(Facet, [PropertyMatch])
        /// The time of the record, as `from`, `to` and `strict` of QUERY.
        case time(from: Timestamp?, to: Timestamp?, strict: Set<SpanEnd>)
        /// Whether a person has typed it in.
        case userEntered(Bool)
        case metadata(String, MetadataTest)
        /// A quantity that passes all of these comparisons.
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
        /// A correlation or workout whose group has, for each of these types, another record that meets the expression.
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

    /// The record that the tested record belongs to, and that has others in its group.
    public enum Whole: Hashable, Sendable {
        case correlation
        case workout
        /// The correlation or workout with this number.
        case record(Int64)
    }

    /// A condition on another record of the group.
    public struct Contained: Hashable, Sendable {
        public var type: String
        public var condition: QueryRequest.Condition

        public init(_ type: String, _ condition: QueryRequest.Condition) {
            (self.type, self.condition) = (type, condition)
        }
    }

    /// Whether it depends on other records of the group, which can change without the record itself.
    var isOfGroup: Bool {
        switch self {
        case .all(let parts), .any(let parts): parts.contains(where: \.isOfGroup)
        case .not(let part): part.isOfGroup
        case .total, .part, .contains: true
        default: false
        }
    }

    /// The origin of a record, with the properties that identify it.
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

        /// The member of `metadata` with the properties; `nil` for the source, which is a member of the record.
        public var metadata: String? {
            switch self {
            case .source: nil
            case .revision: "sourceRevision"
            case .device: "device"
            }
        }
    }

    /// Maximum depth of an expression; below, the maximum number of expressions and of items in all its lists.
    public static let maximumDepth = 16
    public static let maximumParts = 256
    public static let maximumItems = 1_000
    /// Maximum number of expressions within `contains`, each of which is evaluated for every record of a group.
    public static let maximumContained = 32
}

/// Shorthands for expressions: `.quantity(over: 80, "kg") && !.metadata("wasUserEntered")`.
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

    public static func device(_ property: String, _ value: String?) -> Self {
        .properties(.device, [PropertyMatch(property, value)])
    }

    public static var userEntered: Self { .userEntered(true) }

    /// A correlation or workout that contains a record of the type that meets the expression.
    public static func contains(_ type: String, _ condition: Self) -> Self { .contains([Contained(type, condition)]) }
}
