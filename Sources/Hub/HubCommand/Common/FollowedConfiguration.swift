import Foundation
import HubClient
import HubCore
import HubSettings
import HubWire

/// A change of the `hub.conf` that a running hub follows: written, and applied by the hub.
struct FollowedConfiguration {
    /// The path without symbolic links.
    let path: String
    private(set) var editor: ConfigurationEditor
    private let door: DoorClient
    private let old: String

    /// - Throws: a failure if the hub follows another file, or this one has errors.
    init(_ options: ConfigurationOptions, _ door: DoorClient) throws {
        let report = try door.run(OwnCommands.Apply(), isDryRun: true).result
        let path = URL(filePath: try options.path()).resolvingSymlinksInPath().path
        guard URL(filePath: report.file).resolvingSymlinksInPath().path == path else {
            throw Failure(.usage, "the hub follows \(report.file), not \(path); name it with --config")
        }
        guard report.applied else {
            throw Failure(.badConfiguration, "\(path) has errors; correct them first, hub check lists them")
        }
        (self.path, self.door) = (path, door)
        old = try ConfigurationFile.text(path)
        editor = try ConfigurationFile.editor(old, of: path)
    }

    /// Changes a list in `grants` of a plugin, in memory.
    mutating func setGrants(_ key: String, of plugin: String, to words: [String]) throws(Failure) {
        try editor.edit(path) { try $0.setGrants(key, of: plugin, to: words) }
    }

    /// Writes the file and has the hub apply it; restores the former text if the hub refuses.
    ///
    /// - Returns: the hub's action on each affected instance.
    func write() throws -> [ApplyReport.Step] {
        try ConfigurationFile.replace(old, with: editor.text, in: path)
        do {
            let report = try door.run(OwnCommands.Apply()).result
            if report.applied { return report.instances.filter { $0.action != .leave } }
            throw Failure(
                .badConfiguration, report.problems.first?.description ?? "\(path): the hub does not follow it")
        } catch {
            do throws(Failure) { try ConfigurationFile.replace(editor.text, with: old, in: path) } catch let second {
                throw Failure(
                    second.exit,
                    "\(error); \(path) still has the change, because it cannot be undone: \(second.message)")
            }
            throw error
        }
    }
}
