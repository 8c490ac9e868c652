/// How a value that a record has is compared with one that is asked for.
public enum Relation: String, Hashable, Sendable, CaseIterable {
    /// Greater than what is asked for.
    case over = ">"
    /// Greater or equal.
    case atLeast = ">="
    /// The same.
    case equal = "="
    /// Another one, of the same kind: a record without such a value does not meet it.
    case unequal = "!="
    /// Less or equal.
    case atMost = "<="
    /// Less than what is asked for.
    case under = "<"

    /// Whether it holds between two values of which the first is less (negative), equal (0) or greater (positive).
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

/// One side of a comparison: the relation, and what is asked for.
public struct Comparison<Value: Hashable & Sendable>: Hashable, Sendable {
    /// How the record's value must lie to ``value``.
    public var relation: Relation
    /// What is asked for: the right side, the record's own value being the left one.
    public var value: Value

    /// A comparison with `value`.
    public init(_ relation: Relation, _ value: Value) { (self.relation, self.value) = (relation, value) }

    /// The same relation to another value.
    public func map<Other>(_ change: (Value) throws -> Other) rethrows -> Comparison<Other> {
        Comparison<Other>(relation, try change(value))
    }
}

extension Comparison<Double> {
    /// Whether a record's value is as asked.
    public func holds(for found: Double) -> Bool {
        relation.holds(found < value ? -1 : found > value ? 1 : 0)
    }
}

/// A value of metadata that can be compared: a text, a number or a truth.
public enum MetadataValue: Hashable, Sendable {
    /// A JSON string, compared byte for byte.
    case text(String)
    /// A JSON number, as the nearest double.
    case number(Double)
    /// `true` or `false`.
    case truth(Bool)

    /// Numbers by size, texts by their bytes, truths as false before true; `nil` where the two are of different kinds.
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

    /// Whether both are of one kind and the same.
    public func isSame(as other: MetadataValue) -> Bool { order(to: other) == 0 }
}

extension Comparison<MetadataValue> {
    /// Whether a record's value is as asked; never where the two are of different kinds.
    public func holds(for found: MetadataValue) -> Bool { found.order(to: value).map(relation.holds) ?? false }
}

/// What is asked of a member of a record's metadata.
public enum MetadataTest: Hashable, Sendable {
    /// It is there, whatever it is.
    case present
    /// It is one of these.
    case oneOf([MetadataValue])
    /// All of these hold.
    case compared([Comparison<MetadataValue>])
    /// It is a quantity, and all of these hold for it in this unit.
    case measured([Comparison<Double>], unit: String)
}

/// An end of the time that a record took, which a question about a span may demand to lie within it.
public enum SpanEnd: String, Hashable, Sendable, CaseIterable {
    /// The instant at which the record begins.
    case start
    /// The instant at which it ends; of an instant the same.
    case end
}

/// By what records are sorted.
public enum SortKey: String, Hashable, Sendable, CaseIterable {
    /// By start.
    case time
    /// By start, the latest first.
    case newestFirst = "-time"
    /// By end.
    case end
    /// By end, the latest first.
    case latestEnd = "-end"

    /// The end of a record's time that is looked at.
    public var end: SpanEnd { self == .time || self == .newestFirst ? .start : .end }
    /// Whether the latest comes first.
    public var isDown: Bool { self == .newestFirst || self == .latestEnd }
}

/// One property of a source, of its revision or of a device: a text, or `nil` where there is to be none.
public struct PropertyMatch: Hashable, Sendable {
    /// Which property, as the protocol names it.
    public var name: String
    /// What it must be, byte for byte; `nil`: the record must have no such property.
    public var value: String?

    /// A condition on the property `name`.
    public init(_ name: String, _ value: String?) { (self.name, self.value) = (name, value) }
}
