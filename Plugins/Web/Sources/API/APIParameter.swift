import Foundation
import Hummingbird
import JSON
import PluginKit

/// A parameter of an API address other than the body; this one place defines its form for the check and for the description.
struct APIParameter: Sendable {
    enum Place: String, Sendable { case path, query, header }

    /// The form of a value.
    enum Form: Sendable {
        /// At most this many characters, and the whole text matches the pattern.
        case text(most: Int = 256, pattern: String = #"^[^\x00]+$"#)
        case word([String])
        case integer(ClosedRange<Int64>)
        /// A time as in RFC 3339.
        case time
        case cursor
        case truth
    }

    let name: String
    let form: Form
    let help: String
    var place = Place.query
    /// Whether it may be given several times.
    var isList = false
    var isRequired = false

    // MARK: - Reading

    /// - Throws: ``RequestRefusal`` that names the parameter.
    func check(_ text: String) throws {
        let isFit =
            switch form {
            case .text(let most, let pattern):
                !text.isEmpty && text.unicodeScalars.count <= most && (try? Regex(pattern).firstMatch(in: text)) != nil
            case .word(let words): words.contains(text)
            case .integer(let range): Int64(text).map { range.contains($0) && String($0) == text } ?? false
            case .time: (try? Timestamp(parsing: text)) != nil
            case .cursor: Cursor(text) != nil
            case .truth: text == "true" || text == "false"
            }
        guard isFit else { throw refusal("expected \(expected)") }
    }

    func refusal(_ advice: String) -> RequestRefusal {
        RequestRefusal(.badRequest, "\(name) is not valid", "\(name): \(advice).", member: name)
    }

    private var expected: String {
        switch form {
        case .text(let most, let pattern): "a text of 1 to \(most) characters that fits \(pattern)"
        case .word(let words): "one of \(words.joined(separator: ", "))"
        case .integer(let range): "a whole number from \(range.lowerBound) to \(range.upperBound)"
        case .time: "a time such as 2026-03-15T06:30:00Z"
        case .cursor: "a cursor, <epoch>-<sequence>, as an answer gives it"
        case .truth: "true or false"
        }
    }

    // MARK: - Describing

    /// The parameter object of OpenAPI.
    var description: JSONTree {
        let schema: JSONTree = isList ? ["type": "array", "items": element, "maxItems": 100] : element
        return [
            "name": .text(name), "in": .text(place.rawValue), "description": .text(help),
            "required": .truth(isRequired || place == .path), "schema": schema,
        ]
    }

    private var element: JSONTree {
        switch form {
        case .text(let most, let pattern):
            return ["type": "string", "minLength": 1, "maxLength": JSONTree(most), "pattern": .text(pattern)]
        case .word(let words): return ["type": "string", "enum": .list(words.map(JSONTree.text))]
        case .integer(let range):
            return [
                "type": "integer", "minimum": .number("\(range.lowerBound)"), "maximum": .number("\(range.upperBound)"),
            ]
        case .time: return ["$ref": "#/components/schemas/common/$defs/time"]
        case .cursor: return ["type": "string", "pattern": #"^[a-z2-7]{8}-(0|[1-9][0-9]{0,14})$"#]
        case .truth: return ["type": "boolean"]
        }
    }
}
