import JSON
public import Samples

/// Decodes records from the hub: the client's side of the record codec.
///
/// It trusts the hub's types and units, because a client's older registry may not know them. It keeps unknown members in `extra`. It reuses
/// its memory: make one and keep it. Do not share it between threads.
public struct StoredRecordDecoder {
    private var scan = RecordScan()
    private var memory = DecoderMemory()

    public init() { scan.trustsKeys = true }

    /// Reads the body of a feed message.
    ///
    /// - Throws: a rejection with the reason.
    public mutating func record(_ bytes: UnsafeRawBufferPointer) throws(RecordRejection) -> StoredRecord {
        do throws(JSONSyntaxError) {
            var scanner = try JSONScanner(bytes)
            scanner.skipSpace()
            try scan.fill(from: &scanner, memory)
            try scanner.finish()
        } catch {
            throw RecordRejection(.json, "\(error)")
        }
        return try build()
    }

    private mutating func build() throws(RecordRejection) -> StoredRecord {
        try scan.refuseUnreadable()
        let type = try type()
        var canonical: StoredRecord.CanonicalValue?
        let record: Record
        switch try scan.required(try scan.text(.kind, .kind), .kind, .kind, expected: "a kind") {
        case "day":
            let value: SampleValue
            (value, canonical) = try self.value(.quantity)
            guard case .quantity(let number, let unit) = value else { throw RecordRejection(.value, "value: missing") }
            record = .day(try scan.day(source: try source(), type: type, value: number, unit: unit))
        case "retraction": record = .retraction(try retraction(type))
        case let text:
            guard let kind = SampleKind(rawValue: text) else { throw RecordRejection(.kind, "kind: unknown") }
            let value: SampleValue
            (value, canonical) = try self.value(kind)
            record = .sample(try sample(type, value))
        }
        var stored = StoredRecord(
            record: record, number: try integer(.number), sequence: try integer(.seq), assignment: try assignment(),
            type: type, canonical: canonical, edited: try members(.edited), implausible: try members(.implausible))
        stored.mirrors = try mirrors()
        return stored
    }

    private func mirrors() throws(RecordRejection) -> [Int64] {
        guard let value = scan.value(.mirrors) else { return [] }
        guard value.kind == .array else { throw scan.rejection(.json, .mirrors, expected: "an array of numbers") }
        var numbers: [Int64] = []
        for element in try scan.elements(of: value) {
            let text =
                element.kind == .number ? String(decoding: scan.bytes[element.start..<element.end], as: UTF8.self) : ""
            guard let number = Int64(text) else {
                throw scan.rejection(.json, .mirrors, expected: "an array of numbers")
            }
            numbers.append(number)
        }
        return numbers
    }

    /// Reads names of members; a later hub may send names that this version does not know.
    private func members(_ member: RecordMember) throws(RecordRejection) -> SampleMembers {
        guard let value = scan.value(member) else { return [] }
        guard value.kind == .array else {
            throw scan.rejection(.json, member, expected: "an array of names of members")
        }
        var members: SampleMembers = []
        for element in try scan.elements(of: value) {
            let name = element.kind == .string ? JSONText.string(element, in: scan.bytes) : nil
            if let known = SampleMembers.named.first(where: { "\($0.name)" == name }) { members.insert(known.member) }
        }
        return members
    }

    private mutating func sample(_ type: TypeID, _ value: SampleValue) throws(RecordRejection) -> Sample {
        let start = try scan.required(try scan.time(.start), .start, .time, expected: "a time")
        return Sample(
            source: try source(), key: try scan.required(try scan.key(), .key, .key, expected: "a key"), type: type,
            value: value, start: start, end: try scan.time(.end), zone: try scan.name(.zone, .time),
            subject: try scan.subject(), group: try scan.name(.group, .group), provenance: try scan.provenance(),
            metadata: try scan.metadata(), sourceVersion: try scan.integer(.sourceVersion, .key),
            origin: try scan.origin(),
            // The hub already applied its limits when it received them.
            extra: try scan.extra(known: .sample, isBounded: false))
    }

    private func value(
        _ kind: SampleKind
    ) throws(RecordRejection) -> (SampleValue, StoredRecord.CanonicalValue?) {
        let raw = try scan.integer(.raw, .value)
        switch kind {
        case .quantity:
            let (value, unit) = (try number(.value), try unit())
            guard let original = scan.value(.original) else { return (.quantity(value, unit: unit), nil) }
            let members = try scan.members(of: original, .value, "original", allowed: ["value", "unit"])
            guard let number = members["value"], number.kind == .number,
                let originalUnit = try scan.name(members["unit"], .unit, "original.unit")
            else { throw RecordRejection(.value, "original: expected {value, unit}") }
            return (
                .quantity(try RecordScan.double(number, in: scan.bytes, "original.value"), unit: originalUnit),
                StoredRecord.CanonicalValue(value: value, unit: unit)
            )
        case .category: return (.category(name: try text(.value), raw: try integer(.raw)), nil)
        case .workout: return (.workout(activity: try text(.value), raw: try integer(.raw)), nil)
        case .correlation: return (.correlation, nil)
        case .characteristic: return (.characteristic(try text(.value), raw: raw), nil)
        case .other: return (.other(try scan.text(.value, .value)), nil)
        }
    }

    private mutating func retraction(_ type: TypeID) throws(RecordRejection) -> Retraction {
        let source = try source()
        let by = try scan.required(try scan.text(.by, .json), .by, .json, expected: "source or person")
        guard let author = Retraction.Author(rawValue: by) else {
            throw RecordRejection(.json, "by: expected source or person")
        }
        let identity: RecordIdentity =
            if let key = try scan.key() { .sample(source, key) } else { try scan.dayIdentity(type: type) }
        return Retraction(
            identity: identity, source: source, author: author, reason: try scan.text(.reason, .json),
            sourceVersion: try scan.integer(.sourceVersion, .key))
    }

    private func assignment() throws(RecordRejection) -> Assignment {
        if let reason = try scan.text(.unassigned, .person) { return .nobody(reason: reason) }
        return .person(
            Person(
                uid: try scan.required(
                    try scan.text(.personId, .person), .personId, .person, expected: "a person's uid"),
                name: try scan.required(try scan.text(.person, .person), .person, .person, expected: "a person's name"))
        )
    }

    private func type() throws(RecordRejection) -> TypeID {
        let text = try scan.required(try scan.text(.type, .type), .type, .type, expected: "the id of a type")
        do throws(TypeError) { return try TypeID(text) } catch { throw RecordRejection(.type, "type: \(error.reason)") }
    }

    private mutating func source() throws(RecordRejection) -> Source {
        guard let value = scan.value(.source) else { throw scan.rejection(.source, .source, expected: "an object") }
        let text = UnsafeRawBufferPointer(rebasing: scan.bytes[value.start..<value.end])
        if let known = memory.source.value(of: text) { return known }
        let sent = try scan.source(value)
        guard let plugin = sent.plugin else { throw RecordRejection(.source, "source.plugin: missing") }
        let source = Source(plugin: plugin, device: sent.device, account: sent.account)
        memory.source.remember(source, at: value, in: scan.bytes)
        return source
    }

    private func number(_ member: RecordMember) throws(RecordRejection) -> Double {
        try scan.required(try scan.number(member), member, .value, expected: "a number")
    }

    private func integer(_ member: RecordMember) throws(RecordRejection) -> Int64 {
        try scan.required(try scan.integer(member, .value), member, .value, expected: "an integer")
    }

    private func text(_ member: RecordMember) throws(RecordRejection) -> String {
        try scan.required(try scan.text(member, .value), member, .value, expected: "a string")
    }

    private func unit() throws(RecordRejection) -> String {
        try scan.required(try scan.name(.unit, .unit), .unit, .unit, expected: "a unit")
    }
}
