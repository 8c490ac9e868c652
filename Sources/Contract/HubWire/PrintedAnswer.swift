import Foundation
import JSON
import Samples

/// The answer that a plugin's program printed: one JSON object (Protocol §13).
public struct PrintedAnswer: Sendable {
    /// A fault of the answer, for the plugin's author; worded to follow "it printed", or naming the member.
    public struct InvalidAnswer: Error, Hashable, Sendable, CustomStringConvertible {
        public let description: String
    }

    private let bytes: [UInt8]

    public init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// - Throws: a fault with the wrong member, its value and the expected one.
    public func read<Answer: Decodable>(_: Answer.Type) throws(InvalidAnswer) -> Answer {
        guard let first = bytes.first(where: { !Self.isSpace($0) }) else {
            throw InvalidAnswer(description: "it printed nothing; one JSON object is expected on stdout")
        }
        if let error = syntaxError {
            throw InvalidAnswer(
                description:
                    "it printed no JSON (\(beginning)): at byte \(error.offset) \(error.reason); one JSON object is expected on stdout, without other output"
            )
        }
        guard first == UInt8(ascii: "{") else {
            throw InvalidAnswer(description: "it printed \(found([]) ?? "something else") instead of one JSON object")
        }
        do {
            return try JSONDecoder().decode(Answer.self, from: Data(bytes))
        } catch let error as DecodingError {
            throw fault(error)
        } catch {
            throw InvalidAnswer(description: "\(error)")
        }
    }

    private var syntaxError: JSONSyntaxError? {
        bytes.withUnsafeBytes { bytes in
            do throws(JSONSyntaxError) {
                var scanner = try JSONScanner(bytes)
                scanner.skipSpace()
                _ = try scanner.value()
                try scanner.finish()
                return nil
            } catch {
                return error
            }
        }
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    /// The beginning of the output, from which people recognize a line of help or a Python traceback.
    private var beginning: String {
        "\"\(Self.shown(bytes.drop(while: Self.isSpace).prefix { $0 != 0x0A }, atMost: 60))\""
    }

    /// The last non-blank line that a program printed on stderr: in a Python traceback, this is the reason.
    public static func lastErrorLine(_ bytes: [UInt8]) -> String? {
        let line = bytes.split(separator: 0x0A).last { !$0.allSatisfy(isSpace) }
        return line.map { shown($0.drop(while: isSpace), atMost: 200) }
    }

    private static func shown(_ bytes: some Sequence<UInt8>, atMost length: Int) -> String {
        let text = String(decoding: Array(bytes.prefix(4 * length + 1)), as: UTF8.self)
        let plain = String(text.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? "?" : Character($0) })
        return plain.count > length ? "\(plain.prefix(length))…" : plain
    }
}

// MARK: - The faulty member

extension PrintedAnswer {
    private func fault(_ error: DecodingError) -> InvalidAnswer {
        switch error {
        case .keyNotFound(let key, let context):
            let path = context.codingPath + [key]
            return InvalidAnswer(description: "\(Self.text(path)): missing, and needed\(Self.expectation(path))")
        case .typeMismatch(let type, let context), .valueNotFound(let type, let context):
            return InvalidAnswer(
                description:
                    "\(Self.text(context.codingPath)): expected \(Self.expected(type)), found \(found(context.codingPath) ?? "nothing")"
            )
        case .dataCorrupted(let context):
            // If a number does not fit any integer, the decoder does not report its path.
            let path = context.codingPath.isEmpty ? fraction ?? [] : context.codingPath
            guard let known = Self.allowed(path) else {
                let reason = (context.underlyingError.map { "\($0)" } ?? context.debugDescription)
                return InvalidAnswer(
                    description: path.isEmpty ? reason : "\(Self.text(path)): \(context.debugDescription)")
            }
            return InvalidAnswer(
                description: "\(Self.text(path)): expected \(known), found \(found(path) ?? "nothing")")
        @unknown default: return InvalidAnswer(description: "\(error)")
        }
    }

    /// The path of a number that must be an integer and is not.
    private var fraction: [any CodingKey]? {
        var waiting: [(path: [any CodingKey], value: JSONTree)] = JSONTree(bytes).map { [([], $0)] } ?? []
        while let (path, value) = waiting.popLast() {
            switch value {
            case .number(let digits) where Int64(digits) == nil && Self.allowed(path) == "an integer": return path
            case .list(let elements):
                waiting += elements.enumerated().map { (path + [Step(intValue: $0)], $1) }
            case .object(let members): waiting += members.map { (path + [Step(stringValue: $0.name)], $0.value) }
            default: break
            }
        }
        return nil
    }

    private struct Step: CodingKey {
        let stringValue: String
        let intValue: Int?

        init(stringValue: String) { (self.stringValue, intValue) = (stringValue, nil) }
        init(intValue: Int) { (stringValue, self.intValue) = ("", intValue) }
    }

    /// `settings[0].help`.
    private static func text(_ path: [any CodingKey]) -> String {
        path.reduce("") { text, key in
            if let index = key.intValue { return "\(text)[\(index)]" }
            return text.isEmpty ? key.stringValue : "\(text).\(key.stringValue)"
        }
    }

    private static func expected(_ type: any Any.Type) -> String {
        switch type {
        case is String.Type: "a string"
        case is Bool.Type: "true or false"
        case is any FixedWidthInteger.Type: "an integer"
        case is any BinaryFloatingPoint.Type: "a number"
        case is [Any].Type: "an array"
        case is [String: Any].Type: "an object"
        default: "another value"
        }
    }

    /// The values of an enumeration, by the name of its member.
    private static func allowed(_ path: [any CodingKey]) -> String? {
        func listed(_ words: [String]) -> String { "one of " + words.map { "\"\($0)\"" }.joined(separator: ", ") }
        return switch path.last?.stringValue {
        case "kind": listed(SampleKind.allCases.map(\.rawValue))
        case "aggregation": listed(AggregationStyle.allCases.map(\.rawValue))
        case "type": listed(SettingType.names)
        case "deliveriesPerHour", "deliveriesAtOnce", "batchRecords": "an integer"
        case _ where path.dropLast().last?.stringValue == "protocol": "an integer"
        default: nil
        }
    }

    private static func expectation(_ path: [any CodingKey]) -> String {
        switch path.last?.stringValue {
        case "name", "summary", "version", "help", "id", "reason": "; expected a string"
        case "choices": "; expected an array of strings"
        case "items": "; expected an object with the member type"
        case "objections": "; expected an array, empty if nothing is wrong"
        default: allowed(path).map { "; expected \($0)" } ?? ""
        }
    }

    /// The value at a path: its text if it is short.
    private func found(_ path: [any CodingKey]) -> String? {
        let value = path.reduce(JSONTree(bytes)) { tree, key in
            switch tree {
            case .list(let elements): key.intValue.flatMap { elements.indices.contains($0) ? elements[$0] : nil }
            case .object(let members): members.last { $0.name == key.stringValue }?.value
            default: nil
            }
        }
        return switch value {
        case .text(let text): text.utf8.count <= 40 ? "\"\(text)\"" : "a string"
        case .number(let digits): digits.utf8.count <= 40 ? digits : "a number"
        case .truth(let truth): "\(truth)"
        case .null: "null"
        case .list: "an array"
        case .object: "an object"
        case nil: nil
        }
    }
}
