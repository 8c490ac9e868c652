/// The relation between a record's value and the requested value.
public enum Relation: String, Hashable, Sendable, CaseIterable {
    /// Greater than the requested value.
    case over = ">"
    /// Greater than or equal to the requested value.
    case atLeast = ">="
    /// Equal to the requested value.
    case equal = "="
    /// Different from the requested value but of the same kind. A record without such a value does not match.
    case unequal = "!="
    /// Less than or equal to the requested value.
    case atMost = "<="
    /// Less than the requested value.
    case under = "<"

    /// Whether the relation holds, given the order of the two values: negative if the first is less, 0 if equal, positive if greater.
    fileprivate func holds(_ order: Int) -> Bool {
        switch self {
        case .over: order > 0
        case .atLeast: order >= 0
        case .equal: order == 0
        case .unequal: order != 0
        case .atMost: order <= 0
        case .under: order < 0
        }
    }
}

/// A relation and the value on its right side.
public struct Comparison<Value: Hashable & Sendable>: Hashable, Sendable {
    /// How the record's value must relate to ``value``.
    public var relation: Relation
    /// The right side of the comparison; the record's value is the left side.
    public var value: Value

    /// Creates a comparison with `value`.
    public init(_ relation: Relation, _ value: Value) { (self.relation, self.value) = (relation, value) }

    /// The same relation with a converted value.
    public func map<Other>(_ change: (Value) throws -> Other) rethrows -> Comparison<Other> {
        Comparison<Other>(relation, try change(value))
    }
}

extension Comparison<Double> {
    /// Whether a record's value satisfies the comparison.
    public func holds(for found: Double) -> Bool {
        relation.holds(found < value ? -1 : found > value ? 1 : 0)
    }
}

/// A metadata value that can be compared: a text, a number or a Boolean.
public enum MetadataValue: Hashable, Sendable {
    /// A JSON string, compared byte for byte.
    case text(String)
    /// A JSON number, as the nearest double.
    case number(Double)
    /// `true` or `false`.
    case truth(Bool)

    /// Orders numbers by size, texts by their bytes, and false before true; `nil` if the two values are of different kinds.
    fileprivate func order(to other: MetadataValue) -> Int? {
        switch (self, other) {
        case (.text(let left), .text(let right)):
            if left.hasSameBytes(as: right) {
                0
            } else {
                left.utf8.lexicographicallyPrecedes(right.utf8) ? -1 : 1
            }
        case (.number(let left), .number(let right)): left < right ? -1 : left > right ? 1 : 0
        case (.truth(let left), .truth(let right)): left == right ? 0 : left ? 1 : -1
        default: nil
        }
    }

    /// Whether both values are of the same kind and equal.
    public func isSame(as other: MetadataValue) -> Bool { order(to: other) == 0 }
}

extension Comparison<MetadataValue> {
    /// Whether a record's value satisfies the comparison; false if the two values are of different kinds.
    public func holds(for found: MetadataValue) -> Bool { found.order(to: value).map(relation.holds) ?? false }
}

/// A condition on one member of a record's metadata.
public enum MetadataTest: Hashable, Sendable {
    /// The member exists, with any value.
    case present
    /// The member equals one of these values.
    case oneOf([MetadataValue])
    /// All of these comparisons hold.
    case compared([Comparison<MetadataValue>])
    /// The member is a quantity, and all of these comparisons hold for it in this unit.
    case measured([Comparison<Double>], unit: String)
}

/// The start or the end of a record's interval; a query can require it to lie within a span.
public enum SpanEnd: String, Hashable, Sendable, CaseIterable {
    /// The instant at which the record begins.
    case start
    /// The instant at which it ends. For a record without a duration it equals the start.
    case end
}

/// The sort order of records.
public enum SortKey: String, Hashable, Sendable, CaseIterable {
    /// By start.
    case time
    /// By start, the latest first.
    case newestFirst = "-time"
    /// By end.
    case end
    /// By end, the latest first.
    case latestEnd = "-end"

    /// The end of the interval that records are sorted by.
    public var end: SpanEnd { self == .time || self == .newestFirst ? .start : .end }
    /// Whether the latest record comes first.
    public var isDown: Bool { self == .newestFirst || self == .latestEnd }
}

/// A condition on one property of a source, its revision or a device.
public struct PropertyMatch: Hashable, Sendable {
    /// The property, as the protocol names it.
    public var name: String
    /// The required value, byte for byte; `nil` if the record must not have the property.
    public var value: String?

    /// Creates a condition on the property `name`.
    public init(_ name: String, _ value: String?) { (self.name, self.value) = (name, value) }
}
