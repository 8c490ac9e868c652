import Foundation
import HubClient
import HubCore
import HubWire
import Platform

/// A test in which a plugin logs in or connects for real, with settings that are not written to a file yet.
enum SetupTest {
    static let seconds = 30

    /// - Returns: the program's finding.
    static func run(_ plugin: String, _ draft: SetupDraft) async -> Result<String, Failure> {
        var draft = draft
        let checked = await draft.check()
        let trial: PluginProbe
        do throws(HubError) { trial = try PluginProbe(checked, plugin) } catch {
            return .failure(Failure(.unhealthy, error.message))
        }
        // Use a folder in memory if the machine has one, because the settings contain secrets.
        let base = ProcessInfo.processInfo.environment["XDG_RUNTIME_DIR"].flatMap { access($0, W_OK) == 0 ? $0 : nil }
        let folder = "\(base ?? "/tmp")/hub-setup-\(UInt64.random(in: 0 ... .max))"
        do throws(FileError) { try Folder.make(folder, withParents: false) } catch {
            return .failure(Failure(.unhealthy, error.description))
        }
        defer { try? FileManager.default.removeItem(atPath: folder) }
        switch await trial.check(in: folder, patience: .seconds(seconds)) {
        case .success(let text):
            return .success(text.trimmingCharacters(in: .whitespacesAndNewlines))
        case .failure(let silence): return .failure(Failure(.unhealthy, words(silence.message)))
        }
    }

    /// The program's own words, if the reason contains them.
    private static func words(_ reason: String) -> String {
        guard let match = reason.firstMatch(of: /, saying "(?:hub-[a-z0-9\-]+: )?(.*)"$/) else { return reason }
        return String(match.1)
    }
}
