import PluginKit
import ScaleFrames

/// The weighings of one scale that have been given to the hub, so that a memory transfer does not give them again.
///
/// Which version of a weighing wins: the first. Whether its clock was to be trusted is judged when it is first read, and that
/// judgement is remembered with the key. A later transfer, perhaps from a session whose clock was wrong, changes nothing.
/// When the settings that decide how a date is read change (`zone`, `hour_mode`), what is known is given once more, with
/// the old judgement: same identity, other content, so the hub corrects the records in place.
///
/// The set is a cache of 1,024 keys, the memory of a scale 200; what comes again stays the longest. Should a key fall out or
/// the state be lost, the weighing is given again under the same identity, and the hub answers `duplicate`.
struct KnownWeighings: Sendable, Equatable {
    /// What is remembered of a weighing.
    struct Entry: Sendable, Equatable {
        var key: HS3RecordKey
        /// The judgement that went into its record.
        var isClockSuspect = false
        /// It had no readable date, so no record could be made of it; people have been told.
        var isUndated = false
        /// Settled under the present settings.
        var isSettled = true
    }

    /// The settings that decide how a date is read.
    private(set) var rule: String
    /// The most recently seen last.
    private(set) var entries: [Entry] = []

    static let limit = 1024

    init(rule: String) { self.rule = rule }

    /// Reads what ``bytes`` wrote under ``rule``, to go on under the rule of now.
    init(rule: String, saved: [UInt8], under oldRule: String?) {
        self.rule = rule
        for start in stride(from: 0, through: saved.count - 7, by: 7) {
            guard let record = HS3Record(saved[start..<start + 6]) else { continue }
            let flags = saved[start + 6]
            entries.append(
                Entry(
                    key: record.key, isClockSuspect: flags & 1 != 0, isUndated: flags & 2 != 0,
                    isSettled: flags & 4 != 0 && rule == oldRule))
        }
    }

    /// Seven bytes for each entry: the key and the flags.
    var bytes: [UInt8] {
        entries.flatMap { entry in
            entry.key.bytes
                + [(entry.isClockSuspect ? 1 : 0) | (entry.isUndated ? 2 : 0) | (entry.isSettled ? 4 : 0)]
        }
    }

    subscript(key: HS3RecordKey) -> Entry? { entries.last { $0.key == key } }

    /// Puts `entry` in the place of what was known of its key, as the most recent.
    mutating func note(_ entry: Entry) {
        entries.removeAll { $0.key == entry.key }
        entries.append(entry)
        if entries.count > Self.limit { entries.removeFirst() }
    }

    /// The weighing came again.
    mutating func touch(_ key: HS3RecordKey) {
        if let entry = self[key] { note(entry) }
    }
}
