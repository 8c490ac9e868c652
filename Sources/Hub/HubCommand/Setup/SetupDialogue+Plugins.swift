import Foundation
import HubClient
import HubCore
import HubSettings
import HubWire

/// The choice of plugins, and the settings of each.
extension SetupDialogue {
    mutating func plugins() async throws {
        Terminal.say("")
        Terminal.say("Plugins connect the hub to scales, phones, files and services:")
        await draft.loadPlugins()
        let offered =
            draft.plugins.filter { !draft.isRemote($0) } + HubTemplate.plugins.filter { !draft.plugins.contains($0) }
        let width = offered.map(\.count).max() ?? 0
        for (number, plugin) in offered.enumerated() {
            let mark = draft.isEnabled(plugin) ? "on " : "   "
            let place = String(number + 1)
            let what = draft.manifests[plugin]?.summary ?? draft.faults[plugin].map { "cannot be had: \($0)" } ?? ""
            Terminal.say(
                "\(String(repeating: " ", count: max(0, 3 - place.count)))\(place)  \(mark) "
                    + plugin.padding(toLength: width + 2, withPad: " ", startingAt: 0) + what)
        }
        let chosen = try await choose(offered)
        for plugin in offered where draft.isEnabled(plugin) && !chosen.contains(plugin) {
            try draft.setEnabled(plugin, false)
        }
        for plugin in offered where chosen.contains(plugin) {
            try prompt.checkForEnd()
            try await setUp(plugin)
        }
    }

    private func choose(_ offered: [String]) async throws -> [String] {
        let on = offered.filter(draft.isEnabled)
        let standing = on.isEmpty ? "none" : on.joined(separator: ", ")
        while true {
            let answer = try await prompt.ask(
                "Which of them? Numbers or names with commas between, - for none [\(standing)]:")
            if answer.isEmpty { return on }
            if answer == "-" { return [] }
            if answer == "?" {
                Terminal.say(
                    "  Name all that are to run, such as 1, 4; those left out are disabled and stay in the file.")
                continue
            }
            let words = SettingAnswer.parts(answer.replacing(" ", with: ","))
            let found = words.map { word in
                Int(word).flatMap { (1...offered.count).contains($0) ? offered[$0 - 1] : nil }
                    ?? Self.plugin(named: word, among: offered)
            }
            if let (word, _) = zip(words, found).first(where: { $0.1 == nil }) {
                let meant = nearestName(to: word, among: offered).map { "; did you mean \($0)?" } ?? ""
                Terminal.say("  there is no \(word) in the list\(meant)")
                continue
            }
            let names = found.compactMap { $0 }
            if let missing = names.first(where: { draft.manifests[$0] == nil }) {
                Terminal.say("  \(missing) cannot run: \(draft.faults[missing] ?? "its program does not answer")")
                continue
            }
            return names
        }
    }

    /// The plugin that a word means: its name in any case, with or without hyphens, the end of only one name, or `page`.
    static func plugin(named word: String, among offered: [String]) -> String? {
        func folded(_ text: String) -> String { text.lowercased().filter { $0.isLetter || $0.isNumber } }
        let word = folded(word) == "page" ? "web" : folded(word)
        if let plugin = offered.first(where: { folded($0) == word }) { return plugin }
        let ending = offered.filter { word.count > 2 && folded($0).hasSuffix(word) }
        return ending.count == 1 ? ending[0] : nil
    }

    // MARK: - One plugin

    private mutating func setUp(_ plugin: String) async throws {
        guard let manifest = draft.manifests[plugin] else { return }
        Terminal.say("")
        Terminal.say("\(plugin): \(manifest.summary)")
        try draft.enable(plugin)
        let (shown, table) = (HubTemplate.shown(draft.kind(plugin)), ["plugin", plugin])
        try await persons(plugin, table)
        let usual = manifest.settings.filter { $0.isRequired || shown.written.contains($0.name) }
        for declaration in usual { try await ask(declaration, of: table) }
        let further = manifest.settings.filter { declaration in
            !usual.contains(declaration)
                && (shown.commented.contains(declaration.name) || draft.value(table, declaration.name) != nil)
        }
        if !further.isEmpty {
            let names = further.map(\.name).joined(separator: ", ")
            if try await prompt.isYes("  Further settings (\(names))?", usually: false) {
                for declaration in further { try await ask(declaration, of: table) }
            }
        }
        try await owner(plugin, manifest)
        guard try await correct(plugin, manifest, table) else { return }
        try await tryOut(plugin, manifest, table)
    }

    private mutating func ask(_ declaration: SettingDeclaration, of table: [String]) async throws {
        Terminal.say("  \(declaration.help)")
        try await ask(declaration, of: table, "  \(declaration.name)")
    }

    /// Asks for the plugin's persons, if the project's file has `persons` for it.
    private mutating func persons(_ plugin: String, _ table: [String]) async throws {
        guard HubTemplate.shown(draft.kind(plugin)).written.contains("persons"), draft.persons.count > 1 else { return }
        let declaration = SettingDeclaration(
            "persons", .list(of: .string()),
            help: "The persons whose records it handles: \(draft.persons.joined(separator: ", ")).")
        try await ask(declaration, of: table)
    }

    private mutating func owner(_ plugin: String, _ manifest: Manifest) async throws {
        guard !manifest.owner.isEmpty else { return }
        let granted = draft.granted(plugin) ?? []
        let isAll = OwnerRight.granted(of: manifest.owner, by: granted).count == manifest.owner.count
        // For a plugin that ran before, Enter keeps the former decision.
        let usually = isAll || !draft.ran(plugin) && !HubTemplate.owner(draft.kind(plugin)).isEmpty && granted.isEmpty
        if !granted.isEmpty, !isAll {
            Terminal.say("  It has only these of your rights here: \(granted.joined(separator: ", "))")
        }
        let rights = manifest.owner.joined(separator: ", ")
        let meaning = "With yes it may do for you: \(rights). hub permissions \(plugin) shows and changes it."
        guard try await prompt.isYes("  May it do what you may do here?", usually: usually, meaning: meaning) else {
            // Granting only a part is a separate decision, with hub permissions.
            if isAll { try draft.grant(plugin, []) }
            return
        }
        if !isAll { try draft.grant(plugin, [OwnerRight.all]) }
    }

    /// Has the program check its settings, and asks again for the wrong ones.
    ///
    /// - Returns: false if the plugin is left out.
    private mutating func correct(_ plugin: String, _ manifest: Manifest, _ table: [String]) async throws -> Bool {
        while true {
            try prompt.checkForEnd()
            let problems = await draft.check().loaded.problems.errors(table)
            guard !problems.isEmpty else { return true }
            for problem in problems { Terminal.say("  \(problem.key.map { "\($0): " } ?? "")\(problem.reason)") }
            // A reason may name settings that were not asked for before as the remedy: `set certificate and key`.
            let words = problems.flatMap { $0.reason.matches(of: /\bset ([a-z_]+)(?: and ([a-z_]+))?/) }
                .flatMap { [String($0.1), $0.2.map(String.init) ?? ""] }
            let keys = Set(problems.compactMap(\.key))
            let wrong = manifest.settings.filter {
                keys.contains($0.name) || words.contains($0.name) && draft.value(table, $0.name) == nil
            }
            let again = wrong.isEmpty ? manifest.settings.filter { draft.value(table, $0.name) != nil } : wrong
            guard try await prompt.isYes("  Answer again? n leaves \(plugin) disabled", usually: true) else {
                try draft.setEnabled(plugin, false)
                return false
            }
            for declaration in again { try await ask(declaration, of: table) }
        }
    }

    /// Has it log in or connect for real, if it reaches any service and the person agrees.
    private mutating func tryOut(_ plugin: String, _ manifest: Manifest, _ table: [String]) async throws {
        guard !manifest.reaches.isEmpty else { return }
        while try await prompt.isYes("  Try it now, for \(SetupTest.seconds) seconds at most?", usually: false) {
            Terminal.say("  trying; Enter goes on without …")
            let draft = draft
            let found = try await prompt.skippable { await SetupTest.run(plugin, draft) }
            switch found {
            case .success(let words)?:
                Terminal.say("  \(words)")
                return
            case .failure(let reason)?: Terminal.say("  It did not work: \(reason.description)")
            case nil: return Terminal.say("  skipped")
            }
            guard try await prompt.isYes("  Change its settings?", usually: false) else { continue }
            for declaration in manifest.settings where self.draft.value(table, declaration.name) != nil {
                try await ask(declaration, of: table)
            }
            guard try await correct(plugin, manifest, table) else { return }
        }
    }
}
