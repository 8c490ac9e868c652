import Foundation
import HubClient
import Synchronization

/// The command that builds a plugin's program, if it needs building.
final class BuildStep: Sendable {
    /// A shell command.
    let line: String
    private let folder: String
    private let running = Mutex<pid_t?>(nil)

    init(_ line: String, in folder: String) { (self.line, self.folder) = (line, folder) }

    /// Runs it to its end; ``kill()`` ends its process group.
    ///
    /// - Parameter said: called with each line that it prints.
    /// - Returns: whether it ended with 0.
    func run(said: @escaping @Sendable (String) -> Void) async throws -> Bool {
        try await blocking { [self] in
            let (child, output) = (Process(), Pipe())
            (child.executableURL, child.arguments) = (URL(filePath: "/bin/sh"), ["-c", line])
            child.currentDirectoryURL = URL(filePath: folder)
            child.standardInput = FileHandle.nullDevice
            (child.standardOutput, child.standardError) = (output, output)
            do { try child.run() } catch { throw Failure(.system, "/bin/sh: \(error.localizedDescription)") }
            running.withLock { $0 = child.processIdentifier }
            defer { running.withLock { $0 = nil } }
            var rest = Data()
            while case let bytes = output.fileHandleForReading.availableData, !bytes.isEmpty {
                rest.append(bytes)
                while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                    said(String(decoding: rest[..<end], as: UTF8.self))
                    rest = Data(rest[(end + 1)...])
                }
                // Drop a line that is longer than this.
                if rest.count > 65_536 { rest = Data() }
            }
            if !rest.isEmpty { said(String(decoding: rest, as: UTF8.self)) }
            child.waitUntilExit()
            return child.terminationReason == .exit && child.terminationStatus == 0
        }
    }

    func kill() {
        // Foundation gives each child its own process group.
        if let pid = running.withLock(\.self), getpgid(pid) == pid { Glibc.kill(-pid, SIGKILL) }
    }
}
