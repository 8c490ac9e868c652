import Foundation
import HubClient
import HubSettings
import HubWire

/// Answers in a file, for scripts: lines of `hub.conf` that the result must contain.
struct SetupAnswers {
    private let editor: ConfigurationEditor
    private let file: String

    /// - Parameter file: a path; `-` is stdin.
    init(_ file: String) throws(Failure) {
        self.file = file == "-" ? "stdin" : file
        if file == "-" {
            guard let bytes = try? FileHandle.standardInput.read(upToCount: 1 << 20) ?? Data(),
                let text = String(data: bytes, encoding: .utf8)
            else { throw Failure(.usage, "stdin: the answers cannot be read: expected UTF-8 text") }
            editor = try Self.editor(text, self.file)
        } else {
            editor = try Self.editor(try ConfigurationFile.text(file), file)
        }
    }

    /// Writes the answers into a draft.
    func write(into draft: inout SetupDraft) async throws(Failure) {
        let top = editor.names(in: [])
        if let other = top.first(where: { !["hub", "person", "plugin"].contains($0) }) {
            throw Failure(
                .usage,
                "\(file): [\(other)]: hub setup writes [hub], [person.NAME] and [plugin.NAME]; write others by hand")
        }
        for name in editor.names(in: ["person"]) {
            guard PeerName.isValid(name) else {
                throw Failure(.usage, "\(file): [person.\(name)]: a name is \(HubConfiguration.nameRule)")
            }
            try draft.addPerson(name)
        }
        let persons = editor.names(in: ["person"]).map { ["person", $0] }
        for table in [["hub"]] + persons {
            guard editor.has(table) else { continue }
            for (key, value) in try settings(table) { try draft.set(table, key, value) }
        }
        let plugins = editor.names(in: ["plugin"])
        guard !plugins.isEmpty else { return }
        for plugin in plugins { try begin(plugin, in: &draft) }
        // The programs and the names of their secret settings are known only after that.
        await draft.loadPlugins(only: plugins)
        for plugin in plugins where draft.plugins.contains(plugin) { try write(plugin, into: &draft) }
    }

    /// Writes the settings of a section that the hub itself reads; a new section that is disabled is written only if it has settings.
    private func begin(_ plugin: String, in draft: inout SetupDraft) throws(Failure) {
        guard PeerName.isValid(plugin) else {
            throw Failure(.usage, "\(file): [plugin.\(plugin)]: a name is \(HubConfiguration.nameRule)")
        }
        let table = ["plugin", plugin]
        let settings = try settings(table)
        let isOff = settings.contains { $0.key == "enabled" && $0.value == .boolean(false) }
        if isOff, settings.count == 1, !draft.plugins.contains(plugin), !editor.has(table + ["grants"]) { return }
        try draft.enable(plugin)
        if isOff { try draft.setEnabled(plugin, false) }
        for (key, value) in settings where key != "enabled" && SettingDeclaration.reservedNames.contains(key) {
            try draft.set(table, key, value)
        }
        // A new section is for the first person only, as the project's file is for its one person.
        let isOfPersons = draft.isNew(plugin) && HubTemplate.shown(draft.kind(plugin)).written.contains("persons")
        guard !isOff, isOfPersons, draft.persons.count > 1, !settings.contains(where: { $0.key == "persons" }) else {
            return
        }
        throw Failure(
            .usage, "\(file): [plugin.\(plugin)] needs persons: which of \(draft.persons.joined(separator: ", "))")
    }

    private func write(_ plugin: String, into draft: inout SetupDraft) throws(Failure) {
        let table = ["plugin", plugin]
        let declarations = draft.manifests[plugin]?.settings ?? []
        for (key, value) in try settings(table) where !SettingDeclaration.reservedNames.contains(key) {
            if let secret = value.string, !secret.hasPrefix("${"),
                declarations.contains(where: { $0.name == key && $0.isSecret })
            {
                try draft.set(table, key, secret: secret)
            } else {
                try draft.set(table, key, value)
            }
        }
        let grants = table + ["grants"]
        guard editor.has(grants) else { return }
        for (key, value) in try self.settings(grants) {
            guard key == "owner", let words = value.strings else {
                throw Failure(
                    .usage,
                    "\(file): grants of [plugin.\(plugin)]: hub setup writes owner; hub permissions writes \(key)")
            }
            try draft.grant(plugin, words)
        }
    }

    // MARK: - Problems

    /// The text of a problem; if its table is in these answers, it names their file, because the draft may never be written.
    func text(of problem: SettingsProblem) -> String {
        let table = (problem.table ?? "").split(separator: ".", maxSplits: 1).map(String.init)
        guard !table.isEmpty, editor.has(table) else { return problem.description }
        return problem.description.replacing("\(problem.file):\(problem.line): ", with: "\(file): ", maxReplacements: 1)
    }

    // MARK: - Reading

    private static func editor(_ text: String, _ file: String) throws(Failure) -> ConfigurationEditor {
        do throws(ConfigurationEditor.EditError) { return try ConfigurationEditor(text) } catch {
            throw Failure(.usage, error.text(in: file))
        }
    }

    private func settings(_ table: [String]) throws(Failure) -> [(key: String, value: SettingValue)] {
        if let inner = editor.names(in: table).first(where: {
            table.first != "plugin" || $0 != "grants" || table.count > 2
        }) {
            throw Failure(
                .usage,
                "\(file): \(ConfigurationEditor.header(table)): \(inner) is a table, which hub setup does not write; write it by hand"
            )
        }
        return editor.settings(of: table)
    }
}
