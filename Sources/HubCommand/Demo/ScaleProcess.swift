import Foundation
import Synchronization

/// The simulated scale, a process of its own, and what it says it has done.
///
/// It ends with this program, whatever becomes of it: it is told to end when its stdin does.
final class ScaleProcess: Sendable {
    /// What happened so far.
    struct Tally: Hashable {
        /// `tcp://HOST:PORT`; `nil` before it listens.
        var address: String?
        /// Weighings of the transfer that runs or has ended.
        var announced = 0
        /// Weighings of the memory that were handed over.
        var transferred = 0
        /// The keys of weighings since the start.
        var weighed: Set<String> = []
        /// Those of them that were handed over as they happened.
        var acknowledged: Set<String> = []
        /// Everything planned has happened.
        var isDone = false
        var hasEnded = false

        /// Weighings that the hub must hold.
        var handedOver: Int { transferred + acknowledged.count }
        /// Weighings that it may hold: the scale may end before it hears that one was kept.
        var shown: Int { max(transferred, announced) + weighed.union(acknowledged).count }
        /// Whether nothing waits to be handed over.
        var isSettled: Bool { weighed.isSubset(of: acknowledged) && announced == transferred }

        /// Takes in one event; lines of other forms say nothing.
        mutating func note(_ line: String) {
            guard let event = try? JSON.decode([String: String].self, from: line.utf8) else { return }
            switch event["event"] {
            case "listening": address = event["address"]
            // A second transfer is of the same memory, and of what was weighed since.
            case "transferStarted": if announced == 0 { announced = event["count"].flatMap { Int($0) } ?? 0 }
            case "transferFinished": transferred = announced
            case "weighed": if let key = event["key"] { weighed.insert(key) }
            case "weightAcknowledged": if let key = event["key"] { acknowledged.insert(key) }
            case "done": isDone = true
            default: break
            }
        }
    }

    private let process = Mutex<Process?>(nil)
    private let state = Mutex(Tally())
    private let input = Pipe()
    private let changed = DispatchSemaphore(value: 0)

    /// Starts it and waits until it listens.
    /// - Throws: ``HubExit/system`` when there is no such program, or it ends.
    init(memory: Int, play: Int, every: String, seed: UInt64) throws(Failure) {
        let folder = URL(filePath: Program.path).deletingLastPathComponent()
        let program = folder.appending(path: "hub-scale-sim")
        guard FileManager.default.isExecutableFile(atPath: program.path) else {
            throw Failure(.system, "\(program.path): the simulated scale is missing; swift build makes it")
        }
        let (child, output) = (Process(), Pipe())
        child.executableURL = program
        child.arguments = [
            "hs3", "--listen", "tcp://127.0.0.1:0", "--json", "--memory", String(memory), "--play", String(play),
            "--every", every, "--seed", String(seed), "--until-eof",
        ]
        (child.standardInput, child.standardOutput) = (input, output)
        // Were a plugin to inherit this end, the scale's stdin would not end with this program.
        _ = fcntl(input.fileHandleForWriting.fileDescriptor, F_SETFD, FD_CLOEXEC)
        do { try child.run() } catch {
            throw Failure(.system, "\(program.path): cannot be started: \(error.localizedDescription)")
        }
        process.withLock { $0 = child }
        let file = output.fileHandleForReading
        Thread { [self] in read(file) }.start()
        while tally.address == nil {
            guard !tally.hasEnded, changed.wait(timeout: .now() + 10) == .success else {
                end()
                throw Failure(.system, "\(program.path): the simulated scale did not begin to listen")
            }
        }
    }

    var tally: Tally { state.withLock { $0 } }

    private func read(_ file: FileHandle) {
        var line: [UInt8] = []
        while case let bytes = file.availableData, !bytes.isEmpty {
            for byte in bytes {
                if byte != UInt8(ascii: "\n") {
                    line.append(byte)
                } else {
                    let text = String(decoding: line, as: UTF8.self)
                    state.withLock { $0.note(text) }
                    changed.signal()
                    line.removeAll(keepingCapacity: true)
                }
            }
        }
        state.withLock { $0.hasEnded = true }
        changed.signal()
    }

    /// Ends it and waits until all it has said is read; blocks for at most three seconds.
    func end() {
        guard let child = process.withLock({ $0.take() }) else { return }
        try? input.fileHandleForWriting.close()
        let deadline = DispatchTime.now() + 3
        while !tally.hasEnded, changed.wait(timeout: deadline) == .success {}
        if child.isRunning { kill(child.processIdentifier, SIGKILL) }
        child.waitUntilExit()
    }
}
