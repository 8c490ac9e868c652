import Platform

/// The weighings of one scale that have been given to the hub, so that a memory transfer does not give them again.
///
/// The first version of a weighing wins. The trust in its clock is judged when the weighing is first read, and that judgement is stored with
/// the key. A later transfer, perhaps from a session whose clock was wrong, changes nothing. If the settings that decide how a date is read
/// change (`zone`, `hour_mode`), the known weighings are given again with the old judgement. They have the same identity and other content, so
/// the hub corrects the records in place.
///
/// A weight that came without a time of the scale has the host's time, and the scale may store the same weighing under its own time: see
/// ``twin(of:amongDatedByHost:)``.
///
/// The set is a cache of 4,096 keys; the memory of a scale holds 200 weighings for each of at most 20 users. Recently seen weighings stay
/// longest. If a key is evicted or the state is lost, the weighing is given again under the same identity, and the hub answers `duplicate`.
/// Entries that a reading alone cannot restore (a judgement, the host's time, a twin) are evicted after the others.
struct KnownWeighings: Sendable {
    /// The identity of a weighing: the scale's undecoded bytes and, on a scale with users, the user.
    struct Key: Sendable, Hashable {
        var bytes: [UInt8]
        var user: UInt32?
    }

    /// The stored data of a weighing.
    struct Entry: Sendable, Equatable {
        var key: Key
        /// The judgement that is part of its record.
        var isClockSuspect = false
        /// It had no readable date, so no record could be made of it; people have been notified.
        var isUndated = false
        /// Whether its record was given under the present settings.
        var isSettled = true
        /// When the host read it, in microseconds since 1970, if that is the time of its record.
        var hostTime: Int64?
        /// The clock's time at a live weighing, in seconds since 2000; a copy of it may follow.
        var liveWall: Int?
        var tenthsOfKilogram = 0
        /// Whether the body composition is part of its record.
        var isComposed = false
        /// In tenths of a kilogram, if the scale reported it.
        var impedanceWeight: Int?
        /// The same weighing under another key, whose identity its record has.
        var twin: Key?
        /// Whether another entry has this one as its twin.
        var isTwin = false

        /// Whether a record made from the reading alone would differ.
        var isUnique: Bool { liveWall != nil || hostTime != nil || twin != nil || isTwin || isClockSuspect }
    }

    /// An entry and its turn; a more recently seen entry has a higher turn.
    struct Row: Sendable {
        var entry: Entry
        var turn: Int64
    }

    /// The settings that decide how a date is read.
    let rule: String
    private(set) var rows: [Key: Row] = [:]
    /// Unsaved keys: their rows have changed or been removed since the last save.
    private(set) var changed: Set<Key> = []
    private var lastTurn: Int64 = 0

    static let limit = 4096

    init(rule: String) { self.rule = rule }

    subscript(key: Key) -> Entry? { rows[key]?.entry }

    /// The key under which a reading is known, or would be stored.
    ///
    /// A bridge may repeat a weighing without its user: the same bytes are the same weighing.
    func key(of reading: ScaleReading) -> Key {
        let key = Key(reading)
        guard key.user == nil, rows[key] == nil else { return key }
        return rows.keys.filter { $0.user != nil && $0.bytes == key.bytes }.min { ($0.user ?? 0) < ($1.user ?? 0) }
            ?? key
    }

    /// Stores `entry` as the most recent one and replaces the earlier entry of its key.
    mutating func note(_ entry: Entry) {
        lastTurn += 1
        rows[entry.key] = Row(entry: entry, turn: lastTurn)
        changed.insert(entry.key)
        guard rows.count > Self.limit else { return }
        // Only if there are many of them; otherwise nothing new could be remembered.
        let plain = rows.values.filter { !$0.entry.isUnique }
        let candidates = plain.count > Self.limit / 2 ? plain : Array(rows.values)
        guard let oldest = candidates.min(by: { $0.turn < $1.turn })?.entry.key else { return }
        rows[oldest] = nil
        changed.insert(oldest)
    }

    /// Marks a weighing that came again as the most recent.
    mutating func touch(_ key: Key) {
        if let row = rows[key], row.turn < lastTurn { note(row.entry) }
    }

    /// Clears the set of changes after they have been saved.
    mutating func settle() { changed = [] }

    /// Loads rows that were saved under `oldRule`, and continues under the current rule.
    mutating func take(_ saved: [Row], under oldRule: String?) {
        for var row in saved {
            if row.entry.isSettled, oldRule != rule {
                row.entry.isSettled = false
                changed.insert(row.entry.key)
            }
            rows[row.entry.key] = row
            lastTurn = max(lastTurn, row.turn)
        }
    }

    /// The weighing of which `reading`, which is not known, is a copy.
    ///
    /// A copy has exactly the same weight, the same user, and a date from a minute before the host's to five seconds after it. The scale dates
    /// a weighing when a person steps on, the host when the weight is stable, and the host has set the scale's clock. A person who steps on
    /// again does so later. Each weighing has at most one copy, so a second record of the same weight is another weighing.
    ///
    /// - Parameter amongDatedByHost: considers only weights without composition that have the host's time, because a live reading is not a copy
    ///   from the memory.
    func twin(of reading: ScaleReading, amongDatedByHost: Bool = false) -> Entry? {
        guard let wall = reading.time?.secondsSince2000, !reading.isDatedByHost else { return nil }
        func distance(_ entry: Entry) -> Int? {
            guard let host = entry.liveWall, !entry.isTwin, entry.twin == nil,
                entry.tenthsOfKilogram == reading.tenthsOfKilogram, entry.key.user == reading.user,
                (-60...5).contains(wall - host), !amongDatedByHost || entry.hostTime != nil && !entry.isComposed
            else { return nil }
            return abs(wall - host)
        }
        // Of two equally near ones, the earlier one, in whichever order they are stored.
        return rows.values.compactMap { row in distance(row.entry).map { (row.entry, $0, row.turn) } }
            .min { ($0.1, $0.2) < ($1.1, $1.2) }?.0
    }
}

extension KnownWeighings.Key {
    init(_ reading: ScaleReading) { self.init(bytes: reading.key, user: reading.user) }

    /// Hex digits that sort like the bytes; with users, the user's number after them.
    var text: String {
        guard let user else { return bytes.hexadecimal }
        return bytes.hexadecimal + "-" + user.hexadecimal(digits: 8)
    }
}
