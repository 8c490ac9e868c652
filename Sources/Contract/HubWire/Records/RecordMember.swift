import Samples

/// A member that this version of the protocol knows in some kind of record (Protocol §6.1, §6.2).
enum RecordMember: UInt8, CaseIterable {
    case kind, type, value, unit, raw, original, start, end, zone, person, personId, unassigned, subject, source, key,
        group
    case provenance, metadata, sourceVersion, origin, extra, number, seq
    case series, date, method, observedOn, age, basis
    case by, reason
    case edited, implausible, mirrors
    case payload

    /// The name on the wire.
    var name: String { "\(self)" }

    /// The member with that name.
    ///
    /// Length and first byte leave one candidate, because this is called a dozen times per record.
    init?(_ name: UnsafeRawBufferPointer) {
        guard let first = name.first, let (member, text) = RecordMember.candidate(length: name.count, first, name),
            UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount).hasSameBytes(as: name)
        else { return nil }
        self = member
    }

    private static func candidate(
        length: Int, _ first: UInt8, _ name: UnsafeRawBufferPointer
    ) -> (RecordMember, StaticString)? {
        switch (length, Unicode.Scalar(first)) {
        case (2, "b"): (.by, "by")
        case (3, "k"): (.key, "key")
        case (3, "e"): (.end, "end")
        case (3, "r"): (.raw, "raw")
        case (3, "s"): (.seq, "seq")
        case (3, "a"): (.age, "age")
        case (4, "t"): (.type, "type")
        case (4, "u"): (.unit, "unit")
        case (4, "k"): (.kind, "kind")
        case (4, "z"): (.zone, "zone")
        case (4, "d"): (.date, "date")
        case (5, "v"): (.value, "value")
        case (5, "s"): (.start, "start")
        case (5, "g"): (.group, "group")
        case (5, "e"): (.extra, "extra")
        case (5, "b"): (.basis, "basis")
        case (6, "s"): name[1] == UInt8(ascii: "o") ? (.source, "source") : (.series, "series")
        case (6, "p"): (.person, "person")
        case (6, "o"): (.origin, "origin")
        case (6, "n"): (.number, "number")
        case (6, "m"): (.method, "method")
        case (6, "r"): (.reason, "reason")
        case (6, "e"): (.edited, "edited")
        case (7, "s"): (.subject, "subject")
        case (7, "p"): (.payload, "payload")
        case (7, "m"): (.mirrors, "mirrors")
        case (8, "m"): (.metadata, "metadata")
        case (8, "o"): (.original, "original")
        case (8, "p"): (.personId, "personId")
        case (10, "p"): (.provenance, "provenance")
        case (10, "u"): (.unassigned, "unassigned")
        case (10, "o"): (.observedOn, "observedOn")
        case (11, "i"): (.implausible, "implausible")
        case (13, "s"): (.sourceVersion, "sourceVersion")
        default: nil
        }
    }
}

/// A set of members, one bit each.
struct RecordMembers: OptionSet {
    let rawValue: UInt64

    init(rawValue: UInt64) { self.rawValue = rawValue }
    init(_ member: RecordMember) { rawValue = 1 << UInt64(member.rawValue) }
    init(_ members: [RecordMember]) { self = members.reduce(into: []) { $0.insert(RecordMembers($1)) } }

    func contains(_ member: RecordMember) -> Bool { rawValue >> UInt64(member.rawValue) & 1 == 1 }

    /// Members that only the hub writes, in any kind of record.
    static let reserved = RecordMembers([
        .original, .personId, .unassigned, .edited, .implausible, .mirrors, .number, .seq,
    ])

    /// The members of a sample; any other member is an extra one.
    static let sample = RecordMembers([
        .kind, .type, .value, .unit, .raw, .original, .start, .end, .zone, .person, .personId, .unassigned, .subject,
        .source, .key, .group, .provenance, .metadata, .sourceVersion, .origin, .edited, .implausible, .mirrors, .extra,
        .number, .seq, .payload,
    ])

    /// The members of a day value.
    static let day = RecordMembers([
        .kind, .type, .value, .unit, .original, .series, .date, .method, .observedOn, .age, .basis, .zone, .person,
        .personId, .unassigned, .source, .metadata, .extra, .number, .seq, .payload,
    ])

    /// The members of a retraction.
    static let retraction = RecordMembers([
        .kind, .type, .original, .series, .date, .person, .personId, .unassigned, .source, .key, .by, .reason,
        .sourceVersion, .number, .seq,
    ])
}
