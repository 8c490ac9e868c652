import Foundation
import HubClient
import HubWire

/// The choice of plugins, and the settings of each.
extension SetupDialogue {
    mutating func plugins() async throws {
        Terminal.say("")
        Terminal.say("Plugins connect the hub to scales, phones, files and services:")
        await interview.loadPlugins()
        let offered = interview.offered
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
        try interview.choose(chosen)
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
            do { return try interview.plugins(meantBy: answer) } catch { Terminal.say("  \(error.reason)") }
        }
    }

    // MARK: - One plugin

    private mutating func setUp(_ plugin: String) async throws {
        guard let manifest = draft.manifests[plugin] else { return }
        Terminal.say("")
        Terminal.say("\(plugin): \(manifest.summary)")
        try interview.begin(plugin)
        let questions = interview.questions(of: .plugin(plugin))
        let settings = questions.filter { $0.name != SetupInterview.Name.grants }
        try await ask(settings.filter { !$0.further }, of: plugin)
        let further = settings.filter(\.further)
        if !further.isEmpty {
            let names = further.map(\.name).joined(separator: ", ")
            if try await prompt.isYes("  Further settings (\(names))?", usually: false) {
                try await ask(further, of: plugin)
            }
        }
        for question in questions where question.name == SetupInterview.Name.grants {
            try await askForRights(question, of: plugin)
        }
        guard try await correct(plugin) else { return }
        try await tryOut(plugin)
    }

    private mutating func ask(_ questions: [SetupQuestion], of plugin: String) async throws {
        for question in questions {
            Terminal.say("  \(question.help)")
            try await ask(question, of: .plugin(plugin), "  \(question.title)")
        }
    }

    private mutating func askForRights(_ question: SetupQuestion, of plugin: String) async throws {
        let some = interview.someRights(of: plugin)
        if !some.isEmpty {
            Terminal.say("  It has only these of your rights here: \(some.joined(separator: ", "))")
        }
        let isGranted = try await prompt.isYes(
            "  \(question.title)", usually: question.usual == "yes", meaning: question.help)
        _ = try interview.answer(question.name, isGranted ? "yes" : "no", of: .plugin(plugin))
    }

    /// Has the program check its settings, and asks again for the wrong ones.
    ///
    /// - Returns: false if the plugin is left out.
    private mutating func correct(_ plugin: String) async throws -> Bool {
        while true {
            try prompt.checkForEnd()
            let problems = await interview.check(plugin)
            guard !problems.isEmpty else { return true }
            for problem in problems { Terminal.say("  \(problem.key.map { "\($0): " } ?? "")\(problem.reason)") }
            let again = interview.questions(toCorrect: problems, of: plugin)
            guard try await prompt.isYes("  Answer again? n leaves \(plugin) disabled", usually: true) else {
                try interview.leave(plugin)
                return false
            }
            try await ask(again, of: plugin)
        }
    }

    /// Has it log in or connect for real, if it reaches any service and the person agrees.
    private mutating func tryOut(_ plugin: String) async throws {
        guard interview.canTry(plugin) else { return }
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
            try await ask(interview.questions(withValueOf: plugin), of: plugin)
            guard try await correct(plugin) else { return }
        }
    }
}
