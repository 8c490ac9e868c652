import JSON
import Samples

/// Reads one array of a body of HC Webhook.
struct WebhookArray {
    /// The kind of the array's elements.
    enum Kind {
        case number(HealthConnectType)
        case sleep, exercise, pressure, nutrition, flow, period, spotting, ovulation, mucus, intercourse

        init?(_ key: String) {
            switch key {
            case "sleep": self = .sleep
            case "exercise": self = .exercise
            case "blood_pressure": self = .pressure
            case "nutrition": self = .nutrition
            case "menstruation_flow": self = .flow
            case "menstruation_period": self = .period
            case "intermenstrual_bleeding": self = .spotting
            case "ovulation_test": self = .ovulation
            case "cervical_mucus": self = .mucus
            case "sexual_activity": self = .intercourse
            default:
                guard let type = HealthConnectType.byKey[key] else { return nil }
                self = .number(type)
            }
        }
    }

    /// The time span of the elements, which no member gives.
    enum Form { case samples, days }

    let name: String
    let kind: Kind
    let bytes: UnsafeRawBufferPointer
    let context: PhoneContext
    /// The time at which the phone made the body.
    let made: Int64
    let form: Form

    private static let window: Int64 = 48 * 3_600_000_000
    var maker: SampleMaker { SampleMaker(context: context, account: "health-connect") }

    /// The form is days if no element has a source and each one begins at midnight on the person's clock.
    static func form(of list: JSONValue, _ bytes: UnsafeRawBufferPointer, _ context: PhoneContext) -> Form {
        var cursor = ArrayCursor(list, in: bytes)
        while let element = cursor.next() {
            let members = Members(element, in: bytes)
            guard members["metadata"] == nil, let start = members.time("start_time"), isMidnight(start, context) else {
                return .samples
            }
        }
        return .days
    }

    private static func isMidnight(_ time: Timestamp, _ context: PhoneContext) -> Bool {
        let day = LocalDay.number(of: time, sampleZone: nil, personZone: context.zone, policy: .fixed)
        let before = Timestamp(microseconds: time.microseconds - 1)
        return day != LocalDay.number(of: before, sampleZone: nil, personZone: context.zone, policy: .fixed)
    }

    func read(_ element: JSONValue, _ index: Int, _ batch: inout PhoneBatch) {
        let at = "/\(name)/\(index)"
        do throws(ItemError) { try read(Members(item: element, in: bytes), at, &batch) } catch {
            batch.reject(at, error)
        }
    }

    private func read(_ members: Members, _ at: String, _ batch: inout PhoneBatch) throws(ItemError) {
        if case .sleep = kind { return try sleep(members, at, &batch) }
        let times = try time(members)
        guard (times.end ?? times.start).microseconds <= made || isUnderWay(times, members) else {
            throw Self.projection
        }
        var (known, member, unit) = (kind.names, nil as String?, nil as (text: String, type: HealthType)?)
        if case .number(let type) = kind {
            member = type.member
            unit = type.registered.map { (type.unit, $0) }
        }
        known += ["start_time", "end_time", "time", "metadata"]
        try batch.noteUnread(members, but: known, also: member, in: "/\(name)", unit: unit, at: at)
        let item = HealthConnectItem(
            maker: maker, at: at, start: times.start, end: times.end, metadata: metadata(members),
            origin: origin(members))
        switch kind {
        case .number(let type): try number(type, members, item, &batch)
        case .pressure: try item.pressure(members.number("systolic"), members.number("diastolic"), &batch)
        case .exercise: try exercise(members, item, &batch)
        case .nutrition: try item.nutrition(members.text("name"), NutritionFields.webhook(members), &batch)
        case .flow: try item.flow(members.number("flow"), &batch)
        case .period: try item.period(&batch)
        case .spotting: try item.category(.intermenstrualBleeding, 0, &batch)
        case .ovulation:
            try item.coded(.ovulationTestResult, members.number("result"), HealthConnectCodes.ovulation, &batch)
        case .mucus:
            try item.coded(.cervicalMucusQuality, members.number("appearance"), HealthConnectCodes.mucus, &batch)
        case .intercourse: try item.intercourse(members.number("protection_used"), &batch)
        case .sleep: break
        }
    }

    private static let projection = ItemError("time", "ends after the payload was made: a projection")

    /// Reads a night, which has no start: it is the end minus the duration.
    private func sleep(_ members: Members, _ at: String, _ batch: inout PhoneBatch) throws(ItemError) {
        try batch.noteUnread(
            members, but: kind.names + ["start_time", "end_time", "metadata"], in: "/\(name)", at: at)
        let end = try members.instant("session_end_time")
        guard let length = members.number("duration_seconds"), length >= 0, length <= 604_800 else {
            throw ItemError("time", "negative length, or none, or more than 7 days")
        }
        guard end.microseconds <= made else { throw Self.projection }
        let start = Timestamp(microseconds: end.microseconds - Int64((length * 1_000_000).rounded()))
        let item = HealthConnectItem(
            maker: maker, at: at, start: start, end: end, metadata: metadata(members), origin: origin(members))
        try item.sleep(members, times: ("start_time", "end_time"), &batch)
    }

    /// Whether the element is a sum that still grows.
    ///
    /// Samsung Health writes one record for each day, which grows until midnight, and each post contains its next version.
    ///
    /// Excludes the total energy of a day, which is a projection until the day is over.
    private func isUnderWay(_ times: (start: Timestamp, end: Timestamp?), _ members: Members) -> Bool {
        guard case .number(let type) = kind, type.isInterval, type.registered?.aggregation == .cumulative,
            type.type != "hc.totalCaloriesBurned", !origin(members).isEmpty, let end = times.end
        else { return false }
        return times.start.microseconds <= made && end.microseconds - times.start.microseconds <= 25 * 3_600_000_000
    }

    private func time(_ members: Members) throws(ItemError) -> (start: Timestamp, end: Timestamp?) {
        let isInterval = members["start_time"] != nil
        let text = isInterval ? members.text("start_time") : members.text("time")
        guard let text else { throw ItemError("time", "time is missing") }
        guard let start = PhoneTime.read(text) else { throw ItemError("time", "no instant") }
        guard isInterval else { return (start, nil) }
        let end = try members.instant("end_time")
        guard start.microseconds <= end.microseconds else { throw ItemError("time", "negative length") }
        return (start, end)
    }

    // MARK: - Data beside the number

    func origin(_ members: Members) -> String { members.object("metadata")?.text("data_origin") ?? "" }

    func metadata(_ members: Members) -> MetadataWriter {
        var writer = MetadataWriter()
        guard let metadata = members.object("metadata") else { return writer }
        writer.add("dataOrigin", text: metadata.text("data_origin"))
        if let method = metadata.text("recording_method") {
            if method == "manual_entry" {
                writer.add("wasUserEntered", truth: true)
            } else {
                writer.add("recordingMethod", text: method)
            }
        }
        writer.add("device", json: metadata.object("device").flatMap(HealthConnectItem.device))
        return writer
    }

    // MARK: - Numbers

    private func number(
        _ type: HealthConnectType, _ members: Members, _ item: HealthConnectItem, _ batch: inout PhoneBatch
    ) throws(ItemError) {
        func value(_ name: String) -> Double? {
            members.value(named: name).flatMap { type.number($0, in: bytes) }
        }
        if form == .days, type.isInterval, item.end != nil { return try day(type, value(type.member), item, &batch) }
        if let mean = value("avg") { return try item.bucket(type, mean, value("min"), value("max"), &batch) }
        try item.number(type, value(type.member), type.member, isBucket: isBucket(type, members, item), &batch)
    }

    /// Whether the element is a sum of several records that can still grow: it has no source and lies on whole five minutes.
    private func isBucket(_ type: HealthConnectType, _ members: Members, _ item: HealthConnectItem) -> Bool {
        guard type.isInterval, members["metadata"] == nil, let end = item.end else { return false }
        return item.start.microseconds % 300_000_000 == 0
            && (end.microseconds % 300_000_000 == 0 || made - end.microseconds < 60_000_000)
    }

    private func day(
        _ type: HealthConnectType, _ value: Double?, _ item: HealthConnectItem, _ batch: inout PhoneBatch
    ) throws(ItemError) {
        guard let value, let registered = type.registered else {
            throw ItemError("value", "\(type.member) is a number")
        }
        try PhoneNumbers.check(value, type.unit, registered)
        let begin = made - Self.window
        // The app counts from the start of its window, but writes midnight as the start.
        if item.start.microseconds < begin, let end = item.end, end.microseconds > begin {
            let text = Timestamp(microseconds: begin).text
            return batch.ignore(
                item.at, "the window of 48 hours began at \(text), inside that day: the count is partial")
        }
        guard let date = LocalDay.of(item.start, sampleZone: nil, personZone: context.zone, policy: .fixed) else {
            throw ItemError("time", "the zone of the person is not known: \(context.zone)")
        }
        batch.addDay(
            context, registered, value, type.unit, on: date, series: "hc", account: "health-connect",
            .pointer(item.at))
    }

    // MARK: - Exercise

    private func exercise(
        _ members: Members, _ item: HealthConnectItem, _ batch: inout PhoneBatch
    ) throws(ItemError) {
        let type = members.text("type").flatMap { Int($0) } ?? members.number("type").flatMap { Int(exactly: $0) }
        try item.workout(
            type, members,
            HealthConnectWorkoutTotals(
                distance: members.number("distance_meters"), steps: members.number("steps"),
                meanCadence: members.number("avg_cadence_spm"), highestCadence: members.number("max_cadence_spm"),
                stride: members.number("stride_length_m")), &batch)
    }
}

extension WebhookArray.Kind {
    /// The members of an element besides its times and its metadata.
    fileprivate var names: [StaticString] {
        switch self {
        case .number: ["avg", "min", "max"]
        case .sleep: ["session_end_time", "duration_seconds", "sleep_updated_at", "stages"]
        case .exercise:
            [
                "type", "title", "notes", "duration_seconds", "distance_meters", "steps", "avg_cadence_spm",
                "max_cadence_spm",
                "stride_length_m",
            ]
        case .pressure: ["systolic", "diastolic"]
        case .nutrition: ["name"] + NutritionFields.webhookNames
        case .flow: ["flow"]
        case .ovulation: ["result"]
        case .mucus: ["appearance"]
        case .intercourse: ["protection_used"]
        case .period, .spotting: []
        }
    }
}
