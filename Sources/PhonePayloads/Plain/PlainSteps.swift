import HubWire
import JSON
import Samples

/// Records as a person, a shortcut or a task writes them.
struct PlainSteps: PayloadSteps {
    private let bytes: UnsafeRawBufferPointer
    private let context: PhoneContext
    private let root: JSONValue
    /// `nil` where the body is one record.
    private let list: JSONValue?
    private var cursor: ArrayCursor
    private var isOver = false
    private var decoder: RecordDecoder
    /// Of the whole body: two records of one key may be far from each other.
    private lazy var numbers = PlainNumbers(self)

    /// - Throws: ``PhoneError`` where the body is neither a record nor an object with `records`.
    init(_ root: JSONValue, _ bytes: UnsafeRawBufferPointer, _ context: PhoneContext) throws(PhoneError) {
        (self.bytes, self.context, self.root) = (bytes, context, root)
        decoder = RecordDecoder(plugin: context.plugin, registry: PhoneTypes.registry)
        guard root.kind == .object else {
            throw PhoneError(.form, "the body is a record such as {\"weight\":80.4}, or an object with records")
        }
        let members = Members(root, in: bytes)
        if let name = members.repeatedName {
            throw PhoneError(.json, "the member \(name.prefix(64)) stands there twice")
        }
        list = members["records"]
        guard list.map({ $0.kind == .array }) ?? true else { throw PhoneError(.form, "records is an array") }
        cursor = ArrayCursor(list ?? root, in: bytes)
    }

    mutating func next() -> PhoneBatch? {
        guard !isOver else { return nil }
        var batch = PhoneBatch()
        guard list != nil else {
            isOver = true
            read(root, "", &batch)
            return batch
        }
        while batch.size < PhoneBody.batchRecords {
            guard let element = cursor.next() else {
                isOver = true
                break
            }
            read(element, "/records/\(cursor.count - 1)", &batch)
        }
        return batch
    }

    /// What each record of the body means, those that mean nothing left out.
    fileprivate func drafts(_ body: (PlainDraft) -> Void) {
        func read(_ element: JSONValue) {
            guard let records = try? records(of: element) else { return }
            for record in records { if let draft = try? record.canonical(context) { body(draft) } }
        }
        guard let list else { return read(root) }
        var cursor = ArrayCursor(list, in: bytes)
        while let element = cursor.next() { read(element) }
    }

    /// One record, or, of two lists side by side as a shortcut makes them, one for each line.
    private func records(of element: JSONValue) throws(PlainFault) -> [PlainRecord] {
        guard element.kind == .object, element.end - element.start <= RecordDecoder.maximumRecordBytes,
            let tree = JSONTree(Array(bytes[element.start..<element.end])), let members = tree.members
        else {
            throw PlainFault(
                code: "json", reason: "a record is an object of at most \(RecordDecoder.maximumRecordBytes) bytes")
        }
        guard Set(members.map(\.name)).count == members.count else {
            throw PlainFault(code: "json", reason: "a member stands there twice")
        }
        let record = PlainRecord(tree)
        guard record.isTable else { return [record] }
        // A list of one arrives as a plain value.
        let (dates, values) = record.columns
        guard dates.count == values.count else {
            throw PlainFault(code: "value", reason: "dates and values are not equally many")
        }
        return zip(dates, values).map { record.row($0, $1) }
    }

    private mutating func read(_ element: JSONValue, _ at: String, _ batch: inout PhoneBatch) {
        do throws(PlainFault) {
            for record in try records(of: element) {
                batch.received += 1
                read(record, at, &batch)
            }
        } catch {
            batch.received += 1
            batch.reject(at, error.code, error.reason)
        }
    }

    private mutating func read(_ record: PlainRecord, _ at: String, _ batch: inout PhoneBatch) {
        var draft: PlainDraft
        do throws(PlainFault) {
            draft = try record.canonical(context)
        } catch {
            return batch.reject(at, error.code, error.reason)
        }
        guard numbers.settle(&draft) else { return batch.ignore(at, "equal to one before") }
        let result = Array(draft.json.utf8).withUnsafeBytes { bytes -> Result<Record, RecordRejection>? in
            try? decoder.record(bytes)
        }
        switch result {
        case .success(let found):
            // As the hub will: the answer says it with the place.
            do throws(RecordRejection) {
                _ = try RecordValidation(registry: PhoneTypes.registry).canonical(of: found)
                batch.records.append(PhoneRecord(found, .pointer(at)))
            } catch {
                batch.reject(at, error.code.rawValue, error.reason)
            }
        case .failure(let rejection): batch.reject(at, rejection.code.rawValue, rejection.reason)
        case nil: batch.reject(at, "json", "this is no record")
        }
    }
}

/// What a plain record means.
struct PlainDraft {
    fileprivate(set) var record: PlainRecord
    /// The key that it was given; `nil` where its sender has named one.
    let base: String?

    var json: String { record.json }
}

/// Numbers of the records of a body that would have one key, as samples of other phones have them.
private struct PlainNumbers {
    private var numbers = KeyNumbers()
    /// Hashes of the keys that occur more than once: nearly all bodies have none.
    private var repeated: Set<Int> = []

    init(_ steps: PlainSteps) {
        var (once, repeated): (Set<Int>, Set<Int>) = ([], [])
        steps.drafts { draft in
            guard let base = draft.base, !once.insert(base.hashValue).inserted else { return }
            repeated.insert(base.hashValue)
        }
        self.repeated = repeated
        guard !repeated.isEmpty else { return }
        var numbers = KeyNumbers()
        steps.drafts { draft in
            guard let base = draft.base, repeated.contains(base.hashValue) else { return }
            numbers.note(base, draft.record.content)
        }
        numbers.settle()
        self.numbers = numbers
    }

    /// Puts the number behind the key; `false` where an equal record had it.
    mutating func settle(_ draft: inout PlainDraft) -> Bool {
        guard let base = draft.base, repeated.contains(base.hashValue) else { return true }
        guard let number = numbers.take(base, draft.record.content) else { return false }
        if number > 1 { draft.record.setKey("\(base) \(number)") }
        return true
    }
}

/// What is wrong with a plain record.
struct PlainFault: Error {
    var code, reason: String
}

/// A plain record, and what it means.
struct PlainRecord {
    private var members: [JSONTree.Member]

    init(_ tree: JSONTree) { members = tree.members ?? [] }

    private subscript(_ name: String) -> JSONTree? { members.first { $0.name == name }?.value }

    private mutating func set(_ name: String, _ value: JSONTree?) {
        members.removeAll { $0.name == name }
        if let value { members.append(.init(name, value)) }
    }

    // MARK: - Lists side by side

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

    // MARK: - As the protocol has it

    func canonical(_ context: PhoneContext) throws(PlainFault) -> PlainDraft {
        var record = self
        try record.nameType()
        record.set("source", .members(["device": .text(context.device), "account": "plain"]))
        if record["kind"]?.text == "day" {
            throw PlainFault(code: "kind", reason: "kind: values of days come from plugins that compute them")
        }
        if record["kind"]?.text == "retraction" { return PlainDraft(record: record, base: nil) }
        try record.readValue()
        try record.readTimes(context)
        var base: String?
        if record["key"] == nil, let start = record["start"]?.text.flatMap({ try? Timestamp(parsing: $0) }) {
            let key = "\(PhoneTime.key(start.microseconds, keepsMilliseconds: true)) \(record["type"]?.text ?? "")"
            record.setKey(key)
            base = key
        }
        if record["subject"] == nil, let person = context.person {
            record.set("subject", .members(["account": .text(person)]))
        }
        return PlainDraft(record: record, base: base)
    }

    fileprivate var json: String { JSONTree.object(members).json }

    fileprivate mutating func setKey(_ key: String) { set("key", .text(key)) }

    /// What it says beside its key, in one order and with numbers in one form.
    fileprivate var content: String {
        let rest = members.filter { !["key", "source", "start", "type", "zone"].contains($0.name) }
            .map { member -> JSONTree.Member in
                guard case .number(let digits) = member.value, let number = Double(digits), number.isFinite else {
                    return member
                }
                return .init(member.name, .number(NumberWriter.text(number)))
            }
        return JSONTree.object(rest).sorted.json
    }

    /// `{"weight":80.4}` is of the type that the member names; a name that is another's becomes the id.
    private mutating func nameType() throws(PlainFault) {
        if self["type"] == nil {
            let known = members.filter { PhoneTypes.registry.resolve($0.name) != nil }
            guard known.count == 1 else {
                guard self["kind"]?.text != "retraction" else { return }
                throw PlainFault(
                    code: "type",
                    reason: known.isEmpty
                        ? "type is missing, and no member is called as a type\(unknownMember.map { "; \($0)" } ?? "")"
                        : "two members are called as types: send each as a record of its own, in records")
            }
            set("type", .text(known[0].name))
            set("value", known[0].value)
            set(known[0].name, nil)
        }
        guard let name = self["type"]?.text, let type = PhoneTypes.registry.resolve(name) else { return }
        set("type", .text(type.id.rawValue))
    }

    /// Names that a record has; what is called otherwise is kept beside it.
    private static let names = [
        "type", "value", "unit", "start", "end", "zone", "records", "dates", "values", "key", "kind", "subject",
        "group", "metadata", "note",
    ]

    /// The first member that is neither a record's nor a type, and what it was meant to be where that is near.
    private var unknownMember: String? {
        guard let name = members.lazy.map(\.name).first(where: { !Self.names.contains($0) && $0 != "source" }) else {
            return nil
        }
        let meant =
            EditDistance.nearest(to: name, among: Self.names)?.name
            ?? PhoneTypes.registry.suggestion(for: name)?.rawValue
        return "\(name.prefix(64)) is neither a type nor a member of a record"
            + (meant.map { "; did you mean \($0)?" } ?? "")
    }

    private var type: HealthType? { self["type"]?.text.flatMap { PhoneTypes.registry.resolve($0) } }

    private mutating func readValue() throws(PlainFault) {
        guard let type, type.kind == .quantity else { return }
        var number = self["value"]
        if case .text(let text)? = number {
            guard let spoken = PhoneNumbers.spoken(text) else {
                throw PlainFault(
                    code: "value",
                    reason: text.contains(".") && text.contains(",")
                        ? "value: both a point and a comma" : "value: a number, and nothing beside it")
            }
            number = .number(text.trimmed.replacing(",", with: "."))
            // Such as 080: more than JSON has, and no other number.
            if JSONTree(Array((number?.json ?? "").utf8)) == nil { number = .number(NumberWriter.text(spoken)) }
            set("value", number)
        }
        guard let unit = self["unit"]?.text else {
            if self["unit"] == nil { set("unit", type.unit.map(JSONTree.text)) }
            return
        }
        if unit == "percent", type.unit == "%" {
            guard case .number(let digits)? = number, let fraction = PhoneNumbers.hundredth(digits) else { return }
            set("value", .number(NumberWriter.text(fraction)))
            set("unit", "%")
        } else {
            set("unit", .text(PhoneNumbers.unit(unit, of: type.id)))
        }
    }

    private mutating func readTimes(_ context: PhoneContext) throws(PlainFault) {
        guard self["start"] != nil else {
            guard self["end"] == nil else { throw PlainFault(code: "time", reason: "end without start") }
            if let name = misnamedTime {
                throw PlainFault(
                    code: "time",
                    reason: "\(name): a record has no such member; the time of a record is its member start")
            }
            guard context.isFresh else {
                throw PlainFault(
                    code: "time", reason: "start is missing, and the broker says not how long it has kept it")
            }
            set("start", .text(Timestamp(microseconds: context.arrival).text))
            return
        }
        for name in ["start", "end"] {
            guard let value = self[name] else { continue }
            guard case .text(let text) = value else {
                throw PlainFault(code: "time", reason: "\(name): a time is a text, such as 2026-02-10T06:31:02+01:00")
            }
            if let time = PhoneTime.read(text) {
                set(name, .text(time.text))
            } else if let local = PhoneTime.readLocal(text) {
                set(name, .text(try placed(local, name).text))
            } else {
                throw PlainFault(code: "time", reason: "\(name): expected a time, such as 2026-02-10T06:31:02+01:00")
            }
        }
    }

    /// A member that stands where `start` is meant: without this look the record would be of the time of its arrival.
    private var misnamedTime: String? {
        members.first { member in
            let name = member.name.lowercased()
            guard !["key", "zone", "note", "metadata", "subject", "source"].contains(name) else { return false }
            return name.contains("time") || name.contains("date") || ["when", "at", "day", "ts"].contains(name)
                || member.value.text.map { PhoneTime.read($0) != nil || PhoneTime.readLocal($0) != nil } ?? false
        }.map { String($0.name.prefix(64)) }
    }

    /// A local time is an instant only where the zone is said.
    private func placed(_ local: Int64, _ name: String) throws(PlainFault) -> Timestamp {
        guard let zone = self["zone"]?.text else {
            throw PlainFault(code: "time", reason: "\(name): no offset, and no zone beside it")
        }
        guard let times = PhoneZone.times(local, zone) else {
            throw PlainFault(code: "time", reason: "zone: expected one of the IANA time zones, such as Europe/Berlin")
        }
        guard times.count == 1 else {
            throw PlainFault(
                code: "time",
                reason: times.isEmpty
                    ? "\(name): the clocks of that zone never showed this time"
                    : "\(name): the clocks of that zone showed this time twice: send the offset")
        }
        return times[0]
    }
}
