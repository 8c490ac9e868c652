import Foundation
import HubClient

/// The programs of Exist's part, which `make demo` builds while the month passes.
///
/// A file tells: its last line says how far that is, `done`, or `failed` and why.
struct DemoBuild: Sendable {
    let path: String

    /// Returns when they are there; tells meanwhile how far it is.
    ///
    /// - Returns: false when `interruption` came before.
    /// - Throws: ``HubExit/system`` when they cannot be built.
    func wait(_ story: DemoStory, _ interruption: Interruption) async throws -> Bool {
        var told = ""
        while !interruption.isOver {
            let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
            let line = text.split(separator: "\n").last.map(String.init) ?? ""
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
