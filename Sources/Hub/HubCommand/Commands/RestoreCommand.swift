import ArgumentParser
import Foundation
import HealthText
import HubClient
import HubCore
import HubSettings
import HubStore
import Platform

struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore", abstract: "Put a backup in the place of the store, while the hub is stopped.",
        discussion: """
            The backup is checked from end to end first. Then the command shows how much
            only the store has, and the erased records that the backup brings back, with
            the commands that erase them again. It cannot show these if the store or the
            backup was restored in between. The replaced store stays beside the new one
            as hub.sqlite.replaced-TIME. The restored store has a new epoch: programs that
            follow the hub by a cursor begin again automatically.

            age decrypts an encrypted backup, with the private key of --identity or a
            passphrase that age asks for. An increment of an earlier version is restored
            with the backups before it, which must be in the same folder.

            Sources send only unconfirmed records again: records stored after the backup
            are only in the replaced file; see Docs/Backups.md.

            Examples:
              hub restore hub-20260315T073005Z.sqlite --dry-run
              hub restore hub-20260315T073005Z.sqlite
              hub restore hub-20260315T073005Z.sqlite --yes --json
              hub restore hub-20260315T073005Z.sqlite.age --identity key.txt

            Exit codes: 0 restored; 1 the backup is damaged, of a newer hub or of another
            one, or the answer was no: nothing was changed; 64 there is no such file, or
            --yes is missing without a terminal, or the key or age is; 71 the disk is full
            or cannot be written; 75 the hub runs: stop it first.
            """)

    @Argument(help: "The backup.") var file: String
    @Option(help: ArgumentHelp("The private key of an encrypted backup; may be repeated.", valueName: "file"))
    var identity: [String] = []
    @Flag(help: "Change nothing; show what would be done.") var dryRun = false
    @Flag(help: "Do not ask.") var yes = false
    @Flag(help: "Restore even if the store belongs to another hub than the backup.") var otherHub = false
    @Flag(help: "One JSON document.") var json = false
    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        let hub = try options.configuration().hub
        let files = HubFiles(hub)
        let file = file
        let identities = identity
        guard FileManager.default.fileExists(atPath: file) else {
            throw Failure(.usage, "\(file): there is no such file; name one that hub backup wrote")
        }
        // A backup that SQLite cannot read directly is decrypted and assembled in the store's folder.
        if !StoreRestore.isPlain(file) {
            do throws(HubError) { try files.prepare() } catch { throw Failure(.system, error.message) }
        }
        let interruption = Interruption { unlink(files.store + ".restoring") }
        let plan = try await BackupCommand.storing("reading", until: interruption) { progress in
            do throws(StoreError) {
                return try StoreRestore(
                    of: file, to: files.store, opening: { (path) throws(StoreError) in try Age.open(path, identities) },
                    progress: progress)
            } catch {
                guard error.code == .foreign else { throw error }
                throw StoreError(.foreign, "\(error.message); hub import reads what hub export has written")
            }
        }
        var report = RestoreReport(file: file, target: files.store, plan: plan)
        if let current = plan.current, current.hub != plan.backup.hub, !otherHub {
            throw Failure(
                .unhealthy,
                "\(file) is of hub \(plan.backup.hub), the store \(files.store) of hub \(current.hub); nothing was changed. Say --other-hub if you mean it"
            )
        }
        if dryRun { return try print(report) }
        guard UnixSocket.presence(OwnerEndpoints(hub).door) != .listening else {
            throw Failure(.tryAgain, "the hub runs; stop it first: hub stop, or systemctl --user stop hub")
        }
        try ConsentPrompt.ask("Restore this backup?", about: report.lines, isGiven: yes)
        do throws(HubError) { try files.prepare() } catch { throw Failure(.system, error.message) }
        let suffix = "replaced-" + BackupFiles.name(Date()).dropFirst("hub-".count).dropLast(".sqlite".count)
        report.outcome = try await BackupCommand.storing("restoring", until: interruption) { progress in
            try plan.carryOut(keepingAs: suffix, progress: progress)
        }
        if let list = report.list, let numbers = report.revived?.numbers {
            let text = numbers.map { "\($0)\n" }.joined()
            do throws(FileError) { try PrivateFile.write(Array(text.utf8), to: list, forOwnerOf: files.store) } catch {
                // The restore is done, so report it even though the list failed.
                try print(report)
                throw Failure(.system, "the list of erased records that are back, \(list), was not written: \(error)")
            }
        }
        try print(report)
    }

    private func print(_ report: RestoreReport) throws {
        try Output.print(report.lines, json: json ? try JSON.line(report) : nil)
    }

}

/// The report of `hub restore` before and after.
struct RestoreReport: Encodable {
    let file: String
    let target: String
    let backup: StoreSummary
    let current: StoreSummary?
    /// Versions of records that only the replaced store has; absent if that is not known.
    let lost: Int64?
    /// Erased records that come back because they were erased after the backup; absent if there is no store, or if that is not known.
    let revived: RevivedErasures?
    /// The reason why the store that would be replaced cannot be read.
    let damage: String?
    var outcome: StoreRestore.Outcome?

    init(file: String, target: String, plan: StoreRestore) {
        (self.file, self.target, backup, current) = (file, target, plan.backup, plan.current)
        (lost, revived, damage) = (plan.lost, plan.revived, plan.damage?.message)
    }

    var lines: [String] {
        var lines = ["backup   \(file)  \(StoreText.summary(backup))"]
        if let current {
            lines.append("store    \(target)  \(StoreText.summary(current))")
        } else {
            lines.append("store    \(target)  \(damage ?? "none yet")")
        }
        lines.append("lost     " + loss)
        lines += erasures
        guard let outcome else { return lines }
        lines.append(
            "restored. Programs that follow the hub begin again by themselves (epoch \(outcome.epoch)). Start the hub: hub run"
        )
        if let replaced = outcome.replaced {
            lines.append("the replaced store is kept as \(replaced); delete it once you need nothing of it")
        }
        return lines
    }

    /// Maximum number of record numbers in the text; a longer list is written to a file.
    private static let named = 20

    /// The file for the numbers of erased records that come back, one a line.
    var list: String? {
        guard let revived, revived.records > Self.named, let replaced = outcome?.replaced else { return nil }
        return replaced + ".erased"
    }

    /// The erased records that come back, and how to erase them again.
    private var erasures: [String] {
        guard let revived else {
            return current == nil
                ? [] : ["erased   " + (lost == nil ? unknownLoss : "unknown: that part of the store cannot be read")]
        }
        guard !revived.isEmpty else { return [] }
        var words: [String] = []
        var commands = revived.persons.map { "hub erase --forget \($0)" }
        if revived.records > 0 { words.append(NumberText.count(revived.records, "record")) }
        words += revived.persons.map { "the name \($0)" }
        if let list {
            let left = revived.records - Int64(revived.numbers.count)
            commands.append(
                "xargs -n 1000 hub erase --yes < \(list)" + (left > 0 ? ", and \(NumberText.grouped(left)) more" : ""))
        } else if revived.records > Self.named {
            commands.append(
                "hub erase with the numbers, which the restore writes into a file beside the replaced store")
        } else if revived.records > 0 {
            commands.append("hub erase \(revived.numbers.map { "\($0)" }.joined(separator: " "))")
        }
        return ["erased   since this backup, and back with it: \(words.joined(separator: ", "))"]
            + commands.map { "         to erase it again once the hub runs: \($0)" }
    }

    private var unknownLoss: String {
        "unknown: the store \(damage == nil ? "and the backup have no common past" : "cannot be read")"
    }

    private var loss: String {
        switch lost {
        case 0: return "nothing: the store has nothing that the backup lacks"
        case let count?:
            let since = backup.newest.map { ", stored after \(LocalTime.text($0))" } ?? ""
            return
                "\(NumberText.count(count, "version")) of records, sequence \(NumberText.grouped(backup.head + 1)) to \(NumberText.grouped(backup.head + count))\(since)"
        case nil: return unknownLoss
        }
    }
}
