import Foundation
import HealthText
import HubClient
import HubCore
import HubSettings
import HubWire

/// The questions of a set-up in their order, the answers so far, and the checks of each answer; a value without a terminal.
struct SetupInterview: Sendable {
    /// Questions that are asked together.
    enum Step: Hashable, Sendable {
        /// The time zone, and the names of the people.
        case household
        /// The settings of each person.
        case persons
        /// The choice of plugins.
        case plugins
        /// The settings of a plugin.
        case plugin(String)
        /// A look at the result, without questions.
        case review
    }

    /// The reason why an answer was not taken.
    struct Fault: Error, Hashable { let reason: String }

    /// Names of questions that are no setting of a plugin.
    enum Name {
        static let people = "names"
        static let plugins = "plugins"
        static let persons = "persons"
        static let grants = "grants"
    }

    private(set) var draft: SetupDraft
    /// Whether a program passes the answers on, which may not name everything that a person may (R8.184).
    private let isForProgram: Bool
    /// The chosen plugins, in the order of the list.
    private(set) var chosen: [String] = []
    /// The answered steps.
    private(set) var done: Set<Step> = []
    /// Settings that a program has named as the remedy of a refusal, by plugin.
    private var remedies: [String: Set<String>] = [:]

    init(_ draft: SetupDraft, isForProgram: Bool = false) { (self.draft, self.isForProgram) = (draft, isForProgram) }

    // MARK: - Questions

    /// The questions of a step; those of a plugin only after ``begin(_:)``.
    func questions(of step: Step) -> [SetupQuestion] {
        switch step {
        case .household:
            [
                settingQuestion(
                    HouseholdSettings.zone, of: ["hub"], title: "Time zone",
                    usual: "\(TimeZone.current.identifier), this machine's"), peopleQuestion,
            ]
        case .persons: draft.people.flatMap { questions(about: $0) }
        case .plugins: [pluginsQuestion]
        case .plugin(let plugin): questions(ofPlugin: plugin)
        case .review: []
        }
    }

    /// The question about a setting.
    ///
    /// - Parameters:
    ///   - name: its name among the questions; if not given, that of the setting.
    ///   - usual: a description of the default; if not given, the declared one.
    private func settingQuestion(
        _ declaration: SettingDeclaration, of table: [String], _ name: String? = nil, title: String? = nil,
        usual: String? = nil, isFurther: Bool = false
    ) -> SetupQuestion {
        let key = declaration.name
        let value = draft.value(table, key).flatMap { HubTemplate.isExample($0) ? nil : $0 }
        var question = SetupQuestion(
            name ?? key, title: title ?? key, help: declaration.help, expected: declaration.type.expected)
        switch declaration.type {
        case .choice(let choices): question.choices = choices.map { SetupQuestion.Choice(value: $0) }
        case .boolean: question.choices = ["true", "false"].map { SetupQuestion.Choice(value: $0) }
        case .list: question.several = true
        default: break
        }
        (question.answered, question.secret) = (value != nil, declaration.isSecret)
        if !declaration.isSecret { question.value = value.map(SettingAnswer.text) }
        question.usual = usual ?? declaration.defaultValue.map(SettingAnswer.text)
        (question.needed, question.further) = (declaration.isRequired, isFurther)
        if isForProgram { question.fixed = fixed(declaration, of: table) }
        return question
    }

    /// Why a program may not change the setting, whatever its answer is; nil if some answers are taken.
    private func fixed(_ declaration: SettingDeclaration, of table: [String]) -> String? {
        let value = draft.value(table, declaration.name)
        // A secret that was answered before is a reference to its file.
        let written = declaration.isSecret ? nil : value
        // Any path is a place; other values are places only in some forms.
        return declaration.refusalToProgram(from: written, to: nil)
            ?? declaration.refusalToProgram(from: written, to: .string("/"))
    }

    private var peopleQuestion: SetupQuestion {
        let known = draft.hasPersonOfTemplate ? [] : draft.people
        var question = SetupQuestion(
            Name.people,
            title: known.isEmpty
                ? "Who are the people? Names with commas between"
                : "People are \(known.map(\.bothNames).joined(separator: ", ")). Who else? Names with commas between",
            help:
                "A name in any letters: anna, Jürgen. Files and topics have names in plain letters, such as juergen."
        )
        (question.several, question.usual) = (true, known.isEmpty ? HubTemplate.person : "none")
        return question
    }

    private func questions(about person: PersonSection) -> [SetupQuestion] {
        Self.personal(isAlone: draft.persons.count == 1).compactMap { key, title, usual in
            guard let declaration = HouseholdSettings.ofPersons.first(where: { $0.name == key }) else { return nil }
            let name = "\(person.name).\(key)"
            var question = settingQuestion(
                declaration, of: ["person", person.name], name, title: title, usual: usual)
            question.group = person.shownName
            return question
        }
    }

    /// The settings to ask a person for, and their defaults.
    private static func personal(isAlone: Bool) -> [(key: String, title: String, usual: String)] {
        let machine = DisplayPreferences.machineLocale(ProcessInfo.processInfo.environment)
            .map { "\($0.identifier), this machine's" }
        let own: [(key: String, title: String, usual: String)] = [
            (
                "locale", "language and region for numbers and dates, such as de_DE",
                machine ?? "not set: kilograms, and dates such as 2026-03-15"
            ),
            ("unit", "unit of weights (kg, lb or st)", "kg, or lb in the US"),
        ]
        guard !isAlone else { return own }
        return own + [
            ("zone", "time zone", "as above"),
            ("expected_weight", "usual weight in kg, to tell people on one scale apart", "not set"),
        ]
    }

    // MARK: - Questions about plugins

    /// The plugins to choose from.
    var offered: [String] {
        draft.plugins.filter { !draft.isRemote($0) } + HubTemplate.plugins.filter { !draft.plugins.contains($0) }
    }

    private var pluginsQuestion: SetupQuestion {
        var question = SetupQuestion(
            Name.plugins, title: "Which of them?",
            help: "Name all that are to run; those left out are disabled and stay in the file.")
        question.choices = offered.map { plugin in
            SetupQuestion.Choice(
                value: plugin, help: draft.manifests[plugin]?.summary,
                fault: draft.manifests[plugin] == nil ? draft.faults[plugin] ?? "its program does not answer" : nil)
        }
        (question.several, question.answered) = (true, true)
        question.value = offered.filter(draft.isEnabled).joined(separator: ", ")
        return question
    }

    /// The plugin that a word means: its name in any case, with or without hyphens, the end of only one name, or `page`.
    private static func plugin(named word: String, among offered: [String]) -> String? {
        func folded(_ text: String) -> String { text.lowercased().filter { $0.isLetter || $0.isNumber } }
        let word = folded(word) == "page" ? "web" : folded(word)
        if let plugin = offered.first(where: { folded($0) == word }) { return plugin }
        let ending = offered.filter { word.count > 2 && folded($0).hasSuffix(word) }
        return ending.count == 1 ? ending[0] : nil
    }

    /// The plugins that a typed text means: numbers of the list or names, with commas between.
    func plugins(meantBy text: String) throws(Fault) -> [String] {
        let offered = offered
        var names: [String] = []
        for word in SettingAnswer.parts(text.replacing(" ", with: ",")) {
            let number = Int(word).flatMap { (1...offered.count).contains($0) ? offered[$0 - 1] : nil }
            guard let name = number ?? Self.plugin(named: word, among: offered) else {
                let meant = nearestName(to: word, among: offered).map { "; did you mean \($0)?" } ?? ""
                throw Fault(reason: "there is no \(word) in the list\(meant)")
            }
            names.append(name)
        }
        if let missing = names.first(where: { draft.manifests[$0] == nil }) {
            throw Fault(reason: "\(missing) cannot run: \(draft.faults[missing] ?? "its program does not answer")")
        }
        return offered.filter(names.contains)
    }

    private func questions(ofPlugin plugin: String) -> [SetupQuestion] {
        guard let manifest = draft.manifests[plugin] else { return [] }
        let (shown, table) = (HubTemplate.shown(draft.kind(plugin)), ["plugin", plugin])
        let usual = manifest.settings.filter { $0.isRequired || shown.written.contains($0.name) }
        let further = manifest.settings.filter { declaration in
            !usual.contains(declaration)
                && (shown.commented.contains(declaration.name) || draft.value(table, declaration.name) != nil
                    || remedies[plugin]?.contains(declaration.name) == true)
        }
        return (hasOwnPersons(plugin) ? [settingQuestion(persons, of: table)] : [])
            + usual.map { settingQuestion($0, of: table) }
            + further.map { settingQuestion($0, of: table, isFurther: true) } + grantsQuestions(plugin, manifest)
    }

    /// Whether the plugin is for some persons, as the project's file shows.
    private func hasOwnPersons(_ plugin: String) -> Bool {
        HubTemplate.shown(draft.kind(plugin)).written.contains(Name.persons) && draft.persons.count > 1
    }

    private var persons: SettingDeclaration {
        SettingDeclaration(
            Name.persons, .list(of: .string()),
            help: "The persons whose records it handles: \(draft.persons.joined(separator: ", ")).")
    }

    /// The question whether the plugin gets the owner's rights that its manifest asks for.
    private func grantsQuestions(_ plugin: String, _ manifest: Manifest) -> [SetupQuestion] {
        guard !manifest.owner.isEmpty else { return [] }
        let granted = draft.granted(plugin) ?? []
        // For a plugin that ran before, no answer keeps the former decision.
        let usually =
            hasAllRights(plugin)
            || !draft.ran(plugin) && !HubTemplate.owner(draft.kind(plugin)).isEmpty && granted.isEmpty
        let rights = manifest.owner.joined(separator: ", ")
        var question = SetupQuestion(
            Name.grants, title: "May it do what you may do here?",
            help: "With yes it may do for you: \(rights). hub permissions \(plugin) shows and changes it.")
        question.choices = ["yes", "no"].map { SetupQuestion.Choice(value: $0) }
        question.usual = usually ? "yes" : "no"
        return [question]
    }

    private func hasAllRights(_ plugin: String) -> Bool {
        guard let asked = draft.manifests[plugin]?.owner else { return false }
        return OwnerRight.granted(of: asked, by: draft.granted(plugin) ?? []).count == asked.count
    }

    /// The owner's rights of a plugin that has only some of those that it asks for.
    func someRights(of plugin: String) -> [String] { hasAllRights(plugin) ? [] : draft.granted(plugin) ?? [] }

    // MARK: - Answers

    /// Reads the manifests of the plugins, which ``Step/plugins`` and the steps after it need.
    mutating func loadPlugins() async { await draft.loadPlugins() }

    /// Takes an answer; an empty one removes the value.
    ///
    /// - Returns: remarks for the person, such as the understood value.
    /// - Throws: ``Fault``, and the draft stays; ``Failure`` for a file that cannot be changed.
    mutating func answer(_ name: String, _ text: String, of step: Step) throws -> [String] {
        switch (step, name) {
        case (.household, Name.people): return try add(people: text)
        case (.plugins, Name.plugins):
            try choose(try plugins(meantBy: text))
            return []
        case (.plugin(let plugin), Name.grants):
            guard let isGranted = SettingAnswer.truth(text) else { throw Fault(reason: "expected yes or no") }
            try grant(plugin, isGranted)
            return []
        default:
            guard let (table, declaration) = setting(name, of: step) else {
                throw Fault(reason: "there is no question \(name)")
            }
            try set(text, declaration, table)
            return meaning(of: text, declaration, table).map { ["taken as \($0)"] } ?? []
        }
    }

    /// The setting that a question is about; nil if it is about none.
    private func setting(_ name: String, of step: Step) -> (table: [String], declaration: SettingDeclaration)? {
        switch step {
        case .household: return name == HouseholdSettings.zone.name ? (["hub"], HouseholdSettings.zone) : nil
        case .persons:
            guard let dot = name.lastIndex(of: "."), case let person = String(name[..<dot]),
                draft.persons.contains(person), case let key = name[dot...].dropFirst(),
                Self.personal(isAlone: false).contains(where: { $0.key == key }),
                let declaration = HouseholdSettings.ofPersons.first(where: { $0.name == key })
            else { return nil }
            return (["person", person], declaration)
        case .plugin(let plugin):
            let settings = draft.manifests[plugin]?.settings ?? []
            let declaration = name == Name.persons ? persons : settings.first { $0.name == name }
            return declaration.map { (["plugin", plugin], $0) }
        case .plugins, .review: return nil
        }
    }

    private mutating func add(people text: String) throws -> [String] {
        let names = SettingAnswer.parts(text.replacing(#/ (?:&|and|und) /#, with: ","))
        let known = draft.hasPersonOfTemplate ? [] : draft.people
        let added: [EnteredPerson]
        do throws(PersonName.InvalidNames) { added = try PersonName.entered(names, besides: known) } catch {
            throw Fault(reason: error.reason)
        }
        if !added.isEmpty { done.remove(.persons) }
        var remarks: [String] = []
        for person in added {
            try draft.add(person)
            guard let shown = person.displayName else { continue }
            remarks.append("\(shown) is \(person.name) in hub.conf and in files; commands take both names")
        }
        return remarks
    }

    /// Disables the plugins that were not chosen; ``begin(_:)`` enables the others.
    mutating func choose(_ chosen: [String]) throws(Failure) {
        for plugin in offered where draft.isEnabled(plugin) && !chosen.contains(plugin) {
            try draft.setEnabled(plugin, false)
        }
        self.chosen = chosen
    }

    /// Enables a chosen plugin, before its questions.
    mutating func begin(_ plugin: String) throws(Failure) { try draft.enable(plugin) }

    /// Leaves a plugin disabled.
    mutating func leave(_ plugin: String) throws(Failure) {
        try draft.setEnabled(plugin, false)
        chosen.removeAll { $0 == plugin }
    }

    private mutating func grant(_ plugin: String, _ isGranted: Bool) throws(Failure) {
        let hasAll = hasAllRights(plugin)
        // Granting only a part is a separate decision, with hub permissions.
        if isGranted, !hasAll { try draft.grant(plugin, [OwnerRight.all]) }
        if !isGranted, hasAll { try draft.grant(plugin, []) }
    }

    /// Sets the answer in the draft; if it is invalid, the draft stays.
    private mutating func set(_ text: String, _ declaration: SettingDeclaration, _ table: [String]) throws(Fault) {
        let before = draft
        do throws(Failure) {
            if text.isEmpty {
                try draft.set(table, declaration.name, nil)
            } else if declaration.isSecret, !text.hasPrefix("${") {
                try draft.set(table, declaration.name, secret: text)
            } else {
                let value = SettingAnswer.value(
                    text, declaration.type,
                    unit: table.first == "person" ? HubConfiguration.unit(ofPersonal: declaration.name) : nil)
                if isForProgram, let refusal = declaration.refusalToProgram(from: nil, to: value) {
                    throw Failure(.forbidden, refusal)
                }
                try draft.set(table, declaration.name, value)
            }
        } catch {
            draft = before
            throw Fault(reason: error.message)
        }
        guard let problem = draft.problems().errors(table, declaration.name).first else { return }
        draft = before
        throw Fault(reason: problem.reason)
    }

    /// The written value if it differs from the answer: `Europe/Berlin` for `Berlin`.
    private func meaning(of answer: String, _ declaration: SettingDeclaration, _ table: [String]) -> String? {
        guard !declaration.isSecret, declaration.type != .boolean, let value = draft.value(table, declaration.name)
        else { return nil }
        let (text, plain) = (SettingAnswer.text(value), { (text: String) in text.filter { !$0.isWhitespace } })
        return plain(text) == plain(answer) ? nil : text
    }

    // MARK: - Steps

    /// All steps in the order of a page; the terminal asks for them in the same order.
    var steps: [Step] { [.household, .persons, .plugins] + chosen.map(Step.plugin) + [.review] }

    /// The first step without answers.
    var next: Step { steps.first { !done.contains($0) } ?? .review }

    /// Takes the answers of a step, all or none; a question without one keeps its value.
    ///
    /// - Returns: why they were not taken, or remarks for the person.
    /// - Throws: ``Failure`` for a file that cannot be changed.
    mutating func take(
        _ answers: [String: String], of step: Step
    ) async throws -> (faults: [SetupState.Fault], remarks: [String]) {
        let before = self
        var (faults, remarks): ([SetupState.Fault], [String]) = ([], [])
        for question in questions(of: step) {
            let isChoice = question.name == Name.plugins
            guard var text = answers[question.name] ?? (isChoice ? question.value : nil) else { continue }
            if !question.secret { text = text.trimmingCharacters(in: .whitespaces) }
            guard isChoice || text != question.value ?? "" else { continue }
            do {
                if let fixed = question.fixed { throw Fault(reason: fixed) }
                remarks += try answer(question.name, text, of: step)
            } catch let fault as Fault { faults.append(SetupState.Fault(fault.reason, of: question.name)) }
        }
        for question in questions(of: step) where question.needed && !question.answered {
            guard !faults.contains(where: { $0.question == question.name }) else { continue }
            faults.append(
                SetupState.Fault("It is needed: \(question.expected ?? question.help).", of: question.name))
        }
        switch step {
        case .plugins: for plugin in chosen { try begin(plugin) }
        case .plugin(let plugin) where faults.isEmpty: faults = await objections(of: plugin)
        default: break
        }
        guard faults.isEmpty else {
            let remedies = remedies
            self = before
            self.remedies = remedies
            return (faults, [])
        }
        done.insert(step)
        return ([], remarks)
    }

    /// The program's objections to its settings; the next questions include those that it names as the remedy.
    private mutating func objections(of plugin: String) async -> [SetupState.Fault] {
        let problems = await check(plugin)
        guard !problems.isEmpty else { return [] }
        remedies[plugin, default: []].formUnion(questions(toCorrect: problems, of: plugin).map(\.name))
        return problems.map { SetupState.Fault($0.reason, of: $0.key) }
    }

    // MARK: - Checks

    /// Has the program of a plugin check its settings together.
    mutating func check(_ plugin: String) async -> [SettingsProblem] {
        await draft.check().loaded.problems.errors(["plugin", plugin])
    }

    /// The settings to ask for again: those that the problems are about or name as the remedy, else all that have a value.
    func questions(toCorrect problems: [SettingsProblem], of plugin: String) -> [SetupQuestion] {
        let (table, settings) = (["plugin", plugin], draft.manifests[plugin]?.settings ?? [])
        // A reason may name settings that were not asked for before as the remedy: `set certificate and key`.
        let words = problems.flatMap { $0.reason.matches(of: /\bset ([a-z_]+)(?: and ([a-z_]+))?/) }
            .flatMap { [String($0.1), $0.2.map(String.init) ?? ""] }
        let keys = Set(problems.compactMap(\.key))
        let wrong = settings.filter {
            keys.contains($0.name) || words.contains($0.name) && draft.value(table, $0.name) == nil
        }
        return wrong.isEmpty ? questions(withValueOf: plugin) : wrong.map { settingQuestion($0, of: table) }
    }

    /// The settings of a plugin that have a value.
    func questions(withValueOf plugin: String) -> [SetupQuestion] {
        let (table, settings) = (["plugin", plugin], draft.manifests[plugin]?.settings ?? [])
        return settings.filter { draft.value(table, $0.name) != nil }.map { settingQuestion($0, of: table) }
    }

    /// Whether the program reaches a device or a service, so that it can be tried for real.
    func canTry(_ plugin: String) -> Bool { !(draft.manifests[plugin]?.reaches ?? []).isEmpty }
}

extension SetupInterview.Step {
    /// The name in the hub's command `setup`.
    var name: String {
        switch self {
        case .household: "household"
        case .persons: "persons"
        case .plugins: "plugins"
        case .plugin(let plugin): "plugin/\(plugin)"
        case .review: "review"
        }
    }
}
