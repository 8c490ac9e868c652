import JSON
import Samples

/// openScale's statement about a user's measurements, in addition to the records.
public enum OpenScaleStep: Hashable, Sendable {
    /// The user has exactly these records at this time; keys are `T u<userId> <type>`.
    case has(user: String, time: String, types: [String])
    /// There is no measurement at this time. An old version of the app sends no user, because it has only one.
    case deleted(user: String?, time: String)
    /// A list of all measurements: from the earliest of these times on, there are no others.
    case only(user: String, times: Set<String>)
    /// There are no measurements at all.
    case cleared(user: String?)
}

/// Reads a body of openScale-sync: one event.
struct OpenScaleSteps: PayloadSteps {
    private var reader: OpenScaleReader
    private let event: String
    private let root: Members
    private var cursor: ArrayCursor?
    private var isOver = false

    /// - Throws: ``PhoneError`` if the body is not an object with `event`.
    init(_ root: JSONValue, _ bytes: UnsafeRawBufferPointer, _ context: PhoneContext) throws(PhoneError) {
        let members = try Members(body: root, with: "event", in: bytes)
        guard let event = members.text("event") else { throw PhoneError(.form, "event is missing") }
        (self.root, self.event) = (members, event)
        reader = OpenScaleReader(bytes: bytes, context: context)
        if let list = members["measurements"] {
            guard list.kind == .array else { throw PhoneError(.form, "measurements is an array") }
            cursor = ArrayCursor(list, in: bytes)
        }
    }

    mutating func next() -> PhoneBatch? {
        guard !isOver else { return nil }
        var batch = PhoneBatch()
        switch event {
        case "insert", "update", "fullSync":
            guard cursor != nil else {
                reader.read(root, "", &batch)
                break
            }
            while batch.size < PhoneBody.batchRecords {
                guard let element = cursor?.next() else {
                    isOver = true
                    return batch
                }
                let at = "/measurements/\((cursor?.count ?? 1) - 1)"
                reader.read(Members(element, in: reader.bytes), at, &batch)
            }
            return batch
        case "delete":
            batch.received = 1
            guard let time = root.time("date") else {
                batch.reject("", "time", "date is missing, or no instant")
                break
            }
            guard reader.isOwner(reader.user(root), "", &batch) else { break }
            batch.scaleSteps.append(
                .deleted(user: reader.user(root), time: OpenScaleReader.key(time)))
        case "clear":
            batch.received = 1
            guard reader.isOwner(reader.user(root), "", &batch) else { break }
            batch.scaleSteps.append(.cleared(user: reader.user(root)))
        case "test": break
        default: batch.ignore("", "event not known", name: String(event.prefix(256)))
        }
        isOver = true
        return batch
    }
}

/// Reads a measurement of openScale.
struct OpenScaleReader {
    let bytes: UnsafeRawBufferPointer
    var context: PhoneContext

    private enum Field {
        case known(TypeID), percent(String), own(String, unit: String), mass(TypeID)
    }

    private static let fields: [String: Field] = [
        "weight": .known(.weight), "lbm": .mass(.leanBodyMass), "bone": .mass(.hcBoneMass),
        "waist": .known(.waistCircumference), "heart_rate": .known(.heartRate),
        "bmr": .known(.hcBasalMetabolicRate), "visceral_fat": .own("visceralFat", unit: "count"),
        "muscle": .percent("muscle"), "water": .percent("water"), "protein": .percent("protein"),
        "ecw": .percent("extracellularWater"), "icw": .percent("intracellularWater"),
        "bcm": .percent("bodyCellMass"), "impedance": .own("impedance", unit: "S^-1"),
        "impedance_low": .own("impedanceLow", unit: "S^-1"), "hips": .own("hipCircumference", unit: "m"),
        "chest": .own("chestCircumference", unit: "m"), "thigh": .own("thighCircumference", unit: "m"),
        "biceps": .own("bicepsCircumference", unit: "m"), "neck": .own("neckCircumference", unit: "m"),
        "caliper_1": .own("caliper1", unit: "m"), "caliper_2": .own("caliper2", unit: "m"),
        "caliper_3": .own("caliper3", unit: "m"), "caliper": .own("caliper", unit: "%"),
        "tdee": .own("totalDailyEnergyExpenditure", unit: "kcal/d"),
    ]

    private static let names: [StaticString] = [
        "event", "id", "userId", "username", "date", "weight", "body_fat", "fat", "water", "muscle", "values",
    ]

    /// Types that only this app has, with their units.
    static let ownTypes: [(id: String, unit: String?)] = fields.values.flatMap { field -> [(String, String?)] in
        switch field {
        case .percent(let name): [("x.openscale.\(name)Percentage", "%"), ("x.openscale.\(name)Mass", "kg")]
        case .own(let name, let unit): [("x.openscale.\(name)", unit)]
        case .known, .mass: []
        }
    }.sorted { $0.0 < $1.0 }

    /// Every type that a measurement can have.
    static let types: [String] =
        [
            "weight", "bodyFatPercentage", "leanBodyMass", "hc.boneMass", "waistCircumference", "heartRate",
            "hc.basalMetabolicRate", "hc.bodyWaterMass",
        ] + ownTypes.map(\.id)

    /// The time in keys: to the second, or to the millisecond if it has any.
    static func key(_ time: Timestamp) -> String { PhoneTime.key(time.microseconds, keepsMilliseconds: true) }

    /// The key of a record: `T u<userId> <type>`.
    ///
    /// If it is too long, the type loses the app's common prefix.
    static func key(_ time: String, _ user: String, _ type: String) -> String {
        let key = "\(time) u\(user) \(type)"
        return key.utf8.count <= RecordKey.maximumBytes ? key : key.replacing(" x.openscale.", with: " ")
    }

    /// The number of the app's user; `nil` if there is none.
    func user(_ members: Members) -> String? {
        members.digits("userId").flatMap { Int($0) }.flatMap { (0...1_000_000).contains($0) ? String($0) : nil }
    }

    /// Whether a user of the app is the token's person: only the first user of a token is.
    ///
    /// A token without a person accepts all users, with the user's number as the slot.
    mutating func isOwner(_ user: String?, _ at: String, _ batch: inout PhoneBatch) -> Bool {
        guard let person = context.person, let user else { return true }
        if context.scaleUsers.isEmpty { context.scaleUsers = [user] }
        guard context.scaleUsers != [user] else { return true }
        batch.reject(
            at, "person",
            "the token \(context.device) is of \(person), and of user \(context.scaleUsers.sorted().joined(separator: " or ")) of "
                + "openScale: for user \(user) make a token without a person, and give the persons slots in hub.conf")
        return false
    }

    mutating func read(_ members: Members, _ at: String, _ batch: inout PhoneBatch) {
        batch.received += 1
        do throws(ItemError) { try read(item: members, at, &batch) } catch { batch.reject(at, error) }
    }

    private mutating func read(item members: Members, _ at: String, _ batch: inout PhoneBatch) throws(ItemError) {
        try members.checkNames()
        guard let time = members.time("date") else {
            return batch.reject("\(at)/date", "time", "date is missing, or no instant")
        }
        guard let user = user(members) else { throw ItemError("value", "userId is a number") }
        guard isOwner(user, at, &batch) else { return }
        let weight = TypeRegistry.standard.type(.weight).map { (text: "kg", type: $0) }
        try batch.noteUnread(members, but: Self.names, in: "/measurements", unit: weight, at: at)
        var values: [OpenScaleValue] = []
        if let list = members["values"], list.kind == .array {
            var cursor = ArrayCursor(list, in: bytes)
            while let element = cursor.next() {
                let place = "\(at)/values/\(cursor.count - 1)"
                let value = Members(element, in: bytes)
                try batch.noteUnread(
                    value, but: ["key", "name", "unit", "isDerived", "value", "text", "typeId"], in: "/values",
                    at: place)
                values.append(OpenScaleValue(value, place))
            }
        } else {
            values = OpenScaleValue.flat(members, at)
        }
        add(values, user, Timestamp(microseconds: time.microseconds), members, at, &batch)
    }

    /// Adds the records of one measurement as a group.
    func add(
        _ values: [OpenScaleValue], _ user: String, _ time: Timestamp, _ members: Members?, _ at: String,
        _ batch: inout PhoneBatch
    ) {
        let group = "\(Self.key(time)) u\(user)"
        var metadata = MetadataWriter()
        metadata.add("note", text: values.first { $0.key == "comment" }?.text)
        metadata.add("openScaleId", json: members?.digits("id"))
        metadata.add("username", text: members?.text("username"))
        let beside = metadata.text.flatMap { JSONObject($0) }
        if beside == nil, !metadata.isEmpty {
            batch.reject(at, "size", "its note, id and user name are more than a record takes: they are not stored")
        }
        var (samples, unread): ([Sample], [TypeID]) = ([], [])
        for value in values where value.key != "comment" {
            guard let (type, number, unit) = quantity(value, &batch) else { continue }
            if let known = PhoneTypes.registry.type(type), let fault = PhoneNumbers.fault(number, unit, known) {
                batch.reject(value.at, fault)
                unread.append(type)
                continue
            }
            guard !samples.contains(where: { $0.type == type }) else {
                batch.ignore(value.at, "the same value stands there twice")
                continue
            }
            guard let key = RecordKey(Self.key(Self.key(time), user, type.rawValue)) else {
                batch.reject(value.at, "value", "\(type) has a name that is too long for a key")
                continue
            }
            samples.append(
                Sample(
                    source: context.source("openscale"), key: key, type: type, value: .quantity(number, unit: unit),
                    start: time, subject: context.subject ?? Int(user).map(Subject.slot), group: group,
                    metadata: samples.isEmpty ? beside : nil))
        }
        guard !samples.isEmpty else { return batch.reject(at, "value", "the measurement has no value that is stored") }
        batch.records += samples.map { PhoneRecord(.sample($0), .pointer(at)) }
        // A value that cannot be read does not delete the previous one.
        batch.scaleSteps.append(
            .has(user: user, time: Self.key(time), types: (samples.map(\.type) + unread).map(\.rawValue)))
    }

    private func quantity(
        _ value: OpenScaleValue, _ batch: inout PhoneBatch
    ) -> (type: TypeID, value: Double, unit: String)? {
        if value.isDerived {
            batch.ignore(value.at, "isDerived: computed by openScale")
            return nil
        }
        if value.key == "calories" {
            batch.ignore(value.at, "it does not say whether they were eaten or burnt")
            return nil
        }
        guard let digits = value.digits, let number = Double(digits) else {
            batch.reject(value.at, "value", "value is a number")
            return nil
        }
        let unit = PhoneNumbers.unit(value.unit)
        if value.key == "body_fat", unit == "%" {
            return PhoneNumbers.hundredth(digits).map { (.bodyFatPercentage, $0, "%") }
        }
        switch Self.fields[value.key] {
        case .known(let type):
            return (
                type, number,
                unit.isEmpty
                    ? TypeRegistry.standard.type(type)?.unit ?? ""
                    : unit == "/min" ? "count/min" : unit == "kcal" ? "kcal/d" : unit
            )
        case .mass(let type):
            guard unit == "kg" else { break }
            return (type, number, unit)
        case .percent(let name):
            if unit == "kg", value.key == "water" { return (.hcBodyWaterMass, number, unit) }
            guard let type = try? TypeID("x.openscale.\(name)\(unit == "%" ? "Percentage" : "Mass")") else { break }
            guard unit == "%" || unit == "kg" else { break }
            return (unit == "%" ? PhoneNumbers.hundredth(digits) : number).map { (type, $0, unit) }
        case .own(let name, let wanted):
            guard let type = try? TypeID("x.openscale.\(name)") else { break }
            let fraction = wanted == "%" && unit == "%" ? PhoneNumbers.hundredth(digits) : number
            return fraction.map { (type, $0, unit.isEmpty ? wanted : unit == "kcal" ? "kcal/d" : unit) }
        case nil:
            batch.ignore(
                value.at,
                value.key.hasPrefix("custom_") ? "a custom value without a declared type" : "value not known",
                name: value.key.hasPrefix("custom_") ? nil : String(value.key.prefix(256)))
            return nil
        }
        batch.reject(value.at, "unit", "\(unit.prefix(64)) is not a unit of \(value.key)")
        return nil
    }
}

/// A value of a measurement.
struct OpenScaleValue {
    var key: String
    var unit: String
    var digits: String?
    var text: String?
    var isDerived = false
    let at: String

    init(_ members: Members, _ at: String) {
        key = (members.text("key") ?? "").lowercased()
        unit = members.text("unit") ?? ""
        (digits, text) = (members.digits("value"), members.text("text"))
        isDerived = members.truth("isDerived") ?? false
        self.at = at
    }

    init(_ key: String, _ digits: String, _ unit: String, _ at: String) {
        (self.key, self.digits, self.unit, self.at) = (key, digits, unit, at)
    }

    /// Reads the four numbers beside the list; zero means absent.
    static func flat(_ members: Members, _ at: String) -> [OpenScaleValue] {
        let names: [(StaticString, String, String)] = [
            ("weight", "weight", "kg"), ("body_fat", "body_fat", "%"), ("fat", "body_fat", "%"),
            ("water", "water", "%"), ("muscle", "muscle", "%"),
        ]
        return names.compactMap { name, key, unit in
            guard let digits = members.digits(name), Double(digits) != 0 else { return nil }
            return OpenScaleValue(key, digits, unit, "\(at)/\(name)")
        }
    }
}

/// Reads the retained list of all weighings of a user that openScale-sync publishes by MQTT.
struct OpenScaleHistory: PayloadSteps {
    private var reader: OpenScaleReader
    private let user: String
    private let fields: [String]
    /// The unit of each field.
    private let units: [String]
    private var cursor: ArrayCursor
    private var times: Set<String> = []
    private var isOver = false
    /// Whether the time of every row could be read.
    private var isWhole = true

    /// - Throws: ``PhoneError`` if the list is malformed.
    init(
        _ root: JSONValue, _ bytes: UnsafeRawBufferPointer, _ context: PhoneContext, user: String
    ) throws(PhoneError) {
        let members = Members(root, in: bytes)
        guard root.kind == .object, let list = members["fields"], list.kind == .array, let rows = members["rows"],
            rows.kind == .array
        else { throw PhoneError(.form, "the list is an object with fields and rows") }
        var names = ArrayCursor(list, in: bytes)
        var fields: [String] = []
        while let name = names.next(), fields.count < 100 {
            fields.append(name.kind == .string ? JSONText.string(name, in: bytes)?.lowercased() ?? "" : "")
        }
        guard fields.contains("date") else { throw PhoneError(.form, "fields has no date") }
        let units = members.object("units")
        self.units = fields.map { units?.text(named: $0) ?? "" }
        (self.fields, self.user) = (fields, user)
        reader = OpenScaleReader(bytes: bytes, context: context)
        cursor = ArrayCursor(rows, in: bytes)
    }

    mutating func next() -> PhoneBatch? {
        guard !isOver else { return nil }
        var batch = PhoneBatch()
        guard reader.isOwner(user, "", &batch) else {
            isOver = true
            batch.received = 1
            return batch
        }
        while batch.size < PhoneBody.batchRecords {
            guard let row = cursor.next() else {
                isOver = true
                // An empty or unreadable list deletes nothing.
                if !times.isEmpty, isWhole { batch.scaleSteps.append(.only(user: user, times: times)) }
                if !isWhole {
                    batch.ignore("/rows", "a row cannot be read: records that the list lacks are not taken back")
                }
                break
            }
            batch.received += 1
            read(row, "/rows/\(cursor.count - 1)", &batch)
        }
        return batch
    }

    private mutating func read(_ row: JSONValue, _ at: String, _ batch: inout PhoneBatch) {
        var cells = ArrayCursor(row, in: reader.bytes)
        var values: [OpenScaleValue] = []
        var time: Timestamp?
        for (field, unit) in zip(fields, units) {
            guard let cell = cells.next() else { break }
            guard cell.kind == .number else { continue }
            let digits = JSONText.plain(cell, reader.bytes)
            if field == "date" {
                time = Int64(digits).flatMap { milliseconds in
                    let (microseconds, overflows) = milliseconds.multipliedReportingOverflow(by: 1_000)
                    let time = Timestamp(microseconds: microseconds)
                    return overflows || !time.isRepresentable ? nil : time
                }
            } else {
                values.append(OpenScaleValue(field, digits, unit, at))
            }
        }
        guard let time else {
            isWhole = false
            return batch.reject(at, "time", "date is missing, or no instant")
        }
        times.insert(OpenScaleReader.key(time))
        reader.add(values, user, time, nil, at, &batch)
    }
}
