import Foundation

/// A JSON value as a tree, for comparing a plugin's records with those that a case expects.
enum CaseValue: Hashable, Decodable {
    case null
    case truth(Bool)
    case number(Double)
    case text(String)
    case array([CaseValue])
    case object([String: CaseValue])

    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if value.decodeNil() {
            self = .null
        } else if let truth = try? value.decode(Bool.self) {
            self = .truth(truth)
        } else if let number = try? value.decode(Double.self) {
            self = .number(number)
        } else if let text = try? value.decode(String.self) {
            self = .text(text)
        } else if let array = try? value.decode([CaseValue].self) {
            self = .array(array)
        } else {
            self = .object(try value.decode([String: CaseValue].self))
        }
    }

    init(json: some StringProtocol) throws {
        self = try JSONDecoder().decode(CaseValue.self, from: Data(json.utf8))
    }

    /// The differences of `actual` from this value, as lines of a report; the text `*` matches any value that is present.
    func differences(from actual: CaseValue?, at path: String) -> [String] {
        switch (self, actual) {
        case (.text("*"), .some): return []
        case (_, nil): return ["\(path): expected \(self), it is absent"]
        case (.object(let expected), .object(let found)):
            let unexpected = found.keys.filter { expected[$0] == nil }.sorted()
            return expected.sorted { $0.key < $1.key }.flatMap { name, value in
                value.differences(from: found[name], at: path.isEmpty ? name : "\(path).\(name)")
            } + unexpected.map { "\(path.isEmpty ? "" : path + ".")\($0): not expected" }
        case (.array(let expected), .array(let found)) where expected.count == found.count:
            return zip(expected, found).enumerated().flatMap { index, pair in
                pair.0.differences(from: pair.1, at: "\(path)[\(index)]")
            }
        case (_, .some(let found)): return self == found ? [] : ["\(path): expected \(self), found \(found)"]
        }
    }
}

extension CaseValue: CustomStringConvertible {
    var description: String {
        switch self {
        case .null: "null"
        case .truth(let truth): "\(truth)"
        case .number(let number): "\(number)"
        case .text(let text): "\"\(text)\""
        case .array(let array): "\(array)"
        case .object(let object): "{\(object.keys.sorted().joined(separator: ", "))}"
        }
    }
}
