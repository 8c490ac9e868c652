import ScaleProtocols

/// The weighings of one scale that have been given to the hub, so that a memory transfer does not give them again.
///
/// Which version of a weighing wins: the first. Whether its clock was to be trusted is judged when it is first read, and that
/// judgement is remembered with the key. A later transfer, perhaps from a session whose clock was wrong, changes nothing.
/// When the settings that decide how a date is read change (`zone`, `hour_mode`), what is known is given once more, with
/// the old judgement: same identity, other content, so the hub corrects the records in place.
///
/// A weight that came without a time of the scale has the host's, and the scale may keep the same weighing under its own
/// time: see ``twin(of:amongDatedByHost:)``.
///
/// The set is a cache of 4,096 keys, the memory of a scale 200 for each of at most 20 users; what comes again stays the longest. Should a
/// key fall out or the state be lost, the weighing is given again under the same identity, and the hub answers `duplicate`. What no reading
/// would give again (a judgement, the host's time, a twin) falls out after what one would.
struct KnownWeighings: Sendable {
    /// What makes a weighing this one: the scale's undecoded bytes, and on a scale with users whose it is.
    struct Key: Sendable, Hashable {
        var bytes: [UInt8]
        var user: UInt32?
    }

    /// What is remembered of a weighing.
    struct Entry: Sendable, Equatable {
        var key: Key
        /// The judgement that went into its record.
        var isClockSuspect = false
        /// It had no readable date, so no record could be made of it; people have been told.
        var isUndated = false
        /// Settled under the present settings.
        var isSettled = true
        /// When the host read it, in microseconds since 1970, where that is the time of its record.
        var hostTime: Int64?
        /// What the clock showed at a weighing told as it happened, in seconds since 2000: a copy of it may follow.
        var liveWall: Int?
        var tenthsOfKilogram = 0
        /// The body's composition is recorded with it.
        var isComposed = false
        /// In tenths of a kilogram, where it was told.
        var impedanceWeight: Int?
        /// The weighing under whose identity it is recorded, because it is the same one.
        var twin: Key?
        /// Another entry has this one as its twin.
        var isTwin = false

        /// Whether a record made of the reading alone would be another one.
        var isUnique: Bool { liveWall != nil || hostTime != nil || twin != nil || isTwin || isClockSuspect }
    }

    /// An entry and its turn: who was seen later has the higher one.
    struct Row: Sendable {
        var entry: Entry
        var turn: Int64
    }

    /// The settings that decide how a date is read.
    let rule: String
    private(set) var rows: [Key: Row] = [:]
    /// What is not saved yet: keys that have another row than the last one saved, or none any more.
    private(set) var changed: Set<Key> = []
    private var lastTurn: Int64 = 0

    static let limit = 4096

    init(rule: String) { self.rule = rule }

    subscript(key: Key) -> Entry? { rows[key]?.entry }

    /// The key under which a reading is known, or would be.
    ///
    /// A bridge that tells a weighing again need not say whose it is: the same bytes are the same weighing.
    func key(of reading: ScaleReading) -> Key {
        let key = Key(reading)
        guard key.user == nil, rows[key] == nil else { return key }
        return rows.keys.filter { $0.user != nil && $0.bytes == key.bytes }.min { ($0.user ?? 0) < ($1.user ?? 0) }
            ?? key
    }

    /// Puts `entry` in the place of what was known of its key, as the most recent.
    mutating func note(_ entry: Entry) {
        lastTurn += 1
        rows[entry.key] = Row(entry: entry, turn: lastTurn)
        changed.insert(entry.key)
        guard rows.count > Self.limit else { return }
        // Only while there are many such, or nothing new would be remembered any more.
        let plain = rows.values.filter { !$0.entry.isUnique }
        let candidates = plain.count > Self.limit / 2 ? plain : Array(rows.values)
        guard let oldest = candidates.min(by: { $0.turn < $1.turn })?.entry.key else { return }
        rows[oldest] = nil
        changed.insert(oldest)
    }

    /// The weighing came again.
    mutating func touch(_ key: Key) {
        if let row = rows[key], row.turn < lastTurn { note(row.entry) }
    }

    /// All changes are saved.
    mutating func settle() { changed = [] }

    /// Takes what was saved under `oldRule`, to go on under the rule of now.
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

    /// The weighing that `reading`, which is not known, is a copy of.
    ///
    /// A copy has the same weight to the last digit, the same user, and a date from a minute before the host's to five seconds
    /// after it: the scale dates a weighing when a person steps on, the host when the weight is stable, and the host has set the
    /// scale's clock. A person who steps on again is later than that. Each weighing has one copy at most, so a second record of the
    /// same weight is a weighing of its own.
    ///
    /// - Parameter amongDatedByHost: only a weight without composition that has the host's time can be the same weighing, as what is told
    ///   now is not a copy out of the memory.
    func twin(of reading: ScaleReading, amongDatedByHost: Bool = false) -> Entry? {
        guard let wall = reading.time?.secondsSince2000, !reading.isDatedByHost else { return nil }
        func distance(_ entry: Entry) -> Int? {
            guard let host = entry.liveWall, !entry.isTwin, entry.twin == nil,
                entry.tenthsOfKilogram == reading.tenthsOfKilogram, entry.key.user == reading.user,
                (-60...5).contains(wall - host), !amongDatedByHost || entry.hostTime != nil && !entry.isComposed
            else { return nil }
            return abs(wall - host)
        }
        // Of two that are equally near, the earlier one, whichever way they are kept.
        return rows.values.compactMap { row in distance(row.entry).map { (row.entry, $0, row.turn) } }
            .min { ($0.1, $0.2) < ($1.1, $1.2) }?.0
    }
}

extension KnownWeighings.Key {
    init(_ reading: ScaleReading) { self.init(bytes: reading.key, user: reading.user) }

    static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// Hex digits that sort as the bytes do; with users, the user's number after them.
    var text: String {
        guard let user else { return Self.hex(bytes) }
        return Self.hex(bytes) + "-" + Self.hex((0..<4).map { UInt8(truncatingIfNeeded: user >> (24 - 8 * $0)) })
    }
}
