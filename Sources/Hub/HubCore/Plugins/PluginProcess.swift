import Glibc
import HubWire
import Logging
import Subprocess
import Synchronization
import SystemPackage

/// One run of a plugin's program, from start to end.
struct PluginProcess: Sendable {
    let instance: String
    /// The plugin's program with its arguments, or `hub-confine` with these and the places that they may reach.
    let program: String
    let arguments: [String]
    /// The complete environment.
    let environment: [String: String]
    /// Whether `hub-confine` starts it, and names the process in its first line.
    let isConfined: Bool
    /// A hint for people if it fails.
    let hint: ConfinementHint
    /// The control group; `hub-confine` joins it, and any other program is moved into it.
    var group: ControlGroups.Group?
    /// Proves to the plugin endpoints that a connection belongs to this process; valid only while the process runs.
    let token: String
    /// The secrets to hide in the output of the process; the token is one of them.
    let secrets: InstanceSecrets
    let log: PluginLog
    let logger: Logger

    /// How long a process may take to end.
    struct Patience: Sendable {
        /// The time from the end of stdin to SIGTERM.
        var stop: Duration
        /// The time from SIGTERM to SIGKILL.
        var kill: Duration
    }

    private enum Event { case outputEnded, processEnded, toEnd }

    /// Runs the program until it ends or `end` is requested.
    ///
    /// The launch token is the first line on its stdin, which then stays open: the end of stdin shows the plugin that the hub is gone, even if
    /// the hub was killed. If `end` is requested, the plugin first sees the end of stdin, then SIGTERM, then SIGKILL. The signals go to its
    /// whole process group, and processes that remain in it after the process has ended are killed.
    ///
    /// - Parameter started: called with the process id of the plugin, and how it is confined.
    func run(
        _ patience: Patience, started: @escaping @Sendable (Int, String?) async -> Void, end: ProcessEnd
    ) async -> ProcessEnding {
        var keys: [Environment.Key: String] = [:]
        for (name, value) in environment {
            if let key = Environment.Key(rawValue: name) { keys[key] = value }
        }
        var options = PlatformOptions()
        // A separate process group: Ctrl-C in a terminal is for the hub, and all processes of the plugin can be ended together.
        options.processGroupID = 0
        let words = LauncherMessages()
        do {
            let result = try await Subprocess.run(
                .path(FilePath(program)), arguments: Arguments(arguments), environment: .custom(keys),
                platformOptions: options, input: .inputWriter, output: .sequence, error: .sequence
            ) { execution in
                if !isConfined {
                    let pid = Int(execution.processIdentifier.value)
                    do throws(HubError) { try group?.add(pid) } catch {
                        logger.warning(
                            "its memory is not limited", metadata: ["plugin": "\(instance)", "reason": "\(error)"])
                    }
                    await started(pid, nil)
                }
                // A plugin that ends before it has read its token breaks this pipe; its exit code is reported instead.
                _ = try? await execution.standardInputWriter.write(token + "\n")
                await attend(execution, patience, end, words, started)
                // The process is not reaped yet, so the group id still belongs to it.
                try? execution.send(signal: .kill, toProcessGroup: true)
            }
            // Exit code 125 is of hub-confine itself; its message distinguishes it from a plugin's exit code.
            if isConfined, result.terminationStatus == .exited(125), let fault = words.fault {
                return .notStarted(hint.ofInterpreter(125).map { "\(fault): \($0)" } ?? fault)
            }
            return switch result.terminationStatus {
            case .exited(let code): hint.ofInterpreter(Int(code)).map(ProcessEnding.notStarted) ?? .exited(Int(code))
            case .signaled(let signal): .killed(signal: Int(signal))
            }
        } catch {
            return .notStarted("\(error)")
        }
    }

    private func attend(
        _ execution: Execution<CustomWriteInput, SequenceOutput, SequenceOutput>, _ patience: Patience,
        _ end: ProcessEnd, _ words: LauncherMessages, _ started: @escaping @Sendable (Int, String?) async -> Void
    ) async {
        let process = execution.processIdentifier.value
        let (output, errors) = (execution.standardOutput, execution.standardError)
        await withTaskGroup(of: Event.self) { group in
            group.addTask {
                await read(output, .out) { _ in false }
                return .outputEnded
            }
            group.addTask {
                await read(errors, .err) { line in
                    guard isConfined, let news = words.take(line) else { return false }
                    if case .started(let pid, let how) = news { await started(pid, how) }
                    return true
                }
                return .outputEnded
            }
            group.addTask {
                await end.wait()
                return .toEnd
            }
            var open = 2
            while let happening = await group.next() {
                switch happening {
                case .outputEnded:
                    open -= 1
                    // A plugin may close its output and continue.
                    if open == 0 {
                        group.addTask {
                            await Self.end(of: process)
                            return .processEnded
                        }
                    }
                case .processEnded:
                    group.cancelAll()
                    return
                case .toEnd:
                    guard !Task.isCancelled else { continue }
                    try? await execution.standardInputWriter.finish()
                    await Self.end(of: process, within: patience.stop, unless: end)
                    try? execution.send(signal: .terminate, toProcessGroup: true)
                    await Self.end(of: process, within: patience.kill)
                    // Processes that have left the group are killed while hub-confine, their ancestor, is still there.
                    for left in ProcessTree.below(process) { kill(left, SIGKILL) }
                    if isConfined { await Self.end(of: process, within: .seconds(1)) }
                    try? execution.send(signal: .kill, toProcessGroup: true)
                }
            }
        }
    }

    /// Waits until the process has ended, without reaping it.
    private static func end(of process: pid_t) async {
        while !Task.isCancelled {
            var info = siginfo_t()
            // `info` stays empty for a process that still runs.
            guard waitid(P_PID, id_t(process), &info, WEXITED | WNOHANG | WNOWAIT) == 0, info.si_signo == 0 else {
                return
            }
            try? await Task.sleep(for: .milliseconds(20))
        }
    }

    private static func end(of process: pid_t, within grace: Duration, unless end: ProcessEnd? = nil) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await Self.end(of: process) }
            group.addTask { try? await Task.sleep(for: grace) }
            if let end { group.addTask { await end.waitForKill() } }
            await group.next()
            group.cancelAll()
        }
    }

    /// Reads a plugin's output into its log, to the end, but at a limited rate.
    ///
    /// - Parameter isOfLauncher: gets each line; returns whether it is one of `hub-confine`, which belongs to the hub and not to the plugin.
    private func read(
        _ output: SubprocessOutputSequence, _ origin: LogLine.Origin, _ isOfLauncher: (String) async -> Bool
    ) async {
        var lines = LineSplitter(hiding: secrets.mask)
        let began = ContinuousClock.now
        var allowance = TokenBucket(size: 1_000, rate: 10, now: 0)
        var bytes = TokenBucket(size: 4 << 20, rate: 1 << 20, now: 0)
        var hints: Set<String> = []
        do {
            for try await buffer in output {
                let now = ContinuousClock.now.millisecondsSinceStart(began)
                // A plugin can print a token only after the token has come through the door, so the mask is up to date.
                lines.hide(secrets.mask)
                for line in buffer.withUnsafeBytes({ lines.add($0) }) {
                    if await isOfLauncher(line) {
                        say(line, .hub)
                        continue
                    }
                    guard allowance.take(at: now) else { continue }
                    let omitted = allowance.takeRefused()
                    if omitted > 0 { say("(\(omitted) lines left out: more than ten a second)", .hub) }
                    say(line, origin)
                    // Each hint once; a program may fail at several things in turn.
                    if origin == .err, hints.count < 8, let hint = hint.after(line), hints.insert(hint).inserted {
                        say(hint, .hub)
                    }
                }
                let pause = bytes.take(buffer.count, at: now)
                if pause > 0 { try? await Task.sleep(for: .milliseconds(pause)) }
            }
        } catch {
            logger.warning(
                "reading the plugin's output failed", metadata: ["plugin": "\(instance)", "error": "\(error)"])
        }
        if let rest = lines.rest() { say(rest, origin) }
    }

    private func say(_ line: String, _ origin: LogLine.Origin) {
        log.write(line, from: origin)
        logger.info("plugin says", metadata: ["plugin": "\(instance)", "line": "\(line)"])
    }
}

/// The messages of `hub-confine`: first the start of the plugin, and at the end a failure.
private final class LauncherMessages: Sendable {
    enum News { case started(Int, String), other }

    private let state = Mutex((hasStarted: false, fault: String?.none))

    var fault: String? { state.withLock(\.fault) }

    /// - Returns: `nil` for a line of the plugin.
    func take(_ line: String) -> News? {
        guard line.hasPrefix("\(Isolation.program): ") else { return nil }
        let text = line.dropFirst(Isolation.program.count + 2)
        return state.withLock { state in
            if text.hasPrefix("cannot ") {
                state.fault = String(line)
                return .other
            }
            guard !state.hasStarted else { return text.hasPrefix("ended ") ? .other : nil }
            guard text.hasPrefix("process "), let end = text.firstIndex(of: ";"),
                let pid = Int(text[..<end].dropFirst("process ".count))
            else { return .other }
            state.hasStarted = true
            return .started(pid, text[text.index(end, offsetBy: 2)...].description)
        }
    }
}

/// The request that a process ends: within its time limits, or now.
package struct ProcessEnd: Sendable {
    private let wished = Latch()
    private let hurried = Latch()

    package init() {}

    package func wish() { wished.raise() }

    package func hurry() {
        hurried.raise()
        wished.raise()
    }

    fileprivate func wait() async { await wished.wait() }
    fileprivate func waitForKill() async { await hurried.wait() }
}
