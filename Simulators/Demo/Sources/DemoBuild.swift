import Foundation
import HubClient

/// The programs for the page and for Exist, which `make demo` builds while the month passes.
///
/// A file reports the progress: `built NAME` for each finished program; its last line contains the progress, `done`, or `failed` with the
/// reason.
struct DemoBuild: Sendable {
    let path: String

    private var lines: [Substring] {
        ((try? String(contentsOfFile: path, encoding: .utf8)) ?? "").split(separator: "\n")
    }

    /// Returns when a program is built.
    ///
    /// - Returns: false after an `interruption`, or if it cannot be built.
    func wait(for program: String, _ interruption: Interruption) async -> Bool {
        while !interruption.isOver {
            let lines = lines
            if lines.contains("built \(program)") { return true }
            if lines.last?.hasPrefix("failed") == true || lines.last == "done" { return false }
            // Another program writes the file.
            do { try await Task.sleep(for: .milliseconds(200)) } catch { return false }
        }
        return false
    }

    /// Returns when all programs are built; reports the progress meanwhile.
    ///
    /// - Returns: false after an `interruption`.
    /// - Throws: ``HubExit/system`` if they cannot be built.
    func wait(_ story: DemoStory, _ interruption: Interruption) async throws -> Bool {
        var told = ""
        while !interruption.isOver {
            let line = lines.last { !$0.hasPrefix("built ") }.map(String.init) ?? ""
            if line == "done" { return true }
            if line.hasPrefix("failed") { throw Failure(.system, "Exist's part cannot be shown: \(line)") }
            if line != told { await story.pass(line) }
            told = line
            // Another program writes the file.
            try await Task.sleep(for: .milliseconds(200))
        }
        return false
    }
}
