import HealthText
import ArgumentParser
import Foundation
import HubClient
import HubCore
import HubSettings
import HubStore

struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup", abstract: "Copy all records into one file, also while the hub runs.",
        discussion: """
            The copy has all records confirmed at one instant. It is checked from end to
            end before it gets its name, only you can read it, and it replaces no file. In
            a folder (the current one if none is given) its name is its time. The hub goes
            on storing meanwhile; it need not run.

            With a recipient or a passphrase age encrypts it, and no byte of it is written
            to a disk unencrypted. For small copies elsewhere, give the folder to restic;
            Docs/Backups.md has the commands.

            Not included: hub.conf, tokens (secrets.db), keys, and the plugins' own
            states.

            Examples:
              hub backup /media/stick                 hub-20260315T073005Z.sqlite there
              hub backup /media/stick --keep 7        and only the newest 7 stay
              hub backup /media/stick --recipient age1…
              hub backup --list /media/stick
              hub backup before-the-move.sqlite
              hub backup --verify /media/stick/hub-20260315T073005Z.sqlite

            Exit codes: 0 the backup is made and sound; 1 it is not sound, nothing was
            kept; 64 there is such a file, or no such folder, or it would lie in the hub's
            own folder, or age is missing; 71 the disk is full or cannot be written.
            """)

    @Argument(help: "A folder, or a file ….sqlite that does not exist; with --verify the backup.") var path: String?
    @Option(help: ArgumentHelp("Remove this hub's backups in the folder, all but the newest n.", valueName: "n"))
    var keep: Int?
    @Option(help: ArgumentHelp("Encrypt it for this public key of age, or of ssh; may be repeated.", valueName: "key"))
    var recipient: [String] = []
    @Option(help: ArgumentHelp("Encrypt it for the public keys in this file; may be repeated.", valueName: "file"))
    var recipientsFile: [String] = []
    @Flag(help: "Encrypt it with a passphrase, which age asks for at the terminal.") var passphrase = false
    @Flag(help: "Make no backup; list those of the folder.") var list = false
    @Flag(help: "Make no backup; check this one from end to end.") var verify = false
    @Option(
        help: ArgumentHelp("With --verify: the private key of an encrypted one; may be repeated.", valueName: "file"))
    var identity: [String] = []
    @Flag(help: "One JSON document.") var json = false
    @OptionGroup var options: ConfigurationOptions

    func validate() throws {
        if let keep, !(1...10_000).contains(keep) { throw ValidationError("--keep takes a number from 1 to 10000.") }
        if verify, path == nil { throw ValidationError("--verify needs the backup's path.") }
        let makes = keep != nil || isEncrypted
        if verify, makes {
            throw ValidationError("--verify makes no backup: it goes with a path and --identity alone.")
        }
        if list, makes || verify { throw ValidationError("--list makes no backup: it goes with a folder alone.") }
        if !identity.isEmpty, !verify {
            throw ValidationError("--identity goes with --verify; a backup is made without it.")
        }
        if passphrase, !recipient.isEmpty || !recipientsFile.isEmpty {
            throw ValidationError("--passphrase and recipients exclude each other.")
        }
    }

    private var isEncrypted: Bool { passphrase || !recipient.isEmpty || !recipientsFile.isEmpty }

    func run() async throws {
        let hub = try options.configuration().hub
        let store = StoreFile(HubFiles(hub).store)
        if verify, let path { return try await check(path, HubFiles(hub)) }
        if list { return try show(try BackupFolder(path ?? ".")) }
        let files = try BackupFiles(path, data: hub.data, now: Date())
        if keep != nil || isEncrypted, files.folder == nil {
            let option = keep != nil ? "--keep" : "an encrypted backup"
            throw Failure(.usage, "\(option) needs a folder: \(files.target) would be a single file")
        }
        let report = try await back(up: store, to: files)
        if json { return try Output.json(try JSON.line(report)) }
        try Output.print(
            ["\(report.file)  \(StoreText.summary(report.store))"] + report.removed.map { "removed \($0)" })
        Terminal.say(BackupReport.missing)
    }

    /// Makes a copy that every program with SQLite can read, or an encrypted one, and removes old ones.
    private func back(up store: StoreFile, to files: BackupFiles) async throws -> BackupReport {
        let target = files.target + (isEncrypted ? Age.suffix : "")
        let recipients: Age.Recipients? =
            passphrase ? .passphrase : isEncrypted ? .keys(recipient, files: recipientsFile) : nil
        let interruption = Interruption { unlink(target + ".part") }
        let made = try await BackupCommand.storing("copying", until: interruption) { progress in
            guard let recipients else { return try store.backUp(to: target, progress: progress) }
            return try store.backUp(
                to: target, through: { (file) throws(StoreError) in try Age.seal(recipients, into: file) },
                progress: progress)
        }
        guard let keep, let folder = try files.folder.map(BackupFolder.init) else {
            return BackupReport(file: target, store: made, removed: [])
        }
        let removed = try folder.rotate(keeping: keep, after: made, target, of: store.path)
        let increments = folder.increments(of: made.hub)
        if !increments.isEmpty {
            Terminal.say(
                "\(folder.path) has \(NumberText.count(Int64(increments.count), "increment")) of an earlier version, up to \(increments[increments.count - 1]): --keep leaves them and the backups before them; Docs/Backups.md says how to remove them"
            )
        }
        return BackupReport(file: target, store: made, removed: removed)
    }

    private func show(_ folder: BackupFolder) throws {
        if json { return try Output.json(try JSON.line(folder.backups)) }
        for backup in folder.backups { try Output.print(backup.line) }
        if folder.backups.isEmpty { Terminal.say("there are no backups of a hub in \(folder.path)") }
    }

    private func check(_ path: String, _ files: HubFiles) async throws {
        let identities = identity
        let summary = try await BackupCommand.storing {
            let copy = try BackupCopy(of: path, beside: files.store, as: "verifying") { (path) throws(StoreError) in
                try Age.open(path, identities)
            }
            let summary = try copy.file.summary()
            if let fault = try copy.file.faults(.counters).first {
                throw Failure(.unhealthy, "\(path): it is damaged (\(fault)); take another backup")
            }
            return summary
        }
        if json { return try Output.json(try JSON.line(BackupReport(file: path, store: summary, removed: []))) }
        try Output.print("\(path)  sound: \(StoreText.summary(summary))")
    }

    /// Runs a blocking body on a separate thread and maps its errors to those of this program.
    static func storing<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        do { return try await blocking(body) } catch let error as StoreError { throw StoreText.failure(error) }
    }

    /// The same with a progress bar; the work ends when a signal has come.
    static func storing<Value: Sendable>(
        _ title: String, until interruption: Interruption,
        _ body: @escaping @Sendable (_ progress: @escaping (CopyProgress) -> Bool) throws -> Value
    ) async throws -> Value {
        try await storing {
            let bar = ProgressBar(title)
            return try body { step in
                bar.update(step.done, of: step.total)
                return !interruption.isOver
            }
        }
    }
}

/// The document of `hub backup --json`.
struct BackupReport: Encodable {
    let file: String
    let store: StoreSummary
    /// Names of older backups that rotation removed.
    let removed: [String]
    let withoutSecrets = true

    static let missing =
        "not in it: hub.conf, tokens (secrets.db), keys and the plugins' own states; keep copies of the first three elsewhere"
}
