import HubWire
import Samples

/// Checks that a record must pass before the store writes it, so that no record can make the commit of others fail.
enum IntakeCheck {
    /// The rejections by index in a batch; `nil` if nothing is rejected, which is the usual case and costs no memory.
    ///
    /// - Parameter refused: further rejections of group members, by index.
    static func refusals(of items: [IntakeItem], _ caches: WriterCaches, _ refused: [Int: RecordRejection] = [:])
        -> [RecordRejection?]?
    {
        var refusals: [RecordRejection?]?
        var brokenGroups: [String: (place: Int, code: RecordRejection.Code)] = [:]
        func group(of item: IntakeItem) -> String? {
            switch item {
            case .failure(let rejection): rejection.group
            case .success(let intake): if case .sample(let sample) = intake.record { sample.group } else { nil }
            }
        }
        for (place, item) in items.enumerated() {
            let rejection: RecordRejection?
            switch item {
            case .failure(let given): rejection = given
            case .success(let intake):
                rejection = check(intake, caches) ?? (refused.isEmpty ? nil : refused[place])
            }
            guard let rejection else { continue }
            if refusals == nil { refusals = Array(repeating: nil, count: items.count) }
            refusals?[place] = rejection
            if let group = group(of: item), brokenGroups[group] == nil { brokenGroups[group] = (place, rejection.code) }
        }
        guard var refusals, !brokenGroups.isEmpty else { return refusals }
        for (place, item) in items.enumerated() where refusals[place] == nil {
            guard let group = group(of: item), let broken = brokenGroups[group] else { continue }
            refusals[place] = RecordRejection(
                .group,
                "record \(broken.place + 1) of this batch, of the same group, was rejected (\(broken.code)); a group is stored whole or not at all"
            )
        }
        return refusals
    }

    private static func check(_ intake: IntakeRecord, _ caches: WriterCaches) -> RecordRejection? {
        switch intake.record {
        case .sample(let sample): check(sample, intake, caches)
        case .day(let day): check(day, intake, caches)
        case .retraction(let retraction): check(retraction)
        }
    }

    private static func check(_ sample: Sample, _ intake: IntakeRecord, _ caches: WriterCaches) -> RecordRejection? {
        if let rejection = check(sample.source) ?? reserved(sample.key) ?? reserved(sample) { return rejection }
        if case .quantity(let value, let unit) = sample.value {
            if let rejection = check(value, unit, intake.canonical) { return rejection }
        } else if intake.canonical != nil {
            return RecordRejection(
                .unit, "only a quantity has a canonical value; this is a \(sample.value.kind.rawValue)")
        }
        guard sample.start.isRepresentable, sample.end.isRepresentable else {
            return RecordRejection(.time, "a time is outside the years 1 to 9999, or its offset beyond ±23:59")
        }
        guard sample.end.microseconds >= sample.start.microseconds else {
            return RecordRejection(.time, "end \(sample.end.text) is before start \(sample.start.text)")
        }
        if case .person(let person) = intake.assignment, caches.personID(person.uid) == nil { return unknownPerson }
        return nil
    }

    private static func check(_ day: DayValue, _ intake: IntakeRecord, _ caches: WriterCaches) -> RecordRejection? {
        if let rejection = check(day.source) ?? reserved(day) ?? check(day.value, day.unit, intake.canonical) {
            return rejection
        }
        guard let person = intake.assignment.person, let id = caches.personID(person.uid) else { return unknownPerson }
        guard caches.personID(day.person) == id else {
            return RecordRejection(.person, "the day names another person than the one it is assigned to")
        }
        guard !day.series.isEmpty else {
            return RecordRejection(.json, "series is empty; name the policy that made the day")
        }
        return nil
    }

    private static func check(_ retraction: Retraction) -> RecordRejection? {
        if case .sample(let source, let key) = retraction.identity {
            guard source == retraction.source else {
                return RecordRejection(.source, "a sample can be retracted only by the source that sent it")
            }
            if let rejection = reserved(key) { return rejection }
        }
        guard retraction.author == .source else {
            return RecordRejection(.reserved, "a source cannot retract in a person's name")
        }
        return check(retraction.source)
    }

    private static func check(_ source: Source) -> RecordRejection? {
        guard !source.plugin.isEmpty else {
            return RecordRejection(.source, "source.plugin is empty; the hub fills it in from the session")
        }
        return reserved(source.device, "source.device") ?? reserved(source.account, "source.account")
    }

    // MARK: - Names of erased records and words

    /// Rejects names reserved for erased records and words.
    ///
    /// A source that used such a name could change the remains of an erased record.
    private static func reserved(_ text: String?, _ member: String) -> RecordRejection? {
        // The first byte rules out nearly every text; this check runs six times per record.
        guard let text, text.utf8.first == Tombstones.prefix.utf8.first,
            text.utf8.starts(with: Tombstones.prefix.utf8)
        else { return nil }
        return RecordRejection(
            .reserved, "\(member): begins with \(Tombstones.prefix), which is reserved for erased records; send another"
        )
    }

    private static func reserved(_ key: RecordKey) -> RecordRejection? { reserved(key.text, "key") }

    private static func reserved(_ sample: Sample) -> RecordRejection? {
        let name: RecordRejection? =
            switch sample.value {
            case .category(let name, _): reserved(name, "value")
            case .workout(let activity, _): reserved(activity, "value")
            default: nil
            }
        return name ?? reserved(sample.provenance) ?? reserved(sample.zone, "zone")
    }

    private static func reserved(_ provenance: Provenance) -> RecordRejection? {
        switch provenance {
        case .measured: nil
        case .derived(let formula, let version, _):
            reserved(formula, "provenance.formula") ?? reserved(version, "provenance.version")
        case .filled(let method, _): reserved(method, "provenance.method")
        }
    }

    private static func reserved(_ day: DayValue) -> RecordRejection? {
        reserved(day.series, "series") ?? reserved(day.method, "method") ?? reserved(day.zone, "zone")
    }

    private static func check(_ value: Double, _ unit: String, _ canonical: StoredRecord.CanonicalValue?)
        -> RecordRejection?
    {
        guard value.isFinite, canonical?.value.isFinite ?? true else {
            return RecordRejection(.value, "the value is not a finite number, or overflows in the type's unit")
        }
        guard !unit.isEmpty, canonical?.unit.isEmpty != true else {
            return RecordRejection(.unit, "the unit is empty")
        }
        return nil
    }

    static let unknownPerson = RecordRejection(
        .person, "the store does not know the person; name one of hub.conf, which the hub makes known at its start")
}
