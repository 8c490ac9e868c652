import Foundation

@testable import HubWire

/// A TOML value with its type, for comparing the results of different parsers.
indirect enum TaggedValue: Hashable, CustomStringConvertible {
    case scalar(type: String, value: String)
    case list([TaggedValue])
    /// The keys are compared by their bytes.
    case table([[UInt8]: TaggedValue])

    init(_ node: Node) {
        switch node {
        case .string(let text): self = .scalar(type: "string", value: text)
        case .integer(let number): self = .scalar(type: "integer", value: "\(number)")
        case .number(let number): self = .scalar(type: "float", value: Self.text(of: number))
        case .boolean(let truth): self = .scalar(type: "bool", value: "\(truth)")
        case .date(let text): self = .scalar(type: "date-local", value: text)
        case .time(let text): self = .scalar(type: "time-local", value: Self.moment(text))
        case .dateTime(let text):
            let hasOffset = text.last == "Z" || text.dropFirst(11).contains { "+-".contains($0) }
            self = .scalar(type: hasOffset ? "datetime" : "datetime-local", value: Self.moment(text))
        case .array(let entries): self = .list(entries.map { TaggedValue($0.node) })
        case .table(let fields): self = TaggedValue(fields)
        }
    }

    init(_ fields: [Field]) {
        self = .table(
            Dictionary(uniqueKeysWithValues: fields.map { (Array($0.name.utf8), TaggedValue($0.entry.node)) }))
    }

    /// Reads a value from the conformance suite's JSON.
    init(json: Any) {
        if let list = json as? [Any] {
            self = .list(list.map { TaggedValue(json: $0) })
            return
        }
        let members = json as? [String: Any] ?? [:]
        guard let type = members["type"] as? String, let value = members["value"] as? String, members.count == 2 else {
            self = .table(
                Dictionary(uniqueKeysWithValues: members.map { (Array($0.key.utf8), TaggedValue(json: $0.value)) }))
            return
        }
        switch type {
        case "float": self = .scalar(type: type, value: Double(value).map(Self.text) ?? value)
        case "datetime", "datetime-local", "time-local": self = .scalar(type: type, value: Self.moment(value))
        default: self = .scalar(type: type, value: value)
        }
    }

    private static func text(of number: Double) -> String { number.isNaN ? "nan" : "\(number)" }

    /// Normalises the parts that a writer may choose: trailing zeros of a fraction, digits below a microsecond, and Z.
    private static func moment(_ text: String) -> String {
        guard let match = text.wholeMatch(of: /([^.]*?)(?:\.([0-9]+))?(Z|z|[+\-][0-9:]+)?/) else { return text }
        var fraction = (match.2 ?? "").prefix(6)
        while fraction.last == "0" { fraction.removeLast() }
        let offset = match.3.map { $0.uppercased() == "Z" ? "+00:00" : String($0) } ?? ""
        return match.1.replacing(" ", with: "T").replacing("t", with: "T") + "." + fraction + offset
    }

    var description: String {
        switch self {
        case .scalar(let type, let value): "\(type)(\(value))"
        case .list(let values): "\(values)"
        case .table(let values):
            "{" + values.map { "\(String(decoding: $0, as: UTF8.self)): \($1)" }.sorted().joined(separator: ", ") + "}"
        }
    }
}
