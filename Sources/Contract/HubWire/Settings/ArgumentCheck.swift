import Foundation
import Samples

/// The arguments of a command, checked against their declarations.
///
/// Arguments come from outside: `${NAME}` is ordinary text here, and a path must be absolute. Problems never repeat a value, because it may
/// be a health value or a secret.
public struct ArgumentCheck: Sendable, Hashable {
    /// The values that obey their declarations, with defaults filled in.
    public private(set) var values: [String: SettingValue] = [:]
    /// All problems, each worded to follow "args." and beginning with its member; empty if there are none.
    public private(set) var problems: [String] = []

    /// The check stops listing problems after this many and only counts the rest.
    private static let maximumProblems = 20

    /// Checks a JSON object.
    /// - Parameter json: one JSON object; anything else is a problem of its own.
    public init(json: some Sequence<UInt8>, declarations: [SettingDeclaration]) {
        guard let given = try? JSONDecoder().decode([String: Argument].self, from: Data(json)) else {
            problems = ["expected an object of arguments"]
            return
        }
        check(given.mapValues(\.value), declarations)
    }

    private mutating func check(_ given: [String: SettingValue?], _ declarations: [SettingDeclaration]) {
        let judge = ValueJudge(environment: .empty, directory: "/", isFile: false)
        for name in given.keys.sorted() where !declarations.contains(where: { $0.name == name }) {
            let known = declarations.map(\.name)
            // A long name is not a misspelling, and a reason must stay one sentence.
            let shown = name.count <= 64 ? name : "\(name.prefix(64))…"
            problems.append(
                nearestName(to: name, among: known).map { "\(shown): no such argument; did you mean \($0)?" }
                    ?? "\(shown): no such argument; "
                    + (known.isEmpty ? "the command takes none" : "it takes \(known.sorted().joined(separator: ", "))"))
        }
        for declaration in declarations {
            if let value = given[declaration.name] {
                check(value, declaration, judge)
            } else if let value = declaration.defaultValue {
                values[declaration.name] = value
            } else if declaration.isRequired {
                problems.append("\(declaration.name): missing, and needed; expected \(declaration.type.expected)")
            }
        }
        if problems.count > Self.maximumProblems {
            let omitted = problems.count - Self.maximumProblems
            problems = problems.prefix(Self.maximumProblems) + ["and \(omitted) more"]
        }
    }

    private mutating func check(_ value: SettingValue?, _ declaration: SettingDeclaration, _ judge: ValueJudge) {
        guard let value else {
            problems.append("\(declaration.name): expected \(declaration.type.expected)")
            return
        }
        switch judge.judge(Node(value), as: declaration.type) {
        case .good(.string(let text)) where declaration.isSecret: values[declaration.name] = .secret(Secret(text))
        case .good(let value): values[declaration.name] = value
        case .bad(let complaint):
            let suggestion = complaint.suggestion.map { "; did you mean \($0)?" } ?? ""
            problems.append("\(declaration.name): \(complaint.message)\(suggestion)")
        }
    }

    /// A member of the object; nil for null or an object, which no argument can be.
    private struct Argument: Decodable {
        let value: SettingValue?

        init(from decoder: any Decoder) throws { value = try? SettingValue(from: decoder) }
    }
}

/// The name that `text` was most probably meant to be, if one is close enough.
public func nearestName(to text: String, among names: some Sequence<String>) -> String? {
    EditDistance.nearest(to: text, among: names.lazy.filter { $0 != text })?.name
}
