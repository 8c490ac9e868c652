import Foundation
import HubClient
import Synchronization

/// A running `simulator` of a plugin's folder: a program in place of the device or service that the plugin speaks with.
package final class SimulatorProcess: Sendable {
    /// The names and texts that it printed.
    package let values: [String: String]
    /// The prefix of a name whose text is a token; the account follows.
    static let tokenMark = "token:"
    private let process: Mutex<Process>
    private let input = Pipe()

    /// The tokens that it accepts, by account.
    var tokens: [String: String] {
        let named = values.filter { $0.key.hasPrefix(Self.tokenMark) }
        return Dictionary(
            uniqueKeysWithValues: named.map { (String($0.key.dropFirst(Self.tokenMark.count)), $0.value) })
    }

    /// Starts it and waits for its first line.
    ///
    /// - Throws: ``PluginError`` if it ends or prints something else.
    package init(_ program: String, scratch: String) throws {
        let (child, output) = (Process(), Pipe())
        child.executableURL = URL(filePath: program)
        child.currentDirectoryURL = URL(filePath: scratch)
        child.environment = ProcessInfo.processInfo.environment.merging([
            "SCRATCH": scratch, "PROGRAMS": URL(filePath: HubProgram.path).deletingLastPathComponent().path,
        ]) { $1 }
        child.standardInput = input
        child.standardOutput = output
        // If a plugin inherited this end, the stand-in would outlive the examination.
        _ = fcntl(input.fileHandleForWriting.fileDescriptor, F_SETFD, FD_CLOEXEC)
        try child.run()
        let file = output.fileHandleForReading
        let line = Self.firstLine(of: file, within: .seconds(10))
        guard let values = try? JSONDecoder().decode([String: String].self, from: line) else {
            kill(child.processIdentifier, SIGKILL)
            throw PluginError(
                "\(program): within 10 s its first line must be a JSON object of texts, such as {\"url\":\"http://127.0.0.1:4711\"}; it was: \(String(decoding: line.prefix(200), as: UTF8.self))"
            )
        }
        self.values = values
        process = Mutex(child)
        // Drop its further output, so that it never blocks on a full pipe.
        Thread { while let more = try? file.read(upToCount: 65_536), !more.isEmpty {} }.start()
    }

    private static func firstLine(of file: FileHandle, within limit: Duration) -> Data {
        let deadline = ContinuousClock.now + limit
        var line = Data()
        while line.count < 65_536 {
            let left = (deadline - .now) / .milliseconds(1)
            var ready = pollfd(fd: file.fileDescriptor, events: Int16(POLLIN), revents: 0)
            guard left > 0, poll(&ready, 1, Int32(left)) > 0, let byte = try? file.read(upToCount: 1), !byte.isEmpty,
                byte[0] != UInt8(ascii: "\n")
            else { break }
            line.append(byte)
        }
        return line
    }

    /// Ends its stdin; kills it two seconds later if it still runs.
    package func end() {
        try? input.fileHandleForWriting.close()
        process.withLock { process in
            let deadline = ContinuousClock.now + .seconds(2)
            while process.isRunning, ContinuousClock.now < deadline { usleep(20_000) }
            if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        }
    }
}
