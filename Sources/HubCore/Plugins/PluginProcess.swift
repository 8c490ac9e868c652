import Glibc
import HubSessions
import HubWire
import Logging
import Subprocess
import Synchronization
import SystemPackage

/// One run of a plugin's program, from start to end.
struct PluginProcess: Sendable {
    let instance: String
    /// The plugin's program with its arguments, or `hub-confine` with these and what they may reach.
    let program: String
    let arguments: [String]
    /// All of it.
    let environment: [String: String]
    /// Whether `hub-confine` starts it, and says as its first line which process it is.
    let isConfined: Bool
    /// What may help when it fails.
    let hint: ReachHint
    /// The control group, which `hub-confine` joins by itself; any other program is moved there.
    var group: ControlGroups.Group?
    /// Proves to the plugin endpoints that a connection belongs to this process; valid for its life only.
    let token: String
    /// What is hidden in what the process prints; the token is one of them.
    let secrets: InstanceSecrets
    let log: PluginLog
    let logger: Logger

    /// How long a process may take to end.
    struct Patience: Sendable {
        /// From the end of stdin to SIGTERM.
        var stop: Duration
        /// From SIGTERM to SIGKILL.
        var kill: Duration
    }

    private enum Event { case outputEnded, processEnded, toEnd }

    /// Runs the program until it ends by itself or `end` is asked for.
    ///
    /// The launch token is the first line on its stdin, which then stays open: its end tells the plugin that the hub is gone, whatever
    /// became of the hub. Asked to end, the plugin first sees the end of stdin, then SIGTERM, then SIGKILL; the signals go to its whole
    /// process group, and what is left of that when the process has ended is killed.
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
        // Its own group: Ctrl-C in a terminal is the hub's to hear, and at the end nothing that the plugin has started stays behind.
        options.processGroupID = 0
        let words = FirstWords()
        do {
            let result = try await Subprocess.run(
                .path(FilePath(program)), arguments: Arguments(arguments), environment: .custom(keys),
                platformOptions: options, input: .inputWriter, output: .sequence, error: .sequence
            ) { execution in
                if !isConfined {
                    let pid = Int(execution.processIdentifier.value)
                    do throws(ControlGroups.Unavailable) { try group?.add(pid) } catch {
                        logger.warning(
                            "its memory is not limited", metadata: ["plugin": "\(instance)", "reason": "\(error)"])
                    }
                    await started(pid, nil)
                }
                // A plugin that ends before it has read its token breaks this pipe; its exit code tells the story.
                _ = try? await execution.standardInputWriter.write(token + "\n")
                await attend(execution, patience, end, words, started)
                // Not yet reaped, so the group is still its own.
                try? execution.send(signal: .kill, toProcessGroup: true)
            }
            // The code of hub-confine itself; what it says tells it from a plugin's.
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
        _ end: ProcessEnd, _ words: FirstWords, _ started: @escaping @Sendable (Int, String?) async -> Void
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
                    // A plugin may close what it prints to and go on.
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
                    // What has left the group ends while hub-confine, which it belongs to, is still there.
                    for left in ProcessTree.below(process) { kill(left, SIGKILL) }
                    if isConfined { await Self.end(of: process, within: .seconds(1)) }
                    try? execution.send(signal: .kill, toProcessGroup: true)
                }
            }
        }
    }

    /// Waits until the process has ended, without taking its ending from the one that waits for it.
    private static func end(of process: pid_t) async {
        while !Task.isCancelled {
            var info = siginfo_t()
            // Of a process that still runs nothing is filled in.
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

    /// What a plugin prints is its log: read to its end whatever it is, though not faster than is good for others.
    ///
    /// - Parameter isOfLauncher: hears each line of `hub-confine`, which is the hub's and no plugin's.
    private func read(
        _ output: SubprocessOutputSequence, _ origin: LogLine.Origin, _ isOfLauncher: (String) async -> Bool
    ) async {
        var lines = LineCutter(hiding: secrets.mask)
        let began = ContinuousClock.now
        var allowance = TokenBucket(size: 1_000, rate: 10, now: 0)
        var bytes = TokenBucket(size: 4 << 20, rate: 1 << 20, now: 0)
        var hints: Set<String> = []
        do {
            for try await buffer in output {
                let now = ContinuousClock.now.millisecondsSinceStart(began)
                // A plugin prints a token only after it has come through the door.
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
                    // Each once; a program may fail at one thing after the other.
                    if origin == .err, hints.count < 8, let hint = hint.after(line), hints.insert(hint).inserted {
                        say(hint, .hub)
                    }
                }
                let pause = bytes.take(buffer.count, at: now)
                if pause > 0 { try? await Task.sleep(for: .milliseconds(pause)) }
            }
        } catch {
            logger.warning("the plugin's output broke", metadata: ["plugin": "\(instance)", "error": "\(error)"])
        }
        if let rest = lines.rest() { say(rest, origin) }
    }

    private func say(_ line: String, _ origin: LogLine.Origin) {
        log.write(line, from: origin)
        logger.info("plugin says", metadata: ["plugin": "\(instance)", "line": "\(line)"])
    }
}

/// What `hub-confine` says: first that the plugin starts, and at its end what it could not do.
private final class FirstWords: Sendable {
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

/// The wish that a process ends: in its own time, or now.
package struct ProcessEnd: Sendable {
    private let wished = Flag()
    private let hurried = Flag()

    package init() {}

    package func wish() { wished.raise() }

    package func hurry() {
        hurried.raise()
        wished.raise()
    }

    fileprivate func wait() async { await wished.wait() }
    fileprivate func waitForKill() async { await hurried.wait() }
}
