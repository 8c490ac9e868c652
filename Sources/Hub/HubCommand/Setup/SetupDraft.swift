import Foundation
import HubClient
import HubCore
import HubSettings
import HubWire
import Platform

/// A new `hub.conf` in memory; each change is checked as `hub check` checks the file.
struct SetupDraft: Sendable {
    /// Absolute, with links resolved.
    let path: String
    /// The present content of the file; nil if there is none.
    let old: String?
    private(set) var text: String
    /// The contents of new secret files beside it, by name.
    private(set) var secrets: [String: String] = [:]
    /// The manifest of each section's program; `faults` has the reason if there is none.
    private(set) var manifests: [String: Manifest] = [:]
    private(set) var faults: [String: String] = [:]
    /// Whether the one person of the project's file still needs a name.
    private(set) var hasPersonOfTemplate: Bool

    /// - Parameter text: the text to begin with; by default the present file, or the project's file if there is none.
    init(path: String, old: String?, text: String? = nil) {
        (self.path, self.old) = (path, old)
        self.text = text ?? old ?? HubTemplate.text
        hasPersonOfTemplate = old == nil && text == nil
    }

    var isNew: Bool { old == nil }
    var folder: String { Folder.parent(of: path) }

    /// The environment in which new secret files can be read before they are written.
    private var environment: SettingsEnvironment {
        var environment = SettingsEnvironment.process()
        let (read, folder) = (environment.readFile, folder)
        let waiting = Dictionary(uniqueKeysWithValues: secrets.map { ("\(folder)/\($0)", Data($1.utf8)) })
        environment.readFile = { path in try waiting[path] ?? read(path) }
        return environment
    }

    // MARK: - Content

    var persons: [String] { names("person") }
    /// The persons with their display names.
    var people: [PersonSection] {
        persons.map { name in
            var person = PersonSection(name: name)
            person.displayName = value(["person", name], "display_name")?.string
            return person
        }
    }
    var plugins: [String] { names("plugin") }

    private func names(_ group: String, in text: String? = nil) -> [String] {
        Self.editor(text ?? self.text)?.names(in: [group]) ?? []
    }

    private static func editor(_ text: String) -> ConfigurationEditor? { try? ConfigurationEditor(text) }

    /// Whether this setup writes the section, so that it was not there before.
    func isNew(_ plugin: String) -> Bool { old.map { !names("plugin", in: $0).contains(plugin) } ?? true }

    /// Whether the section was already there and enabled.
    func ran(_ plugin: String) -> Bool { old.flatMap(Self.editor)?.isEnabled(plugin) == true && !isNew(plugin) }

    func value(_ table: [String], _ key: String) -> SettingValue? { Self.editor(text)?.value(key, in: table) }

    func isEnabled(_ plugin: String) -> Bool { Self.editor(text)?.isEnabled(plugin) == true }

    /// The plugin kind of a section.
    func kind(_ plugin: String) -> String { value(["plugin", plugin], "kind")?.string ?? plugin }

    func isRemote(_ plugin: String) -> Bool { value(["plugin", plugin], "remote")?.boolean == true }

    // MARK: - Changes

    private mutating func edit(_ change: (inout ConfigurationEditor) throws -> Void) throws(Failure) {
        var editor = try ConfigurationFile.editor(text, of: path)
        try editor.edit(path, change)
        text = editor.text
    }

    /// Writes a setting, and its table if that is missing, or removes the setting.
    mutating func set(_ table: [String], _ key: String, _ value: SettingValue?) throws(Failure) {
        let (isNew, isSecret) = (isNew, isHidden(table + [key]))
        try edit {
            if value != nil, !$0.has(table) { try $0.add(table) }
            try $0.set(key, in: table, to: value, uncomments: isNew, isSecret: isSecret)
        }
    }

    /// Puts a secret into a new file, which no other setting uses, and a reference to the file into the setting.
    mutating func set(_ table: [String], _ key: String, secret: String) throws(Failure) {
        if let former = value(table, key)?.string?.wholeMatch(of: /\$\{file:([^}]+)\}/).map({ String($0.1) }) {
            if secrets[former] != nil { return secrets[former] = secret }
            let place = former.hasPrefix("/") ? former : "\(folder)/\(former)"
            let bytes = try? environment.readFile(place)
            // If a script sets the same secret again, do not make a second file.
            if [secret, "\(secret)\n"].contains(where: { bytes == Data($0.utf8) }) { return }
        }
        let stem = "\(table.last ?? "hub")-\(key)"
        var (name, number) = ("\(stem).secret", 2)
        while secrets[name] != nil || access("\(folder)/\(name)", F_OK) == 0 {
            (name, number) = ("\(stem)-\(number).secret", number + 1)
        }
        try set(table, key, .string("${file:\(name)}"))
        secrets[name] = secret
    }

    /// Adds a person; the first of a new file replaces the person of the project's file.
    mutating func addPerson(_ name: String) throws(Failure) {
        defer { hasPersonOfTemplate = false }
        guard !persons.contains(name) else { return }
        if hasPersonOfTemplate { return text = HubTemplate.text(text, for: name) }
        try edit { try $0.add(["person", name]) }
    }

    /// Adds a person under a name for `hub.conf`, with the display name if it differs.
    mutating func add(_ person: some NamedPerson) throws(Failure) {
        try addPerson(person.name)
        if let shown = person.displayName { try set(["person", person.name], "display_name", .string(shown)) }
    }

    /// Enables a section; a missing one is written as in the project's file, or empty.
    mutating func enable(_ plugin: String) throws(Failure) {
        if !plugins.contains(plugin) {
            let table = ["plugin", plugin]
            let block = HubTemplate.section(plugin) ?? "\(ConfigurationEditor.header(table))\nenabled = true\n"
            try edit { try $0.add(table, block, atEnd: true) }
            if let first = persons.first, value(table, "persons") == .list([.string(HubTemplate.person)]) {
                try set(table, "persons", .list([.string(first)]))
            }
        }
        try setEnabled(plugin, true)
    }

    mutating func setEnabled(_ plugin: String, _ truth: Bool) throws(Failure) {
        try edit { try $0.setEnabled(plugin, truth) }
    }

    /// Grants the owner's rights.
    mutating func grant(_ plugin: String, _ words: [String]) throws(Failure) {
        try edit { try $0.setGrants("owner", of: plugin, to: words) }
    }

    func granted(_ plugin: String) -> [String]? { Self.editor(text)?.grants("owner", of: plugin) }

    // MARK: - Problems

    /// The problems according to the known manifests; runs no program.
    func problems() -> [SettingsProblem] {
        HubConfiguration.load(
            text: text, file: path, environment: environment, faults: faults, rights: manifests.mapValues(\.owner)
        ) { instance, _ in manifests[instance]?.settings }.problems
    }

    /// Whether a value must be hidden: a secret's value, and that of any setting that no program declares as not secret.
    func isHidden(_ names: [String]) -> Bool {
        guard names.first == "plugin" else { return false }
        guard names.count > 2 else { return true }
        let declaration = manifests[names[1]]?.settings.first { $0.name == names[2] }
        return declaration?.isSecret ?? !SettingDeclaration.reservedNames.contains(names[2])
    }

    /// Asks every program and returns all results of `hub check`.
    mutating func check() async -> CheckedConfiguration {
        let checked = await loader.load(text)
        manifests.merge(checked.manifests) { $1 }
        faults.merge(checked.faults) { $1 }
        // Removed sections are shown too, so learn their manifests.
        if let old, names("plugin", in: old).contains(where: { manifests[$0] == nil }) {
            manifests.merge(await loader.load(old, asksPlugins: false).manifests) { known, _ in known }
        }
        return checked
    }

    /// Reads the manifest of each plugin's program, including plugins that have no section yet.
    ///
    /// - Parameter names: the plugins without a section that matter; all of the project's file if not given.
    mutating func loadPlugins(only names: [String] = HubTemplate.plugins) async {
        var all = self
        for plugin in names where !plugins.contains(plugin) {
            guard (try? all.enable(plugin)) != nil else { continue }
        }
        for plugin in all.plugins where !all.isRemote(plugin) { try? all.setEnabled(plugin, true) }
        let checked = await all.loader.load(all.text, asksPlugins: false)
        (manifests, faults) = (checked.manifests, checked.faults)
    }

    private var loader: ConfigurationLoader {
        ConfigurationLoader(path: path, environment: environment, programPath: HubProgram.path)
    }
}

extension SettingsProblem {
    /// The problem without its place, which the person knows from the question.
    var reason: String { message + (suggestion.map { "; did you mean \($0)?" } ?? "") }
}
