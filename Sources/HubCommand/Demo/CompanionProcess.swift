import Foundation
import Synchronization

/// A program of the demonstration that is neither hub nor plugin: told by lines on its stdin, heard by lines on its stdout.
///
/// It ends with this program, whatever becomes of it: it is told to end when its stdin does.
final class CompanionProcess: Sendable {
    private let process = Mutex<Process?>(nil)
    private let input = Pipe()
    /// Whether all that it has said is read.
    private let hasEnded = Watched(false)

    /// Starts it.
    ///
    /// - Parameters:
    ///   - name: of the program, which stands beside this one.
    ///   - zone: where it believes to be.
    ///   - heard: gets each line, and `nil` at its end; on a thread of its own.
    /// - Throws: ``HubExit/system`` when there is no such program.
    init(
        _ name: String, _ arguments: [String], zone: String, heard: @escaping @Sendable (String?) -> Void
    ) throws(Failure) {
        let program = URL(filePath: Program.path).deletingLastPathComponent().appending(path: name)
        guard FileManager.default.isExecutableFile(atPath: program.path) else {
            throw Failure(.system, "\(program.path): a part of the demonstration is missing; swift build makes it")
        }
        let (child, output) = (Process(), Pipe())
        (child.executableURL, child.arguments) = (program, arguments)
        child.environment = ProcessInfo.processInfo.environment.merging(["TZ": zone]) { $1 }
        (child.standardInput, child.standardOutput) = (input, output)
        // Were a plugin to inherit this end, the program's stdin would not end with this one.
        _ = fcntl(input.fileHandleForWriting.fileDescriptor, F_SETFD, FD_CLOEXEC)
        do { try child.run() } catch {
            throw Failure(.system, "\(program.path): cannot be started: \(error.localizedDescription)")
        }
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
    func type(_ line: String) { try? input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8)) }

    /// Ends it and waits until all it has said is read, for at most three seconds.
    func end() async {
        guard let child = process.withLock({ $0.take() }) else { return }
        try? input.fileHandleForWriting.close()
        await hasEnded.wait(upTo: .seconds(3)) { $0 }
        if child.isRunning { kill(child.processIdentifier, SIGKILL) }
        _ = try? await blocking { child.waitUntilExit() }
    }
}
