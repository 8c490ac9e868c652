public import Samples

/// What a record must meet besides the members of ``RecordQuery``, in the store's terms: ids for names, numbers in the types' own units.
///
/// A leaf is true or false: a record without the thing that it is about does not meet it.
public indirect enum RecordCondition: Hashable, Sendable {
    case all([RecordCondition])
    case any([RecordCondition])
    case not(RecordCondition)
    case types([TypeID])
    case numbers([Int64])
    case keys([String])
    /// `plugin`, `device` and `account` of the source.
    case source([PropertyMatch])
    /// Microseconds since 1970, as ``RecordQuery/from`` and ``RecordQuery/to``.
    case time(from: Int64?, to: Int64?, strict: Set<SpanEnd>)
    /// Whether metadata says that a person has typed it in.
    case userEntered
    case metadata(String, MetadataTest)
    /// Properties that metadata has in an object of this name.
    case properties(String, [PropertyMatch])
    /// By type in its own unit; a type that is not named is compared where its unit is `unit` itself.
    case quantity([Measure], unit: String, [Comparison<Double>])
    case category(names: [String], raws: [Int64])
    case activity([Int64])
    /// In microseconds.
    case duration([Comparison<Double>])
    /// The sum of what the record's group has of a type, in its own unit.
    case total(TypeID, [Comparison<Double>])
    /// In one group with another record of one of these kinds.
    case partOf([SampleKind])
    /// The same with one of this number.
    case partOfRecord(Int64)
    /// A correlation or a workout in whose group there is for each of these types another record of it that meets its condition.
    case contains([Contained])

    /// What another record of the group has to meet.
    public struct Contained: Hashable, Sendable {
        public var type: TypeID
        public var condition: RecordCondition

        public init(_ type: TypeID, _ condition: RecordCondition) { (self.type, self.condition) = (type, condition) }
    }

    /// What is asked of the quantities of a type, in its own unit.
    public struct Measure: Hashable, Sendable {
        public var type: TypeID
        public var comparisons: [Comparison<Double>]

        public init(_ type: TypeID, _ comparisons: [Comparison<Double>]) {
            (self.type, self.comparisons) = (type, comparisons)
        }
    }
}

extension RecordQuery {
    /// A condition, and the text that tells it from others in the mark of a page.
    public struct Where: Hashable, Sendable {
        public var condition: RecordCondition
        public var text: String

        public init(_ condition: RecordCondition, as text: String) { (self.condition, self.text) = (condition, text) }
    }
}
