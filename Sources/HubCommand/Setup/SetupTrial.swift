import Files
import Foundation
import HubCore
import HubClient
import HubWire

/// A plugin that logs in or connects for real, with settings that no file has yet.
enum SetupTrial {
    static let seconds = 30

    /// - Returns: what its program found.
    static func run(_ plugin: String, _ draft: SetupDraft) async -> Result<String, Failure> {
        var draft = draft
        let checked = await draft.check()
        let trial: PluginTrial
        do throws(HubError) { trial = try PluginTrial(checked, plugin) } catch {
            return .failure(Failure(.notWell, error.message))
        }
        // In memory where the machine has such a place, for there are secrets among the settings.
        let base = ProcessInfo.processInfo.environment["XDG_RUNTIME_DIR"].flatMap { access($0, W_OK) == 0 ? $0 : nil }
        let folder = "\(base ?? "/tmp")/hub-setup-\(UInt64.random(in: 0 ... .max))"
        do throws(FileError) { try Folder.make(folder, withParents: false) } catch {
            return .failure(Failure(.notWell, error.description))
        }
        defer { try? FileManager.default.removeItem(atPath: folder) }
        switch await trial.check(in: folder, patience: .seconds(seconds)) {
        case .success(let text):
            return .success(text.trimmingCharacters(in: .whitespacesAndNewlines))
        case .failure(let silence): return .failure(Failure(.notWell, words(silence.reason)))
        }
    }

    /// What the program said itself, where it did.
    private static func words(_ reason: String) -> String {
        guard let match = reason.firstMatch(of: /, saying "(?:hub-[a-z0-9\-]+: )?(.*)"$/) else { return reason }
        return String(match.1)
    }
}
