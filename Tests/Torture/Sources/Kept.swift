import Foundation
import HubProcess
import Synchronization
import TortureDiary

/// A program that is started again whenever it ends, as a service manager would.
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

    /// One run of it.
    struct Life: Sendable {
        var began, ended: Int64
        /// As ``ChildProcess/waitForExit()`` says.
        var code: Int
        /// Whether it was not asked to end, nor killed.
        var isByItself: Bool
        /// What it said on stderr.
        var said: [String]
    }

    init(_ name: String, _ journal: Journal, _ launch: @escaping @Sendable () throws -> ChildProcess) {
        (self.name, self.journal, self.launch) = (name, journal, launch)
    }

    var process: ChildProcess? { state.withLock(\.process) }

    /// All of them, the one that runs as if it ended now.
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

    /// From now on it runs; where an earlier process has not gone yet, as soon as that has.
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
        // With all that it has said.
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
        // The pause of a service manager.
        try? await Task.sleep(for: .milliseconds(200))
        state.withLock { state in
            if state.isWanted, state.process == nil { start(&state) }
        }
    }

    /// Ends it at once, and until ``begin()`` it does not come again.
    func kill() {
        journal.note("kill -9", name)
        let process = state.withLock { state in
            state.isWanted = false
            return state.process
        }
        process?.signal(SIGKILL)
    }

    /// Asks it to end, and waits for that; what does not end is killed.
    ///
    /// - Returns: the code with which it ended; `nil` where it did not run.
    @discardableResult
    func end(within seconds: Int = 15) async -> Int? {
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

    /// Waits until there is no process of it.
    func goes(within seconds: Int) async -> Bool {
        await poll(within: .seconds(seconds)) { process == nil }
    }

    /// Waits until the process that runs has said something; `false` where it did not in this time.
    func says(_ word: String, within seconds: Int) async -> Bool {
        await poll(within: .seconds(seconds)) { process?.errorLines.contains { $0.contains(word) } == true }
    }
}

/// Looks until something is so, for a bounded time.
func poll(within limit: Duration, until isSo: () throws -> Bool) async rethrows -> Bool {
    let end = ContinuousClock.now + limit
    while try !isSo() {
        guard ContinuousClock.now < end else { return false }
        try? await Task.sleep(for: .milliseconds(10))
    }
    return true
}

/// What was done to whom, as it happens.
final class Journal: Sendable {
    private let lines = Mutex<[Disturbance]>([])

    var disturbances: [Disturbance] { lines.withLock { $0 } }

    func note(_ what: String, _ victim: String) {
        lines.withLock { $0.append(Disturbance(at: millisecondsNow(), victim: victim, what: what)) }
    }
}
