import Foundation
import Samples

/// A problem with a value: the text after "expected" or a whole reason, and the value that was probably meant.
package struct ValueProblem {
    package var message: String
    package var suggestion: String?
}

package enum JudgedValue {
    case good(SettingValue)
    case bad(ValueProblem)
}

/// Decides whether a value of a settings file obeys a type.
package struct ValueJudge {
    package var environment: SettingsEnvironment
    /// The directory from which relative paths start.
    package var directory: String
    /// Whether the values come from a file of the owner's; otherwise `${NAME}` is ordinary text, and a path must be absolute.
    package var isFile = true

    private static let longestText = 4_096

    package func judge(_ node: Node, as type: SettingType) -> JudgedValue {
        if case .string(let written) = node {
            switch resolve(written) {
            case .success(let text): return judgeText(text, as: type)
            case .failure(let refusal): return .bad(ValueProblem(message: refusal.reason))
            }
        }
        let wrong = JudgedValue.bad(ValueProblem(message: "expected \(type.expected)"))
        switch (type, node) {
        case (.integer(let bounds), .integer(let value)):
            return bounds.contains(value) ? .good(.integer(value)) : wrong
        case (.number(let bounds), .integer(let whole)):
            guard let value = Double(exactly: whole), bounds.contains(value) else { return wrong }
            return .good(.number(value))
        case (.number(let bounds), .number(let value)):
            return value.isFinite && bounds.contains(value) ? .good(.number(value)) : wrong
        case (.boolean, .boolean(let value)): return .good(.boolean(value))
        case (.date, .date(let text)): return judgeText(text, as: type)
        case (.timeOfDay, .time(let text)):
            // TOML 1.0 times have seconds; a time of day here has whole minutes.
            guard text.hasSuffix(":00"), text.utf8.count == 8 else { return wrong }
            return judgeText(String(text.dropLast(3)), as: type)
        case (.list(let element), .array(let entries)):
            var values: [SettingValue] = []
            for (index, entry) in entries.enumerated() {
                switch judge(entry.node, as: element) {
                case .good(let value): values.append(value)
                case .bad(let complaint):
                    return .bad(
                        ValueProblem(
                            message: "element \(index + 1): \(complaint.message)", suggestion: complaint.suggestion))
                }
            }
            return .good(.list(values))
        default: return wrong
        }
    }

    private func judgeText(_ text: String, as type: SettingType) -> JudgedValue {
        var wrong = ValueProblem(message: "expected \(type.expected)")
        guard !text.isEmpty else { return .bad(wrong) }
        guard text.utf8.count <= Self.longestText else {
            return .bad(ValueProblem(message: "a text has at most \(Self.longestText) bytes"))
        }
        // Paths and the environment would be cut off there.
        guard !text.utf8.contains(0) else {
            return .bad(ValueProblem(message: "a text cannot contain the character U+0000"))
        }
        switch type {
        case .string(let rule):
            if let pattern = rule.pattern {
                guard let regex = try? Regex(pattern), (try? regex.wholeMatch(in: text)) != nil else {
                    return .bad(wrong)
                }
            }
            return .good(.string(text))
        case .duration(let bounds):
            guard let value = SettingDuration(text), bounds.contains(value) else { return .bad(wrong) }
            return .good(.string(text))
        case .size(let bounds):
            guard let value = ByteSize(text), bounds.contains(value) else { return .bad(wrong) }
            return .good(.string(text))
        case .choice(let choices):
            if choices.contains(text) { return .good(.string(text)) }
            wrong.suggestion = nearestName(to: text, among: choices).map(tomlQuoted)
            return .bad(wrong)
        case .path:
            guard isFile else {
                return text.hasPrefix("/")
                    ? .good(.string(text)) : .bad(ValueProblem(message: "expected an absolute path"))
            }
            guard let path = environment.absolute(text, from: directory) else {
                return .bad(
                    ValueProblem(message: "~ stands for the home directory, and HOME is not set; write the whole path"))
            }
            return .good(.string(path))
        case .url(let schemes):
            guard let parts = URLComponents(string: text), let scheme = parts.scheme?.lowercased(),
                schemes.contains(scheme),
                let host = parts.host, !host.isEmpty
            else { return .bad(wrong) }
            return .good(.string(text))
        case .timeZone:
            if isTimeZone(text) { return .good(.string(text)) }
            wrong.suggestion =
                (ZoneName.meant(by: text).first ?? nearestName(to: text, among: TimeZone.knownTimeZoneIdentifiers))
                .map(tomlQuoted)
            return .bad(wrong)
        case .date:
            wrong.suggestion = LocalDate(typed: text).map { tomlQuoted($0.text) }
            return LocalDate(text) == nil ? .bad(wrong) : .good(.string(text))
        case .timeOfDay:
            return text.wholeMatch(of: /([01][0-9]|2[0-3]):[0-5][0-9]/) == nil ? .bad(wrong) : .good(.string(text))
        case .integer, .number, .boolean, .list: return .bad(wrong)
        }
    }

    /// Whether the name is in the zone database: Foundation also accepts offsets such as `GMT+3`, which have no rules of a place.
    private func isTimeZone(_ name: String) -> Bool {
        guard name.wholeMatch(of: /[A-Za-z0-9_+\-]+(\/[A-Za-z0-9_+\-]+)*/) != nil else { return false }
        if name == "UTC" || name == "GMT" { return true }
        return name.contains("/") && TimeZone(identifier: name) != nil
    }

    /// Resolves a text that is exactly `${NAME}` or `${file:PATH}`; any other text is returned as it is.
    private func resolve(_ written: String) -> Result<String, UnreadableFile> {
        guard isFile, written.contains("${") else { return .success(written) }
        guard let match = written.wholeMatch(of: /\$\{(?:(file:)([^}]+)|([A-Za-z_][A-Za-z0-9_]*))\}/) else {
            return .failure(
                UnreadableFile(reason: "a reference stands alone in its text: \"${NAME}\" or \"${file:PATH}\""))
        }
        if let name = match.3 {
            guard let value = environment.variable(String(name)) else {
                return .failure(
                    UnreadableFile(reason: "the environment variable \(name) is not set; set it before the start"))
            }
            return .success(value)
        }
        let path = match.2.map(String.init) ?? ""
        guard let full = environment.absolute(path, from: directory) else {
            return .failure(UnreadableFile(reason: "~ stands for the home directory, and HOME is not set"))
        }
        do {
            let data = try environment.readFile(full)
            guard var text = String(data: data, encoding: .utf8), !text.utf8.contains(0) else {
                return .failure(UnreadableFile(reason: "\(full) is not UTF-8 text"))
            }
            // Editors add a line end that is not part of the secret.
            if text.last?.isNewline == true { text.removeLast() }
            guard !text.isEmpty else { return .failure(UnreadableFile(reason: "\(full) is empty")) }
            return .success(text)
        } catch {
            return .failure(UnreadableFile(reason: "cannot read \(full): \(error)"))
        }
    }
}
