import Foundation
import HealthText
import HubClient
import HubWire
import JSON
import Samples

/// JSON that a plugin answers or publishes, formatted for people: a list of objects as a table, an object with one line for each member.
struct ResultText {
    /// The zone in which times are shown.
    var zone = TimeZone.current

    /// Maximum length of a text that is shown on the line of its name.
    private static let short = 72
    /// Maximum depth; deeper values stay as written.
    private static let depth = 8

    /// The lines for a command's result.
    func lines(_ result: RawJSON) -> [String] {
        guard let tree = JSONTree(result.bytes) else { return [result.text] }
        return tree == .object([]) ? ["done"] : block(tree, Self.depth)
    }

    /// The whole value in one line, without the members `names` of an object.
    func singleLine(_ value: RawJSON, without names: [String] = []) -> String {
        guard let tree = JSONTree(value.bytes) else { return value.text }
        guard let members = tree.members else { return inline(tree, Self.depth) }
        return inline(members.filter { !names.contains($0.name) }, Self.depth)
    }

    // MARK: - Several lines

    private func block(_ value: JSONTree, _ depth: Int) -> [String] {
        if let elements = value.list, !elements.isEmpty, depth > 0 {
            let rows = elements.map { $0.members ?? [] }
            if rows.contains(where: \.isEmpty) { return elements.map { inline($0, depth - 1) } }
            // Nested lists and objects do not fit a column.
            guard rows.contains(where: { $0.contains { containsObjects($0.value) } }) else {
                return table(rows, depth - 1)
            }
            return Array(elements.map { block($0, depth - 1) }.joined(separator: [""]))
        }
        guard let members = value.members, let first = members.first, depth > 0 else { return [inline(value, depth)] }
        // The name of a single member adds nothing.
        if members.count == 1, first.value.list?.isEmpty == false { return block(first.value, depth - 1) }
        let width = members.map { Self.words($0.name).count }.max() ?? 0
        var (lines, blocks): ([String], [String]) = ([], [])
        for member in members {
            let name = Self.words(member.name)
            if let text = inlineValue(member.value, depth - 1) {
                lines.append(name + String(repeating: " ", count: width - name.count + 2) + text)
            } else {
                blocks += [name] + block(member.value, depth - 1).map { "  " + $0 }
            }
        }
        return lines + blocks
    }

    private func containsObjects(_ value: JSONTree) -> Bool { value.list?.contains { $0.members != nil } ?? false }

    /// The text after a name; `nil` for a value that needs separate lines.
    private func inlineValue(_ value: JSONTree, _ depth: Int) -> String? {
        if let members = value.members, !members.isEmpty { return nil }
        guard let elements = value.list else { return inline(value, depth) }
        guard elements.allSatisfy({ $0.list == nil && $0.members == nil }) else { return nil }
        let text = inline(value, depth)
        return text.count <= Self.short ? text : nil
    }

    private func table(_ rows: [[JSONTree.Member]], _ depth: Int) -> [String] {
        var names: [String] = []
        for row in rows { for member in row where !names.contains(member.name) { names.append(member.name) } }
        // People recognize things by their position or slot.
        let places = ["position", "slot"].filter(names.contains)
        names = places + names.filter { !places.contains($0) }
        return Table.lines(names.map { .left(Self.words($0).uppercased()) }, of: rows) { row in
            names.map { name in row.last { $0.name == name }.map { inline($0.value, depth) } ?? "-" }
        }
    }

    // MARK: - One line

    private func inline(_ value: JSONTree, _ depth: Int) -> String {
        switch value {
        case .null: return "-"
        case .truth(let truth): return truth ? "yes" : "no"
        case .number(let digits): return digits
        case .text(let text): return time(text) ?? text
        case .list([]), .object([]): return "none"
        case .list(let elements):
            return depth > 0 ? elements.map { inline($0, depth - 1) }.joined(separator: ", ") : value.json
        case .object(let members): return depth > 0 ? "(\(inline(members, depth - 1)))" : value.json
        }
    }

    private func inline(_ members: [JSONTree.Member], _ depth: Int) -> String {
        members.map { "\(Self.words($0.name)) \(inline($0.value, depth))" }.joined(separator: ", ")
    }

    /// A time in the form of other commands.
    private func time(_ text: String) -> String? {
        // Every time has this form; most texts do not.
        guard text.utf8.count > 19, text.first?.isNumber == true else { return nil }
        return (try? Timestamp(parsing: text)).map { time in
            time.offsetMinutes == nil ? LocalTime.text(time.microseconds, zone: zone) : MomentText.moment(time)
        }
    }

    /// `leftOut` becomes `left out`; other texts stay as they are.
    private static func words(_ name: String) -> String {
        guard name.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) }) else { return PlainText.escaped(name) }
        return name.reduce(into: "") { words, letter in
            let begins = letter.isUppercase && words.last.map { $0.isLowercase || $0.isNumber } == true
            words += begins ? " \(letter.lowercased())" : String(letter)
        }
    }
}
