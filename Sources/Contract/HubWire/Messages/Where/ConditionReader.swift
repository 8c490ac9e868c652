import JSON
import Samples

/// Parses `where` within its limits (R8.80).
struct ConditionReader {
    private typealias Condition = QueryRequest.Condition

    private var parts = 0
    private var items = 0
    private var contained = 0
    private var isWithinContains = false

    static let words = [
        "and", "or", "not", "type", "number", "key", "source", "revision", "device", "time", "userEntered", "metadata",
        "quantity", "category", "activity", "duration", "total", "partOf", "contains",
    ]

    /// The expression in the member `where`, if the object has it.
    static func condition(of object: ObjectReader) throws(WireError) -> QueryRequest.Condition? {
        guard let value = object.value("where") else { return nil }
        var reader = ConditionReader()
        return try reader.read(value, in: object, as: "where", depth: 1)
    }

    /// - Parameters:
    ///   - value: the expression, in `parent` under `name`.
    private mutating func read(
        _ value: JSONValue, in parent: ObjectReader, as name: String, depth: Int
    ) throws(WireError) -> QueryRequest.Condition {
        parts += 1
        guard parts <= Condition.maximumParts else {
            throw Self.fault(parent, name, "at most \(Condition.maximumParts) expressions in all")
        }
        if isWithinContains { contained += 1 }
        guard contained <= Condition.maximumContained else {
            throw Self.fault(parent, name, "at most \(Condition.maximumContained) expressions within contains in all")
        }
        guard depth <= Condition.maximumDepth else {
            throw Self.fault(parent, name, "expressions nested at most \(Condition.maximumDepth) deep")
        }
        guard value.kind == .object else {
            throw parent.fault(name, "an object with one of \(Self.words.joined(separator: ", "))", value)
        }
        let object = try ObjectReader(value, in: parent.bytes, path: "\(parent.path).\(name)")
        try object.refuseOthers(than: Self.words)
        guard let word = object.members.last?.name, object.members.allSatisfy({ $0.name == word }),
            let content = object.value(word)
        else {
            throw Self.fault(parent, name, "an object with exactly one of \(Self.words.joined(separator: ", "))")
        }
        switch word {
        case "and": return .all(try list(content, in: object, as: word, depth))
        case "or": return .any(try list(content, in: object, as: word, depth))
        case "not": return .not(try read(content, in: object, as: word, depth: depth + 1))
        case "type": return .types(try texts(object, word))
        case "number":
            return .numbers(
                try list(object, word, "an integer from 0") { value in
                    object.integer(value).flatMap { $0 >= 0 ? $0 : nil }
                })
        case "key": return .keys(try texts(object, word))
        case "userEntered": return .userEntered(try object.truth(word))
        case "category": return .category(try choices(object, word))
        case "activity": return .activity(try choices(object, word))
        case "partOf": return .part(of: try whole(object))
        case "contains": return .contains(try contained(try inner(object, word), depth))
        default: return try read(word, try inner(object, word))
        }
    }

    /// Reads a leaf that is an object.
    private mutating func read(_ word: String, _ object: ObjectReader) throws(WireError) -> QueryRequest.Condition {
        switch word {
        case "time": return try time(object)
        case "metadata": return try metadata(object)
        case "quantity", "duration":
            let (comparisons, unit) = (try Self.comparisons(object, beside: ["unit"]), try object.text("unit"))
            return word == "quantity" ? .quantity(comparisons, unit: unit) : .duration(comparisons, unit: unit)
        case "total":
            let type = try object.text("type")
            return .total(
                type: type, try Self.comparisons(object, beside: ["type", "unit"]), unit: try object.text("unit"))
        default:
            guard let facet = Condition.Facet(rawValue: word) else { preconditionFailure("\(word) has no reader") }
            try object.refuseOthers(than: facet.properties)
            var matches: [PropertyMatch] = []
            for name in facet.properties {
                guard let value = object.value(name) else { continue }
                let text = object.string(value)
                guard text != nil || value.kind == .null else {
                    throw object.fault(name, "a string, or null for none", value)
                }
                matches.append(PropertyMatch(name, text))
            }
            guard !matches.isEmpty else {
                throw Self.fault(object, nil, "at least one of \(facet.properties.joined(separator: ", "))")
            }
            return .properties(facet, matches)
        }
    }

    // MARK: - Parts

    private static func fault(_ object: ObjectReader, _ name: String?, _ allowed: String) -> WireError {
        WireError(.field, "\(object.path)\(name.map { ".\($0)" } ?? ""): expected \(allowed)", closed: false)
    }

    private func inner(_ object: ObjectReader, _ name: String) throws(WireError) -> ObjectReader {
        guard let value = object.value(name), value.kind == .object else {
            throw object.fault(name, "an object", object.value(name))
        }
        return try ObjectReader(value, in: object.bytes, path: "\(object.path).\(name)")
    }

    private mutating func list(
        _ value: JSONValue, in object: ObjectReader, as name: String, _ depth: Int
    ) throws(WireError) -> [QueryRequest.Condition] {
        guard let elements = try object.elements(value), !elements.isEmpty else {
            throw object.fault(name, "an array of at least one expression", value)
        }
        var parts: [QueryRequest.Condition] = []
        for (index, element) in elements.enumerated() {
            parts.append(try read(element, in: object, as: "\(name)[\(index)]", depth: depth + 1))
        }
        return parts
    }

    private mutating func list<T>(
        _ object: ObjectReader, _ name: String, _ allowed: String, _ read: (JSONValue) -> T?
    ) throws(WireError) -> [T] {
        guard let value = object.value(name), let elements = try object.elements(value), !elements.isEmpty else {
            throw object.fault(name, "an array of at least one value, each \(allowed)", object.value(name))
        }
        items += elements.count
        guard items <= Condition.maximumItems else {
            throw Self.fault(object, name, "at most \(Condition.maximumItems) items in all lists together")
        }
        var results: [T] = []
        for (index, element) in elements.enumerated() {
            guard let result = read(element) else { throw object.fault("\(name)[\(index)]", allowed, element) }
            results.append(result)
        }
        return results
    }

    private mutating func texts(_ object: ObjectReader, _ name: String) throws(WireError) -> [String] {
        try list(object, name, "a string", object.string)
    }

    private mutating func choices(_ object: ObjectReader, _ name: String) throws(WireError) -> [Condition.Choice] {
        try list(object, name, "a name or its number") { value in
            object.string(value).map(Condition.Choice.name) ?? object.integer(value).map(Condition.Choice.raw)
        }
    }

    private func whole(_ object: ObjectReader) throws(WireError) -> Condition.Whole {
        try object.required(
            "partOf", "\"correlation\", \"workout\" or the number of one", show: .text
        ) { value in
            switch object.string(value) {
            case "correlation"?: return .correlation
            case "workout"?: return .workout
            case _?: return nil
            case nil: return object.integer(value).flatMap { $0 >= 0 ? .record($0) : nil }
            }
        }
    }

    /// Reads `contains`: an expression for each type.
    private mutating func contained(
        _ object: ObjectReader, _ depth: Int
    ) throws(WireError) -> [Condition.Contained] {
        guard !isWithinContains else {
            throw WireError(.field, "\(object.path): no contains within another", closed: false)
        }
        let names = object.members.map(\.name)
        guard !names.isEmpty, Set(names).count == names.count else {
            throw Self.fault(object, nil, "types with an expression for each, every type once")
        }
        isWithinContains = true
        defer { isWithinContains = false }
        var contained: [Condition.Contained] = []
        for name in names {
            guard let value = object.value(name) else { continue }
            contained.append(
                Condition.Contained(name, try read(value, in: object, as: name, depth: depth + 1)))
        }
        return contained
    }

    private func time(_ object: ObjectReader) throws(WireError) -> QueryRequest.Condition {
        try object.refuseOthers(than: ["from", "to", "strict"])
        let (from, to) = (try object.timeIfPresent("from"), try object.timeIfPresent("to"))
        guard from != nil || to != nil else { throw Self.fault(object, nil, "from, to or both") }
        try Self.check(from, to, object)
        return .time(from: from, to: to, strict: try Self.strict(object))
    }

    /// Checks that a span is not empty.
    static func check(_ from: Timestamp?, _ to: Timestamp?, _ object: ObjectReader) throws(WireError) {
        guard let from, let to, from.microseconds >= to.microseconds else { return }
        throw object.fault("to", "a time after from", object.value("to"), show: .text, code: .query)
    }

    static func strict(_ object: ObjectReader) throws(WireError) -> Set<SpanEnd> {
        guard let words = try object.textsIfPresent("strict") else { return [] }
        let ends = words.compactMap(SpanEnd.init(rawValue:))
        guard ends.count == words.count else {
            throw object.fault("strict", "an array of \(object.oneOf(SpanEnd.self))", object.value("strict"))
        }
        return Set(ends)
    }

    private mutating func metadata(_ object: ObjectReader) throws(WireError) -> QueryRequest.Condition {
        let name = try object.text("name")
        let relations = Relation.allCases.map(\.rawValue)
        try object.refuseOthers(than: ["name", "in", "unit"] + relations)
        let isCompared = object.members.contains { relations.contains($0.name) }
        if object.value("in") != nil {
            guard !isCompared, object.value("unit") == nil else {
                throw Self.fault(object, nil, "either in, or comparisons, with a unit or without")
            }
            return .metadata(name, .oneOf(try list(object, "in", Self.scalar) { Self.scalar($0, object) }))
        }
        guard object.value("unit") == nil else {
            let (comparisons, unit) = (try Self.comparisons(object, beside: ["name", "unit"]), try object.text("unit"))
            return .metadata(name, .measured(comparisons, unit: unit))
        }
        guard isCompared else { return .metadata(name, .present) }
        var comparisons: [Comparison<MetadataValue>] = []
        for relation in Relation.allCases {
            guard let value = object.value(relation.rawValue) else { continue }
            let isOfTruths = relation == .equal || relation == .unequal
            guard let scalar = Self.scalar(value, object) else {
                throw object.fault(relation.rawValue, Self.scalar, value)
            }
            if case .truth = scalar, !isOfTruths {
                throw object.fault(relation.rawValue, "a string or a number", value)
            }
            comparisons.append(Comparison(relation, scalar))
        }
        return .metadata(name, .compared(comparisons))
    }

    private static let scalar = "a string, a number, true or false"

    private static func scalar(_ value: JSONValue, _ object: ObjectReader) -> MetadataValue? {
        switch value.kind {
        case .string: object.string(value).map(MetadataValue.text)
        case .number: NumberReader.double(value, in: object.bytes).map(MetadataValue.number)
        case .true: .truth(true)
        case .false: .truth(false)
        default: nil
        }
    }

    private static func comparisons(
        _ object: ObjectReader, beside others: [String]
    ) throws(WireError) -> [Comparison<Double>] {
        try object.refuseOthers(than: others + Relation.allCases.map(\.rawValue))
        var comparisons: [Comparison<Double>] = []
        for relation in Relation.allCases {
            guard let value = try object.numberIfPresent(relation.rawValue) else { continue }
            comparisons.append(Comparison(relation, value))
        }
        guard !comparisons.isEmpty else {
            throw fault(
                object, nil, "at least one of \(Relation.allCases.map(\.rawValue).joined(separator: " ")) with a number"
            )
        }
        return comparisons
    }
}
