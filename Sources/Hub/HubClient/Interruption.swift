import Dispatch
import Foundation
import Synchronization

/// Handles Ctrl-C, SIGTERM and SIGHUP: the first signal asks for an orderly end, the second Ctrl-C ends the program at once.
package final class Interruption: Sendable {
    private struct State {
        var count = 0
        var isReleased = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }
    private let state = Mutex(State())

    /// Takes the signals over for the rest of the process's life.
    /// - Parameters:
    ///   - hangup: the action for SIGHUP, as long as the terminal exists that the program was started from, if any; otherwise SIGHUP is a request to
    ///     end.
    ///   - last: the action to run before the process ends at the second Ctrl-C.
    package init(hangup: (@Sendable () -> Void)? = nil, last: @escaping @Sendable () -> Void = {}) {
        let hadTerminal = Interruption.hasTerminal
        SignalPipe.listen { [weak self] number in
            // The kernel sends SIGHUP when a terminal is closed; an administrator sends it to have the settings read again.
            if number == SIGHUP, let hangup, !hadTerminal || Interruption.hasTerminal { return hangup() }
            self?.arrived(number, last)
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

    /// Whether a signal has come, or the end was requested otherwise.
    package var isOver: Bool { state.withLock { $0.count > 0 || $0.isReleased } }

    /// Returns when a signal has come; at once if one has come already.
    ///
    /// It also returns at ``release()``.
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

    /// Runs `body` and ends the program when a signal has come; does nothing once the task is cancelled.
    package func exit(after body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        Task {
            await wait()
            guard !Task.isCancelled else { return }
            await body()
            Foundation.exit(HubExit.interrupted.rawValue)
        }
    }

    /// Resumes the waiting tasks as if a signal had come; the next Ctrl-C still counts as the first.
    package func release() {
        let waiting = state.withLock { state in
            state.isReleased = true
            defer { state.waiting.removeAll() }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Reverts ``release()``, so that the next step can wait for signals.
    ///
    /// - Returns: false if a signal has come; then no next step may begin.
    package func renew() -> Bool {
        state.withLock { state in
            state.isReleased = false
            return state.count == 0
        }
    }
}

/// Passes signals from their handler to the listeners.
///
/// A Dispatch signal source is registered some time after it was made, and loses a signal that comes in between.
/// A byte that a handler has written into a pipe stays there until it is read.
private enum SignalPipe {
    private static let ends: (read: Int32, write: Int32) = {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { fatalError("no pipe for signals: \(errno)") }
        for end in ends {
            // A handler must never block, and no child may inherit the pipe.
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        }
        return (ends[0], ends[1])
    }()
    private static let listeners = Mutex<[@Sendable (Int32) -> Void]>([])
    private nonisolated(unsafe) static let source: any DispatchSourceRead = {
        let source = DispatchSource.makeReadSource(fileDescriptor: ends.read, queue: .global())
        source.setEventHandler {
            var numbers = [UInt8](repeating: 0, count: 64)
            let count = read(ends.read, &numbers, numbers.count)
            for number in numbers.prefix(max(count, 0)) {
                for listener in listeners.withLock(\.self) { listener(Int32(number)) }
            }
        }
        source.resume()
        return source
    }()

    /// Calls `listener` with each signal from now on, for the rest of the process's life.
    static func listen(_ listener: @escaping @Sendable (Int32) -> Void) {
        listeners.withLock { $0.append(listener) }
        _ = source
        for number in [SIGINT, SIGTERM, SIGHUP] {
            // Not SIG_IGN, which every child would inherit.
            signal(number) { number in
                let former = errno
                var byte = UInt8(truncatingIfNeeded: number)
                _ = write(SignalPipe.ends.write, &byte, 1)
                errno = former
            }
        }
    }
}
