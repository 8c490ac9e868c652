import ArgumentParser
import Foundation
import HubClient
import HubCore
import HubSettings
import HubStore

struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copy all records into one file, also while the hub runs.",
        discussion: """
            The copy is what was confirmed at one instant. It is checked from end to end
            before it gets its name, is readable by you alone, and replaces no file. In a
            folder (the current one if none is given) it is called by its time. The hub
            goes on storing meanwhile, and need not run at all.

            Not in it: hub.conf, tokens (secrets.db), keys, and what plugins keep for
            themselves; see Docs/Operating.md.

            Examples:
              hub backup /media/stick                 hub-20260315T073005Z.sqlite there
              hub backup /media/stick --keep 7        and only the newest 7 stay
              hub backup before-the-move.sqlite
              hub backup --verify /media/stick/hub-20260315T073005Z.sqlite

            Exit codes: 0 the backup is made and sound; 1 it is not sound, nothing was
            kept; 64 there is such a file, or it would lie in the hub's own folder; 71 the
            disk is full or cannot be written.
            """)

    @Argument(help: "A folder, or a file that does not exist; with --verify the backup.")
    var path: String?
    @Option(help: ArgumentHelp("Remove all but the newest n of this hub's backups in the folder.", valueName: "n"))
    var keep: Int?
    @Flag(help: "Make none; check this one from end to end.")
    var verify = false
    @Flag(help: "One JSON document.")
    var json = false
    @OptionGroup var options: ConfigurationOptions

    func validate() throws {
        if let keep, !(1...10_000).contains(keep) { throw ValidationError("--keep takes a number from 1 to 10000.") }
        if verify, path == nil { throw ValidationError("--verify needs the backup's path.") }
        if verify, keep != nil { throw ValidationError("--verify and --keep exclude each other.") }
    }

    func run() async throws {
        if verify, let path { return try await check(path) }
        let hub = try options.configuration().hub
        let files = try BackupFiles(path, data: hub.data, now: Date())
        if keep != nil, files.folder == nil {
            throw Failure(.usage, "--keep needs a folder: \(files.target) would be a single file")
        }
        let interruption = Interruption { unlink(files.target + ".part") }
        let store = StoreFile(HubFiles(hub).store)
        let summary = try await BackupCommand.storing {
            let bar = ProgressBar("copying")
            return try store.backUp(to: files.target) { step in
                bar.update(step.done, of: step.total)
                return !interruption.isOver
            }
        }
        let removed = try keep.map { count throws(Failure) in
            try files.rotate(keeping: count, after: summary)
        }
        let report = BackupReport(file: files.target, store: summary, removed: removed ?? [])
        if json { return try Output.json(try JSON.line(report)) }
        try Output.print("\(files.target)  \(StoreText.summary(summary))")
        for name in report.removed { try Output.print("removed \(name)") }
        Terminal.say(BackupReport.missing)
    }

    private func check(_ path: String) async throws {
        let summary = try await BackupCommand.storing {
            let file = StoreFile(path)
            let summary = try file.summary()
            if let fault = try file.faults(.counters).first {
                throw Failure(.notWell, "\(path): it is damaged (\(fault)); take another backup")
            }
            return summary
        }
        if json { return try Output.json(try JSON.line(BackupReport(file: path, store: summary, removed: []))) }
        try Output.print("\(path)  sound: \(StoreText.summary(summary))")
    }

    /// Runs what blocks on a thread of its own, its failures in this program's terms.
    static func storing<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        do {
            return try await blocking(body)
        } catch let error as StoreError {
            throw StoreText.failure(error)
        }
    }
}

/// What `hub backup --json` says.
struct BackupReport: Encodable {
    let file: String
    let store: StoreSummary
    /// Names of older backups that were removed.
    let removed: [String]
    let withoutSecrets = true

    static let missing =
        "not in it: hub.conf, tokens (secrets.db), keys and the plugins' own states; keep copies of the first three elsewhere"

    private enum CodingKeys: String, CodingKey { case file, store, removed, withoutSecrets }
}
