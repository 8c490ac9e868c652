import HealthText
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
            The copy has all records confirmed at one instant. It is checked from end to
            end before it gets its name, only you can read it, and it replaces no file. In
            a folder (the current one if none is given) its name is its time. The hub goes
            on storing meanwhile; it need not run.

            With a recipient or a passphrase age encrypts it, and no byte of it is written
            to a disk unencrypted. With --incremental only the changes since the newest
            backup there are written; to restore one you need those before it.

            Not included: hub.conf, tokens (secrets.db), keys, and the plugins' own
            states; see Docs/Operating.md.

            Examples:
              hub backup /media/stick                 hub-20260315T073005Z.sqlite there
              hub backup /media/stick --keep 7        and only the newest 7 stay
              hub backup /media/stick --incremental --recipient age1…
              hub backup --list /media/stick
              hub backup before-the-move.sqlite
              hub backup --verify /media/stick/hub-20260315T073005Z.sqlite

            Exit codes: 0 the backup is made and sound; 1 it is not sound, nothing was
            kept; 64 there is such a file, or no such folder, or it would lie in the hub's
            own folder, or age is missing; 71 the disk is full or cannot be written.
            """)

    @Argument(help: "A folder, or a file ….sqlite that does not exist; with --verify the backup.")
    var path: String?
    @Option(
        help: ArgumentHelp(
            "Remove this hub's backups in the folder, all but the newest n and those that these need.", valueName: "n"))
    var keep: Int?
    @Flag(
        help: "Write the changes since the newest backup in the folder; a full backup if none can be continued.")
    var incremental = false
    @Option(help: ArgumentHelp("Encrypt it for this public key of age, or of ssh; may be repeated.", valueName: "key"))
    var recipient: [String] = []
    @Option(help: ArgumentHelp("Encrypt it for the public keys in this file; may be repeated.", valueName: "file"))
    var recipientsFile: [String] = []
    @Flag(help: "Encrypt it with a passphrase, which age asks for at the terminal.")
    var passphrase = false
    @Flag(help: "Make no backup; list those of the folder.")
    var list = false
    @Flag(help: "Make no backup; check this one from end to end.")
    var verify = false
    @Option(
        help: ArgumentHelp("With --verify: the private key of an encrypted one; may be repeated.", valueName: "file"))
    var identity: [String] = []
    @Flag(help: "One JSON document.")
    var json = false
    @OptionGroup var options: ConfigurationOptions

    func validate() throws {
        if let keep, !(1...10_000).contains(keep) { throw ValidationError("--keep takes a number from 1 to 10000.") }
        if verify, path == nil { throw ValidationError("--verify needs the backup's path.") }
        let makes = keep != nil || incremental || isEncrypted
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
        if passphrase, incremental {
            throw ValidationError(
                "--passphrase and --incremental exclude each other: age would ask for each file of the chain. Make a key with age-keygen and say --recipient."
            )
        }
    }

    private var isEncrypted: Bool { passphrase || !recipient.isEmpty || !recipientsFile.isEmpty }

    func run() async throws {
        let hub = try options.configuration().hub
        let store = StoreFile(HubFiles(hub).store)
        if verify, let path { return try await check(path, HubFiles(hub)) }
        if list { return try show(try BackupFolder(path ?? ".")) }
        let files = try BackupFiles(path, data: hub.data, now: Date())
        if keep != nil || incremental || isEncrypted, files.folder == nil {
            let option = keep != nil ? "--keep" : incremental ? "--incremental" : "an encrypted backup"
            throw Failure(.usage, "\(option) needs a folder: \(files.target) would be a single file")
        }
        let report =
            isEncrypted || incremental ? try await pages(of: store, to: files) : try await copy(of: store, to: files)
        if json { return try Output.json(try JSON.line(report)) }
        try Output.print("\(report.file)  \(report.text)")
        for name in report.removed { try Output.print("removed \(name)") }
        Terminal.say(BackupReport.missing)
    }

    /// Makes a copy that every program with SQLite can read.
    private func copy(of store: StoreFile, to files: BackupFiles) async throws -> BackupReport {
        let interruption = Interruption { unlink(files.target + ".part") }
        let summary = try await BackupCommand.storing {
            let bar = ProgressBar("copying")
            return try store.backUp(to: files.target) { step in
                bar.update(step.done, of: step.total)
                return !interruption.isOver
            }
        }
        return BackupReport(
            file: files.target, store: summary, removed: try rotate(files, after: summary, files.target, of: store))
    }

    /// Makes a backup that is encrypted, part of a chain, or both.
    private func pages(of store: StoreFile, to files: BackupFiles) async throws -> BackupReport {
        let recipients: Age.Recipients? =
            passphrase ? .passphrase : isEncrypted ? .keys(recipient, files: recipientsFile) : nil
        let seal = try Age.seal(recipients)
        let (folder, isIncremental) = (files.folder ?? ".", incremental)
        let interruption = Interruption()
        let made = try await BackupCommand.storing {
            let bar = ProgressBar("copying")
            return try store.backUp(into: folder, named: files.stem, seal, isIncremental: isIncremental) { step in
                bar.update(step.done, of: step.total)
                return !interruption.isOver
            }
        }
        return BackupReport(
            file: made.file, store: made.store, removed: try rotate(files, after: made.store, made.file, of: store),
            position: made.position, pages: made.pages, reason: made.reason)
    }

    private func rotate(
        _ files: BackupFiles, after made: StoreSummary, _ file: String, of store: StoreFile
    ) throws(Failure) -> [String] {
        guard let keep, let folder = files.folder else { return [] }
        return try BackupFolder(folder).rotate(keeping: keep, after: made, file, of: store.path)
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
                throw Failure(.notWell, "\(path): it is damaged (\(fault)); take another backup")
            }
            return summary
        }
        if json { return try Output.json(try JSON.line(BackupReport(file: path, store: summary, removed: []))) }
        try Output.print("\(path)  sound: \(StoreText.summary(summary))")
    }

    /// Runs a blocking body on a separate thread and maps its errors to those of this program.
    static func storing<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        do {
            return try await blocking(body)
        } catch let error as StoreError {
            throw StoreText.failure(error)
        }
    }
}

/// The document of `hub backup --json`.
struct BackupReport: Encodable {
    let file: String
    let store: StoreSummary
    /// Names of older backups that rotation removed.
    let removed: [String]
    /// For a backup written as pages: its position in the chain, 0 for a full one; its number of pages; the reason why it is full.
    var position: Int?
    var pages: Int64?
    var reason: String?
    let withoutSecrets = true

    var text: String {
        var text = StoreText.summary(store)
        if let position, position > 0, let pages {
            text += "; \(NumberText.count(pages, "page")) changed, number \(position) after its full backup"
        }
        if let reason { text += "; a full one: \(reason)" }
        return text
    }

    static let missing =
        "not in it: hub.conf, tokens (secrets.db), keys and the plugins' own states; keep copies of the first three elsewhere"

    private enum CodingKeys: String, CodingKey { case file, store, removed, position, pages, reason, withoutSecrets }
}
