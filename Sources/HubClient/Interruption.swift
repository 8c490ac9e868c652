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

    /// Takes the signals over for the rest of the process's life.
    /// - Parameters:
    ///   - hangup: what SIGHUP means, as long as the terminal is there that the program was started from, if it was; else the end.
    ///   - last: what must still happen before the process ends at the second Ctrl-C.
    package init(hangup: (@Sendable () -> Void)? = nil, last: @escaping @Sendable () -> Void = {}) {
        let hadTerminal = Interruption.hasTerminal
        SignalPipe.listen { [weak self] number in
            // The kernel sends the same signal when a terminal is closed as an administrator who wants the settings read again.
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

/// Hands signals from their handler to those that wait for them.
///
/// A signal source of Dispatch is registered some time after it was made, and a signal that comes meanwhile is lost to
/// it. A byte that a handler has written into a pipe stays there until it is read.
private enum SignalPipe {
    private static let ends: (read: Int32, write: Int32) = {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { fatalError("no pipe for signals: \(errno)") }
        for end in ends {
            // A handler must never wait, and no child is to have the pipe.
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
