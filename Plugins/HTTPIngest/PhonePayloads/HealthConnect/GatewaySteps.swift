import JSON
import Samples

/// Reads a body of HCGateway: records of one type, with the ids of Health Connect.
struct GatewaySteps: PayloadSteps {
    private let bytes: UnsafeRawBufferPointer
    private let context: PhoneContext
    private let record: String
    private let data: JSONValue
    private var cursor: ArrayCursor
    private var isOver = false

    /// - Parameter type: the last part of the address, such as `Weight`.
    /// - Throws: ``PhoneError`` if the body is not an object with `data`.
    init(
        _ root: JSONValue, _ bytes: UnsafeRawBufferPointer, _ context: PhoneContext, type: String
    ) throws(PhoneError) {
        (self.bytes, self.context, record) = (bytes, context, type)
        let members = try Members(body: root, with: "data", in: bytes)
        guard let data = members["data"], data.kind == .array || data.kind == .object else {
            throw PhoneError(.form, "data is an array of records, or one record")
        }
        self.data = data
        cursor = ArrayCursor(data, in: bytes)
    }

    mutating func next() -> PhoneBatch? {
        guard !isOver else { return nil }
        var batch = PhoneBatch()
        guard data.kind == .array else {
            isOver = true
            read(data, "/data", &batch)
            return batch
        }
        while batch.size < PhoneBody.batchRecords {
            guard let element = cursor.next() else {
                isOver = true
                break
            }
            read(element, "/data/\(cursor.count - 1)", &batch)
        }
        return batch
    }

    private var maker: SampleMaker { SampleMaker(context: context, account: "health-connect") }

    private func read(_ element: JSONValue, _ at: String, _ batch: inout PhoneBatch) {
        batch.received += 1
        do throws(ItemError) { try read(item: element, at, &batch) } catch { batch.reject(at, error) }
    }

    private func read(item element: JSONValue, _ at: String, _ batch: inout PhoneBatch) throws(ItemError) {
        let members = try Members(item: element, in: bytes)
        guard let start = (members.text("time") ?? members.text("startTime")).flatMap(PhoneTime.read) else {
            throw ItemError("time", "time is missing, or no instant")
        }
        try noteUnread(members, at, &batch)
        let end = members["time"] == nil ? members.time("endTime") : nil
        guard end.map({ start.microseconds <= $0.microseconds }) ?? true else {
            throw ItemError("time", "negative length")
        }
        let own = members.object("metadata")
        guard let id = own?.text("id"), !id.isEmpty, id.utf8.count <= 44 else {
            throw ItemError("key", "metadata.id is missing, or too long")
        }
        let version = own?.time("lastModifiedTime").map { $0.microseconds / 1_000 }
        let item = HealthConnectItem(
            maker: maker, at: at, start: shown(start, members, ["zoneOffset", "startZoneOffset"]),
            end: end.map { shown($0, members, ["endZoneOffset", "startZoneOffset"]) }, metadata: metadata(own),
            origin: own?.text("dataOrigin") ?? "", id: id, version: version)
        try read(members, element, item, &batch)
    }

    private func noteUnread(_ members: Members, _ at: String, _ batch: inout PhoneBatch) throws(ItemError) {
        let own: [StaticString] =
            switch record {
            case "SleepSession": ["title", "notes", "stages"]
            case "ExerciseSession": ["exerciseType", "title", "notes"]
            case "BloodPressure": ["systolic", "diastolic"]
            case "Nutrition": ["name"] + NutritionFields.recordNames
            case "MenstruationFlow": ["flow"]
            case "OvulationTest": ["result"]
            case "CervicalMucus": ["appearance"]
            case "HeartRate", "CyclingPedalingCadence", "StepsCadence", "Power", "Speed": ["samples"]
            default: []
            }
        let path = HealthConnectType.byRecord[record]?.path.first
        // An unknown record is kept with all of its members.
        guard !own.isEmpty || path != nil || record == "MenstruationPeriod" else { return }
        let common: [StaticString] = [
            "time", "startTime", "endTime", "metadata", "zoneOffset", "startZoneOffset", "endZoneOffset", "recordType",
        ]
        try batch.noteUnread(members, but: own + common, also: path, in: "/data", at: at)
    }

    /// The time with the local offset, if the app sends it.
    private func shown(_ time: Timestamp, _ members: Members, _ names: [StaticString]) -> Timestamp {
        let seconds = names.lazy.compactMap { members.object($0)?.number("totalSeconds") }.first
        guard time.offsetMinutes == nil, let seconds, let minutes = Int16(exactly: seconds / 60),
            (-1_439...1_439).contains(minutes)
        else { return time }
        return Timestamp(microseconds: time.microseconds, offsetMinutes: minutes)
    }

    private func metadata(_ own: Members?) -> MetadataWriter {
        var writer = MetadataWriter()
        writer.add("dataOrigin", text: own?.text("dataOrigin"))
        if own?.number("recordingMethod") == 3 { writer.add("wasUserEntered", truth: true) }
        writer.add("device", json: own?.object("device").flatMap(HealthConnectItem.device))
        return writer
    }

    private func read(
        _ members: Members, _ element: JSONValue, _ item: HealthConnectItem, _ batch: inout PhoneBatch
    ) throws(ItemError) {
        switch record {
        case "SleepSession":
            var item = item
            item.metadata.addTexts(of: members)
            try item.sleep(members, times: ("startTime", "endTime"), &batch)
        case "ExerciseSession":
            let type = members.number("exerciseType").flatMap { Int(exactly: $0) }
            try item.workout(type, members, HealthConnectWorkoutTotals(), &batch)
        case "BloodPressure":
            try item.pressure(
                members.object("systolic")?.number("inMillimetersOfMercury"),
                members.object("diastolic")?.number("inMillimetersOfMercury"), &batch)
        case "Nutrition": try item.nutrition(members.text("name"), NutritionFields.record(members), &batch)
        case "MenstruationFlow": try item.flow(members.number("flow"), &batch)
        case "MenstruationPeriod": try item.period(&batch)
        case "OvulationTest":
            try item.coded(.ovulationTestResult, members.number("result"), HealthConnectCodes.ovulation, &batch)
        case "CervicalMucus":
            try item.coded(.cervicalMucusQuality, members.number("appearance"), HealthConnectCodes.mucus, &batch)
        case "HeartRate": try series(members, item, "heartRate", "beatsPerMinute", nil, "count/min", &batch)
        case "CyclingPedalingCadence":
            try series(members, item, "cyclingCadence", "revolutionsPerMinute", nil, "count/min", &batch)
        case "StepsCadence": try series(members, item, "hc.stepsCadence", "rate", nil, "count/min", &batch)
        case "Power": try series(members, item, "cyclingPower", "power", "inWatts", "W", &batch)
        case "Speed": try series(members, item, "x.hc.speed", "speed", "inMetersPerSecond", "m/s", &batch)
        default: try number(members, element, item, &batch)
        }
    }

    private func number(
        _ members: Members, _ element: JSONValue, _ item: HealthConnectItem, _ batch: inout PhoneBatch
    ) throws(ItemError) {
        guard let type = HealthConnectType.byRecord[record] else {
            UnknownElementStore(bytes, context, account: "health-connect", type: "x.hc.unread")
                .keep(element, record, at: item.at, [], &batch)
            return batch.ignore(item.at, "type not known", name: String(record.prefix(256)), points: 1)
        }
        var found = type.path.first.flatMap { members.value(named: $0) }
        if type.path.count > 1 {
            found = found.flatMap { Members($0, in: bytes).value(named: type.path[1]) }
        }
        let value = found.flatMap { type.number($0, in: bytes) }
        try item.number(type, value, type.path.joined(separator: "."), &batch)
    }

    /// Adds the samples within a record as separate records of one group.
    private func series(
        _ members: Members, _ item: HealthConnectItem, _ type: String, _ outer: StaticString, _ inner: StaticString?,
        _ unit: String, _ batch: inout PhoneBatch
    ) throws(ItemError) {
        guard let list = members["samples"], list.kind == .array, let id = try? TypeID(type) else {
            throw ItemError("value", "samples is an array")
        }
        let registered = TypeRegistry.standard.type(id)
        func sample(_ members: Members) throws(ItemError) -> Sample {
            let time = try members.instant("time")
            guard let value = inner.map({ members.object(outer)?.number($0) }) ?? members.number(outer) else {
                throw ItemError("value", "\(outer) is a number")
            }
            try PhoneNumbers.check(value, unit, registered)
            let key = "\(PhoneTime.key(time.microseconds, keepsMilliseconds: true)) \(item.suffix)"
            guard var made = maker.quantity(id, value, unit, key, time, nil, item.metadata) else {
                throw ItemError("key", "the id is too long")
            }
            made.sourceVersion = item.version
            return made
        }
        var cursor = ArrayCursor(list, in: bytes)
        while let element = cursor.next() {
            let at = "\(item.at)/samples/\(cursor.count - 1)"
            do throws(ItemError) {
                let made = try sample(Members(element, in: bytes))
                batch.records.append(PhoneRecord(.sample(made), .pointer(at)))
            } catch {
                batch.reject(at, error)
            }
        }
    }
}
