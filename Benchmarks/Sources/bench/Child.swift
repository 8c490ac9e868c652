import Foundation

/// A program that runs until it is stopped: the hub, or a broker to compare it with.
final class Child {
    let process = Process()
    private static nonisolated(unsafe) var running: [Process] = []

    /// - Parameter directory: the working directory, which also gets the output in `log`.
    init(_ program: String, _ arguments: [String], in directory: URL) throws {
        let log = directory.appendingPathComponent("log")
        try Data().write(to: log)
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.currentDirectoryURL = directory
        process.standardOutput = try FileHandle(forWritingTo: log)
        process.standardError = process.standardOutput
        process.standardInput = FileHandle.nullDevice
        try process.run()
        Self.running.append(process)
    }

    func stop() {
        process.terminate()
        process.waitUntilExit()
        Self.running.removeAll { $0 === process }
    }

    /// Stops all programs that still run, for an interrupted benchmark.
    static func stopAll() {
        for process in running { process.terminate() }
        for process in running { process.waitUntilExit() }
    }
}

/// An error while measuring, which the row shows as its note.
struct Trouble: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// Runs a program to its end and reads the figures that it prints, one line `NAME VALUE` each.
func figures(_ program: String, _ arguments: [String], upTo seconds: Double = 60) throws -> [String: Double] {
    guard FileManager.default.isExecutableFile(atPath: program) else { throw Trouble("there is no \(program)") }
    let process = Process()
    let (output, errors) = (Pipe(), Pipe())
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    (process.standardOutput, process.standardError) = (output, errors)
    process.standardInput = FileHandle.nullDevice
    try process.run()
    let watchdog = DispatchWorkItem { [process] in kill(process.processIdentifier, SIGKILL) }
    DispatchQueue.global().asyncAfter(deadline: .now() + seconds, execute: watchdog)
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    let complaint = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    watchdog.cancel()
    let name = URL(fileURLWithPath: program).lastPathComponent
    guard process.terminationStatus == 0 else {
        throw Trouble(
            "\(name) failed: \(complaint.isEmpty ? "after \(seconds) s" : complaint.split(separator: "\n").joined(separator: "; "))"
        )
    }
    var figures: [String: Double] = [:]
    for line in text.split(separator: "\n") {
        let words = line.split(separator: " ")
        if words.count == 2, let value = Double(words[1]) { figures[String(words[0])] = value }
    }
    return figures
}

/// Waits until `condition` holds, because a server needs time to bind.
func wait(upTo seconds: Double, for what: String, _ condition: () -> Bool) throws {
    let end = Date(timeIntervalSinceNow: seconds)
    while !condition() {
        guard Date() < end else { throw Trouble("\(what) did not start within \(seconds) s") }
        usleep(2_000)
    }
}
