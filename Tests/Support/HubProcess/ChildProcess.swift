public import Foundation
import Glibc
import Synchronization

/// A real program that a test runs, with its output by lines, its signals and its end.
///
/// A thread reads each pipe to its end, so that no child ever waits for the test.
public final class ChildProcess: Sendable {
    public let pid: pid_t
    private let output = LineBox()
    private let errors = LineBox()
    /// The lines of both streams, in the order in which they came.
    private let all = LineBox(sources: 2)
    private let end = EndBox()
    private static let spawning = NSLock()

    /// Starts `program`; a name without `/` is a program of this package.
    ///
    /// The child is ended when this object is released, or earlier.
    /// - Parameters:
    ///   - environment: variables in addition to those of the tests.
    ///   - input: its stdin; empty if not given.
    ///   - terminal: the terminal of a person, for stdin and stderr.
    public init(
        _ program: String, _ arguments: [String] = [], environment: [String: String] = [:], input: FileHandle? = nil,
        terminal: FileHandle? = nil
    ) throws {
        let program = program.contains("/") ? program : Programs.path(program)
        // One child at a time: until a pipe is marked close-on-exec, other children would inherit it.
        Self.spawning.lock()
        defer { Self.spawning.unlock() }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        let (outputEnd, outputStart) = try Self.pipe()
        let (errorEnd, errorStart) = try Self.pipe()
        defer {
            close(outputStart)
            close(errorStart)
        }
        // The child must not inherit the pipes of other tests in this process: while it holds one, the reader of that pipe sees no end.
        for name in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
            if let descriptor = CInt(name), descriptor > 2, descriptor != outputStart, descriptor != errorStart,
                descriptor != (terminal ?? input)?.fileDescriptor
            {
                posix_spawn_file_actions_addclose(&actions, descriptor)
            }
        }
        if let input = terminal ?? input {
            posix_spawn_file_actions_adddup2(&actions, input.fileDescriptor, 0)
        } else {
            posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        }
        posix_spawn_file_actions_adddup2(&actions, outputStart, 1)
        posix_spawn_file_actions_adddup2(&actions, terminal?.fileDescriptor ?? errorStart, 2)

        // The threads of a test block signals, and a child would inherit that: it could not be asked to end.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))

        // Programs show values by the locale of the machine, and tests must run on any.
        let variables = ProcessInfo.processInfo.environment.merging(["LC_ALL": "C.UTF-8"]) { $1 }
            .merging(environment) { $1 }.map { "\($0)=\($1)" }
        var words: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) } + [nil]
        var settings: [UnsafeMutablePointer<CChar>?] = variables.map { strdup($0) } + [nil]
        defer {
            for word in words + settings { free(word) }
        }
        var spawned: pid_t = 0
        let result = posix_spawn(&spawned, program, &actions, &attributes, &words, &settings)
        guard result == 0 else {
            close(outputEnd)
            close(errorEnd)
            throw CannotStart(program: program, reason: String(cString: strerror(result)))
        }
        pid = spawned
        Self.read(outputEnd, into: [output, all])
        Self.read(errorEnd, into: [errors, all])
        let (end, pid) = (end, pid)
        Thread.detachNewThread {
            var status: CInt = 0
            while waitpid(pid, &status, 0) == -1, errno == EINTR {}
            end.end(status & 0x7F == 0 ? Int(status >> 8 & 0xFF) : -Int(status & 0x7F))
        }
    }

    deinit { signal(SIGKILL) }

    /// The error if a program cannot be started.
    public struct CannotStart: Error, CustomStringConvertible {
        let program: String
        let reason: String
        public var description: String { "\(program): \(reason)" }
    }

    public var isRunning: Bool { end.status == nil }

    /// The memory that it holds; `nil` after it has ended.
    public var residentBytes: Int? { memory.map(\.resident) }

    /// The same without the pages of files, such as those of its program.
    public var ownBytes: Int? { memory.map { $0.resident - $0.ofFiles } }

    private var memory: (resident: Int, ofFiles: Int)? {
        let text = try? String(contentsOfFile: "/proc/\(pid)/statm", encoding: .utf8)
        let pages = text?.split(separator: " ").prefix(3).compactMap { Int($0) } ?? []
        return pages.count == 3 ? (pages[1] * 4_096, pages[2] * 4_096) : nil
    }

    /// Sends a signal, unless the program has ended.
    public func signal(_ signal: CInt) {
        end.whileRunning { _ = kill(pid, signal) }
    }

    /// Kills it at once, as a power cut would, and returns after it has ended.
    public func killAndWait() async {
        signal(SIGKILL)
        _ = await waitForExit()
    }

    /// Waits for its end and returns its exit code, or the negative number of the signal that ended it.
    public func waitForExit() async -> Int { await end.wait() }

    /// Asks the process to end, and returns its exit status.
    public func stop() async -> Int {
        signal(SIGTERM)
        return await waitForExit()
    }

    /// How the program ended, and all its output.
    public struct Result: Sendable {
        /// The value of ``ChildProcess/waitForExit()``.
        public let code: Int32
        public let output: String
        public let errors: String
    }

    /// Waits until it has ended and closed its streams.
    public func result() async -> Result {
        let code = await waitForExit()
        await all.wait { _ in false }
        return Result(code: Int32(code), output: output.text, errors: errors.text)
    }

    /// Waits for a line on either stream; if the streams end without it, throws an error with all lines.
    public func line(_ isMeant: (String) -> Bool) async throws {
        var seen = 0
        var isFound = false
        await all.wait { lines in
            isFound = isFound || lines[seen...].contains(where: isMeant)
            seen = lines.count
            return isFound
        }
        guard isFound else { throw NoSuchLine(said: all.lines) }
    }

    /// All lines of a program that did not print the expected one.
    public struct NoSuchLine: Error, CustomStringConvertible {
        let said: [String]
        public var description: String { "the expected line was not printed:\n" + said.joined(separator: "\n") }
    }

    /// All lines of its standard output so far.
    public var lines: [String] { output.lines }
    /// All lines of its standard error so far.
    public var errorLines: [String] { errors.lines }

    /// All lines of its standard output, after it has closed it.
    public func allLines() async -> [String] {
        await output.wait { _ in false }
        return output.lines
    }

    /// Returns the lines that `matches` accepts, as soon as there are `count` of them; fewer if the program has closed its output.
    public func lines(
        count: Int, where matches: @escaping @Sendable (String) -> Bool = { _ in true }
    ) async -> [String] {
        await Self.lines(of: output, count, matches)
    }

    /// The same as ``lines(count:where:)`` for its standard error.
    public func errorLines(count: Int, where matches: @escaping @Sendable (String) -> Bool) async -> [String] {
        await Self.lines(of: errors, count, matches)
    }

    private static func lines(
        of box: LineBox, _ count: Int, _ matches: @escaping @Sendable (String) -> Bool
    ) async -> [String] {
        let counter = Counter(goal: count, matches: matches)
        await box.wait { counter.hasReached($0) }
        return box.lines.filter(matches)
    }

    private static func pipe() throws -> (end: CInt, start: CInt) {
        var ends: [CInt] = [0, 0]
        guard Glibc.pipe(&ends) == 0 else {
            throw CannotStart(program: "pipe", reason: String(cString: strerror(errno)))
        }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    private static func read(_ descriptor: CInt, into boxes: [LineBox]) {
        Thread.detachNewThread {
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while true {
                let count = Glibc.read(descriptor, &buffer, buffer.count)
                if count == -1, errno == EINTR { continue }
                guard count > 0 else { break }
                buffer.withUnsafeBytes { bytes in
                    for box in boxes { box.add(UnsafeRawBufferPointer(rebasing: bytes[..<count]), from: descriptor) }
                }
            }
            for box in boxes { box.close() }
            close(descriptor)
        }
    }
}

/// Counts the matching lines, and looks at each line once.
private final class Counter: Sendable {
    private let goal: Int
    private let matches: @Sendable (String) -> Bool
    private let state = Mutex((seen: 0, found: 0))

    init(goal: Int, matches: @escaping @Sendable (String) -> Bool) {
        (self.goal, self.matches) = (goal, matches)
    }

    func hasReached(_ lines: [String]) -> Bool {
        state.withLock { state in
            state.found += lines[state.seen...].count(where: matches)
            state.seen = lines.count
            return state.found >= goal
        }
    }
}

/// The lines of one pipe or several, and the tasks that wait for more of them.
private final class LineBox: Sendable {
    private struct State {
        var lines: [String] = []
        /// The incomplete last line of each pipe.
        var rests: [CInt: [UInt8]] = [:]
        var open: Int
        var isClosed: Bool { open == 0 }
        var waiters: [CheckedContinuation<Void, Never>] = []
    }
    private let state: Mutex<State>

    /// - Parameter sources: the number of pipes that deliver lines to it.
    init(sources: Int = 1) { state = Mutex(State(open: sources)) }

    var lines: [String] { state.withLock(\.lines) }

    /// The output as it was written, including an incomplete last line.
    var text: String {
        state.withLock { state in
            let rest = state.rests.values.map { String(decoding: $0, as: UTF8.self) }.joined()
            return state.lines.map { $0 + "\n" }.joined() + rest
        }
    }

    /// Not with `split`, which takes seconds for megabytes in a program without the optimiser, such as the tests.
    func add(_ bytes: UnsafeRawBufferPointer, from pipe: CInt) {
        guard let first = bytes.baseAddress else { return }
        wake { state in
            var rest = state.rests[pipe] ?? []
            var start = 0
            while let end = memchr(first + start, 0x0A, bytes.count - start).map({ UnsafeRawPointer($0) - first }) {
                rest += UnsafeRawBufferPointer(rebasing: bytes[start..<end])
                state.lines.append(String(decoding: rest, as: UTF8.self))
                rest = []
                start = end + 1
            }
            state.rests[pipe] = rest + UnsafeRawBufferPointer(rebasing: bytes[start...])
        }
    }

    func close() { wake { $0.open -= 1 } }

    private func wake(_ change: (inout State) -> Void) {
        let waiters = state.withLock { state in
            change(&state)
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Returns as soon as `isEnough` accepts the lines, or all pipes are closed.
    func wait(_ isEnough: ([String]) -> Bool) async {
        while true {
            let (lines, isClosed) = state.withLock { ($0.lines, $0.isClosed) }
            if isEnough(lines) || isClosed { return }
            await withCheckedContinuation { continuation in
                let mustWait = state.withLock { state in
                    guard state.lines.count == lines.count, !state.isClosed else { return false }
                    state.waiters.append(continuation)
                    return true
                }
                if !mustWait { continuation.resume() }
            }
        }
    }
}

/// The exit status of a child, and the tasks that wait for it.
private final class EndBox: Sendable {
    private let state = Mutex((status: Int?.none, waiters: [CheckedContinuation<Int, Never>]()))

    var status: Int? { state.withLock(\.status) }

    func whileRunning(_ body: () -> Void) {
        state.withLock { state in
            if state.status == nil { body() }
        }
    }

    func end(_ status: Int) {
        let waiters = state.withLock { state in
            state.status = status
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume(returning: status) }
    }

    func wait() async -> Int {
        await withCheckedContinuation { continuation in
            let status = state.withLock { state in
                if state.status == nil { state.waiters.append(continuation) }
                return state.status
            }
            if let status { continuation.resume(returning: status) }
        }
    }
}
