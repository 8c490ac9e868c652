import Logging
import Subprocess

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif
#if canImport(System)
    import System
#else
    import SystemPackage
#endif

/// One run of a plugin's program, from start to end.
struct PluginProcess: Sendable {
    let instance: String
    let executable: String
    let arguments: [String]
    let environment: [String: String]
    /// Proves to the plugin endpoints that a connection belongs to this process; valid for its life only.
    let token: String
    let logger: Logger

    /// How the process ended, in words for `hub status`.
    enum Ending: Sendable, Hashable {
        case exited(Int)
        case killed(signal: Int)

        /// `nil` for a clean exit.
        var fault: String? {
            switch self {
            case .exited(0): nil
            case .exited(let code): "exited with code \(code)"
            case .killed(let signal): "was ended by signal \(signal)"
            }
        }
    }

    /// Runs the program until it ends by itself or `stop` ends.
    ///
    /// The launch token is the first line on its stdin, which then stays open: its end tells the plugin that the hub is gone, whatever
    /// became of the hub. When `stop` returns, stdin is closed; what has not
    /// ended by itself after `grace` gets SIGTERM, and a second later SIGKILL.
    ///
    /// - Parameters:
    ///   - started: called with the process id.
    ///   - stop: ends when the process should.
    func run(
        grace: Duration, started: @escaping @Sendable (Int) async -> Void, stop: @escaping @Sendable () async -> Void
    ) async throws -> Ending {
        var keys: [Environment.Key: String?] = [:]
        for (name, value) in environment {
            if let key = Environment.Key(rawValue: name) { keys[key] = value }
        }
        var options = PlatformOptions()
        // Its own group: Ctrl-C in a terminal is the hub's to hear, and at the end nothing that the plugin has started stays behind.
        options.processGroupID = 0
        let result = try await Subprocess.run(
            .path(FilePath(executable)), arguments: Arguments(arguments), environment: .inherit.updating(keys),
            platformOptions: options, input: .inputWriter, output: .sequence, error: .sequence
        ) { execution in
            await started(Int(execution.processIdentifier.value))
            // A plugin that ends before it has read its token breaks this pipe; its exit code tells the story.
            _ = try? await execution.standardInputWriter.write(token + "\n")
            await withTaskGroup(of: Bool.self) { group in
                let (output, errors) = (execution.standardOutput, execution.standardError)
                group.addTask {
                    await log(output)
                    return true
                }
                group.addTask {
                    await log(errors)
                    return true
                }
                group.addTask {
                    await stop()
                    return false
                }
                let process = execution.processIdentifier.value
                var open = 3
                while open > 0, let outputEnded = await group.next() {
                    if outputEnded {
                        open -= 1
                        // A plugin may close what it prints to and go on.
                        if open == 1 { group.addTask { await Self.end(of: process) } }
                    } else {
                        try? await execution.standardInputWriter.finish()
                        await Self.end(of: process, within: grace)
                        await execution.teardown(
                            using: [.gracefulShutDown(toProcessGroup: true, allowedDurationToNextStep: .seconds(1))])
                    }
                }
                group.cancelAll()
            }
        }
        return switch result.terminationStatus {
        case .exited(let code): .exited(Int(code))
        case .signaled(let signal): .killed(signal: Int(signal))
        }
    }

    /// Waits until the process has ended, without taking its ending from whoever waits for that.
    private static func end(of process: pid_t) async -> Bool {
        while !Task.isCancelled {
            var info = siginfo_t()
            // Of a process that still runs nothing is filled in.
            guard waitid(P_PID, id_t(process), &info, WEXITED | WNOHANG | WNOWAIT) == 0, info.si_signo == 0 else {
                break
            }
            try? await Task.sleep(for: .milliseconds(20))
        }
        return true
    }

    private static func end(of process: pid_t, within grace: Duration) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { _ = await end(of: process) }
            group.addTask { try? await Task.sleep(for: grace) }
            await group.next()
            group.cancelAll()
        }
    }

    /// What a plugin prints is its log.
    ///
    /// It is read to its end whatever it is, so that no plugin blocks on a full pipe.
    private func log(_ output: SubprocessOutputSequence) async {
        var lines = LineCutter()
        let began = ContinuousClock.now
        var allowance = LogAllowance(burst: 1_000, interval: 100, now: 0)
        do {
            for try await buffer in output {
                for line in buffer.withUnsafeBytes({ lines.add($0) })
                where allowance.take(at: ContinuousClock.now.millisecondsSinceStart(began)) {
                    let omitted = allowance.takeOmitted()
                    if omitted > 0 { say("(\(omitted) lines left out: more than ten a second)") }
                    say(line)
                }
            }
        } catch {
            logger.warning("the plugin's output broke", metadata: ["plugin": "\(instance)", "error": "\(error)"])
        }
        if let rest = lines.rest() { say(rest) }
    }

    private func say(_ line: String) {
        logger.info("plugin says", metadata: ["plugin": "\(instance)", "line": "\(line)"])
    }
}

/// Cuts bytes into lines of at most 4 KiB, so that no plugin can make the hub hold more.
struct LineCutter {
    static let longestLine = 4_096
    private var line: [UInt8] = []

    /// The lines that `bytes` completes.
    ///
    /// A longer line comes in pieces.
    mutating func add(_ bytes: UnsafeRawBufferPointer) -> [String] {
        var lines: [String] = []
        for byte in bytes {
            if byte != UInt8(ascii: "\n") { line.append(byte) }
            if byte == UInt8(ascii: "\n") || line.count == LineCutter.longestLine {
                if let text = rest() { lines.append(text) }
            }
        }
        return lines
    }

    /// What came after the last line break.
    mutating func rest() -> String? {
        defer { line.removeAll(keepingCapacity: true) }
        return line.isEmpty ? nil : String(decoding: line, as: UTF8.self)
    }
}
