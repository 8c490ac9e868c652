package import Files
import FoundationEssentials
import Glibc
import HubSettings
import HubWire

/// The programs that `hub plugin install` has installed, in a folder of the hub's data.
///
/// Each kind has a folder there, in that one folder for each pack that is or was installed, and `installed.json`, which says which
/// of them counts: it is written last, whole, so that a program is there or is not.
package struct InstalledPrograms: Hashable, Sendable {
    /// Absolute; need not be there.
    package let folder: String

    /// - Parameter data: of `[hub]`.
    package init(data: String) { folder = "\(data)/programs" }

    /// What is installed of one kind.
    package struct Account: Codable, Hashable, Sendable {
        /// A pack that is here.
        package struct Installed: Codable, Hashable, Sendable {
            /// The folder below that of the kind.
            package var folder: String
            package var version: String
            /// Of the pack, in small hexadecimal digits.
            package var sha256: String
            /// Whose signature it had, by the number of the key; absent: none that is trusted.
            package var signer: String?

            package init(folder: String, version: String, sha256: String, signer: String?) {
                (self.folder, self.version, self.sha256, self.signer) = (folder, version, sha256, signer)
            }
        }

        /// Absent where it was removed.
        package var current: Installed?
        /// To which one can go back.
        package var former: Installed?

        package init(current: Installed? = nil, former: Installed? = nil) {
            (self.current, self.former) = (current, former)
        }
    }

    private static let account = "installed.json"

    /// The folder of a kind.
    package func folder(of kind: String) -> String { "\(folder)/\(kind)" }

    /// What is installed of a kind; `nil` where nothing is or was.
    ///
    /// - Throws: where the file cannot be read, `EBADMSG` where it is not what was written.
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

    /// Where the files of an installed pack are.
    package func folder(of pack: Account.Installed, kind: String) -> String { "\(folder(of: kind))/\(pack.folder)" }

    /// The path of an installed program.
    ///
    /// - Parameter executable: as `hub.conf` or the kind names it: `hub-KIND`.
    package func program(_ executable: String) -> String? {
        guard executable.hasPrefix("hub-") else { return nil }
        let kind = String(executable.dropFirst("hub-".count))
        guard PeerName.isValid(kind), let current = (try? account(of: kind))?.current else { return nil }
        return "\(folder(of: current, kind: kind))/\(executable)"
    }

    /// The kinds of which something is installed, in order.
    package func kinds() throws(FileError) -> [String] {
        try Folder.names(in: folder).filter { PeerName.isValid($0) && (try? account(of: $0))?.current != nil }.sorted()
    }
}
