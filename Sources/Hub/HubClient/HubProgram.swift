import Foundation

/// The program `hub`, and the programs beside it.
package enum HubProgram {
    /// The path of this process's program; the other programs are in the same folder.
    package static var path: String {
        if let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") { return path }
        return Bundle.main.executablePath ?? CommandLine.arguments[0]
    }

    /// The path of a program beside this one.
    package static func beside(_ name: String) -> String {
        URL(filePath: path).deletingLastPathComponent().appending(path: name).path
    }
}
