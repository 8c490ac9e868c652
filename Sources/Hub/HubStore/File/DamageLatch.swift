import Glibc
import Platform
import Samples
import Synchronization

/// Stops all confirmations after damage until a person decides.
///
/// The damage found is stored beside the store in `<store>.damage`.
///
/// Undamaged data can still be read. A restore removes the file. `hub doctor --deep --fix` also removes it after it has read the whole store and
/// found no damage.
final class DamageLatch: Sendable {
    static func path(of store: String) -> String { store + ".damage" }

    private let store: String
    private struct Found {
        /// The first damage found.
        var reason: String
        /// Whether the file contains it too.
        ///
        /// If the file is missing later, a person removed it.
        var isWritten = true
    }
    private let found: Mutex<Found?>

    init(_ store: String) throws(StoreError) {
        self.store = store
        found = Mutex(try DamageLatch.read(of: store).map { Found(reason: $0) })
    }

    var reason: String? { found.withLock { $0?.reason } }

    /// Records damage, also across restarts.
    ///
    /// Other errors are ignored.
    func note(_ error: StoreError) {
        guard error.code == .corrupt else { return }
        let isFirst = found.withLock { found in
            defer { found = found ?? Found(reason: error.message, isWritten: false) }
            return found == nil
        }
        guard isFirst else { return }
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        // The clock may be wrong by any number of years, and timestamps cover only some of them.
        let (first, last) = (Timestamp.range.lowerBound / 1_000_000, Timestamp.range.upperBound / 1_000_000)
        let seconds = min(max(Int64(now.tv_sec), first), last)
        let time = Timestamp(microseconds: seconds * 1_000_000, offsetMinutes: 0).text
        // If the disk is full, the copy in memory has to be enough.
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
            "\(verb): nothing is confirmed since damage was found: \(reason). hub doctor --deep reads the whole store; then stop the hub and run hub restore BACKUP (without a backup, hub salvage saves the undamaged records); or, if nothing is damaged, run hub doctor --deep --fix"
        )
    }

    /// The damage found, without its time.
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
