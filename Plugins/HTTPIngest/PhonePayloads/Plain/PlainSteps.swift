import HubWire
import JSON
import Samples

/// Reads records as a person, a shortcut or a task writes them.
struct PlainSteps: PayloadSteps {
    private let bytes: UnsafeRawBufferPointer
    private let context: PhoneContext
    private let root: JSONValue
    /// The list of records; `nil` if the body is one record.
    private let list: JSONValue?
    /// The path of the list.
    private let listPlace: String
    /// The members beside the list that apply to all of its records.
    private let shared: [JSONTree.Member]
    private var cursor: ArrayCursor
    private var isOver = false
    private var decoder: RecordDecoder
    /// The numbers for the whole body, because two records with one key may be far apart.
    private lazy var numbers = PlainNumbers(self)

    /// - Throws: ``PhoneError`` if the body is neither a record, nor a list of records, nor an object with `records`, or if it names
    ///   another person than the token's.
    init(_ root: JSONValue, _ bytes: UnsafeRawBufferPointer, _ context: PhoneContext) throws(PhoneError) {
        (self.bytes, self.context, self.root) = (bytes, context, root)
        decoder = RecordDecoder(plugin: context.plugin, registry: PhoneTypes.registry)
        guard root.kind == .object || root.kind == .array else {
            throw PhoneError(
                .form, "the body is a record such as {\"weight\":80.4}, a list of them, or an object with records")
        }
        let members = Members(root, in: bytes)
        if let name = members.repeatedName {
            throw PhoneError(.json, "the member \(name.prefix(64)) stands there twice")
        }
        let records = members["records"]
        guard records.map({ $0.kind == .array }) ?? true else { throw PhoneError(.form, "records is an array") }
        list = root.kind == .array ? root : records
        listPlace = root.kind == .array ? "" : "/records"
        shared =
            records == nil
            ? []
            : members.all.compactMap { member in
                guard let name = JSONText.string(member.name, in: bytes), name != "records",
                    let tree = JSONTree(Array(bytes[member.value.start..<member.value.end]))
                else { return nil }
                return JSONTree.Member(name, tree)
            }
        cursor = ArrayCursor(list ?? root, in: bytes)
        try checkPersons()
    }

    /// Rejects a post with a person's token that names another person anywhere, before any of it is read.
    private func checkPersons() throws(PhoneError) {
        guard let person = context.person else { return }
        try PersonStatement.check(shared, "", person, context)
        func check(_ element: JSONValue, _ at: String) throws(PhoneError) {
            // Most records name no person.
            let members = Members(element, in: bytes)
            let named = members.all.compactMap { member -> JSONTree.Member? in
                guard let name = JSONText.string(member.name, in: bytes), PersonStatement.names.contains(name) else {
                    return nil
                }
                return JSONTree(Array(bytes[member.value.start..<member.value.end])).map { JSONTree.Member(name, $0) }
            }
            try PersonStatement.check(named, at, person, context)
        }
        guard let list else { return try check(root, "") }
        var cursor = ArrayCursor(list, in: bytes)
        while let element = cursor.next() { try check(element, "\(listPlace)/\(cursor.count - 1)") }
    }

    mutating func next() -> PhoneBatch? {
        guard !isOver else { return nil }
        var batch = PhoneBatch()
        guard list != nil else {
            isOver = true
            read(root, "", &batch)
            return batch
        }
        if cursor.count == 0 {
            for member in shared where !PlainRecord.isShared(member.name) {
                batch.unread.note(
                    member.name, in: "", "it stands beside the records and holds for none of them",
                    at: "/\(member.name.pointerText)")
            }
        }
        while batch.size < PhoneBody.batchRecords {
            guard let element = cursor.next() else {
                isOver = true
                break
            }
            read(element, "\(listPlace)/\(cursor.count - 1)", &batch)
        }
        return batch
    }

    /// Calls `body` with each valid record of the post, in the protocol's form.
    fileprivate func drafts(_ body: (PlainRecord) -> Void) {
        func read(_ element: JSONValue) {
            guard let records = try? records(of: element) else { return }
            for record in records { if let draft = try? record.canonical(context) { body(draft) } }
        }
        guard let list else { return read(root) }
        var cursor = ArrayCursor(list, in: bytes)
        while let element = cursor.next() { read(element) }
    }

    /// Splits an element into records: one, or one for each row of the two parallel lists that a shortcut makes.
    private func records(of element: JSONValue) throws(ItemError) -> [PlainRecord] {
        guard element.kind == .object, element.end - element.start <= RecordDecoder.maximumRecordBytes,
            let tree = JSONTree(Array(bytes[element.start..<element.end])), let members = tree.members
        else {
            throw ItemError("json", "a record is an object of at most \(RecordDecoder.maximumRecordBytes) bytes")
        }
        guard Set(members.map(\.name)).count == members.count else {
            throw ItemError("json", "a member stands there twice")
        }
        let record = PlainRecord(tree, shared)
        guard record.isTable else { return [record] }
        // Shortcuts send a list of one element as a plain value.
        let (dates, values) = record.columns
        guard dates.count == values.count else {
            throw ItemError("value", "dates and values are not equally many")
        }
        return zip(dates, values).map { record.row($0, $1) }
    }

    private mutating func read(_ element: JSONValue, _ at: String, _ batch: inout PhoneBatch) {
        do throws(ItemError) {
            for record in try records(of: element) {
                batch.received += 1
                read(record, at, &batch)
            }
        } catch {
            batch.received += 1
            batch.reject(at, error)
        }
    }

    private mutating func read(_ record: PlainRecord, _ at: String, _ batch: inout PhoneBatch) {
        for name in record.unread {
            batch.unread.note(
                name, in: listPlace,
                "no member of a record, and not stored as a value; send it as a separate record",
                at: "\(at)/\(name.pointerText)")
        }
        var draft: PlainRecord
        do throws(ItemError) {
            draft = try record.canonical(context)
        } catch {
            return batch.reject(at, error)
        }
        guard numbers.settle(&draft) else { return batch.ignore(at, "equal to one before") }
        let result = Array(draft.json.utf8).withUnsafeBytes { bytes -> Result<Record, RecordRejection>? in
            try? decoder.record(bytes)
        }
        switch result {
        case .success(let found):
            // Apply the hub's validation, so that the answer contains the place of the error.
            do throws(RecordRejection) {
                _ = try RecordValidation(registry: PhoneTypes.registry).canonical(of: found)
                batch.records.append(PhoneRecord(found, .pointer(at)))
            } catch {
                batch.reject(at, error.code.rawValue, error.reason)
            }
        case .failure(let rejection):
            batch.reject(at, rejection.code.rawValue, rejection.reason)
        case nil: batch.reject(at, "json", "this is no record")
        }
    }
}

/// The numbers for records of a body that would share a key, as for other phone samples.
private struct PlainNumbers {
    private var numbers = KeyNumbers()
    /// Hashes of the keys that occur more than once; nearly all bodies have none.
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
            numbers.note(base, draft.content)
        }
        numbers.settle()
        self.numbers = numbers
    }

    /// Appends the number to the key; returns `false` if an equal record already has it.
    mutating func settle(_ draft: inout PlainRecord) -> Bool {
        guard let base = draft.base, repeated.contains(base.hashValue) else { return true }
        guard let number = numbers.take(base, draft.content) else { return false }
        if number > 1 { draft.setKey("\(base) \(number)") }
        return true
    }
}
