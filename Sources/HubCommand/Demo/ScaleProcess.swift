import Foundation
import Synchronization

/// A simulated scale, a process of its own, and its diary: what it says has happened to it.
///
/// It ends with this program, whatever becomes of it: it is told to end when its stdin does.
final class ScaleProcess: Sendable {
    /// What the scale was told.
    struct Told: Sendable, Hashable {
        /// As the scale shows it: `62.1`.
        let kilograms: String
        /// The scale's number of the user.
        let user: String?
    }

    /// What happened so far, in the scale's own words.
    struct Diary: Sendable {
        /// `tcp://HOST:PORT`; `nil` before there is one.
        var address: String?
        var weighings: [Told] = []
        /// Weighings that the other side has confirmed.
        var confirmed = 0
        /// Weighings that went into the memory.
        var stored = 0
        /// How often a host has set its clock, which it does whenever it is ready to measure.
        var clockSet = 0
        /// Faults that have befallen it or its link.
        var faults = 0
        /// What it could not do.
        var refused: [String] = []
        var hasEnded = false

        /// Takes in one event; lines of other forms say nothing.
        mutating func note(_ line: String) {
            guard let event = try? JSON.decode([String: String].self, from: line.utf8) else { return }
            switch event["event"] {
            case "listening": address = event["address"]
            case "weighing":
                if let weight = event["kg"] { weighings.append(Told(kilograms: weight, user: event["user"])) }
            case "acknowledged": confirmed += 1
            case "stored": stored += 1
            case "clockSet": clockSet += 1
            case "fault": faults += 1
            case "refused": refused.append(event["text"] ?? "")
            default: break
            }
        }
    }

    let scale: DemoScale
    let diary = Watched(Diary())
    private let process = Mutex<Process?>(nil)
    private let input = Pipe()

    /// Starts it.
    ///
    /// - Parameters:
    ///   - link: where it is reached, as the simulator's option.
    ///   - clock: `START@RATE`, with START its time now.
    /// - Throws: ``HubExit/system`` when there is no such program.
    init(_ scale: DemoScale, link: [String], clock: String, zone: String, more: [String] = []) throws(Failure) {
        self.scale = scale
        let folder = URL(filePath: Program.path).deletingLastPathComponent()
        let program = folder.appending(path: "hub-scale-sim")
        guard FileManager.default.isExecutableFile(atPath: program.path) else {
            throw Failure(.system, "\(program.path): the simulated scale is missing; swift build makes it")
        }
        let (child, output) = (Process(), Pipe())
        child.executableURL = program
        child.arguments =
            [scale.model] + link + ["--json", "--until-eof", "--device-id", scale.device, "--clock", clock] + more
        child.environment = ProcessInfo.processInfo.environment.merging(["TZ": zone]) { $1 }
        (child.standardInput, child.standardOutput) = (input, output)
        // Were a plugin to inherit this end, the scale's stdin would not end with this program.
        _ = fcntl(input.fileHandleForWriting.fileDescriptor, F_SETFD, FD_CLOEXEC)
        do { try child.run() } catch {
            throw Failure(.system, "\(program.path): cannot be started: \(error.localizedDescription)")
        }
        process.withLock { $0 = child }
        let file = output.fileHandleForReading
        Thread { [self] in read(file) }.start()
    }

    /// Where it can be reached.
    ///
    /// - Throws: ``HubExit/system`` when it does not say so.
    func address() async throws -> String {
        await diary.wait(upTo: .seconds(10)) { $0.address != nil || $0.hasEnded }
        guard let address = diary.value.address else {
            throw Failure(.system, "the simulated \(scale.rawValue) did not begin to listen")
        }
        return address
    }

    /// Types a command, as a person would; a scale that has ended hears nothing.
    func type(_ command: String) {
        try? input.fileHandleForWriting.write(contentsOf: Data((command + "\n").utf8))
    }

    /// Has somebody step on, and returns when the scale has noticed.
    func step(on weighing: DemoWeighing, user: String?) async {
        let before = diary.value.weighings.count
        let more = (user.map { " user \($0)" } ?? "") + (weighing.hasShoes ? " shoes" : "")
        type("step on \(weighing.kilograms) \(weighing.time.local)\(more)")
        await diary.wait(upTo: .seconds(5)) { $0.weighings.count > before || $0.hasEnded }
    }

    private func read(_ file: FileHandle) {
        var line: [UInt8] = []
        while case let bytes = file.availableData, !bytes.isEmpty {
            for byte in bytes {
                if byte != UInt8(ascii: "\n") {
                    line.append(byte)
                } else {
                    let text = String(decoding: line, as: UTF8.self)
                    diary.change { $0.note(text) }
                    line.removeAll(keepingCapacity: true)
                }
            }
        }
        diary.change { $0.hasEnded = true }
    }

    /// Ends it and waits until all it has said is read, for at most three seconds.
    func end() async {
        guard let child = process.withLock({ $0.take() }) else { return }
        try? input.fileHandleForWriting.close()
        await diary.wait(upTo: .seconds(3)) { $0.hasEnded }
        if child.isRunning { kill(child.processIdentifier, SIGKILL) }
        _ = try? await blocking { child.waitUntilExit() }
    }
}
