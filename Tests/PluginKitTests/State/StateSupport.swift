import Foundation
import HubProcess
import PluginKit

extension TemporaryFolder {
    /// The directory of the state, which `PluginState` creates.
    var state: String { path + "/state" }
}

/// Starts the helper program that is built with the tests.
func tortureProcess(_ mode: String, _ directory: String) throws -> (Process, output: FileHandle, input: FileHandle) {
    let tests = URL(filePath: try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
    let folder = tests.deletingLastPathComponent()
    let process = Process()
    let (output, input) = (Pipe(), Pipe())
    process.executableURL = folder.appending(path: "spool-torture")
    process.arguments = [mode, directory]
    process.standardOutput = output
    process.standardInput = input
    try process.run()
    return (process, output.fileHandleForReading, input.fileHandleForWriting)
}

extension SpoolCounters {
    /// Whether the counters balance, computed here without the schema's constraint.
    var isBalanced: Bool { spooled == stored + duplicate + pending + refused + dropped + cleared }
}

/// A record of `count` bytes.
func record(_ count: Int, _ byte: UInt8 = 0x61) -> [UInt8] { Array(repeating: byte, count: count) }

/// The error that `body` throws.
func failure(_ body: () throws -> Void) -> PluginStateError? {
    do {
        try body()
        return nil
    } catch {
        return error as? PluginStateError
    }
}
