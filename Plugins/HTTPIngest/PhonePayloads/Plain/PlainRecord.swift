import JSON
import Samples

/// A plain record and its interpretation.
struct PlainRecord {
    private var members: [JSONTree.Member]
    /// Members beside the list that are not members of its records; they may contain a unit or a time.
    private let outer: [JSONTree.Member]
    /// The names of members that no record has and that do not give the unit.
    private(set) var unread: [String] = []
    /// The key that ``canonical(_:)`` made; `nil` if the sender gave one.
    private(set) var base: String?

    /// - Parameter shared: the members beside the list, which apply to the record unless it has its own.
    init(_ tree: JSONTree, _ shared: [JSONTree.Member] = []) {
        members = tree.members ?? []
        outer = shared.filter { !Self.isShared($0.name) }
        let statesUnit = members.contains { UnitStatement.isName($0.name) }
        let isTimed = self["start"] != nil || self["dates"] != nil
        members += shared.filter { member in
            if UnitStatement.isName(member.name) { return !statesUnit }
            if Self.isTimeName(member.name) { return !isTimed }
            return Self.isShared(member.name) && self[member.name] == nil
        }
        unread = members.filter { $0.value != .null }.map(\.name).filter { name in
            !Self.names.contains(name) && !Self.further.contains(name) && !UnitStatement.isName(name)
                && !PersonStatement.names.contains(name)
                && !(self["type"] == nil && PhoneTypes.registry.resolve(name) != nil)
        }
    }

    /// Whether a member beside a list of records applies to each of them.
    static func isShared(_ name: String) -> Bool {
        UnitStatement.isName(name) || isTimeName(name)
            || (["type", "end", "zone", "metadata"] + PersonStatement.names).contains(name)
    }

    private subscript(_ name: String) -> JSONTree? { members.first { $0.name == name }?.value }

    private mutating func set(_ name: String, _ value: JSONTree?) {
        members.removeAll { $0.name == name }
        if let value { members.append(.init(name, value)) }
    }

    // MARK: - Parallel lists

    var isTable: Bool { self["dates"] != nil && self["values"] != nil }

    var columns: (dates: [JSONTree], values: [JSONTree]) {
        func list(_ name: String) -> [JSONTree] { self[name].map { $0.list ?? [$0] } ?? [] }
        return (list("dates"), list("values"))
    }

    func row(_ date: JSONTree, _ value: JSONTree) -> PlainRecord {
        var row = self
        row.set("dates", nil)
        row.set("values", nil)
        row.set("start", date)
        row.set("value", value)
        return row
    }

    // MARK: - Conversion to the protocol's form

    func canonical(_ context: PhoneContext) throws(ItemError) -> PlainRecord {
        var record = self
        try record.nameType()
        record.set("source", .members(["device": .text(context.device), "account": "plain"]))
        if record["kind"]?.text == "day" {
            throw ItemError("kind", "kind: values of days come from plugins that compute them")
        }
        if record["kind"]?.text == "retraction" { return record }
        try record.checkType()
        try record.flatten()
        try record.readUnit()
        try record.readValue()
        try record.readTimes(context)
        if record["key"] == nil, let start = record["start"]?.text.flatMap({ try? Timestamp(parsing: $0) }) {
            let key = "\(PhoneTime.key(start.microseconds, keepsMilliseconds: true)) \(record["type"]?.text ?? "")"
            record.setKey(key)
            record.base = key
        }
        try record.namePerson(context)
        return record
    }

    var json: String { JSONTree.object(members).json }

    mutating func setKey(_ key: String) { set("key", .text(key)) }

    /// The record's content without its key, with sorted members and normalised numbers.
    var content: String {
        let rest = members.filter { !["key", "source", "start", "type", "zone"].contains($0.name) }
            .map { member -> JSONTree.Member in
                guard case .number(let digits) = member.value, let number = Double(digits), number.isFinite else {
                    return member
                }
                return .init(member.name, .number(NumberWriter.text(number)))
            }
        return JSONTree.object(rest).sorted.json
    }

    /// Reads the type from a member's name, as in `{"weight":80.4}`; replaces an alias with the type's id.
    private mutating func nameType() throws(ItemError) {
        if self["type"] == nil {
            let known = members.filter { PhoneTypes.registry.resolve($0.name) != nil }
            guard known.count == 1 else {
                guard self["kind"]?.text != "retraction" else { return }
                throw ItemError(
                    "type",
                    known.isEmpty
                        ? "type is missing, and no member has the name of a type\(unknownMember.map { "; \($0)" } ?? "")"
                        : "two members have names of types: send each as a separate record, in records")
            }
            guard self["value"] == nil || self["value"] == .null else {
                throw ItemError(
                    "value",
                    "value: \(known[0].name.prefix(64)) has the value already; leave one of them out")
            }
            set("type", .text(known[0].name))
            set("value", known[0].value)
            set(known[0].name, nil)
        }
        guard let name = self["type"]?.text, let type = PhoneTypes.registry.resolve(name) else { return }
        set("type", .text(type.id.rawValue))
    }

    /// The members that a record may have; members with other names are kept beside it.
    private static let names = [
        "type", "value", "unit", "start", "end", "zone", "records", "dates", "values", "key", "kind", "subject",
        "group", "metadata", "note",
    ]
    /// Further members of the protocol's samples (Protocol §6.1).
    private static let further =
        ["raw", "provenance", "sourceVersion", "origin", "extra", "reason"] + Sample.partNames

    /// The first member that is neither a record's nor a type, with a suggestion if a known name is near.
    private var unknownMember: String? {
        guard let name = members.lazy.map(\.name).first(where: { !Self.names.contains($0) && $0 != "source" }) else {
            return nil
        }
        let meant = EditDistance.nearest(to: name, among: Self.names)?.name ?? PhoneTypes.suggestion(for: name)
        return "\(name.prefix(64)) is neither a type nor a member of a record"
            + (meant.map { "; did you mean \($0)?" } ?? "")
    }

    /// Rejects an unknown type first, with a suggestion.
    private func checkType() throws(ItemError) {
        guard let name = self["type"]?.text, type == nil, SampleKind(healthKitIdentifier: name) == nil else { return }
        throw ItemError(
            "type",
            "type: there is no type \"\(name.prefix(64))\""
                + (PhoneTypes.suggestion(for: name).map { "; did you mean \($0)?" }
                    ?? "; Docs/Samples.md has those that there are"))
    }

    private var type: HealthType? { self["type"]?.text.flatMap { PhoneTypes.registry.resolve($0) } }

    // MARK: - Persons

    /// Sets the person of the token; a household's token lets the record name one.
    ///
    /// A post that names another person than the token's was rejected before.
    private mutating func namePerson(_ context: PhoneContext) throws(ItemError) {
        let said = PersonStatement.names.first { $0 != "subject" && self[$0] != nil }
        if let person = context.person {
            for name in PersonStatement.names { set(name, nil) }
            return set("subject", .members(["account": .text(person)]))
        }
        guard let said else { return }
        guard self["subject"] == nil, let name = self[said]?.text else {
            throw ItemError("person", "\(said): expected the name of a person, and no subject beside it")
        }
        set(said, nil)
        set("subject", .members(["account": .text(name)]))
    }

    // MARK: - Values

    /// Reads a value and its unit from an object, as in `{"weight":{"value":177.2,"unit":"lb"}}`.
    private mutating func flatten() throws(ItemError) {
        guard let type, type.kind == .quantity, case .object(let inner)? = self["value"] else { return }
        let numbers = inner.filter { ["value", "qty", "quantity", "amount"].contains($0.name.lowercased()) }
        let units = inner.filter { UnitStatement.isName($0.name) }
        guard numbers.count == 1, numbers.count + units.count == inner.count else {
            throw ItemError("value", "value: expected a number, or an object of a value and its unit")
        }
        set("value", numbers[0].value)
        members += units
    }

    /// Finds the unit in a member of any name and moves it to `unit`.
    private mutating func readUnit() throws(ItemError) {
        guard let type else { return }
        var found: (name: String, unit: String)?
        for member in members where !Self.names.contains(member.name) || ["unit", "note"].contains(member.name) {
            guard concernsValue(member.name, type) else { continue }
            let text = member.value.text
            if text == "percent" || text == "pct", UnitStatement.isName(member.name), type.unit == "%" {
                found = try agreed(found, (member.name, "percent"), type)
                continue
            }
            switch UnitStatement(member.name, text, of: type) {
            case nil: continue
            case .unknown? where type.kind != .quantity && member.name == "unit": return
            case .unknown?:
                if member.value == .null { continue }
                throw ItemError(
                    "unit",
                    "\(member.name.prefix(64)): \(text.map { "\"\($0.prefix(64))\"" } ?? "this") is no unit of "
                        + "\(type.id); expected \(type.unit ?? "none")")
            case .unit(let unit)?: found = try agreed(found, (member.name, unit), type)
            }
        }
        let read = members.map(\.name).filter { UnitStatement.isName($0) && concernsValue($0, type) }
        members.removeAll { read.contains($0.name) && $0.name != "unit" }
        if let found { return set("unit", .text(found.unit)) }
        guard let place = HiddenUnit.place(in: members + outer, of: type) else { return }
        throw ItemError(
            "unit",
            "\(place.prefix(64)): it states another unit than \(type.unit ?? "none"); write it as unit, beside the value"
        )
    }

    /// Whether the member gives the unit of the record's own value, judging by its name.
    private func concernsValue(_ name: String, _ type: HealthType) -> Bool {
        guard UnitStatement.isName(name) else { return true }
        let subject = UnitStatement.subject(of: name)
        guard !subject.isEmpty, let other = PhoneTypes.registry.resolve(subject) else {
            // The unit may belong to another member, which is not read.
            return !unread.contains { PhoneKeys.folded($0) == subject }
        }
        return other.id == type.id
    }

    private func agreed(
        _ found: (name: String, unit: String)?, _ next: (name: String, unit: String), _ type: HealthType
    ) throws(ItemError) -> (name: String, unit: String) {
        guard let found else { return next }
        guard UnitStatement.areSame(found.unit, next.unit, of: type) else {
            throw ItemError("unit", "\(found.name.prefix(64)) and \(next.name.prefix(64)) state different units")
        }
        return found
    }

    private mutating func readValue() throws(ItemError) {
        guard let type, type.kind == .quantity else { return }
        let stated = self["unit"]?.text
        let isPercent = stated == "percent"
        if case .text(let text)? = self["value"] {
            let unit = isPercent ? "%" : stated ?? type.unit ?? ""
            set("value", .number(try LocalizedNumber(text).digits(unit: unit, of: type)))
        }
        guard let stated else {
            if self["unit"] == nil { set("unit", type.unit.map(JSONTree.text)) }
            return
        }
        guard isPercent else { return set("unit", .text(stated)) }
        guard case .number(let digits)? = self["value"], let fraction = PhoneNumbers.hundredth(digits) else { return }
        set("value", .number(NumberWriter.text(fraction)))
        set("unit", "%")
    }

    private mutating func readTimes(_ context: PhoneContext) throws(ItemError) {
        guard self["start"] != nil else {
            guard self["end"] == nil else { throw ItemError("time", "end without start") }
            if let name = misnamedTime(context.arrival) {
                throw ItemError(
                    "time",
                    "\(name): a record has no such member; the time of a record is its member start")
            }
            guard context.isFresh else {
                throw ItemError("time", "start is missing, and the broker does not say how long it has kept it")
            }
            set("start", .text(Timestamp(microseconds: context.arrival).text))
            return
        }
        for name in ["start", "end"] {
            guard let value = self[name] else { continue }
            guard case .text(let text) = value else {
                throw ItemError("time", "\(name): a time is a text, such as 2026-02-10T06:31:02+01:00")
            }
            if let time = PhoneTime.read(text) {
                set(name, .text(time.text))
            } else if let local = PhoneTime.readLocal(text) {
                set(name, .text(try placed(local, name).text))
            } else {
                throw ItemError("time", "\(name): expected a time, such as 2026-02-10T06:31:02+01:00")
            }
        }
    }

    /// A misnamed `start`.
    ///
    /// Without this check the record would get the time of its arrival.
    private func misnamedTime(_ arrival: Int64) -> String? {
        (members + outer).first { member in
            guard !["key", "zone", "note", "metadata", "subject", "source"].contains(member.name.lowercased()) else {
                return false
            }
            let isRead =
                Self.names.contains(member.name) || Self.further.contains(member.name) && member.name != "extra"
            return Self.isTimeName(member.name) || !isRead && LikelyTime.isIn(member, at: arrival)
        }.map { String($0.name.prefix(64)) }
    }

    private static func isTimeName(_ name: String) -> Bool {
        let name = name.lowercased()
        return name.contains("time") || name.contains("date") || ["start", "when", "at", "day", "ts"].contains(name)
    }

    /// Converts a local time to an instant, which requires a zone.
    private func placed(_ local: Int64, _ name: String) throws(ItemError) -> Timestamp {
        guard let zone = self["zone"]?.text else {
            throw ItemError("time", "\(name): no offset, and no zone beside it")
        }
        guard let times = PhoneZone.times(local, zone) else {
            throw ItemError("time", "zone: expected one of the IANA time zones, such as Europe/Berlin")
        }
        guard times.count == 1 else {
            throw ItemError(
                "time",
                times.isEmpty
                    ? "\(name): the clocks of that zone never showed this time"
                    : "\(name): the clocks of that zone showed this time twice: send the offset")
        }
        return times[0]
    }
}
