import Foundation
package import HubCore
import HubWire
import Platform

/// Installs packs into the folder of installed programs, removes them, and goes back to the former pack.
package struct ProgramInstaller: Sendable {
    package typealias Account = InstalledPrograms.Account
    package let programs: InstalledPrograms
    private let lock: FileLock

    /// Takes the lock for changes to the installed programs; if another process holds it, the error names that process.
    ///
    /// - Parameter data: the data folder of `[hub]`; created if it is missing.
    package init(data: String) throws {
        programs = InstalledPrograms(data: data)
        var status = stat()
        // Files that root writes for another user would be unreadable for the hub, or readable for everybody.
        if stat(data, &status) == 0, status.st_uid != geteuid() {
            throw PluginError("\(data) belongs to another user: install as that user, who also runs the hub")
        }
        try Folder.make(programs.folder)
        do throws(FileLock.LockError) { lock = try FileLock("\(programs.folder)/.lock") } catch {
            switch error {
            case .held(let holder):
                throw PluginError("\(holder) is installing or removing a plugin: try again after it")
            case .refused(let error): throw error
            }
        }
        // Drafts of an installer that was killed.
        for name in try Folder.names(in: programs.folder) where name.hasPrefix(Self.draft) {
            try? FileManager.default.removeItem(atPath: "\(programs.folder)/\(name)")
        }
    }

    private static let draft = ".new-"

    /// Unpacks it beside the installed one, asks its program for its manifest, and only then replaces the installed one.
    ///
    /// - Parameter downgrade: whether it may be older than the installed one.
    /// - Returns: the pack that was installed before.
    @discardableResult
    package func install(
        _ pack: PackReader, signer: String?, downgrade: Bool = false, inquiry: ManifestInquiry
    ) async throws -> Account.Installed? {
        let (index, kind) = (pack.index, pack.index.name)
        var account = try programs.account(of: kind) ?? Account()
        try Self.refuseOlder(index, account.current, downgrade: downgrade)
        let installed = Account.Installed(
            folder: "\(index.version)-\(pack.sha256.prefix(8))", version: index.version, sha256: pack.sha256,
            signer: signer)
        let draft = "\(programs.folder)/\(Self.draft)\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: draft) }
        try Folder.make(draft)
        try pack.unpack(to: draft)
        chmod(draft, 0o755)
        let manifest = try await inquiry.manifest(of: "\(draft)/\(index.program)")
        guard manifest == index.manifest else {
            throw PluginError(
                "its program's manifest differs from the pack's (\(Self.differences(index.manifest, manifest))): nothing was installed"
            )
        }
        try Folder.make(programs.folder(of: kind))
        let place = programs.folder(of: installed, kind: kind)
        let isThere = account.current?.folder == installed.folder
        // The same pack again: replace its files, because they may have been changed.
        if isThere {
            try FileManager.default.moveItem(atPath: place, toPath: draft + ".old")
        } else {
            try? FileManager.default.removeItem(atPath: place)
        }
        guard rename(draft, place) == 0 else { throw FileError("make the folder", place) }
        try Folder.flush(of: place)
        try? FileManager.default.removeItem(atPath: draft + ".old")
        let before = account.current
        if !isThere, before != nil { account.former = before }
        account.current = installed
        try programs.write(account, of: kind)
        try removeOthers(account, of: kind)
        return before
    }

    /// Refuses an older pack unless a person asks for it: it may have faults that the newer one fixes.
    package static func refuseOlder(
        _ index: PackIndex, _ current: Account.Installed?, downgrade: Bool
    ) throws(PluginError) {
        guard !downgrade, let current, PackIndex.isVersion(index.version, before: current.version) else { return }
        throw PluginError(
            "its version \(index.version) is older than the installed \(current.version); add --downgrade to install it"
        )
    }

    private static func differences(_ pack: Manifest, _ program: Manifest) -> String {
        var names: [String] = []
        func compare(_ name: String, _ isEqual: Bool) { if !isEqual { names.append(name) } }
        compare("name", pack.name == program.name)
        compare("version", pack.version == program.version)
        compare("reads", pack.reads == program.reads)
        compare("writes", pack.writes == program.writes)
        compare("reaches", pack.reaches == program.reaches)
        compare("owner", pack.owner == program.owner)
        compare("settings", pack.settings == program.settings)
        compare("commands", pack.commands == program.commands)
        return names.isEmpty ? "other members" : names.joined(separator: ", ")
    }

    /// Removes the packs that are neither current nor former.
    private func removeOthers(_ account: Account, of kind: String) throws {
        let known = [account.current, account.former].compactMap { $0?.folder }
        let folder = programs.folder(of: kind)
        for name in try Folder.names(in: folder) where !known.contains(name) {
            var status = stat()
            guard lstat("\(folder)/\(name)", &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { continue }
            try FileManager.default.removeItem(atPath: "\(folder)/\(name)")
        }
    }

    /// Uninstalls a program; its files stay, so that a person can go back to it.
    package func remove(_ kind: String) throws -> Account.Installed {
        guard var account = try programs.account(of: kind), let current = account.current else {
            throw PluginError("\(kind) is not installed")
        }
        (account.current, account.former) = (nil, current)
        try programs.write(account, of: kind)
        try removeOthers(account, of: kind)
        return current
    }

    /// Restores the state before the last change; a second call reverts the first.
    ///
    /// - Returns: the pack that is installed now.
    package func goBack(_ kind: String) throws -> Account.Installed {
        guard var account = try programs.account(of: kind), let former = account.former else {
            throw PluginError("there is no former pack of \(kind) to go back to")
        }
        (account.current, account.former) = (former, account.current)
        try programs.write(account, of: kind)
        return former
    }
}
