/// A place in a settings file; lines and columns count from 1, columns in Unicode scalars.
public struct SourcePosition: Sendable, Hashable, Codable {
    /// From 1.
    public var line: Int
    /// From 1.
    public var column: Int

    /// A position at `line` and `column`.
    public init(line: Int, column: Int) {
        (self.line, self.column) = (line, column)
    }
}

/// A problem in a settings file, in words that a person can act on.
///
/// `description` is one line: `hub.conf:17: [plugin.exist] client_secrt: unknown key; did you mean client_secret?`
public struct SettingsProblem: Sendable, Hashable, Codable, Error {
    /// The severity of a problem.
    public enum Severity: String, Sendable, Hashable, Codable, CaseIterable {
        /// The setting cannot be used; the part it belongs to does not start.
        case error
        /// The setting is used, but a person should know something about it.
        case warning
    }

    /// Whether it prevents a start.
    public var severity: Severity
    /// The file as the caller named it.
    public var file: String
    /// From 1; always a line of the file.
    public var line: Int
    /// From 1, in Unicode scalars.
    public var column: Int
    /// The table's dotted name, such as `plugin.exist`; nil at the top level.
    public var table: String?
    /// The key, dotted within the table; nil if the table itself is meant.
    public var key: String?
    /// The value as written in the file; `<secret>` for a secret.
    public var found: String?
    /// The problem and the allowed values.
    public var message: String
    /// The name that the writer probably meant.
    public var suggestion: String?

    /// A problem at `position`.
    public init(
        _ severity: Severity = .error, file: String, position: SourcePosition, table: String? = nil, key: String? = nil,
        found: String? = nil, message: String, suggestion: String? = nil
    ) {
        (self.severity, self.file, self.line, self.column) = (severity, file, position.line, position.column)
        (self.table, self.key, self.found) = (table, key, found)
        (self.message, self.suggestion) = (message, suggestion)
    }
}

extension SettingsProblem: CustomStringConvertible {
    public var description: String {
        var place: [String] = []
        if severity == .warning { place.append("warning:") }
        if let table { place.append("[\(table)]") }
        if let key { place.append(key) }
        if let found { place.append("= \(found)") }
        var text = "\(file):\(line): "
        if !place.isEmpty { text += place.joined(separator: " ") + (place.last == "warning:" ? " " : ": ") }
        text += message
        if let suggestion { text += "; did you mean \(suggestion)?" }
        return text
    }
}

extension [SettingsProblem] {
    /// Sorts by line, then column, then text.
    package func sortedByPlace() -> [SettingsProblem] {
        sorted { ($0.line, $0.column, $0.message) < ($1.line, $1.column, $1.message) }
    }

    /// The errors of a table and of the tables in it, or only those of a key.
    public func errors(_ table: [String], _ key: String? = nil) -> [SettingsProblem] {
        filter { problem in
            guard problem.severity == .error, let name = problem.table else { return false }
            let own = table.joined(separator: ".")
            guard name == own || name.hasPrefix(own + ".") else { return false }
            return key == nil || problem.key == key || problem.key?.hasPrefix("\(key ?? "").") == true
        }
    }

    /// Whether one of them is an error.
    public var hasErrors: Bool { contains { $0.severity == .error } }
}
