import GRDB
import HubWire
import Samples

/// Limits on an instance's streams, sources and words, which cost more than a row because every reader looks them up.
///
/// The usual limits are several times the amounts of a household with all its devices in ten years. A factor in `hub.conf` raises them.
public struct InstanceLimits: Hashable, Sendable {
    /// Maximum number of streams: one for each type, person and plugin of samples, and each type, person and series of days.
    public var streams: Int64
    /// Maximum number of sources: combinations of plugin, device and account.
    public var sources: Int64
    /// Maximum number of words that are stored once, such as types, units, zones and methods.
    ///
    /// A long word counts once for every 256 bytes.
    public var words: Int64
    /// Maximum bytes of members unknown to the protocol, in all versions of all records.
    public var extraBytes: Int64
    /// Maximum number of superseded versions of one record.
    public var versions: Int64
    /// Maximum number of samples of one plugin in one group.
    public var groupSamples: Int64

    /// The usual limits, multiplied by a factor.
    public init(factor: Int64 = 1) {
        streams = 2_000 * factor
        sources = 4_000 * factor
        words = 50_000 * factor
        extraBytes = 1_073_741_824 * factor
        versions = 10_000 * factor
        groupSamples = 1_000 * factor
    }

    /// No limits, for manual changes.
    static let none: InstanceLimits = {
        var limits = InstanceLimits()
        (limits.streams, limits.sources, limits.words) = (.max, .max, .max)
        (limits.extraBytes, limits.versions, limits.groupSamples) = (.max, .max, .max)
        return limits
    }()

    /// One of the limits, for the rejection of a record that exceeds it.
    enum Name: String {
        case streams = "streams (a type, person and series each)"
        case sources = "sources (a device and account each)"
        case words = "words (types, units, zones, methods; a long one counts for every 256 bytes)"
        case extraBytes = "bytes of members that the protocol does not know"
        case versions = "versions of this record"
        case groupSamples = "samples in this group"
    }
}

/// The amounts that an instance has used of ``InstanceLimits``, counted since version 10 of the file format.
public struct InstanceUsage: Hashable, Sendable {
    public var streams: Int64 = 0
    public var sources: Int64 = 0
    public var words: Int64 = 0
    public var extraBytes: Int64 = 0
}

extension RecordRejection {
    /// A record would exceed a limit of its instance; nothing of it has been stored.
    init(reached name: InstanceLimits.Name, _ limit: Int64) {
        self.init(
            .limit,
            "\(name.rawValue): this instance has made \(limit), its limit; if that is intended, set limit_factor in its [plugin.…] of hub.conf"
        )
    }
}

/// The remaining allowance of the current batch.
struct BatchAllowance {
    var limits = InstanceLimits.none
    var used = InstanceUsage()

    func check(_ name: InstanceLimits.Name, _ count: Int64, _ limit: Int64) throws(RecordRejection) {
        if count > limit { throw RecordRejection(reached: name, limit) }
    }

    mutating func addSource() throws(RecordRejection) {
        try check(.sources, used.sources + 1, limits.sources)
        used.sources += 1
    }

    mutating func addWord(_ text: String) throws(RecordRejection) {
        let cost = Int64(text.utf8.count / 256 + 1)
        try check(.words, used.words + cost, limits.words)
        used.words += cost
    }

    /// Why a version with these members, which are unknown to the protocol, may not be stored; `nil` if it may.
    func refusal(of extra: JSONObject?) -> RecordRejection? {
        guard let extra, used.extraBytes + Int64(extra.text.utf8.count) > limits.extraBytes else { return nil }
        return RecordRejection(reached: .extraBytes, limits.extraBytes)
    }

    mutating func charge(_ extra: JSONObject?) {
        if let extra { used.extraBytes += Int64(extra.text.utf8.count) }
    }

    /// Why a record may not get another version from its source; `nil` if it may.
    func refusalOfVersion(_ number: Int64, in db: Database) throws -> RecordRejection? {
        guard limits.versions != .max, try VersionCount.of(number, in: db) >= limits.versions else { return nil }
        return RecordRejection(reached: .versions, limits.versions)
    }

    /// The limit that is closest to being reached.
    var nearest: RecordRejection {
        let shares: [(InstanceLimits.Name, Int64, Int64)] = [
            (.streams, used.streams, limits.streams), (.sources, used.sources, limits.sources),
            (.words, used.words, limits.words), (.extraBytes, used.extraBytes, limits.extraBytes),
        ]
        let most = shares.max { Double($0.1) / Double(max($0.2, 1)) < Double($1.1) / Double(max($1.2, 1)) }
        return RecordRejection(reached: most?.0 ?? .streams, most?.2 ?? limits.streams)
    }

    /// Whether a batch with this many records could reach one of the limits that are counted over all records.
    func isNear(_ records: Int) -> Bool {
        let records = Int64(records)
        // No frame has more bytes of words and members than this.
        return used.streams + records > limits.streams || used.sources + records > limits.sources
            || used.words + 16 * records + 8_192 > limits.words || used.extraBytes + 2_097_152 > limits.extraBytes
    }
}
