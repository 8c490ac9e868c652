import Foundation
import HubClient
import HubWire
import Synchronization

/// The client program of a play: gets the hub's addresses, and its output is read line by line.
final class PlayClient: Sendable {
    private struct State {
        var printed = 0
        /// Its last error lines.
        var errors: [String] = []
        var openOutputs = 2
    }

    private let process: Mutex<Process>
    private let state = AwaitableValue(State())
    private static let remembered = 5

    /// - Parameters:
    ///   - command: the program, which is looked up as a shell does, and its arguments.
    ///   - input: the text for its stdin.
    ///   - heard: called with each line of its stdout.
    /// - Throws: ``PluginError`` if it cannot be started.
    init(
        _ command: [String], door: String, feed: String, input: String, heard: @escaping @Sendable (String) -> Void
    ) throws(PluginError) {
        let paths = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map {
            "\($0)/\(command[0])"
        }
        guard (command[0].contains("/") ? [command[0]] : paths).contains(where: FileManager.default.isExecutableFile)
        else {
            throw PluginError("\(command[0]): there is no such program that can be executed")
        }
        let (child, stdin, output, errors) = (Process(), Pipe(), Pipe(), Pipe())
        child.executableURL = URL(filePath: "/usr/bin/env")
        child.arguments = command
        child.environment = ProcessInfo.processInfo.environment.merging(
            ["HUB_DOOR": door, "HUB_FEED": feed, "HUB_INSTANCE": "client"]) { $1 }
        (child.standardInput, child.standardOutput, child.standardError) = (stdin, output, errors)
        // If a child inherited this end, its stdin would never end.
        _ = fcntl(stdin.fileHandleForWriting.fileDescriptor, F_SETFD, FD_CLOEXEC)
        do { try Self.withoutBlockedSignals { try child.run() } } catch {
            throw PluginError("\(command[0]) cannot be started: \(error.localizedDescription)")
        }
        process = Mutex(child)
        let state = state
        Self.hear(output.fileHandleForReading, state) { line in
            heard(line)
            state.change { $0.printed += 1 }
        }
        Self.hear(errors.fileHandleForReading, state) { line in
            state.change { $0.errors = ($0.errors + [String(line.prefix(500))]).suffix(Self.remembered) }
        }
        let writer = stdin.fileHandleForWriting
        Thread {
            // A client that ends without reading them makes the write fail; that is fine.
            try? writer.write(contentsOf: Data(input.utf8))
            try? writer.close()
        }.start()
    }

    /// Starts a child with no signals blocked: pool threads block signals, and the child would inherit that and ignore SIGTERM.
    private static func withoutBlockedSignals(_ body: () throws -> Void) rethrows {
        var (none, before) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        try body()
    }

    private static func hear(
        _ file: FileHandle, _ state: AwaitableValue<State>, _ heard: @escaping @Sendable (String) -> Void
    ) {
        Thread {
            var line: [UInt8] = []
            while case let bytes = file.availableData, !bytes.isEmpty {
                for byte in bytes {
                    if byte == UInt8(ascii: "\n") {
                        heard(String(decoding: line, as: UTF8.self))
                        line = []
                    } else if line.count < 65_536 {
                        line.append(byte)
                    }
                }
            }
            if !line.isEmpty { heard(String(decoding: line, as: UTF8.self)) }
            state.change { $0.openOutputs -= 1 }
        }.start()
    }

    /// The number of lines on its stdout.
    var printed: Int { state.value.printed }
    var errors: [String] { state.value.errors }
    var hasEnded: Bool { process.withLock { !$0.isRunning } }

    /// Waits for its end and for all its output.
    ///
    /// Returns its exit code, 128 and more for a signal; `nil` if it does not end in time.
    func code(within limit: Duration) async -> Int32? {
        let deadline = ContinuousClock.now + limit
        while !hasEnded {
            guard ContinuousClock.now < deadline else { return nil }
            try? await Task.sleep(for: .milliseconds(10))
        }
        // A grandchild may hold its outputs open.
        await state.wait(upTo: .seconds(2)) { $0.openOutputs == 0 }
        return process.withLock { $0.terminationReason == .exit ? $0.terminationStatus : 128 + $0.terminationStatus }
    }

    func signal(_ number: Int32) { process.withLock { if $0.isRunning { kill($0.processIdentifier, number) } } }
}
