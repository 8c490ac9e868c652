import Files
import Glibc
import Samples
import Synchronization

/// After damage nothing is confirmed until a person decides: what was found, kept beside the store in `<store>.damage`.
///
/// What is whole can still be read. The file goes with a restore, and when a person has had all of the store read again
/// and found whole (`hub doctor --deep --fix`).
final class DamageLatch: Sendable {
    static func path(of store: String) -> String { store + ".damage" }

    private let store: String
    private struct Found {
        /// The first thing that was found.
        var reason: String
        /// Whether the file says so too: one that is gone later was removed by a person.
        var isWritten = true
    }
    private let found: Mutex<Found?>

    init(_ store: String) throws(StoreError) {
        self.store = store
        found = Mutex(try DamageLatch.read(of: store).map { Found(reason: $0) })
    }

    var reason: String? { found.withLock { $0?.reason } }

    /// Remembers damage, also over a restart; other errors are none.
    func note(_ error: StoreError) {
        guard error.code == .corrupt else { return }
        let isFirst = found.withLock { found in
            defer { found = found ?? Found(reason: error.message, isWritten: false) }
            return found == nil
        }
        guard isFirst else { return }
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        // A clock may be wrong by any number of years, and only some of them have a text.
        let (first, last) = (Timestamp.range.lowerBound / 1_000_000, Timestamp.range.upperBound / 1_000_000)
        let seconds = min(max(Int64(now.tv_sec), first), last)
        let time = Timestamp(microseconds: seconds * 1_000_000, offsetMinutes: 0).text
        // On a disk that takes nothing any more, what is in memory has to do.
        let text = Array("\(time) \(error.message)\n".utf8)
        guard (try? PrivateFile.write(text, to: DamageLatch.path(of: store))) != nil else { return }
        found.withLock { $0?.isWritten = true }
    }

    /// Throws while there is damage that no person has decided about.
    func refuse(_ verb: String) throws(StoreError) {
        guard let known = found.withLock({ $0 }) else { return }
        guard known.isWritten, try DamageLatch.read(of: store) == nil else {
            throw DamageLatch.refusal(known.reason, verb)
        }
        // A person has decided.
        found.withLock { $0 = nil }
    }

    static func refusal(_ reason: String, _ verb: String) -> StoreError {
        StoreError(
            .corrupt,
            "\(verb): nothing is confirmed since damage was found: \(reason). hub doctor --deep reads all of it; then stop the hub and say hub restore BACKUP (hub salvage takes what is whole without one); or, if all is found whole, hub doctor --deep --fix"
        )
    }

    /// What was found, without its time.
    static func read(of store: String) throws(StoreError) -> String? {
        let bytes = try StoreError.translated { () throws(FileError) in
            try PrivateFile.read(path(of: store), upTo: 1 << 16)
        }
        return bytes.map { bytes in
            let line = String(decoding: bytes, as: UTF8.self).split(separator: "\n").first ?? ""
            return line.split(separator: " ", maxSplits: 1).last.map(String.init) ?? "damage was found"
        }
    }

    static func forget(of store: String) throws(StoreError) {
        try StoreError.translated { () throws(FileError) in _ = try PrivateFile.remove(path(of: store)) }
    }
}
