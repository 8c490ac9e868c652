import Foundation
import HubProcess
import Synchronization
import TortureDiary

/// A program that is restarted whenever it ends, as by a service manager.
final class Kept: Sendable {
    let name: String
    private let journal: Journal
    private let launch: @Sendable () throws -> ChildProcess
    private let state = Mutex(State())

    private struct State {
        var isWanted = false
        var isAsked = false
        var process: ChildProcess?
        var began: Int64 = 0
        var lives: [Life] = []
        var failure: String?
    }

    /// One run of the program.
    struct Life: Sendable {
        var began, ended: Int64
        /// The value of ``ChildProcess/waitForExit()``.
        var code: Int
        /// Whether it ended without a request or a kill.
        var isByItself: Bool
        /// The lines of its stderr.
        var said: [String]
    }

    init(_ name: String, _ journal: Journal, _ launch: @escaping @Sendable () throws -> ChildProcess) {
        (self.name, self.journal, self.launch) = (name, journal, launch)
    }

    var process: ChildProcess? { state.withLock(\.process) }

    /// All runs; the current one as if it ended now.
    var lives: [Life] {
        state.withLock { state in
            guard let process = state.process else { return state.lives }
            let now = Life(
                began: state.began, ended: millisecondsNow(), code: 0, isByItself: false, said: process.errorLines)
            return state.lives + [now]
        }
    }

    /// Why it could not be started.
    var failure: String? { state.withLock(\.failure) }

    /// Starts the program, and keeps it running; if an earlier process still ends, as soon as that has ended.
    func begin() {
        state.withLock { state in
            state.isWanted = true
            guard state.process == nil else { return }
            start(&state)
        }
    }

    private func start(_ state: inout State) {
        do {
            let process = try launch()
            (state.process, state.began, state.isAsked) = (process, millisecondsNow(), false)
            journal.note("start", name)
            Task { await self.attend(process) }
        } catch { state.failure = "\(name) cannot be started: \(error)" }
    }

    private func attend(_ process: ChildProcess) async {
        // The result contains all of its output.
        let code = Int(await process.result().code)
        let isWanted = state.withLock { state in
            let isByItself = !state.isAsked && code != -Int(SIGKILL)
            if isByItself { journal.note("ended (\(code))", name) }
            state.lives.append(
                Life(
                    began: state.began, ended: millisecondsNow(), code: code, isByItself: isByItself,
                    said: process.errorLines))
            state.process = nil
            return state.isWanted
        }
        guard isWanted else { return }
        // The pause that a service manager makes.
        try? await Task.sleep(for: .milliseconds(200))
        state.withLock { state in
            if state.isWanted, state.process == nil { start(&state) }
        }
    }

    /// Kills it at once; it stays down until ``begin()``.
    func kill() {
        journal.note("kill -9", name)
        let process = state.withLock { state in
            state.isWanted = false
            return state.process
        }
        process?.signal(SIGKILL)
    }

    /// Asks it to end and waits for that; kills it if it takes too long.
    ///
    /// - Returns: its exit code; `nil` if it did not run.
    @discardableResult func end(within seconds: Int = 15) async -> Int? {
        let process = state.withLock { state in
            (state.isWanted, state.isAsked) = (false, true)
            return state.process
        }
        guard let process else { return nil }
        journal.note("stop", name)
        process.signal(SIGCONT)
        process.signal(SIGTERM)
        if await !goes(within: seconds) { process.signal(SIGKILL) }
        return await process.waitForExit()
    }

    /// Waits until it has no process.
    func goes(within seconds: Int) async -> Bool {
        await poll(within: .seconds(seconds)) { process == nil }
    }

    /// Waits until the current process prints a line with this word; `false` if it does not within this time.
    func says(_ word: String, within seconds: Int) async -> Bool {
        await poll(within: .seconds(seconds)) { process?.errorLines.contains { $0.contains(word) } == true }
    }
}

/// Checks a condition repeatedly for a limited time; returns whether it became true.
func poll(within limit: Duration, until isSo: () throws -> Bool) async rethrows -> Bool {
    let end = ContinuousClock.now + limit
    while try !isSo() {
        guard ContinuousClock.now < end else { return false }
        try? await Task.sleep(for: .milliseconds(10))
    }
    return true
}

/// The disturbances so far, in order.
final class Journal: Sendable {
    private let lines = Mutex<[Disturbance]>([])

    var disturbances: [Disturbance] { lines.withLock { $0 } }

    func note(_ what: String, _ victim: String) {
        lines.withLock { $0.append(Disturbance(at: millisecondsNow(), victim: victim, what: what)) }
    }
}
