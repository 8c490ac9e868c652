public import Samples

/// A condition on records beyond the members of ``RecordQuery``, in the store's terms: ids for names, numbers in the types' own units.
///
/// A leaf is true or false. A record without the tested property does not match.
public indirect enum RecordCondition: Hashable, Sendable {
    case all([RecordCondition])
    case any([RecordCondition])
    case not(RecordCondition)
    case types([TypeID])
    case numbers([Int64])
    case keys([String])
    /// `plugin`, `device` and `account` of the source.
    case source([PropertyMatch])
    /// Microseconds since 1970, as in ``RecordQuery/from`` and ``RecordQuery/to``.
    case time(from: Int64?, to: Int64?, strict: Set<SpanEnd>)
    /// Whether the metadata says that a person entered the record.
    case userEntered
    case metadata(String, MetadataTest)
    /// Properties of the object with this name in the metadata.
    case properties(String, [PropertyMatch])
    /// By type, in its own unit. Types that are not listed are compared if their unit is `unit`.
    case quantity([Measure], unit: String, [Comparison<Double>])
    case category(names: [String], raws: [Int64])
    case activity([Int64])
    /// In microseconds.
    case duration([Comparison<Double>])
    /// The sum of the values of a type in the record's group, in the type's own unit.
    case total(TypeID, [Comparison<Double>])
    /// In one group with another record of one of these kinds.
    case partOf([SampleKind])
    /// In one group with the correlation or workout of this number.
    case partOfRecord(Int64)
    /// A correlation or workout whose group has, for each of these types, another record that meets its condition.
    case contains([Contained])

    /// The condition for another record of the group.
    public struct Contained: Hashable, Sendable {
        public var type: TypeID
        public var condition: RecordCondition

        public init(_ type: TypeID, _ condition: RecordCondition) { (self.type, self.condition) = (type, condition) }
    }

    /// The comparisons for quantities of a type, in its own unit.
    public struct Measure: Hashable, Sendable {
        public var type: TypeID
        public var comparisons: [Comparison<Double>]

        public init(_ type: TypeID, _ comparisons: [Comparison<Double>]) {
            (self.type, self.comparisons) = (type, comparisons)
        }
    }
}

extension RecordQuery {
    /// A condition, and the text that identifies it in page tokens.
    public struct Where: Hashable, Sendable {
        public var condition: RecordCondition
        public var text: String

        public init(_ condition: RecordCondition, as text: String) { (self.condition, self.text) = (condition, text) }
    }
}
