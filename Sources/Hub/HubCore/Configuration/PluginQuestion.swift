import HubWire
import Subprocess
import SystemPackage

/// A program that is started to answer one question on stdout, and then ends.
struct PluginQuestion: Sendable {
    let path: String
    let arguments: [String]
    let reach: ConfinementRules
    /// The folders that it may write; `nil` if it is only asked.
    ///
    /// If set, it may also reach the network.
    var own: ConfinementRules.Own?
    /// The text for its stdin.
    var input = ""
    /// The time zone that the program uses; `nil` for the machine's own.
    var zone: String?
    let patience: Duration

    /// Maximum bytes that the program may print.
    private static let longest = 1 << 20

    /// Asks a program for its manifest.
    static func manifest(of path: String, _ reach: ConfinementRules, patience: Duration) async -> Result<
        Manifest, HubError
    > {
        let question = PluginQuestion(path: path, arguments: ["--describe"], reach: reach, patience: patience)
        return await question.ask { bytes in
            do throws(PrintedAnswer.InvalidAnswer) {
                let manifest = try PrintedAnswer(bytes).read(Manifest.self)
                let faults = manifest.faults
                return faults.isEmpty
                    ? .success(manifest) : .failure(HubError(.unanswered, faults.joined(separator: "; ")))
            } catch {
                return .failure(HubError(.unanswered, error.description))
            }
        }
    }

    /// Starts the program and reads its answer, at most one MiB; if it takes too long, kills it with all processes that it has started.
    ///
    /// - Parameter read: parses the printed answer.
    func ask<Answer: Sendable>(
        _ read: @escaping @Sendable ([UInt8]) -> Result<Answer, HubError>
    ) async -> Result<Answer, HubError> {
        await withTaskGroup(of: Result<Answer, HubError>.self) { group in
            group.addTask {
                do {
                    var options = PlatformOptions()
                    options.processGroupID = 0
                    options.teardownSequence = [
                        .send(signal: .kill, toProcessGroup: true, allowedDurationToNextStep: .seconds(1))
                    ]
                    let command = reach.command(path, arguments, own)
                    let variables = PluginEnvironment.of(temporary: own?.temporary, zone.map { ["TZ": $0] } ?? [:])
                        .compactMap { name, value in Environment.Key(rawValue: name).map { ($0, value) } }
                    let result = try await run(
                        .path(FilePath(command.program)), arguments: Arguments(command.words),
                        environment: .custom(Dictionary(variables, uniquingKeysWith: { $1 })), platformOptions: options,
                        input: .inputWriter, output: .bytes(limit: Self.longest), error: .bytes(limit: Self.longest)
                    ) { execution in
                        // A program that ends before it has read this breaks the pipe; its exit status is reported instead. (If the library itself
                        // wrote
                        // the input, it would not close it in this case, and would end this process for that.)
                        if !input.isEmpty { _ = try? await execution.standardInputWriter.write(input) }
                    }
                    guard result.terminationStatus.isSuccess else {
                        let words = PrintedAnswer.lastErrorLine(withoutLauncher(result.standardError))
                        let hasEnded = if case .exited = result.terminationStatus { true } else { false }
                        let hint = ConfinementHint(executable: path, reach: reach, own: own)
                        var why: String?
                        if case .exited(let code) = result.terminationStatus { why = hint.ofInterpreter(Int(code)) }
                        if input.isEmpty { why = why ?? words.flatMap(hint.after(lastErrorLine:)) }
                        let reason = ending(result.terminationStatus, words) + (why.map { ": \($0)" } ?? "")
                        return .failure(HubError(hasEnded ? .exited : .unanswered, reason))
                    }
                    return read(result.standardOutput)
                } catch let error as SubprocessError where error.code == .outputLimitExceeded {
                    return .failure(HubError(.unanswered, "it printed more than the limit of \(Self.longest) bytes"))
                } catch {
                    return .failure(HubError(.unanswered, "it cannot be run: \(error)"))
                }
            }
            group.addTask { [patience] in
                try? await Task.sleep(for: patience)
                return .failure(HubError(.unanswered, "it gave no answer within \(patience)"))
            }
            let first = await group.next() ?? .failure(HubError(.unanswered, "it gave no answer"))
            group.cancelAll()
            return first
        }
    }

    /// Removes the first line, which `hub-confine` wrote.
    private func withoutLauncher(_ bytes: [UInt8]) -> [UInt8] {
        guard reach.launcher != nil, bytes.starts(with: "\(Isolation.program): process ".utf8),
            let end = bytes.firstIndex(of: UInt8(ascii: "\n"))
        else { return bytes }
        return Array(bytes[(end + 1)...])
    }

    private func ending(_ status: TerminationStatus, _ words: String?) -> String {
        let ending =
            switch status {
            case .exited(let code): "it ended with exit code \(code) instead of 0"
            case .signaled(let signal): "it was ended by signal \(signal)"
            }
        // A program that was given settings may repeat secrets.
        guard let words, input.isEmpty else { return ending }
        return "\(ending), saying \"\(words)\""
    }
}
