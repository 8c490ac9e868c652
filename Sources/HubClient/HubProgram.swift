import Foundation

/// The program `hub`, and those beside it.
package enum HubProgram {
    /// What `hub --version` and HELLO say.
    package static let version = "0.1.0"

    /// The path of this process's program, in whose folder the others are.
    package static var path: String {
        if let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") { return path }
        return Bundle.main.executablePath ?? CommandLine.arguments[0]
    }

    /// The path of a program beside this one.
    package static func beside(_ name: String) -> String {
        URL(filePath: path).deletingLastPathComponent().appending(path: name).path
    }
}
