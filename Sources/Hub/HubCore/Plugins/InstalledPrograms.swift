import FoundationEssentials
import Glibc
import HubSettings
import HubWire
package import Platform

/// The programs that `hub plugin install` has installed, in a folder of the hub's data.
///
/// Each kind has a folder there, and in it a folder for each pack that is or was installed, and `installed.json`, which names the
/// current one. It is written last and as a whole, so that a program is installed completely or not at all.
package struct InstalledPrograms: Hashable, Sendable {
    /// Absolute; need not exist.
    package let folder: String

    /// - Parameter data: the data folder of `[hub]`.
    package init(data: String) { folder = "\(data)/programs" }

    /// The installed packs of one kind.
    package struct Account: Codable, Hashable, Sendable {
        /// A pack in the folder.
        package struct Installed: Codable, Hashable, Sendable {
            /// The folder of the pack, below that of the kind.
            package var folder: String
            package var version: String
            /// The digest of the pack, in lower-case hexadecimal digits.
            package var sha256: String
            /// The number of the key that signed it; absent if no trusted key did.
            package var signer: String?

            package init(folder: String, version: String, sha256: String, signer: String?) {
                (self.folder, self.version, self.sha256, self.signer) = (folder, version, sha256, signer)
            }
        }

        /// Absent if it was removed.
        package var current: Installed?
        /// The pack for a rollback.
        package var former: Installed?

        package init(current: Installed? = nil, former: Installed? = nil) {
            (self.current, self.former) = (current, former)
        }
    }

    private static let account = "installed.json"

    /// The folder of a kind.
    package func folder(of kind: String) -> String { "\(folder)/\(kind)" }

    /// The installed packs of a kind; `nil` if there never were any.
    ///
    /// - Throws: an error if the file cannot be read, `EBADMSG` if its contents are invalid.
    package func account(of kind: String) throws(FileError) -> Account? {
        let path = "\(folder(of: kind))/\(Self.account)"
        guard let bytes = try PrivateFile.read(path, upTo: 65_536) else { return nil }
        guard let account = try? JSONDecoder().decode(Account.self, from: Data(bytes)) else {
            throw FileError("read", path, code: EBADMSG)
        }
        return account
    }

    package func write(_ account: Account, of kind: String) throws(FileError) {
        guard let bytes = try? JSONEncoder().encode(account) else { return }
        try PrivateFile.write(Array(bytes), to: "\(folder(of: kind))/\(Self.account)")
    }

    /// The folder of an installed pack's files.
    package func folder(of pack: Account.Installed, kind: String) -> String { "\(folder(of: kind))/\(pack.folder)" }

    /// The path of an installed program.
    ///
    /// - Parameter executable: the name in `hub.conf` or of the kind: `hub-KIND`.
    package func program(_ executable: String) -> String? {
        guard executable.hasPrefix("hub-") else { return nil }
        let kind = String(executable.dropFirst("hub-".count))
        guard PeerName.isValid(kind), let current = (try? account(of: kind))?.current else { return nil }
        return "\(folder(of: current, kind: kind))/\(executable)"
    }

    /// The kinds with an installed pack, sorted.
    package func kinds() throws(FileError) -> [String] {
        try Folder.names(in: folder).filter { PeerName.isValid($0) && (try? account(of: $0))?.current != nil }.sorted()
    }
}
