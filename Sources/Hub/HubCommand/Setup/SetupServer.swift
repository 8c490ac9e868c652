import HubClient
import HubCore
import HubSettings
import HubWire

/// Answers the hub's command `setup`: keeps the answers of the page in memory, and writes `hub.conf` at the end.
actor SetupServer: SetupService {
    nonisolated let file: String
    /// Called when the file is written.
    private let written: @Sendable () -> Void
    private var interview: SetupInterview
    /// The set-up before the first answer, once the programs have been asked for their manifests.
    private var beginning: SetupInterview?
    private var isWritten = false
    /// Whether another command is at work, which may wait for a program.
    private var isBusy = false

    /// - Parameter draft: an empty set-up, or one with answers that are already known.
    init(_ draft: SetupDraft, written: @escaping @Sendable () -> Void) {
        (file, self.written) = (draft.path, written)
        interview = SetupInterview(draft, isForProgram: true)
    }

    func carryOut(_ command: OwnCommands.Setup, isDryRun: Bool) async throws -> SetupState {
        guard !isBusy else {
            throw OwnCommandFailure("busy", "the set-up is at work on another answer; try again in a moment")
        }
        isBusy = true
        defer { isBusy = false }
        guard !isWritten else { throw OwnCommandFailure("changed", "\(file) is written, and the hub starts with it") }
        do {
            var (state, answered) = try await run(command, isDryRun)
            state.dryRun = isDryRun
            if !isDryRun { interview = answered }
            return state
        } catch let failure as Failure {
            throw OwnCommandFailure(failure.exit == .tryAgain ? "changed" : "file", failure.message)
        }
    }

    /// - Returns: the answer, and the set-up as it is afterwards.
    private func run(_ command: OwnCommands.Setup, _ isDryRun: Bool) async throws -> (SetupState, SetupInterview) {
        var interview = interview
        if let beginning {
            if command.action == .reset { interview = beginning }
        } else {
            await interview.loadPlugins()
            (beginning, self.interview) = (interview, interview)
        }
        let step = try Self.step(command.step, of: interview)
        switch command.action {
        case .look, .reset: return (await state(of: step, interview), interview)
        case .answer, .test:
            let (faults, remarks) = try await interview.take(try Self.answers(command, interview, step), of: step)
            let isTest = command.action == .test
            var state = await state(of: isTest || !faults.isEmpty ? step : interview.next, interview)
            if !faults.isEmpty { state.faults = faults }
            state.remarks = remarks + state.remarks
            if isTest, faults.isEmpty { state.trial = try await trial(step, interview) }
            return (state, interview)
        case .leave:
            guard case .plugin(let plugin) = step else {
                throw OwnCommandFailure("command", "COMMAND.args: step: only a plugin can be left out")
            }
            try interview.leave(plugin)
            return (await state(of: interview.next, interview), interview)
        case .write:
            var state = await state(of: .review, interview)
            guard state.faults.isEmpty, !isDryRun else { return (state, interview) }
            try write(interview.draft)
            state.written = true
            return (state, interview)
        }
    }

    private static func step(
        _ name: String?, of interview: SetupInterview
    ) throws(OwnCommandFailure) -> SetupInterview.Step {
        guard let name else { return interview.next }
        if let step = interview.steps.first(where: { $0.name == name }) { return step }
        let names = interview.steps.map(\.name).joined(separator: ", ")
        throw OwnCommandFailure("command", "COMMAND.args: step: there is no \(name.prefix(80)); there are \(names)")
    }

    /// The answers by the names of their questions.
    private static func answers(
        _ command: OwnCommands.Setup, _ interview: SetupInterview, _ step: SetupInterview.Step
    ) throws(OwnCommandFailure) -> [String: String] {
        let known = interview.questions(of: step).map(\.name)
        var (answers, problems): ([String: String], [String]) = ([:], [])
        for text in command.answers ?? [] {
            guard let sign = text.firstIndex(of: "="), case let name = String(text[..<sign]), known.contains(name)
            else {
                // An answer may be a secret, so it is not repeated.
                problems.append("answers: expected NAME=TEXT, NAME one of \(known.joined(separator: ", "))")
                continue
            }
            if answers.updateValue(String(text[text.index(after: sign)...]), forKey: name) != nil {
                problems.append("answers: \(name) is there twice")
            }
        }
        guard problems.isEmpty else {
            throw OwnCommandFailure("command", "COMMAND.args: \(problems.prefix(20).joined(separator: "; "))")
        }
        return answers
    }

    private func trial(
        _ step: SetupInterview.Step, _ interview: SetupInterview
    ) async throws(OwnCommandFailure) -> SetupState.Trial {
        guard case .plugin(let plugin) = step, interview.canTry(plugin) else {
            throw OwnCommandFailure("command", "COMMAND.args: step: \(step.name) reaches nothing that can be tried")
        }
        return switch await SetupTest.run(plugin, interview.draft) {
        case .success(let text): SetupState.Trial(worked: true, text: text)
        case .failure(let failure): SetupState.Trial(worked: false, text: failure.message)
        }
    }

    // MARK: - The result

    private func state(of step: SetupInterview.Step, _ interview: SetupInterview) async -> SetupState {
        var state = SetupState(
            file: file, dryRun: false,
            steps: interview.steps.map { SetupState.Step($0.name, done: interview.done.contains($0)) },
            step: step.name, questions: interview.questions(of: step))
        switch step {
        case .plugin(let plugin):
            state.summary = interview.draft.manifests[plugin]?.summary
            state.testable = interview.canTry(plugin)
        case .review: await review(interview.draft, &state)
        case .household, .persons, .plugins: break
        }
        return state
    }

    /// Adds the changes that would be written, and the problems of the file.
    private func review(_ draft: SetupDraft, _ state: inout SetupState) async {
        var draft = draft
        let checked = await draft.check()
        for problem in checked.loaded.problems {
            let place = [problem.table.map { "[\($0)]" }, problem.key].compactMap(\.self).joined(separator: " ")
            let text = place.isEmpty ? problem.reason : "\(place): \(problem.reason)"
            if problem.severity == .error {
                state.faults.append(SetupState.Fault(text))
            } else {
                state.remarks.append(text)
            }
        }
        let report = SetupReport(draft)
        state.changes = report.changes
        guard let configuration = checked.loaded.configuration else { return }
        state.next = report.next(configuration, isRunning: true)
    }

    /// - Throws: ``Failure`` if the file is there meanwhile, another setup is at work, or it cannot be written.
    private func write(_ draft: SetupDraft) throws(Failure) {
        let place = try SetupFile(named: file)
        guard place.text == nil else {
            throw Failure(.tryAgain, "\(file) is there already, and the hub starts with it")
        }
        _ = try place.write(draft)
        isWritten = true
        written()
    }
}
