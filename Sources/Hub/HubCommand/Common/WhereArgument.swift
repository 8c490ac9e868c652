import Foundation
import HealthText
import HubClient
import HubWire
import Samples

/// `--where`: a condition on records, as people type it: `value > 80kg and not userEntered`.
struct WhereArgument {
    private typealias Condition = QueryRequest.Condition

    private enum Token: Hashable {
        case word(String)
        case quoted(String)
        case relation(Relation)
        case open, close, comma

        var shown: String {
            switch self {
            case .word(let text): text
            case .quoted(let text): "\"\(text)\""
            case .relation(let relation): relation.rawValue
            case .open: "("
            case .close: ")"
            case .comma: ","
            }
        }
    }

    private var tokens: [Token] = []
    private var position = 0
    private var depth = 0
    /// The type whose units and values apply: the only type of the question, or a contained one.
    private var type: HealthType?

    /// The words that can begin a condition, for errors and help.
    static let words = [
        "value", "duration", "total", "category", "activity", "userEntered", "metadata", "partOf", "contains", "type",
        "number", "key", "source.", "device.", "revision.",
    ]

    /// - Parameter types: the types of the question.
    static func condition(_ text: String, of types: [String]) throws(Failure) -> QueryRequest.Condition {
        let type = types.count == 1 ? TypeRegistry.standard.resolve(types[0]) : nil
        var reader = WhereArgument(tokens: try tokens(of: text), type: type)
        let condition = try reader.either()
        guard reader.next == nil else { throw reader.fault("and, or, or the end") }
        return condition
    }

    private init(tokens: [Token], type: HealthType?) { (self.tokens, self.type) = (tokens, type) }

    // MARK: - Words

    private static func tokens(of text: String) throws(Failure) -> [Token] {
        var (rest, tokens): (Substring, [Token]) = (text[...], [])
        while let first = rest.first {
            switch first {
            case "(", ")", ",":
                tokens.append(first == "(" ? .open : first == ")" ? .close : .comma)
                rest = rest.dropFirst()
            case "\"", "'":
                guard let end = rest.dropFirst().firstIndex(of: first) else {
                    throw Failure(.usage, "--where: \(first) is not closed: \(Terminal.cut(String(rest)))")
                }
                tokens.append(.quoted(String(rest[rest.index(after: rest.startIndex)..<end])))
                rest = rest[rest.index(after: end)...]
            case "<", ">", "=", "!":
                let sign = String(rest.prefix { "<>=!".contains($0) })
                guard let relation = Relation(rawValue: sign == "==" ? "=" : sign) else {
                    let all = Relation.allCases.map(\.rawValue).joined(separator: " ")
                    throw Failure(
                        .usage, "--where: \(Terminal.cut(sign)) is none of \(all); for the contrary write not")
                }
                tokens.append(.relation(relation))
                rest = rest.dropFirst(sign.count)
            case _ where first.isWhitespace: rest = rest.dropFirst()
            default:
                let word = rest.prefix { !$0.isWhitespace && !"(),<>=!\"'".contains($0) }
                tokens.append(.word(String(word)))
                rest = rest[word.endIndex...]
            }
        }
        return tokens
    }

    private var next: Token? { position < tokens.count ? tokens[position] : nil }

    private mutating func take(_ word: String) -> Bool {
        guard next == .word(word) else { return false }
        position += 1
        return true
    }

    private func fault(_ expected: String) -> Failure {
        let found = next.map { "found \(Terminal.cut($0.shown))" } ?? "it ends there"
        let before = position == 0 ? "" : " after \(Terminal.cut(tokens[position - 1].shown))"
        return Failure(.usage, "--where: expected \(expected)\(before), \(found)")
    }

    // MARK: - Expressions

    private mutating func either() throws(Failure) -> QueryRequest.Condition {
        var parts = [try both()]
        while take("or") { parts.append(try both()) }
        return parts.count == 1 ? parts[0] : .any(parts)
    }

    private mutating func both() throws(Failure) -> QueryRequest.Condition {
        var parts = [try one()]
        while take("and") { parts.append(try one()) }
        return parts.count == 1 ? parts[0] : .all(parts)
    }

    private mutating func one() throws(Failure) -> QueryRequest.Condition {
        depth += 1
        defer { depth -= 1 }
        guard depth <= Condition.maximumDepth else {
            throw Failure(.usage, "--where: nested more than \(Condition.maximumDepth) deep")
        }
        if take("not") { return .not(try one()) }
        guard next == .open else { return try leaf() }
        position += 1
        let inner = try either()
        guard next == .close else { throw fault("and, or, or )") }
        position += 1
        return inner
    }

    private mutating func leaf() throws(Failure) -> QueryRequest.Condition {
        guard case .word(let word)? = next else { throw fault("one of \(Self.words.joined(separator: " "))") }
        position += 1
        switch word {
        case "value":
            let (comparison, unit) = try quantity(of: type)
            return .quantity([comparison], unit: unit)
        case "duration":
            let (comparison, unit) = try quantity(of: nil)
            return .duration([comparison], unit: unit)
        case "total":
            let name = try text("a type, such as activeEnergyBurned")
            let (comparison, unit) = try quantity(of: TypeRegistry.standard.resolve(name))
            return .total(type: name, [comparison], unit: unit)
        case "category": return .category(try choices())
        case "activity": return .activity(try choices())
        case "userEntered": return .userEntered
        case "metadata": return try metadata()
        case "partOf":
            switch try text("correlation, workout or a number") {
            case "correlation": return .part(of: .correlation)
            case "workout": return .part(of: .workout)
            case let text:
                guard let number = Int64(text) else {
                    position -= 1
                    throw fault("correlation, workout or a number")
                }
                return .part(of: .record(number))
            }
        case "contains": return try contained()
        case "type": return .types(try list("a type"))
        case "key": return .keys(try list("a key"))
        case "number":
            var numbers: [Int64] = []
            for text in try list("a number") {
                guard let number = Int64(text), number >= 0 else {
                    throw Failure(.usage, "--where: \(Terminal.cut(text)) is not a record's number")
                }
                numbers.append(number)
            }
            return .numbers(numbers)
        default: return try property(word)
        }
    }

    /// Parses `contains bloodPressureSystolic (value > 130mmHg)`; without parentheses, any record of the type matches.
    private mutating func contained() throws(Failure) -> QueryRequest.Condition {
        let name = try text("a type, such as bloodPressureSystolic")
        guard next == .open else { return .contains(name, .types([name])) }
        let outer = type
        type = TypeRegistry.standard.resolve(name)
        defer { type = outer }
        return .contains(name, try one())
    }

    private mutating func property(_ word: String) throws(Failure) -> QueryRequest.Condition {
        let parts = word.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, let facet = Condition.Facet(rawValue: parts[0]) else {
            let meant = nearestName(to: word, among: Self.words).map { "; did you mean \($0)?" }
            throw Failure(
                .usage,
                "--where: there is no \(Terminal.cut(word))\(meant ?? "; it begins with one of \(Self.words.joined(separator: " "))")"
            )
        }
        guard facet.properties.contains(parts[1]) else {
            throw Failure(
                .usage,
                "--where: \(facet.rawValue) has no \(Terminal.cut(parts[1])); it has \(facet.properties.joined(separator: ", "))"
            )
        }
        guard case .relation(let relation)? = next, relation == .equal || relation == .unequal else {
            throw fault("= or !=")
        }
        position += 1
        let isNone = next == .word("none")
        let value = try text("a text, or none")
        let condition = Condition.properties(facet, [PropertyMatch(parts[1], isNone ? nil : value)])
        return relation == .equal ? condition : .not(condition)
    }

    private mutating func metadata() throws(Failure) -> QueryRequest.Condition {
        let name = try text("a member of metadata")
        if take("in") {
            var values = [try scalar()]
            while next == .comma {
                position += 1
                values.append(try scalar())
            }
            return .metadata(name, .oneOf(values))
        }
        guard case .relation(let relation)? = next else { return .metadata(name, .present) }
        position += 1
        let begin = position
        let value = try scalar()
        guard case .word(let first) = tokens[begin], first.first?.isNumber == true || first.first == "-",
            value == .text(first) || isUnit(next)
        else { return .metadata(name, .compared([Comparison(relation, value)])) }
        // Otherwise it is a number with a unit.
        position = begin
        let (number, unit) = try amount(of: nil)
        return .metadata(name, .measured([Comparison(relation, number)], unit: unit))
    }

    private func isUnit(_ token: Token?) -> Bool {
        guard case .word(let word)? = token else { return false }
        return !["and", "or"].contains(word)
    }

    // MARK: - Values

    private mutating func text(_ expected: String) throws(Failure) -> String {
        switch next {
        case .word(let text)?, .quoted(let text)?:
            position += 1
            return text
        default: throw fault(expected)
        }
    }

    private mutating func list(_ expected: String) throws(Failure) -> [String] {
        var texts = [try text(expected)]
        while next == .comma {
            position += 1
            texts.append(try text(expected))
        }
        return texts
    }

    private mutating func choices() throws(Failure) -> [QueryRequest.Condition.Choice] {
        try list("a name or a number").map { text in Int64(text).map(Condition.Choice.raw) ?? .name(text) }
    }

    private mutating func scalar() throws(Failure) -> MetadataValue {
        let isQuoted = if case .quoted? = next { true } else { false }
        let text = try text("a value")
        if isQuoted { return .text(text) }
        if text == "true" || text == "false" { return .truth(text == "true") }
        return Double(text).flatMap { $0.isFinite ? .number($0) : nil } ?? .text(text)
    }

    private mutating func quantity(of type: HealthType?) throws(Failure) -> (Comparison<Double>, unit: String) {
        guard case .relation(let relation)? = next else {
            throw fault("one of \(Relation.allCases.map(\.rawValue).joined(separator: " "))")
        }
        position += 1
        let (number, unit) = try amount(of: type)
        return (Comparison(relation, number), unit)
    }

    /// Parses a number with its unit, as `hub log` does.
    private mutating func amount(of type: HealthType?) throws(Failure) -> (Double, unit: String) {
        var words: [String] = []
        while let token = next {
            guard token != .word("and"), token != .word("or") else { break }
            guard let word = try? text("a value with its unit") else { break }
            words.append(word)
        }
        guard !words.isEmpty else { throw fault("a value with its unit, such as 80kg") }
        let isOfQuantities = type?.kind == .quantity
        let value = try Failure.entryValue { () throws(EntryError) in
            try ValueArgument(words, of: isOfQuantities ? type : nil)
        }
        guard case .quantity(let number, let unit) = value else {
            throw Failure(
                .usage,
                "--where: \(Terminal.cut(words.joined(separator: " "))) is not a value with a unit, such as 80kg")
        }
        return (number, unit)
    }
}
