import Foundation
import HubClient
import HubSettings
import HubWire

/// Answers in a file, for scripts: lines of `hub.conf`, each of which is to stand in it.
struct SetupAnswers {
    private let text: String
    private let file: String

    /// - Parameter file: `-` is stdin.
    init(_ file: String) throws(Failure) {
        self.file = file == "-" ? "stdin" : file
        if file == "-" {
            guard let bytes = try? FileHandle.standardInput.read(upToCount: 1 << 20) ?? Data(),
                let text = String(data: bytes, encoding: .utf8)
            else { throw Failure(.usage, "stdin: the answers cannot be read: expected UTF-8 text") }
            self.text = text
        } else {
            text = try ConfigurationFile.text(file)
        }
    }

    /// Writes them into a draft.
    func write(into draft: inout SetupDraft) async throws(Failure) {
        let top = try tables([])
        if let other = top.first(where: { !["hub", "person", "plugin"].contains($0) }) {
            throw Failure(
                .usage,
                "\(file): [\(other)]: hub setup writes [hub], [person.NAME] and [plugin.NAME]; write others by hand")
        }
        for name in try tables(["person"]) {
            guard HubConfiguration.isName(name) else {
                throw Failure(.usage, "\(file): [person.\(name)]: a name is \(HubConfiguration.nameRule)")
            }
            try draft.addPerson(name)
        }
        let persons = try tables(["person"]).map { ["person", $0] }
        for table in [["hub"]] + persons {
            guard try editor(table).hasTable else { continue }
            for (key, value) in try settings(table) { try draft.set(table, key, value) }
        }
        let plugins = try tables(["plugin"])
        guard !plugins.isEmpty else { return }
        await draft.meetPlugins()
        for plugin in plugins { try write(plugin, into: &draft) }
    }

    private func write(_ plugin: String, into draft: inout SetupDraft) throws(Failure) {
        guard HubConfiguration.isName(plugin) else {
            throw Failure(.usage, "\(file): [plugin.\(plugin)]: a name is \(HubConfiguration.nameRule)")
        }
        let table = ["plugin", plugin]
        let settings = try settings(table)
        let isOff = settings.contains { $0.key == "enabled" && $0.value == .boolean(false) }
        if isOff, !draft.plugins.contains(plugin) { return }
        if isOff { try draft.setEnabled(plugin, false) } else { try draft.enable(plugin) }
        let declarations = draft.manifests[plugin]?.settings ?? []
        for (key, value) in settings where key != "enabled" {
            if let secret = value.string, !secret.hasPrefix("${"),
                declarations.contains(where: { $0.name == key && $0.isSecret })
            {
                try draft.set(table, key, secret: secret)
            } else {
                try draft.set(table, key, value)
            }
        }
        let grants = table + ["grants"]
        guard try editor(grants).hasTable else { return }
        for (key, value) in try self.settings(grants) {
            guard key == "owner", let words = value.strings else {
                throw Failure(
                    .usage,
                    "\(file): grants of [plugin.\(plugin)]: hub setup writes owner; hub permissions writes \(key)")
            }
            try draft.grant(plugin, words)
        }
    }

    // MARK: - Reading

    private func editor(_ table: [String]) throws(Failure) -> SettingEditor {
        do throws(SettingEditor.Refusal) { return try SettingEditor(text, of: table) } catch {
            throw Failure(.usage, "\(file): \(error)")
        }
    }

    private func tables(_ table: [String]) throws(Failure) -> [String] { try editor(table).names }

    private func settings(_ table: [String]) throws(Failure) -> [(key: String, value: SettingValue)] {
        let editor = try editor(table)
        if let inner = editor.names.first(where: { table.first != "plugin" || $0 != "grants" || table.count > 2 }) {
            throw Failure(
                .usage,
                "\(file): \(SettingEditor.header(table)): \(inner) is a table, which hub setup does not write; write it by hand"
            )
        }
        return editor.settings
    }
}
