import Foundation
import Glibc
import Synchronization

/// A program beside this one: told by lines on its stdin, heard by the lines that it writes.
///
/// It ends with this program, whatever becomes of it: it is told to end when its stdin does.
package final class CompanionProcess: Sendable {
    /// The numbers of those that run.
    private static let running = Mutex<Set<pid_t>>([])

    private let process = Mutex<Process?>(nil)
    private let input = Pipe()
    /// Whether all that it has said is read.
    private let hasEnded = Watched(false)

    /// Starts it.
    ///
    /// - Parameters:
    ///   - name: of the program, which is in the folder of this one.
    ///   - zone: where it believes to be; as this program where it is `nil`.
    ///   - hearsErrors: whether the lines of its stderr are heard, not those of its stdout, which are dropped then.
    ///   - heard: gets each line, and `nil` at its end; on a thread of its own.
    /// - Throws: ``HubExit/system`` when there is no such program.
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
        // Were a plugin to inherit this end, the program's stdin would not end with this one.
        _ = fcntl(input.fileHandleForWriting.fileDescriptor, F_SETFD, FD_CLOEXEC)
        do { try child.run() } catch {
            throw Failure(.system, "\(program): cannot be started: \(error.localizedDescription)")
        }
        Self.running.withLock { _ = $0.insert(child.processIdentifier) }
        process.withLock { $0 = child }
        let file = output.fileHandleForReading
        Thread { [hasEnded] in
            CompanionProcess.read(file, heard)
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

    /// Types a line, as a person would; one that has ended hears nothing.
    package func type(_ line: String) { try? input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8)) }

    /// Ends it and waits until all it has said is read; kills it when that takes longer than `patience`.
    package func end(patience: Duration = .seconds(3)) async {
        guard let child = process.withLock({ $0.take() }) else { return }
        try? input.fileHandleForWriting.close()
        await hasEnded.wait(upTo: patience) { $0 }
        if child.isRunning { _ = Glibc.kill(child.processIdentifier, SIGKILL) }
        _ = try? await blocking { child.waitUntilExit() }
        Self.running.withLock { _ = $0.remove(child.processIdentifier) }
    }

    /// Ends it as `kill -9` does.
    package func kill() async {
        process.withLock { if let child = $0 { _ = Glibc.kill(child.processIdentifier, SIGKILL) } }
        await end(patience: .seconds(1))
    }

    /// Kills all that run, at once.
    package static func killAll() {
        running.withLock { for process in $0 { _ = Glibc.kill(process, SIGKILL) } }
    }
}
