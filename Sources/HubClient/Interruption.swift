import Dispatch
import Foundation
import Synchronization

/// Ctrl-C and its kin: the first asks for an orderly end, the second Ctrl-C ends the program at once.
package final class Interruption: Sendable {
    private struct State {
        var count = 0
        var isReleased = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }
    private let state = Mutex(State())
    /// Made and resumed in `init`, and only held since.
    private nonisolated(unsafe) let sources: [any DispatchSourceSignal]

    /// Takes the signals over for the rest of the process's life.
    /// - Parameters:
    ///   - hangup: what SIGHUP means, as long as the terminal is there that the program was started from, if it was; else the end.
    ///   - last: what must still happen before the process ends at the second Ctrl-C.
    package init(hangup: (@Sendable () -> Void)? = nil, last: @escaping @Sendable () -> Void = {}) {
        let hadTerminal = Interruption.hasTerminal
        let signals = [SIGINT, SIGTERM, SIGHUP]
        // A handler that does nothing, not SIG_IGN: what is ignored here would stay ignored in every child.
        for number in signals { signal(number) { _ in } }
        sources = signals.map { DispatchSource.makeSignalSource(signal: $0, queue: .global()) }
        for (source, number) in zip(sources, signals) {
            source.setEventHandler { [weak self] in
                // The kernel says the same when a terminal is closed as an administrator who wants the settings read again.
                if number == SIGHUP, let hangup, !hadTerminal || Interruption.hasTerminal { return hangup() }
                self?.arrived(number, last)
            }
            source.resume()
        }
    }

    private static var hasTerminal: Bool {
        let terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC)
        if terminal >= 0 { close(terminal) }
        return terminal >= 0
    }

    private func arrived(_ number: Int32, _ last: () -> Void) {
        let (count, waiting) = state.withLock { state in
            state.count += 1
            defer { state.waiting.removeAll() }
            return (state.count, state.waiting)
        }
        if count > 1, number == SIGINT {
            last()
            _exit(HubExit.interrupted.rawValue)
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Whether one has come, or the end was asked for otherwise.
    package var isOver: Bool { state.withLock { $0.count > 0 || $0.isReleased } }

    /// Returns when one has come; at once if it has already.
    ///
    /// Also at ``release()``.
    package func wait() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                let isOver = state.count > 0 || state.isReleased
                if !isOver { state.waiting.append(continuation) }
                return isOver
            }
            if isOver { continuation.resume() }
        }
    }

    /// Ends the program when one has come, after `body`; no more once the task is cancelled.
    package func exit(after body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        Task {
            await wait()
            guard !Task.isCancelled else { return }
            await body()
            Foundation.exit(HubExit.interrupted.rawValue)
        }
    }

    /// Lets those that wait go on, as if one had come; the next Ctrl-C is still the first.
    package func release() {
        let waiting = state.withLock { state in
            state.isReleased = true
            defer { state.waiting.removeAll() }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Takes ``release()`` back, for what comes next.
    ///
    /// - Returns: false when one has come: nothing comes next then.
    package func renew() -> Bool {
        state.withLock { state in
            state.isReleased = false
            return state.count == 0
        }
    }
}
