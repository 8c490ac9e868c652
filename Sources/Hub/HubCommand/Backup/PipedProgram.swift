import Foundation
import HubStore

/// A program that transforms a stream of bytes; a pipe connects one of its ends to this process.
///
/// It runs in this process's group, so that it can ask at the terminal. Its stderr is kept for the error.
final class PipedProgram {
    private let name: String
    private let process: pid_t
    private let errors: CInt
    private var pipe: CInt
    private var isOver = false

    /// The end that this process uses.
    enum End {
        /// This process writes to the program, which writes into this file.
        case input(output: CInt)
        /// The program reads its file, and this process reads its output.
        case output
    }

    init(_ name: String, _ arguments: [String], _ end: End) throws(StoreError) {
        self.name = name
        // If the program ends early, report its exit code instead of dying from SIGPIPE.
        signal(SIGPIPE, SIG_IGN)
        let (near, far) = try PipedProgram.ends(name)
        let (errors, said) = try PipedProgram.ends(name)
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        switch end {
        case .input(let output):
            posix_spawn_file_actions_adddup2(&actions, near, 0)
            posix_spawn_file_actions_adddup2(&actions, output, 1)
        case .output:
            posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
            posix_spawn_file_actions_adddup2(&actions, far, 1)
        }
        posix_spawn_file_actions_adddup2(&actions, said, 2)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        var usual = sigset_t()
        sigemptyset(&usual)
        sigaddset(&usual, SIGPIPE)
        posix_spawnattr_setsigdefault(&attributes, &usual)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        var words = ([name] + arguments).map { strdup($0) } + [nil]
        defer { words.forEach { free($0) } }
        var process: pid_t = 0
        let code = posix_spawnp(&process, name, &actions, &attributes, &words, environ)
        close(said)
        if case .input = end { close(near) } else { close(far) }
        let ours = if case .input = end { far } else { near }
        guard code == 0 else {
            close(ours)
            close(errors)
            throw StoreError(
                code == ENOENT ? .missing : .input,
                code == ENOENT
                    ? "\(name), which encrypts and decrypts backups, is not installed: sudo apt-get install \(name)"
                    : "start \(name): \(String(cString: strerror(code)))")
        }
        (self.process, self.errors, pipe) = (process, errors, ours)
    }

    deinit {
        // The output was not read to the end: the program gets a closed pipe.
        closePipe()
        if !isOver {
            kill(process, SIGTERM)
            waitpid(process, nil, 0)
        }
        close(errors)
    }

    func write(_ bytes: [UInt8]) throws(StoreError) {
        do throws(StoreError) { try writeAll(bytes, to: pipe, "write to \(name)") } catch {
            // The program's own error explains better why it ended.
            try end()
            throw error
        }
    }

    func read(upTo most: Int) throws(StoreError) -> [UInt8] {
        let bytes = try readSome(pipe, most, "read from \(name)")
        if bytes.count < most { try end() }
        return bytes
    }

    /// Closes the pipe and waits for the program; throws the program's stderr if it failed.
    func end() throws(StoreError) {
        closePipe()
        guard !isOver else { return }
        isOver = true
        let said = (try? readSome(errors, 4_096, "read")) ?? []
        var status: CInt = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        guard status != 0 else { return }
        let lines = String(decoding: said, as: UTF8.self).split(separator: "\n").map(String.init)
        let reason = lines.first { $0.hasPrefix("\(name): error: ") }?.dropFirst("\(name): error: ".count)
        throw StoreError(.corrupt, "\(name): " + (reason.map(String.init) ?? lines.first ?? "it was ended (\(status))"))
    }

    private func closePipe() {
        if pipe >= 0 { close(pipe) }
        pipe = -1
    }

    private static func ends(_ name: String) throws(StoreError) -> (CInt, CInt) {
        var ends: [CInt] = [0, 0]
        guard Glibc.pipe(&ends) == 0 else {
            throw StoreError(.input, "start \(name): \(String(cString: strerror(errno)))")
        }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }
}
