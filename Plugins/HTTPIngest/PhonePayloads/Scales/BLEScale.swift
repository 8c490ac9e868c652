import JSON
import Samples

/// Reads a reading of ble-scale-sync.
struct BLEReading {
    let context: PhoneContext

    /// Types that only this program has, with their units.
    static let ownTypes: [(id: String, unit: String?)] = [
        ("x.ble.waterPercentage", "%"), ("x.ble.muscleMass", "kg"), ("x.ble.visceralFat", "count"),
        ("x.ble.impedance", "S^-1"),
    ]

    private static let optional: [(StaticString, String, String)] = [
        ("bodyFatPercent", "bodyFatPercentage", "%"), ("waterPercent", "x.ble.waterPercentage", "%"),
        ("boneMass", "hc.boneMass", "kg"), ("muscleMass", "x.ble.muscleMass", "kg"),
        ("visceralFat", "x.ble.visceralFat", "count"), ("impedance", "x.ble.impedance", "S^-1"),
    ]
    private static let computed: [(StaticString, String)] = [
        ("bmi", "computed from a profile"), ("bmr", "computed"), ("metabolicAge", "computed"),
        ("physiqueRating", "computed"),
    ]

    private static let names: [StaticString] =
        [
            "weight", "timestamp", "user", "user_name", "user_slug",
        ] + optional.map(\.0) + computed.map(\.0)

    /// Whether the program's user has neither the name of the token's person nor that of another person of the hub.
    func isStranger(_ user: String?) -> Bool {
        guard context.person != nil, let user, !user.isEmpty else { return false }
        return !context.isPerson(user) && !context.isOtherPerson(user)
    }

    /// Rejects a reading with a person's token if it names another person of the hub.
    ///
    /// Other names are taken as users of the program.
    func checkPerson(_ user: String?, _ at: String) throws(PhoneError) {
        guard let person = context.person, let user, context.isOtherPerson(user) else { return }
        throw PersonStatement.otherPerson(at, person, context)
    }

    /// - Parameter base: the beginning of the key, before the type.
    func read(
        _ members: Members, _ time: Timestamp, base: String, user: String?, _ at: String, _ batch: inout PhoneBatch
    ) {
        batch.received += 1
        let kilograms = TypeRegistry.standard.type(.weight).map { (text: "kg", type: $0) }
        do throws(ItemError) {
            try members.checkNames()
            try batch.noteUnread(members, but: Self.names, in: "", unit: kilograms, at: at)
        } catch {
            return batch.reject(at, error)
        }
        guard let weight = members.number("weight") else {
            return batch.reject("\(at)/weight", "value", "weight is a number")
        }
        if let type = TypeRegistry.standard.type(.weight), let fault = PhoneNumbers.fault(weight, "kg", type) {
            return batch.reject("\(at)/weight", fault)
        }
        var samples: [Sample] = []
        var metadata = MetadataWriter()
        if isStranger(user) { metadata.add("userName", text: user) }
        func add(_ type: String, _ value: Double, _ unit: String) {
            guard let key = RecordKey("\(base) \(type)"), let id = try? TypeID(type) else {
                return batch.reject(at, "key", "the name of the user is too long for a key")
            }
            samples.append(
                Sample(
                    source: context.source("ble-scale-sync"), key: key, type: id,
                    value: .quantity(value, unit: unit), start: time,
                    subject: context.subject ?? user.map(Subject.name),
                    group: base, metadata: metadata.text.flatMap { JSONObject($0) }))
        }
        add("weight", weight, "kg")
        if !context.takesComputed {
            for (name, _, _) in Self.optional where members[name] != nil {
                batch.unread.note(
                    "\(name)", in: "",
                    "may be computed from a profile: computed = true takes it, if impedance was measured",
                    at: "\(at)/\(name)")
            }
        }
        // Without an impedance, all other values are computed from height, age and sex.
        if context.takesComputed, let impedance = members.number("impedance"), impedance > 0 {
            for (name, type, unit) in Self.optional {
                let value = unit == "%" ? members.digits(name).flatMap(PhoneNumbers.hundredth) : members.number(name)
                guard let value else { continue }
                if let known = PhoneTypes.registry.resolve(type), let fault = PhoneNumbers.fault(value, unit, known) {
                    batch.reject("\(at)/\(name)", fault)
                    continue
                }
                add(type, value, unit)
            }
        }
        for (name, why) in Self.computed where members[name] != nil { batch.ignore("\(at)/\(name)", why) }
        batch.records += samples.map { PhoneRecord(.sample($0), .pointer(at)) }
    }
}

/// Reads a body of ble-scale-sync: one reading with its arrival time.
struct BLEScaleSteps: PayloadSteps {
    private let members: Members
    private let context: PhoneContext
    private var isOver = false

    /// - Throws: ``PhoneError`` if the body is not an object.
    init(_ root: JSONValue, _ bytes: UnsafeRawBufferPointer, _ context: PhoneContext) throws(PhoneError) {
        guard root.kind == .object else { throw PhoneError(.form, "the body is an object with weight") }
        (members, self.context) = (Members(root, in: bytes), context)
        for name: StaticString in ["user_name", "user_slug"] {
            try BLEReading(context: context).checkPerson(members.text(name), "/\(name)")
        }
    }

    mutating func next() -> PhoneBatch? {
        guard !isOver else { return nil }
        isOver = true
        var batch = PhoneBatch()
        let time = Timestamp(microseconds: context.arrival)
        let base = PhoneTime.key(time.microseconds, keepsMilliseconds: true)
        BLEReading(context: context).read(
            members, time, base: base, user: members.text("user_name"), "", &batch)
        return batch
    }
}

/// Reads JSON lines that ble-scale-sync has appended to a file, each with its time.
struct BLEScaleLines: PayloadSteps {
    private let bytes: UnsafeRawBufferPointer
    private let context: PhoneContext
    private var position = 0
    private var line = 0

    /// Maximum length of a line in bytes, the same as of a record.
    private static let mostOfLine = 65_536

    /// - Throws: ``PhoneError`` if there are more lines than a body may have items.
    init(_ bytes: UnsafeRawBufferPointer, _ context: PhoneContext) throws(PhoneError) {
        try BodyBounds.checkLines(bytes)
        (self.bytes, self.context) = (bytes, context)
        try checkPersons()
    }

    mutating func next() -> PhoneBatch? {
        guard position < bytes.count else { return nil }
        var batch = PhoneBatch()
        while position < bytes.count, batch.size < PhoneBody.batchRecords {
            let end = bytes[position...].firstIndex(of: 0x0A) ?? bytes.count
            read(UnsafeRawBufferPointer(rebasing: bytes[position..<end]), "/\(line)", &batch)
            position = end + 1
            line += 1
        }
        return batch
    }

    /// Checks that all lines belong to the person of the token, before any line is read.
    ///
    /// A user unknown to the hub may be that person. If there are two users, at least one is someone else.
    private func checkPersons() throws(PhoneError) {
        guard let person = context.person else { return }
        var (start, line) = (0, 0)
        var first: String?
        while start < bytes.count {
            let end = bytes[start...].firstIndex(of: 0x0A) ?? bytes.count
            if let value = Self.object(UnsafeRawBufferPointer(rebasing: bytes[start..<end])) {
                let members = Members(value, in: UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
                let user = members.text("user")
                try BLEReading(context: context).checkPerson(user, "/\(line)/user")
                if let user, !user.isEmpty {
                    if let first, first.lowercased() != user.lowercased() {
                        throw PersonStatement.otherPerson("/\(line)/user", person, context)
                    }
                    first = user
                }
            }
            (start, line) = (end + 1, line + 1)
        }
    }

    private static func object(_ text: UnsafeRawBufferPointer) -> JSONValue? {
        guard text.count <= mostOfLine, var scanner = try? JSONScanner(text) else { return nil }
        scanner.skipSpace()
        guard let value = try? scanner.value(), (try? scanner.finish()) != nil, value.kind == .object else {
            return nil
        }
        return value
    }

    private func read(_ text: UnsafeRawBufferPointer, _ at: String, _ batch: inout PhoneBatch) {
        guard text.contains(where: { $0 > 0x20 }) else { return }
        guard text.count <= Self.mostOfLine else {
            batch.received += 1
            return batch.reject(at, "size", "a line has at most \(Self.mostOfLine) bytes")
        }
        guard let value = Self.object(text) else {
            batch.received += 1
            return batch.reject(at, "json", "this line is not a JSON object")
        }
        let members = Members(value, in: text)
        guard let time = members.time("timestamp") else {
            batch.received += 1
            return batch.reject(at, "time", "timestamp is missing, or no instant")
        }
        let user = members.text("user") ?? ""
        let key = PhoneTime.key(time.microseconds, keepsMilliseconds: true)
        BLEReading(context: context).read(
            members, time, base: user.isEmpty ? key : "\(key) \(user)", user: user.isEmpty ? nil : user, at, &batch)
    }
}
