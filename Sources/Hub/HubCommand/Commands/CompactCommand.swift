import ArgumentParser
import Foundation
import HealthText
import HubClient
import HubCore
import HubSettings
import HubStore

struct CompactCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compact", abstract: "Return the store's free space to the disk, while the hub is stopped.",
        discussion: """
            Removed records leave free pages in the store, which new records fill again, so
            this only pays after much was erased. A copy without these pages replaces the
            store, with the same records, sequences and epoch: followers do not notice.
            The copy needs room beside the store. If the command is killed or the disk is
            full, the old store or the new one remains, whole.

            Examples:
              hub compact --dry-run                  how much it would gain, and needs
              hub compact
              hub compact --json

            Exit codes: 0 done; 1 the store is damaged, nothing was changed; 71 the disk is
            full or cannot be written; 75 the hub runs: stop it first.
            """)

    @Flag(help: "Change nothing; show the space it would free. The hub may run.") var dryRun = false
    @OptionGroup var noQuestion: AssumeYesOption
    @Flag(help: "One JSON document: {\"store\",\"bytes\",\"free\",\"needed\",\"after\"}.") var json = false
    @OptionGroup var options: ConfigurationOptions

    private struct Report: Encodable {
        let store: String
        /// The size, the free part of it, and the space that a copy needs.
        let bytes, free, needed: Int64
        /// The size afterwards; absent if nothing was done.
        var after: Int64?

        var lines: [String] {
            let size = "\(store)  \(NumberText.bytes(bytes)), of it \(NumberText.bytes(free)) free"
            guard let after else {
                return [size, "needs up to \(NumberText.bytes(needed)) beside it until it is done"]
            }
            return ["\(size); now \(NumberText.bytes(after))"]
        }
    }

    func run() async throws {
        let hub = try options.configuration().hub
        let files = HubFiles(hub)
        let plan = try await BackupCommand.storing { try StoreCompaction(of: files.store) }
        var report = Report(store: files.store, bytes: plan.store.bytes, free: plan.free, needed: plan.needed)
        if dryRun { return try print(report) }
        guard UnixSocket.presence(OwnerEndpoints(hub).door) != .listening else {
            throw Failure(.tryAgain, "the hub runs; stop it first: hub stop, or systemctl --user stop hub")
        }
        let interruption = Interruption { unlink(files.store + ".compacting") }
        report.after = try await BackupCommand.storing("compacting", until: interruption) { progress in
            try plan.carryOut(progress: progress)
        }
        try print(report)
    }

    private func print(_ report: Report) throws {
        try Output.print(report.lines, json: json ? try JSON.line(report) : nil)
    }
}
