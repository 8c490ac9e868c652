/// Checks one table against declarations and collects all problems.
package struct TableChecker {
    package let file: String
    /// Whether only the owner can read the file, so that it may contain secrets.
    package let isPrivate: Bool
    package let judge: ValueJudge
    package private(set) var problems: [SettingsProblem] = []

    package init(file: String, isPrivate: Bool, environment: SettingsEnvironment) {
        (self.file, self.isPrivate) = (file, isPrivate)
        judge = ValueJudge(environment: environment, directory: environment.directory(ofFile: file))
    }

    /// Adds a problem of the table `table`.
    package mutating func report(
        _ severity: SettingsProblem.Severity = .error, at position: SourcePosition, table: String?, key: String? = nil,
        found: String? = nil, _ message: String, suggestion: String? = nil
    ) {
        problems.append(
            SettingsProblem(
                severity, file: file, position: position, table: table, key: key, found: found, message: message,
                suggestion: suggestion))
    }

    /// The values of `fields` that obey `declarations`, with defaults filled in.
    ///
    /// `alsoKnown` are keys of the same table that are read elsewhere. `header` is the position for reports of missing keys; nil if they are
    /// not reported.
    package mutating func values(
        of fields: [Field], table: String?, declarations: [SettingDeclaration], alsoKnown: [String] = [],
        header: SourcePosition?
    ) -> [String: SettingValue] {
        var values: [String: SettingValue] = [:]
        for field in fields where !alsoKnown.contains(field.name) {
            guard let declaration = declarations.first(where: { $0.name == field.name }) else {
                reportUnknown(field, table: table, known: declarations.map(\.name) + alsoKnown)
                continue
            }
            values[field.name] = value(of: field, as: declaration, table: table)
        }
        for declaration in declarations where !fields.contains(where: { $0.name == declaration.name }) {
            if let value = declaration.defaultValue {
                // A declared default may be `~/…`; it is checked like a written one.
                if case .good(let judged) = judge.judge(Node(value), as: declaration.type) {
                    values[declaration.name] = judged
                } else {
                    report(
                        at: header ?? SourcePosition(line: 1, column: 1), table: table, key: declaration.name,
                        "the default \(value) cannot be used here; write the setting")
                }
            } else if declaration.isRequired, let header {
                report(
                    at: header, table: table, key: declaration.name,
                    "missing, and needed; expected \(declaration.type.expected)")
            }
        }
        return values
    }

    /// The value of one field; nil after reporting a problem with it.
    package mutating func value(of field: Field, as declaration: SettingDeclaration, table: String?) -> SettingValue? {
        let found = declaration.isSecret ? Secret.placeholder : shown(field.entry)
        switch judge.judge(field.entry.node, as: declaration.type) {
        case .bad(let complaint):
            report(
                at: field.entry.position, table: table, key: field.name, found: found, complaint.message,
                suggestion: complaint.suggestion)
            return nil
        case .good(let value):
            guard declaration.isSecret, case .string(let text) = value else { return value }
            if !isPrivate, case .string(let written) = field.entry.node, !written.hasPrefix("${") {
                report(
                    .warning, at: field.entry.position, table: table, key: field.name, found: found,
                    "others can read this file; write \"${NAME}\" or \"${file:PATH}\", or give the file mode 0600")
            }
            return .secret(Secret(text))
        }
    }

    /// Reports an unknown key.
    package mutating func reportUnknown(_ field: Field, table: String?, known: [String]) {
        let suggestion = nearestName(to: field.name, among: known)
        let allowed = known.isEmpty ? "nothing is set here" : "known keys: " + known.sorted().joined(separator: ", ")
        report(
            at: field.entry.position, table: table, key: tomlKey(field.name),
            suggestion == nil ? "unknown key; \(allowed)" : "unknown key", suggestion: suggestion)
    }

    /// The fields of a value that must be a table; nil after reporting that it is none.
    package mutating func fields(of entry: Entry, table: String?, key: String?, expected: String) -> [Field]? {
        if case .table(let fields) = entry.node { return fields }
        report(at: entry.position, table: table, key: key, found: shown(entry), "expected \(expected)")
        return nil
    }

    /// The value as written; nil for a table made by headers, which has no source.
    package func shown(_ entry: Entry) -> String? {
        entry.source.isEmpty ? nil : entry.source
    }
}

/// A key in TOML syntax.
package func tomlKey(_ key: String) -> String {
    key.wholeMatch(of: /[A-Za-z0-9_\-]+/) == nil ? tomlQuoted(key) : key
}
