import Foundation
import Glibc
import Synchronization

/// A helper process that reads commands as lines on its stdin and writes lines.
///
/// It ends when its stdin is closed, so it ends with this program even if this program is killed.
package final class HelperProcess: Sendable {
    /// The process ids of all running companions.
    private static let running = Mutex<Set<pid_t>>([])

    private let process = Mutex<Process?>(nil)
    private let input = Pipe()
    /// Whether all of its output has been read.
    private let hasEnded = AwaitableValue(false)

    /// Starts the process.
    ///
    /// - Parameters:
    ///   - name: the name of the program, which is in the folder of this one.
    ///   - zone: the time zone that the process uses; `nil` for the zone of this program.
    ///   - hearsErrors: whether `heard` gets the lines of stderr instead of those of stdout; stdout is dropped then.
    ///   - heard: gets each line, and `nil` at the end; called on a separate thread.
    /// - Throws: ``HubExit/system`` if there is no such program.
    package init(
        _ name: String, _ arguments: [String], zone: String? = nil, hearsErrors: Bool = false,
        heard: @escaping @Sendable (String?) -> Void
    ) throws(Failure) {
        let program = HubProgram.beside(name)
        guard FileManager.default.isExecutableFile(atPath: program) else {
            throw Failure(.system, "\(program): it is missing; make build and make demo build it")
        }
        let (child, output) = (Process(), Pipe())
        (child.executableURL, child.arguments) = (URL(filePath: program), arguments)
        if let zone { child.environment = ProcessInfo.processInfo.environment.merging(["TZ": zone]) { $1 } }
        child.standardInput = input
        child.standardOutput = hearsErrors ? FileHandle.nullDevice : output
        if hearsErrors { child.standardError = output }
        // If a plugin inherited this end of the pipe, the program's stdin would stay open after this program ends.
        _ = fcntl(input.fileHandleForWriting.fileDescriptor, F_SETFD, FD_CLOEXEC)
        do { try child.run() } catch {
            throw Failure(.system, "\(program): cannot be started: \(error.localizedDescription)")
        }
        Self.running.withLock { _ = $0.insert(child.processIdentifier) }
        process.withLock { $0 = child }
        let file = output.fileHandleForReading
        Thread { [hasEnded] in
            HelperProcess.read(file, heard)
            heard(nil)
            hasEnded.change { $0 = true }
        }.start()
    }

    private static func read(_ file: FileHandle, _ heard: (String) -> Void) {
        var line: [UInt8] = []
        while case let bytes = file.availableData, !bytes.isEmpty {
            for byte in bytes {
                if byte != UInt8(ascii: "\n") {
                    line.append(byte)
                } else {
                    heard(String(decoding: line, as: UTF8.self))
                    line.removeAll(keepingCapacity: true)
                }
            }
        }
    }

    /// Writes a line to its stdin, as a person would type it; does nothing if the process has ended.
    package func type(_ line: String) { try? input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8)) }

    /// Asks the process to end, with SIGTERM; it may go on for a while.
    package func terminate() {
        process.withLock { if let child = $0 { _ = Glibc.kill(child.processIdentifier, SIGTERM) } }
    }

    /// Ends the process and waits until all of its output is read; kills it if that takes longer than `patience`.
    package func end(patience: Duration = .seconds(3)) async {
        guard let child = process.withLock({ $0.take() }) else { return }
        try? input.fileHandleForWriting.close()
        await hasEnded.wait(upTo: patience) { $0 }
        if child.isRunning { _ = Glibc.kill(child.processIdentifier, SIGKILL) }
        _ = try? await blocking { child.waitUntilExit() }
        Self.running.withLock { _ = $0.remove(child.processIdentifier) }
    }

    /// Kills the process, as `kill -9` does.
    package func kill() async {
        process.withLock { if let child = $0 { _ = Glibc.kill(child.processIdentifier, SIGKILL) } }
        await end(patience: .seconds(1))
    }

    /// Kills all running companions at once.
    package static func killAll() {
        running.withLock { for process in $0 { _ = Glibc.kill(process, SIGKILL) } }
    }
}
