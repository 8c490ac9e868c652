import JSON
import Samples

/// Builds a record from its members.
extension RecordDecoder {
    /// Reads the record at the scanner's position.
    ///
    /// - Parameter payload: set to the index of the payload frame with the bytes that the record was made from.
    mutating func record(
        _ scanner: inout JSONScanner, payloadFrames: Int, payload: inout Int?
    ) throws(JSONSyntaxError) -> Result<Record, RecordRejection> {
        try scan.fill(from: &scanner, memory)
        do throws(RecordRejection) {
            guard scan.size <= RecordDecoder.maximumRecordBytes else {
                throw RecordRejection(
                    .size, "the record has \(scan.size) bytes; at most \(RecordDecoder.maximumRecordBytes) are allowed")
            }
            try scan.refuseUnreadable()
            payload = try self.payload(of: payloadFrames)
            return .success(try build())
        } catch {
            payload = nil
            return .failure(RecordRejection(error.code, error.reason, group: scan.legibleGroup))
        }
    }

    private mutating func build() throws(RecordRejection) -> Record {
        try refuse(.reserved)
        switch try scan.text(.kind, .kind) {
        case "day": return .day(try day())
        case "retraction": return .retraction(try retraction())
        case let kind?:
            guard let kind = SampleKind(rawValue: kind) else {
                throw RecordRejection(
                    .kind,
                    "kind: expected one of quantity, category, correlation, workout, characteristic, other, day, retraction"
                )
            }
            return .sample(try sample(kind))
        case nil: return .sample(try sample(nil))
        }
    }

    private mutating func sample(_ sent: SampleKind?) throws(RecordRejection) -> Sample {
        try refuse(RecordMembers(.person))
        let type = try type()
        let kind = try validation.kind(sent: sent, of: type.id, type.entry)
        let start = try scan.required(
            try scan.time(.start), .start, .time, expected: "RFC 3339 with an offset, such as 2024-03-15T07:30:05+01:00"
        )
        let end = try scan.time(.end) ?? start
        guard end.microseconds >= start.microseconds else { throw RecordRejection(.time, "end: is before start") }
        let metadata = try metadata()
        let identity = try identity(in: metadata, of: type.id)
        let part = SamplePart(kind, type.id)
        let sample = Sample(
            source: try source(), key: identity.key, type: type.id, value: try value(kind, type.entry), start: start,
            end: end,
            zone: try scan.name(.zone, .time), subject: try scan.subject(),
            group: try scan.name(.group, .group, maximum: RecordKey.maximumBytes), provenance: try scan.provenance(),
            metadata: metadata, sourceVersion: identity.version, origin: try scan.origin(),
            extra: try scan.extra(known: .sample, isBounded: part?.isLarge != true))
        guard part != nil else { return sample }
        do throws(PartError) { try sample.checkParts(validation.registry) } catch {
            throw RecordRejection(RecordRejection.Code(received: error.kind.rawValue), error.description)
        }
        return sample
    }

    /// The key and the source's version; HealthKit's sync identifier and version take their place if the metadata has them (R6.72).
    private mutating func identity(
        in metadata: JSONObject?, of type: TypeID
    ) throws(RecordRejection) -> (key: RecordKey, version: Int64?) {
        var sync: (identifier: String, version: Int64)?
        if judgesMetadata, !memory.isPlain(metadata, of: type) {
            do throws(KnownMetadata.InvalidMetadata) { sync = try KnownMetadata(metadata, of: type).sync } catch {
                throw RecordRejection(.metadata, error.description)
            }
            if sync == nil { memory.remember(plain: metadata, of: type) }
        }
        let (key, version) = (try scan.key(), try scan.integer(.sourceVersion, .key))
        guard let sync else {
            return (
                try scan.required(key, .key, .key, expected: "1 to \(RecordKey.maximumBytes) bytes of text"), version
            )
        }
        guard let identifier = RecordKey(sync.identifier) else {
            throw RecordRejection(
                .key,
                "metadata.syncIdentifier: is the record's key, so expected 1 to \(RecordKey.maximumBytes) bytes without control and bidirectional characters, found \(sync.identifier.utf8.count)"
            )
        }
        guard key == nil || key == identifier, version == nil || version == sync.version else {
            throw RecordRejection(
                .key,
                "key, sourceVersion: metadata.syncIdentifier and metadata.syncVersion say them; leave them out, or send the same"
            )
        }
        return (identifier, sync.version)
    }

    private func value(_ kind: SampleKind, _ type: HealthType?) throws(RecordRejection) -> SampleValue {
        if kind != .quantity, scan.members.contains(.unit) {
            throw RecordRejection(.unit, "unit: only a quantity has a unit, not a \(kind)")
        }
        if kind == .quantity || kind == .correlation || kind == .other, scan.members.contains(.raw) {
            throw RecordRejection(.value, "raw: a \(kind) has no number of an enumeration")
        }
        switch kind {
        case .quantity:
            return .quantity(
                try scan.required(try scan.number(.value), .value, .value, expected: "a number"),
                unit: try unit(of: type))
        case .category:
            let (name, raw) = try validation.category(name: try scan.text(.value, .value), raw: try raw(), type)
            return .category(name: name, raw: raw)
        case .workout:
            let (name, raw) = try validation.workout(name: try scan.text(.value, .value), raw: try raw())
            return .workout(activity: name, raw: raw)
        case .correlation:
            guard !scan.members.contains(.value) else {
                throw RecordRejection(.value, "value: a correlation has none; its members carry the same group")
            }
            return .correlation
        case .characteristic:
            let text = try scan.required(try scan.text(.value, .value), .value, .value, expected: "a string")
            return .characteristic(text, raw: try raw())
        case .other: return .other(try scan.text(.value, .value))
        }
    }

    /// Reads the unit; for any fault, the reason names the expected unit (R6.12).
    private func unit(of type: HealthType?) throws(RecordRejection) -> String {
        var expected: String { type?.unit.map { "\"\($0)\" or a unit of the same dimension" } ?? "a unit" }
        do throws(RecordRejection) {
            return try scan.required(try scan.name(.unit, .unit), .unit, .unit, expected: expected)
        } catch {
            let expected = expected
            guard !error.reason.contains(expected) else { throw error }
            throw RecordRejection(.unit, "\(error.reason); expected \(expected)", group: error.group)
        }
    }

    private func raw() throws(RecordRejection) -> Int64? { try scan.integer(.raw, .value) }

    private mutating func day() throws(RecordRejection) -> DayValue {
        let type = try type()
        guard try validation.kind(sent: .quantity, of: type.id, type.entry) == .quantity else {
            throw RecordRejection(.kind, "type: a day value is of a quantity type")
        }
        guard case .quantity(let value, let unit) = try value(.quantity, type.entry) else {
            throw scan.rejection(.value, .value, expected: "a number")
        }
        let day = try scan.day(source: try source(), type: type.id, value: value, unit: unit)
        guard day.isConsistent else {
            throw RecordRejection(
                .time,
                "observedOn, age: expected both or neither; observedOn is a day before date, and age the days between them"
            )
        }
        return day
    }

    private mutating func retraction() throws(RecordRejection) -> Retraction {
        try refuse(RecordMembers(.by))
        let known: RecordMembers
        let source = try source()
        let identity: RecordIdentity
        if let key = try scan.key() {
            known = RecordMembers([.kind, .source, .key, .reason, .sourceVersion])
            try refuse(RecordMembers(.person))
            identity = .sample(source, key)
        } else {
            known = RecordMembers([.kind, .type, .series, .date, .person, .source, .reason, .sourceVersion])
            guard !scan.members.isDisjoint(with: RecordMembers([.type, .series, .date])) else {
                throw scan.rejection(
                    .key, .key, expected: "the key of a sample, or type, person, series and date of a day")
            }
            identity = try scan.dayIdentity(type: try type().id)
        }
        guard scan.unknown.isEmpty, scan.members.isSubset(of: known) else {
            let names = RecordMember.allCases.filter(known.contains).map(\.name).joined(separator: ", ")
            throw RecordRejection(.json, "a retraction has no other members than \(names)")
        }
        return Retraction(
            identity: identity, source: source, reason: try scan.text(.reason, .json),
            sourceVersion: try scan.integer(.sourceVersion, .key))
    }

    private func refuse(_ reserved: RecordMembers) throws(RecordRejection) {
        guard !scan.members.isDisjoint(with: reserved) else { return }
        let found = RecordMember.allCases.first { reserved.contains($0) && scan.members.contains($0) }
        throw RecordRejection(.reserved, "\(found?.name ?? ""): only the hub writes this member; leave it out")
    }

    private func payload(of frames: Int) throws(RecordRejection) -> Int? {
        guard let index = try scan.integer(.payload, .payload) else { return nil }
        guard index >= 0, index < frames else {
            throw RecordRejection(
                .payload, "payload: expected the index of a payload frame, from 0; the message has \(frames) of them")
        }
        return Int(index)
    }

    private mutating func source() throws(RecordRejection) -> Source {
        guard let value = scan.value(.source) else { return Source(plugin: plugin) }
        let text = UnsafeRawBufferPointer(rebasing: scan.bytes[value.start..<value.end])
        if let known = memory.source.value(of: text) { return known }
        let sent = try scan.source(value)
        guard sent.plugin == nil || sent.plugin == plugin else {
            throw RecordRejection(
                .source, "source.plugin: expected \"\(plugin)\", which is this session's; or leave it out")
        }
        let source = Source(plugin: plugin, device: sent.device, account: sent.account)
        memory.source.remember(source, at: value, in: scan.bytes)
        return source
    }

    private mutating func metadata() throws(RecordRejection) -> JSONObject? {
        guard let value = scan.value(.metadata) else { return nil }
        let text = UnsafeRawBufferPointer(rebasing: scan.bytes[value.start..<value.end])
        if let known = memory.metadata.value(of: text) { return known }
        let metadata = try scan.metadata()
        if let metadata { memory.metadata.remember(metadata, at: value, in: scan.bytes) }
        return metadata
    }

    private mutating func type() throws(RecordRejection) -> (id: TypeID, entry: HealthType?) {
        guard let value = scan.value(.type) else {
            throw scan.rejection(.type, .type, expected: "the id of a type, such as weight")
        }
        let text = UnsafeRawBufferPointer(rebasing: scan.bytes[value.start..<value.end])
        if let known = memory.type.value(of: text) { return known }
        let name = try scan.text(.type, .type) ?? ""
        let found: (id: TypeID, entry: HealthType?)
        if let entry = validation.registry.resolve(name) {
            found = (entry.id, entry)
        } else {
            do throws(TypeError) { found = (try TypeID(name), nil) } catch {
                throw RecordRejection(.type, "type: \(error.reason)")
            }
            guard SampleKind(healthKitIdentifier: name) != nil else {
                let nearest = memory.suggestion(for: name, in: validation.registry)
                throw RecordRejection(
                    .type,
                    "type: \"\(name)\" is neither in the registry nor declared in HELLO"
                        + (nearest.map { "; did you mean \"\($0)\"?" } ?? ""))
            }
        }
        memory.type.remember(found, at: value, in: scan.bytes)
        return found
    }
}

extension RecordScan {
    /// Throws if the whole record is unreadable.
    func refuseUnreadable() throws(RecordRejection) {
        switch fault {
        case .noObject(let kind): throw RecordRejection(.json, "expected an object, found \(kind.description)")
        case .repeated(let name): throw RecordRejection(.json, "\(name): occurs twice")
        case .tooDeep: throw RecordRejection(.json, "nests more than \(RecordScan.maximumDepth) deep")
        case .loneSurrogate:
            throw RecordRejection(.json, "a string escapes half a surrogate pair, which is not Unicode text")
        case nil: return
        }
    }

    /// Builds a day value from a type and value that have been read.
    func day(source: Source, type: TypeID, value: Double, unit: String) throws(RecordRejection) -> DayValue {
        guard case .day(let person, _, let series, let date) = try dayIdentity(type: type) else {
            throw rejection(.key, .series, expected: "a series")
        }
        let age = try integer(.age, .time)
        guard age ?? 0 >= 0 else { throw RecordRejection(.time, "age: expected a number of days from 0") }
        guard let basis = self.value(.basis) else {
            throw rejection(.provenance, .basis, expected: "an array of record numbers and keys")
        }
        return DayValue(
            source: source, person: person, type: type, series: series, date: date, value: value, unit: unit,
            method: try required(try name(.method, .provenance), .method, .provenance, expected: "a string"),
            observedOn: try self.date(.observedOn), age: age.map { Int($0) }, basis: try self.basis(basis, "basis"),
            zone: try name(.zone, .time), metadata: try metadata(), extra: try extra(known: .day))
    }

    /// Person, series and date of a day.
    func dayIdentity(type: TypeID) throws(RecordRejection) -> RecordIdentity {
        .day(
            person: try required(try name(.person, .person), .person, .person, expected: "a person's name"), type: type,
            series: try required(try name(.series, .key), .series, .key, expected: "the name of a series"),
            date: try required(try date(.date), .date, .time, expected: "a day as yyyy-MM-dd"))
    }
}

extension DayValue {
    /// Whether a carried value says from which day, and any other value does not (R6.34).
    fileprivate var isConsistent: Bool {
        guard let observedOn, let age else { return observedOn == nil && age == nil }
        return observedOn < date && date.daysSinceEpoch - observedOn.daysSinceEpoch == age
    }
}
