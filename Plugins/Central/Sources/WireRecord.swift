import Foundation
import JSON
import Platform
import PluginKit

/// A record in the form of the centre's `take_v2` (Docs/Central.md).
struct WireRecord: Hashable, Sendable {
    /// Identifies the record among all records of this hub: 128 bits.
    let identity: UUID
    let sequence: Int64
    /// The values for the centre's arrays, in PostgreSQL's text form.
    private var values: [String?]

    /// The array parameters of `take_v2`, by their names.
    enum Column: Int, CaseIterable {
        /// Identity, sequence, kind, number, person, type, start, end, offset, flags, value, word, body.
        case i, s, k, n, p, t, a, e, o, f, v, w, b
    }

    /// - Parameter kind: the centre's letter for the kind of record.
    init(identity: UUID, sequence: Int64, kind: String) {
        (self.identity, self.sequence) = (identity, sequence)
        values = Array(repeating: nil, count: Column.allCases.count)
        (self[.i], self[.s], self[.k]) = (identity.uuidString.lowercased(), "\(sequence)", kind)
    }

    fileprivate(set) subscript(column: Column) -> String? {
        get { values[column.rawValue] }
        set { values[column.rawValue] = newValue }
    }

    /// Whether it marks the record as retracted or erased.
    var isTakenBack: Bool { ["r", "x"].contains(self[.k]) }

    /// The record's part of the digest of a range.
    var digest: Int64 {
        let text = "\(identity.uuidString.lowercased()) \(sequence)"
        let bytes = Digests.sha256(text.utf8)
        return Int64(bitPattern: bytes.prefix(8).reduce(0 as UInt64) { $0 << 8 | UInt64($1) })
    }
}

/// The decision about a record under a consent.
enum ConsentDecision: Hashable, Sendable {
    case goes(WireRecord)
    /// The record stays in the hub, for this reason.
    case stays(String)
}

extension WireRecord {
    /// Decides which form of a record goes to the centre.
    ///
    /// - Parameters:
    ///   - stored: a record of the consent's person and of one of its types.
    ///   - consent: determines the days.
    static func passage(of stored: StoredRecord, under consent: Consent) -> ConsentDecision {
        switch stored.record {
        case .retraction(let retraction):
            if hasNoName(retraction) { return .stays(erased) }
            return .goes(wire(stored, isErased(stored) ? "x" : "r"))
        case .sample(let sample):
            guard consent.covers(sample.start.localDate) else { return outside(stored, consent) }
            return .goes(wire(stored, sample))
        case .day(let day):
            guard consent.covers(day.date) else { return outside(stored, consent) }
            return .goes(wire(stored, day))
        }
    }

    /// Whether a record is the rest of one that was erased in the hub.
    static func isErased(_ stored: StoredRecord) -> Bool {
        guard case .retraction(let retraction) = stored.record else { return false }
        return hasNoName(retraction) || retraction.author == .person && retraction.reason == "erased"
    }

    /// For an erasure that no sink receives, the hub keeps only an internal name.
    private static func hasNoName(_ retraction: Retraction) -> Bool {
        switch retraction.identity {
        case .sample(_, let key): key.text.hasPrefix("~erased-")
        case .day(_, _, _, let date): date.year < 1_000
        }
    }

    private static let erased = "it was erased, and the centre never had it under this name"

    /// The centre may have an earlier version with another day, so retract that.
    private static func outside(_ stored: StoredRecord, _ consent: Consent) -> ConsentDecision {
        guard stored.number == stored.sequence else { return .goes(wire(stored, "r")) }
        return .stays("not agreed to: \(consent.study) gets records from \(consent.days)")
    }

    private static func wire(_ stored: StoredRecord, _ kind: String) -> WireRecord {
        var record = WireRecord(identity: identity(of: stored), sequence: stored.sequence, kind: kind)
        // By this number the hub names the record after an erasure.
        if stored.number != stored.sequence { record[.n] = "\(stored.number)" }
        return record
    }

    private static func wire(_ stored: StoredRecord, _ sample: Sample) -> WireRecord {
        var (kind, value, word): (String, Double?, String?) = ("", nil, nil)
        var body = BodyMembers(source: sample.source)
        switch sample.value {
        case .quantity(let number, let unit):
            (kind, value) = ("q", stored.canonical?.value ?? number)
            body.quantity(number, unit, stored)
        case .category(let name, let raw):
            (kind, word) = ("c", name)
            body.add("raw", .number("\(raw)"))
        case .correlation: kind = "o"
        case .workout(let activity, let raw):
            (kind, word) = ("w", activity)
            body.add("raw", .number("\(raw)"))
        case .characteristic(let text, let raw):
            (kind, word) = ("h", text)
            body.add("raw", raw.map { .number("\($0)") })
        case .other(let text): (kind, word) = ("t", text)
        }
        body.add(sample, stored)
        var flags = stored.edited.isEmpty ? 0 : 1
        switch sample.provenance {
        case .measured: break
        case .derived: flags |= 2
        case .filled: flags |= 4
        }
        if !stored.implausible.isDisjoint(with: [.start, .end]) { flags |= 8 }
        var record = wire(stored, kind)
        record.say(stored, start: sample.start, offset: sample.start.offsetMinutes, value, flags, body)
        if sample.end.microseconds != sample.start.microseconds { record[.e] = instant(sample.end) }
        record[.w] = word
        return record
    }

    private static func wire(_ stored: StoredRecord, _ day: DayValue) -> WireRecord {
        var body = BodyMembers(source: day.source)
        body.quantity(day.value, day.unit, stored)
        body.add("series", .text(day.series))
        body.add("method", .text(day.method))
        body.add("observedOn", day.observedOn.map { .text($0.text) })
        body.add("age", day.age.map { .number("\($0)") })
        body.add("zone", day.zone.map(JSONTree.text))
        let start = Timestamp(microseconds: Int64(day.date.daysSinceEpoch) * 86_400_000_000)
        var record = wire(stored, "d")
        let flags = day.observedOn == nil ? 2 : 2 | 4
        record.say(stored, start: start, offset: 0, stored.canonical?.value ?? day.value, flags, body)
        return record
    }

    /// Sets the members that samples and days share.
    private mutating func say(
        _ stored: StoredRecord, start: Timestamp, offset: Int16?, _ value: Double?, _ flags: Int, _ body: BodyMembers
    ) {
        self[.p] = stored.assignment.person?.uid
        self[.t] = stored.type.rawValue
        self[.a] = Self.instant(start)
        self[.o] = offset.map { "\($0)" }
        self[.v] = value.map { NumberWriter.text($0) }
        self[.f] = flags == 0 ? nil : "\(flags)"
        self[.b] = body.tree.json
    }

    private static func instant(_ time: Timestamp) -> String { Timestamp(microseconds: time.microseconds).text }

    /// SHA-256 of the record's identity in the hub, cut to 128 bits; each part follows its length.
    private static func identity(of stored: StoredRecord) -> UUID {
        let parts: [String?] =
            switch stored.record.identity {
            case .sample(let source, let key): ["sample", source.plugin, source.device, source.account, key.text]
            case .day(let person, let type, let series, let date):
                ["day", stored.assignment.person?.uid ?? person, type.rawValue, series, date.text]
            }
        return digest(parts)
    }

    /// The same for other names that only the hub knows, such as a group.
    static func digest(_ parts: [String?]) -> UUID {
        let text = parts.map { part in part.map { "\($0.utf8.count):\($0)" } ?? "-" }.joined(separator: " ")
        let b = Digests.sha256(text.utf8)
        return UUID(
            uuid: (b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15])
        )
    }
}

/// The members beside the centre's columns.
///
/// It has nothing that identifies or locates the person: no device, account, key, subject, note or unknown member.
private struct BodyMembers {
    private var members: [JSONTree.Member]

    init(source: Source) { members = [.init("plugin", .text(source.plugin))] }

    var tree: JSONTree { .object(members) }

    mutating func add(_ name: String, _ value: JSONTree?) {
        if let value { members.append(.init(name, value)) }
    }

    /// Adds the source's value if it differs, and the unit if the type is not a standard one.
    mutating func quantity(_ number: Double, _ unit: String, _ stored: StoredRecord) {
        if stored.canonical != nil {
            add("original", ["value": .number(NumberWriter.text(number)), "unit": .text(unit)])
        }
        if TypeRegistry.standard.type(stored.type) == nil { add("unit", .text(stored.canonical?.unit ?? unit)) }
    }

    mutating func add(_ sample: Sample, _ stored: StoredRecord) {
        switch sample.provenance {
        case .measured: break
        case .derived(let formula, let version, _):
            add("provenance", ["kind": "derived", "formula": .text(formula), "version": .text(version)])
        case .filled(let method, _): add("provenance", ["kind": "filled", "method": .text(method)])
        }
        add("zone", sample.zone.map(JSONTree.text))
        add(
            "group",
            sample.group.map { .text(WireRecord.digest(["group", sample.source.plugin, $0]).uuidString.lowercased()) })
        if let name = sample.partName { add(name, sample.extra.flatMap { JSONTree(Array($0.text.utf8)) }?[name]) }
        add("metadata", Self.metadata(of: sample))
        if !stored.mirrors.isEmpty { add("mirrors", .list(stored.mirrors.map { .number("\($0)") })) }
        if !stored.implausible.isEmpty {
            let names = SampleMembers.named.filter { stored.implausible.contains($0.member) }
            add("implausible", .list(names.map { .text("\($0.name)") }))
        }
    }

    /// Metadata that HealthKit documents as number, truth or enumeration; texts only if the type requires them.
    private static func metadata(of sample: Sample) -> JSONTree? {
        guard let members = sample.metadata.flatMap({ JSONTree(Array($0.text.utf8)) })?.members else { return nil }
        let required = MetadataKey.required(on: sample.type)
        let kept = members.filter { member in
            guard let key = MetadataKey.named(member.name) else { return false }
            return switch key.content {
            case .number, .boolean, .quantity, .enumeration: true
            case .string, .date: required.contains(key)
            }
        }
        return kept.isEmpty ? nil : .object(kept.map { .init(MetadataKey.name(of: $0.name), $0.value) })
    }
}
