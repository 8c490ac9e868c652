import Foundation
import HealthText
import HubClient
import HubCore
import HubStore
import HubWire

/// A test restore of a backup into a temporary folder, done as a real one would be; nothing of it stays.
struct Rehearsal: Sendable {
    let files: HubFiles
    /// The backup, or a folder whose newest backup is used; by default the newest known one.
    let backup: String?
    let identities: [String]

    /// The result.
    struct Report: Encodable {
        let backup: String
        let store: StoreSummary
        /// The versions and records that the present store has and the backup lacks; absent if that is not known.
        var lostVersions, lostRecords: Int64?
        let seconds: Double
        /// The maximum disk space that it took, in addition to the backup.
        let bytes: Int64
    }

    private var folder: String { files.data + "/rehearsal" }
    private var store: String { folder + "/hub.sqlite" }

    func run(_ progress: @escaping @Sendable (CopyProgress) -> Bool) async -> (Finding, Report?) {
        do {
            let path = try newest()
            let report = try await carryOut(path, progress)
            return (finding(report), report)
        } catch let failure as Failure {
            return (Rehearsal.error(failure.message), nil)
        } catch let error as StoreError {
            return (Rehearsal.error(error.message), nil)
        } catch {
            return (Rehearsal.error("\(error)"), nil)
        }
    }

    private static func error(_ text: String) -> Finding {
        Finding(.error, "backup", text, repair: "hub backup FOLDER, then hub doctor --rehearse")
    }

    /// The backup that would be restored now.
    private func newest() throws(Failure) -> String {
        var isFolder: ObjCBool = false
        if let backup {
            guard FileManager.default.fileExists(atPath: backup, isDirectory: &isFolder) else {
                throw Failure(.usage, "\(backup): there is no such backup")
            }
            guard isFolder.boolValue else { return backup }
            let live = try? StoreFile(files.store).summary()
            guard let newest = try BackupFolder(backup).newest(of: live?.hub, epoch: live?.epoch) else {
                throw Failure(.notWell, "\(backup): there is no backup of this hub in it that can be restored")
            }
            return "\(backup)/\(newest.name)"
        }
        let last: String?
        do throws(StoreError) { last = try KnownBackup.newest(of: files.store) } catch {
            throw Failure(.notWell, "\(error.message); name a backup: --backup FILE")
        }
        guard let last else {
            throw Failure(
                .notWell,
                "this hub knows of no backup that is still where hub backup has put it; name one: --backup FILE")
        }
        return last
    }

    private func carryOut(_ path: String, _ progress: @escaping @Sendable (CopyProgress) -> Bool) async throws -> Report
    {
        let began = ContinuousClock.now
        do throws(HubError) { try files.prepare() } catch { throw Failure(.system, error.message) }
        // Allow one rehearsal at a time, and remove files that a killed one left.
        let turn = try StoreFile(store).rehearsal()
        defer { turn.end() }
        let (store, identities) = (self.store, self.identities)
        let (plan, outcome) = try await blocking {
            let plan = try StoreRestore(of: path, to: store) { (path) throws(StoreError) in
                try Age.open(path, identities)
            } progress: {
                progress($0)
            }
            return (plan, try plan.carryOut(keepingAs: "replaced", progress: progress))
        }
        // Check it as the hub does: migrate it, compare its end, count every account.
        let opened = try await blocking { try Store(path: store, now: HubClock.system.now()) }
        let discrepancies = try await opened.verifyAccounts()
        let isWhole = opened.epoch == outcome.epoch && opened.head == plan.backup.head && opened.loss == nil
        try await blocking { try opened.close() }
        let faults = try await blocking { try StoreFile(store).faults(.counters) } + discrepancies
        guard faults.isEmpty, isWhole else {
            throw Failure(
                .notWell,
                "\(path): restored and opened, it is not sound: \(faults.first ?? "it has another head than the backup")"
            )
        }
        let bytes = turn.size
        let live = try? StoreFile(files.store).summary()
        let isSame = live.map { $0.hub == plan.backup.hub && $0.epoch == plan.backup.epoch } ?? false
        return Report(
            backup: path, store: plan.backup,
            lostVersions: isSame ? live.map { max(0, $0.head - plan.backup.head) } : nil,
            lostRecords: isSame ? try StoreFile(files.store).recordCount(after: plan.backup.head) : nil,
            seconds: ((ContinuousClock.now - began) / .milliseconds(1)).rounded() / 1_000, bytes: bytes)
    }

    private func finding(_ report: Report) -> Finding {
        let what =
            "\(report.backup): restored, opened and sound: \(StoreText.summary(report.store)); took "
            + "\(NumberText.shortest(report.seconds)) s and \(NumberText.bytes(report.bytes))"
        guard let versions = report.lostVersions, let records = report.lostRecords else {
            return Finding(
                .warning, "backup",
                what + "; how much would be lost is unknown: the backup has no common past with the present store",
                repair: "hub backup FOLDER")
        }
        let loss =
            versions == 0
            ? "nothing would be lost"
            : "\(NumberText.count(versions, "version")) would be lost, among them \(NumberText.count(records, "record")) whole"
        return Finding(.good, "backup", "\(what); \(loss)")
    }
}
