import Dispatch
import Foundation
package import HubClient
import Synchronization

/// The program after `--`, with pipes for the streams that the bridge writes or reads.
package final class ChildProgram: Sendable {
    package let name: String
    /// The pipe to the program's stdin; nil if the program inherits the bridge's stdin.
    package let input: CInt?
    /// The pipe from the program's stdout; nil if the program inherits the bridge's stdout.
    package let output: CInt?
    private let process: pid_t
    private let state = Mutex((code: Int32?.none, waiters: [CheckedContinuation<Int32, Never>]()))

    /// - Throws: `Failure` if the program cannot be started.
    package init(_ words: [String], writes: Bool, reads: Bool) throws(Failure) {
        name = words[0]
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        let input = writes ? try Self.pipe(name) : nil
        let output = reads ? try Self.pipe(name) : nil
        if let input { posix_spawn_file_actions_adddup2(&actions, input.reading, 0) }
        if let output { posix_spawn_file_actions_adddup2(&actions, output.writing, 1) }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        // A signal that is ignored here would stay ignored in the program: it could not be asked to end.
        for number in [SIGPIPE, SIGTERM, SIGINT] { sigaddset(&signals, number) }
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        var arguments = words.map { strdup($0) } + [nil]
        defer { arguments.forEach { free($0) } }
        var process: pid_t = 0
        let code = posix_spawnp(&process, name, &actions, &attributes, &arguments, environ)
        if let input { close(input.reading) }
        if let output { close(output.writing) }
        guard code == 0 else {
            throw Failure(.system, "\(name): the program cannot be started: \(String(cString: strerror(code)))")
        }
        (self.process, self.input, self.output) = (process, input?.writing, output?.reading)
        Thread.detachNewThread { [self, process] in
            var status: CInt = 0
            while waitpid(process, &status, 0) < 0, errno == EINTR {}
            ended(status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + (status & 0x7F))
        }
    }

    private func ended(_ code: Int32) {
        let waiters = state.withLock { state in
            state.code = code
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume(returning: code) }
    }

    /// Waits for the program's exit code; a signal gives 128 plus its number, as in shells.
    package func end() async -> Int32 {
        await withCheckedContinuation { continuation in
            let code = state.withLock { state in
                if state.code == nil { state.waiters.append(continuation) }
                return state.code
            }
            if let code { continuation.resume(returning: code) }
        }
    }

    /// Waits for the program to end; sends SIGTERM after `limit`, and SIGKILL a second later.
    @discardableResult
    package func end(within limit: Duration) async -> Int32 {
        let force = Task { [self] in
            try await Task.sleep(for: limit)
            signal(SIGTERM)
            try await Task.sleep(for: .seconds(1))
            signal(SIGKILL)
        }
        defer { force.cancel() }
        return await end()
    }

    package func signal(_ number: Int32) {
        state.withLock { if $0.code == nil { _ = kill(process, number) } }
    }

    private static func pipe(_ name: String) throws(Failure) -> (reading: CInt, writing: CInt) {
        var ends: [CInt] = [0, 0]
        guard Glibc.pipe(&ends) == 0 else {
            throw Failure(.system, "\(name): no pipe to it: \(String(cString: strerror(errno)))")
        }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }
}
