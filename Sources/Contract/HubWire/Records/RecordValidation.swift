public import Samples

/// Checks records against the type registry only: kind, unit, dimension, names and numbers of enumerations, and impossible values.
///
/// A value type, safe on every thread. It costs one hash look-up, and a conversion if the source uses another unit.
public struct RecordValidation: Sendable {
    /// The types, including declared ones.
    public let registry: TypeRegistry

    public init(registry: TypeRegistry = .standard) { self.registry = registry }

    /// The results of the registry for a record.
    public struct Findings: Hashable, Sendable {
        /// The value in the unit of its type, if the source used another unit.
        ///
        /// `nil` if the value is already canonical, if the record has none, and for a full HealthKit identifier that the registry does not know.
        public var canonical: StoredRecord.CanonicalValue?
        /// The implausible members of a sample.
        public var implausible: SampleMembers = []
    }

    /// Checks `record` and converts its value.
    public func canonical(of record: Record) throws(RecordRejection) -> StoredRecord.CanonicalValue? {
        try findings(of: record, at: 0).canonical
    }

    /// Checks `record`, converts its value, and finds its implausible members.
    ///
    /// - Parameter now: the hub's clock, in microseconds since 1970.
    public func findings(of record: Record, at now: Int64) throws(RecordRejection) -> Findings {
        switch record {
        case .sample(let sample):
            do throws(RecordRejection) { return try findings(of: sample, at: now) } catch {
                throw RecordRejection(error.code, error.reason, group: sample.group)
            }
        case .day(let day):
            let type = registry.type(day.type)
            guard try kind(sent: .quantity, of: day.type, type) == .quantity else {
                throw RecordRejection(.kind, "type: a day value is of a quantity type")
            }
            return Findings(canonical: try canonical(day.value, day.unit, type))
        case .retraction: return Findings()
        }
    }

    private func findings(of sample: Sample, at now: Int64) throws(RecordRejection) -> Findings {
        let type = registry.type(sample.type)
        _ = try kind(sent: sample.value.kind, of: sample.type, type)
        guard Timestamp.range.contains(sample.start.microseconds), Timestamp.range.contains(sample.end.microseconds)
        else {
            throw RecordRejection(.time, "start, end: expected an instant from year 0001 to 9999")
        }
        guard sample.end.microseconds >= sample.start.microseconds else {
            throw RecordRejection(.time, "end: is before start")
        }
        switch sample.value {
        case .quantity(let value, let unit):
            let canonical = try canonical(value, unit, type)
            let number = canonical?.value ?? value
            if let type, let objection = type.limits?.objection(to: number, of: type.id, unit: type.unit ?? "") {
                throw RecordRejection(.value, objection)
            }
            return Findings(
                canonical: canonical,
                implausible: SampleMembers(implausibleOf: sample, canonical: number, type?.limits, at: now))
        case .category(let name, let raw): try agree(try category(name: name, raw: raw, type), name, raw)
        case .workout(let activity, let raw): try agree(try workout(name: activity, raw: raw), activity, raw)
        case .characteristic(let name, let raw):
            if sample.type == .dateOfBirth, name != "notSet" { try beDateOfBirth(name, at: sample.start) }
            if let type, !type.values.isEmpty {
                guard let found = type.value(named: name), raw == nil || found.raw.map(Int64.init) == raw else {
                    throw unknownValue(of: type)
                }
            }
        case .correlation, .other: break
        }
        return Findings(implausible: SampleMembers(implausibleOf: sample, canonical: nil, nil, at: now))
    }

    /// A date of birth is at most one day after the start, for all time zones, and not before 1850: no living person was born earlier.
    private func beDateOfBirth(_ text: String, at start: Timestamp) throws(RecordRejection) {
        let told = LocalDate(daysSinceEpoch: Int((start.microseconds / SampleMembers.ahead) + 1))
        guard let date = LocalDate(text), date.daysSinceEpoch >= -43_829, date <= told else {
            throw RecordRejection(
                .value, "value: a dateOfBirth is a day of the calendar as yyyy-MM-dd, 1850-01-01 to start, or notSet")
        }
    }

    private func agree(_ found: (name: String, raw: Int64), _ name: String, _ raw: Int64) throws(RecordRejection) {
        guard found == (name, raw) else {
            throw RecordRejection(
                .value, "value: expected the type's own spelling, \"\(found.name)\" with raw \(found.raw)")
        }
    }

    private func canonical(
        _ value: Double, _ unit: String, _ type: HealthType?
    ) throws(RecordRejection) -> StoredRecord.CanonicalValue? {
        guard value.isFinite else { throw RecordRejection(.value, "value: expected a finite number") }
        do throws(UnitError) {
            guard let type, let own = type.unit else {
                _ = try HealthUnit(unit)
                return nil
            }
            if unit == own { return nil }
            guard let converted = try type.canonicalValue(value, unit: unit) else { return nil }
            return StoredRecord.CanonicalValue(value: converted, unit: own)
        } catch {
            let expected = type?.unit.map { "; expected \"\($0)\" or a unit of the same dimension" } ?? ""
            throw RecordRejection(error.code == .valueOutOfRange ? .value : .unit, "\(error)\(expected)")
        }
    }
}

extension RecordValidation {
    /// The kind of a sample of type `id`, if its source sent the kind `sent` or none.
    func kind(sent: SampleKind?, of id: TypeID, _ type: HealthType?) throws(RecordRejection) -> SampleKind {
        if let type {
            guard let sent, sent != type.kind else { return type.kind }
            throw RecordRejection(.kind, "kind: \"\(id)\" is of kind \(type.kind), not \(sent)")
        }
        // A HealthKit type newer than the registry is kept; its spelling shows the kind.
        guard let spelled = SampleKind(healthKitIdentifier: id.rawValue) else {
            throw RecordRejection(.type, "type: \"\(id)\" is neither in the registry nor declared in HELLO")
        }
        guard let sent, sent != spelled else { return spelled }
        guard sent == .other else { throw RecordRejection(.kind, "kind: \"\(id)\" is of kind \(spelled), not \(sent)") }
        return .other
    }

    /// The name and number of a category value; a source sends one or both.
    func category(name: String?, raw: Int64?, _ type: HealthType?) throws(RecordRejection) -> (name: String, raw: Int64)
    {
        guard let type, !type.values.isEmpty else {
            guard let name, let raw else {
                throw RecordRejection(
                    .value, "value, raw: both are needed, since the registry does not know the type's values")
            }
            return (name, raw)
        }
        if let name {
            guard let found = type.value(named: name) else { throw unknownValue(of: type) }
            guard let number = found.raw.map(Int64.init) ?? raw else {
                throw RecordRejection(.value, "raw: needed, since the number of this value is not in the registry")
            }
            guard raw == nil || raw == number else {
                throw RecordRejection(.value, "raw: \"\(type.id)\" gives this name another number")
            }
            return (found.name, number)
        }
        guard let raw else {
            throw RecordRejection(.value, "value: missing; expected a name of \"\(type.id)\", or its number in raw")
        }
        guard let number = Int(exactly: raw), let found = type.value(raw: number) else { throw unknownValue(of: type) }
        return (found.name, raw)
    }

    /// The name and number of an activity; a source sends one or both.
    func workout(name: String?, raw: Int64?) throws(RecordRejection) -> (name: String, raw: Int64) {
        let activity: WorkoutActivity?
        switch (name, raw) {
        case (let name?, _): activity = WorkoutActivity.activity(named: name)
        case (nil, let raw?): activity = Int(exactly: raw).flatMap { WorkoutActivity.activity(raw: $0) }
        case (nil, nil):
            throw RecordRejection(.value, "value: missing; expected the name of an activity, or its number in raw")
        }
        guard let activity else {
            throw RecordRejection(
                .value, "value: no such activity; expected a name such as running, or its number in raw")
        }
        guard raw == nil || raw == Int64(activity.raw) else {
            throw RecordRejection(.value, "raw: is the number of another activity than value names")
        }
        return (activity.name, Int64(activity.raw))
    }

    private func unknownValue(of type: HealthType) -> RecordRejection {
        let names = type.values.filter { !$0.isOldName }.prefix(20).map(\.name).joined(separator: ", ")
        return RecordRejection(.value, "value: \"\(type.id)\" has no such value; it has \(names)")
    }
}
