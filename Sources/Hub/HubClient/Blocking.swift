package import Foundation

/// Runs a blocking call on a separate thread, so that it does not occupy a thread of the shared pool.
package func blocking<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread { continuation.resume(with: Result(catching: body)) }.start()
    }
}

extension Process {
    /// A program that reads and prints nothing; a name without a slash is searched in the PATH.
    package static func silent(_ program: String, _ arguments: [String]) -> Process {
        let process = Process()
        let isPath = program.contains("/")
        process.executableURL = URL(filePath: isPath ? program : "/usr/bin/env")
        process.arguments = (isPath ? [] : [program]) + arguments
        (process.standardInput, process.standardOutput) = (FileHandle.nullDevice, FileHandle.nullDevice)
        process.standardError = FileHandle.nullDevice
        return process
    }
}
