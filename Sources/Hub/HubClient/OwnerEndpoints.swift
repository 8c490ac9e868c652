import Foundation

/// The addresses that the owner of the data connects to.
package struct OwnerEndpoints: Hashable, Sendable {
    package let door: String
    package let feed: String

    package init(door: String, feed: String) { (self.door, self.feed) = (door, feed) }

    /// - Parameter run: the run directory.
    package init(run: String) { self.init(door: "ipc://\(run)/door", feed: "ipc://\(run)/feed") }

    /// Two lines for `eval` in any POSIX shell.
    package var exports: String {
        "export HUB_DOOR=\(OwnerEndpoints.quoted(door))\nexport HUB_FEED=\(OwnerEndpoints.quoted(feed))"
    }

    /// Quotes a word for a POSIX shell.
    package static func quoted(_ word: String) -> String {
        let plain = word.utf8.allSatisfy {
            switch $0 {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: "/:._-+@%".utf8.contains($0)
            }
        }
        return plain && !word.isEmpty ? word : "'" + word.replacingOccurrences(of: "'", with: "'\\''") + "'"
    }
}
