import Subprocess

#if canImport(System)
    import System
#else
    import SystemPackage
#endif

/// A program that is started to answer one question on stdout, and then ends.
struct PluginQuestion: Sendable {
    let path: String
    let arguments: [String]
    /// What it reads from stdin.
    var input = ""
    let patience: Duration

    /// Why there is no answer, as it follows the program and its arguments.
    struct Failure: Error { let reason: String }

    /// A plugin has a MiB to say what it is, and is ended with all it has started when it takes too long.
    ///
    /// - Parameter read: makes the answer of what was printed.
    func ask<Answer: Sendable>(
        _ read: @escaping @Sendable ([UInt8]) -> Result<Answer, Failure>
    ) async -> Result<Answer, Failure> {
        await withTaskGroup(of: Result<Answer, Failure>.self) { group in
            group.addTask {
                do {
                    var options = PlatformOptions()
                    options.processGroupID = 0
                    options.teardownSequence = [
                        .send(signal: .kill, toProcessGroup: true, allowedDurationToNextStep: .seconds(1))
                    ]
                    let result = try await run(
                        .path(FilePath(path)), arguments: Arguments(arguments), platformOptions: options,
                        input: .string(input), output: .bytes(limit: 1 << 20), error: .discarded)
                    guard result.terminationStatus.isSuccess else {
                        return .failure(Failure(reason: "ended with \(result.terminationStatus)"))
                    }
                    return read(result.standardOutput)
                } catch {
                    return .failure(Failure(reason: "failed: \(error)"))
                }
            }
            group.addTask { [patience] in
                try? await Task.sleep(for: patience)
                return .failure(Failure(reason: "gave no answer within \(patience)"))
            }
            let first = await group.next() ?? .failure(Failure(reason: "gave no answer"))
            group.cancelAll()
            return first
        }
    }
}
