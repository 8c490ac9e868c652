import JSON
import Samples

/// Converts one element of Health Connect, from any app: its times and its values.
struct HealthConnectItem {
    let maker: SampleMaker
    let at: String
    let start: Timestamp
    /// `nil` for an instant.
    let end: Timestamp?
    var metadata: MetadataWriter
    /// The last part of the key: a hash of the source app, or the id of the record.
    let suffix: String
    /// The version of the record, if the app knows it.
    var version: Int64?
    /// Whether the id identifies the record: then keys are `T <id>`, without a type.
    let isKnownByID: Bool
    /// The app that wrote the element, as Health Connect names it; empty if unknown.
    let origin: String

    /// - Parameter id: the id of the record; without one, the source app is part of its identity.
    init(
        maker: SampleMaker, at: String, start: Timestamp, end: Timestamp?, metadata: MetadataWriter, origin: String,
        id: String? = nil, version: Int64? = nil
    ) {
        (self.maker, self.at, self.start, self.end, self.metadata) = (maker, at, start, end, metadata)
        (suffix, self.version) = (id ?? PhoneKeys.hash(origin), version)
        (isKnownByID, self.origin) = (id != nil, origin)
    }

    /// A device, in the form of the metadata.
    static func device(_ members: Members) -> String? {
        var writer = MetadataWriter()
        writer.add("manufacturer", text: members.text("manufacturer"))
        writer.add("model", text: members.text("model"))
        return writer.text
    }

    private static let tooLarge = ItemError("metadata", "it is too large for a record, or its id is too long")

    private var time: String { PhoneTime.key(start.microseconds, keepsMilliseconds: true) }

    private func key(_ type: String) -> String { isKnownByID ? "\(time) \(suffix)" : "\(time) \(type) \(suffix)" }

    private func add(_ samples: [Sample?], _ batch: inout PhoneBatch) throws(ItemError) {
        guard samples.allSatisfy({ $0 != nil }) else { throw Self.tooLarge }
        for case var sample? in samples {
            sample.sourceVersion = version
            batch.records.append(PhoneRecord(.sample(sample), .pointer(at)))
        }
    }

    // MARK: - Numbers

    func number(
        _ type: HealthConnectType, _ value: Double?, _ member: String, isBucket: Bool = false,
        _ batch: inout PhoneBatch
    ) throws(ItemError) {
        guard let value else { throw ItemError("value", "\(member) is a number") }
        try check(value, of: type)
        guard let id = try? TypeID(type.type) else { return }
        let sum = isBucket ? PhoneNumbers.rounded(value) : value
        let key = isBucket ? "\(time) \(type.type) b" : key(type.type)
        var maker = maker
        if type.registered?.aggregation == .cumulative {
            maker = SampleMaker(context: maker.context, account: isBucket ? "\(maker.account) sums" : accountOfApp)
        }
        try add([maker.quantity(id, sum, type.unit, key, start, end, metadata)], &batch)
    }

    /// The account for cumulative types.
    ///
    /// Each app has its own, so that steps counted by both phone and band count once.
    private var accountOfApp: String {
        guard let since = maker.context.appsSince, start.microseconds >= since, !origin.isEmpty else {
            return maker.account
        }
        // Package names are short and plain. An app named `sums` must not look like a source of sums.
        let isPlain =
            origin.utf8.count <= 128 && origin != "sums"
            && origin.utf8.allSatisfy {
                (0x30...0x39).contains($0) || (0x61...0x7A).contains($0 | 0x20) || $0 == 0x2E || $0 == 0x5F
            }
        return "\(maker.account) \(isPlain ? origin : PhoneKeys.hash(origin))"
    }

    /// Adds a mean of several values, with the minimum and the maximum.
    func bucket(
        _ type: HealthConnectType, _ mean: Double, _ low: Double?, _ high: Double?, _ batch: inout PhoneBatch
    ) throws(ItemError) {
        try check(mean, of: type)
        guard let id = try? TypeID(type.type) else { return }
        var metadata = metadata
        metadata.add("aggregation", text: "mean")
        metadata.add("minimum", number: low)
        metadata.add("maximum", number: high)
        let (value, key) = (PhoneNumbers.rounded(mean), "\(time) \(type.type) b")
        try add([maker.quantity(id, value, type.unit, key, start, end, metadata)], &batch)
    }

    private func check(_ value: Double, of type: HealthConnectType) throws(ItemError) {
        guard let registered = type.registered else { return }
        try PhoneNumbers.check(value, type.unit, registered)
        guard !type.isPercent || !PhoneNumbers.isNoPercentage(value, of: registered.id) else {
            throw ItemError("value", "as 0 to 100 it is beyond a person's range")
        }
        // Health Connect forbids it, but some apps that read it from elsewhere still send it.
        if registered.id == .weight, value <= 0 { throw ItemError("value", "a weight is positive") }
    }

    func pressure(_ systolic: Double?, _ diastolic: Double?, _ batch: inout PhoneBatch) throws(ItemError) {
        guard let systolic, let diastolic else { throw ItemError("value", "systolic and diastolic are numbers") }
        let samples = try maker.pressure(systolic, diastolic, "mmHg", base: key("bp"), start, end, metadata)
        guard let samples else { throw Self.tooLarge }
        try add(samples, &batch)
    }

    // MARK: - Events

    func category(_ type: TypeID, _ raw: Int, _ batch: inout PhoneBatch) throws(ItemError) {
        try add([maker.category(type, raw, key("\(type)"), start, end, metadata)], &batch)
    }

    /// Converts a code of Health Connect to HealthKit's.
    func coded(
        _ type: TypeID, _ value: Double?, _ codes: [Int: Int], _ batch: inout PhoneBatch
    ) throws(ItemError) {
        guard let value, let code = Int(exactly: value) else { throw ItemError("value", "a number is expected") }
        guard let raw = codes[code] else { return batch.ignore(at, "no record can hold the code \(code)") }
        try category(type, raw, &batch)
    }

    func flow(_ value: Double?, _ batch: inout PhoneBatch) throws(ItemError) {
        // Every menstrual flow in HealthKit must have this key; Health Connect marks the start in its periods.
        var item = self
        item.metadata.add("menstrualCycleStart", truth: false)
        try item.coded(.menstrualFlow, value, HealthConnectCodes.flow, &batch)
    }

    func period(_ batch: inout PhoneBatch) throws(ItemError) {
        guard let type = try? TypeID("x.hc.menstruationPeriod") else { return }
        try add([maker.sample(type, .other(nil), key("menstruationPeriod"), start, end, metadata)], &batch)
    }

    func intercourse(_ value: Double?, _ batch: inout PhoneBatch) throws(ItemError) {
        var item = self
        let code = value.flatMap { Int(exactly: $0) } ?? 0
        item.metadata.add("sexualActivityProtectionUsed", truth: HealthConnectCodes.protection[code])
        try item.category(.sexualActivity, 0, &batch)
    }

    // MARK: - Elements with several values

    func nutrition(
        _ name: String?, _ fields: [NutritionFields.Field], _ batch: inout PhoneBatch
    ) throws(ItemError) {
        guard !fields.isEmpty else { throw ItemError("value", "it has no nutrients") }
        let base = key("food")
        for field in fields {
            try PhoneNumbers.check(field.value, field.unit, TypeRegistry.standard.type(field.type))
        }
        let food = name?.trimmed ?? ""
        var metadata = metadata
        if !food.isEmpty { metadata.add("foodType", text: food) }
        var samples: [Sample?] = fields.enumerated().map { index, field in
            maker.quantity(
                field.type, field.value, field.unit, "\(base) \(field.short)", start, end, group: base, metadata)
        }
        // A food in HealthKit must have a name.
        if !food.isEmpty {
            samples.insert(maker.sample(.food, .correlation, base, start, end, group: base, metadata), at: 0)
        }
        try add(samples, &batch)
    }

    /// - Parameter members: the workout, of which `title` and `notes` are kept.
    func workout(
        _ exerciseType: Int?, _ members: Members, _ figures: HealthConnectWorkoutTotals, _ batch: inout PhoneBatch
    ) throws(ItemError) {
        guard let exerciseType, let activity = ExerciseTypes.activity(exerciseType) else {
            throw ItemError("value", "type is a number")
        }
        var metadata = metadata
        metadata.addTexts(of: members)
        metadata.add("exerciseType", json: "\(exerciseType)")
        if let stride = figures.stride { metadata.add("strideLength", stride, unit: "m") }
        let parts = figures.parts(of: activity)
        if parts.distanceIsOther, let distance = figures.distance { metadata.add("distance", distance, unit: "m") }
        var sample = maker.sample(
            .workout, .workout(activity: activity.name, raw: Int64(activity.raw)), key("workout"), start, end, metadata)
        if parts.parts != WorkoutParts() { sample?.workout = parts.parts }
        try add([sample], &batch)
    }

    /// Adds the stages of a night as one group of intervals; a night without stages is one interval.
    ///
    /// - Parameter times: the members with a stage's start and end.
    func sleep(
        _ members: Members, times: (start: StaticString, end: StaticString), _ batch: inout PhoneBatch
    ) throws(ItemError) {
        guard let end else { throw ItemError("time", "endTime is missing, or no instant") }
        let list = members["stages"].flatMap { $0.kind == .array ? $0 : nil }
        var cursor = list.map { ArrayCursor($0, in: members.bytes) }
        var stages: [SleepStage] = []
        while let element = cursor?.next() {
            let stage = Members(element, in: members.bytes)
            let place = "\(at)/stages/\((cursor?.count ?? 1) - 1)"
            guard stage.repeatedName == nil, let start = stage.time(times.start), let end = stage.time(times.end),
                start.microseconds <= end.microseconds,
                // One app writes the number as a text.
                let code = stage.text("stage").flatMap({ Int($0) })
                    ?? stage.number("stage").flatMap({ Int(exactly: $0) })
            else { throw ItemError("time", "a stage cannot be read: the night is taken whole or not at all") }
            switch HealthConnectCodes.sleep[code] {
            case .some(.some(let raw)): stages.append(SleepStage(raw: raw, start: start, end: end))
            case .some(.none): batch.ignore(place, "out of bed: no sleep record")
            case .none: batch.reject(place, "value", "there is no such stage of sleep")
            }
        }
        if cursor?.count ?? 0 == 0 { stages = [SleepStage(raw: 1, start: start, end: end)] }
        let group = isKnownByID ? suffix : "\(time) \(suffix)"
        var samples: [Sample?] = []
        for stage in stages {
            let time = PhoneTime.key(stage.start.microseconds, keepsMilliseconds: true)
            let key = isKnownByID ? "\(time) \(suffix)" : "\(time) sleepAnalysis \(suffix)"
            samples.append(
                maker.category(.sleepAnalysis, stage.raw, key, stage.start, stage.end, group: group, metadata))
        }
        try add(samples, &batch)
    }
}

extension MetadataWriter {
    /// Adds the texts that a person wrote to a session.
    mutating func addTexts(of session: Members) {
        for name in ["title", "notes"] as [StaticString] { add("\(name)", text: session.text(name)) }
    }
}

/// A stage of sleep, with HealthKit's number.
private struct SleepStage {
    var raw: Int
    var start, end: Timestamp
}

/// Health Connect's totals for a whole workout.
struct HealthConnectWorkoutTotals {
    var distance, steps, meanCadence, highestCadence, stride: Double?

    /// The totals as workout parts; if HealthKit has no distance type for the activity, the distance has no type.
    func parts(of activity: WorkoutActivity) -> (parts: WorkoutParts, distanceIsOther: Bool) {
        var parts = WorkoutParts()
        func add(_ type: TypeID, _ value: Double?, _ unit: String, _ statistic: WorkoutParts.Total.Statistic = .sum) {
            guard let value, value >= 0 else { return }
            parts.totals.append(WorkoutParts.Total(type, value, unit: unit, statistic: statistic))
        }
        if let type = activity.distance { add(type, distance, "m") }
        add(.stepCount, steps, "count")
        add(.hcStepsCadence, meanCadence, "count/min", .average)
        add(.hcStepsCadence, highestCadence, "count/min", .maximum)
        return (parts, activity.distance == nil)
    }
}

/// The nutrients of a meal, from either app.
enum NutritionFields {
    struct Field {
        var type: TypeID
        var value: Double
        var unit: String
        /// The short name used in the key.
        var short: String
    }

    private static let fields: [(webhook: StaticString, record: StaticString, TypeID, String, String)] = [
        ("calories", "energy", .dietaryEnergyConsumed, "kcal", "energy"),
        ("protein_grams", "protein", .dietaryProtein, "g", "protein"),
        ("carbs_grams", "totalCarbohydrate", .dietaryCarbohydrates, "g", "carbs"),
        ("fat_grams", "totalFat", .dietaryFatTotal, "g", "fat"), ("sugar_grams", "sugar", .dietarySugar, "g", "sugar"),
        ("sodium_grams", "sodium", .dietarySodium, "g", "sodium"),
        ("dietary_fiber_grams", "dietaryFiber", .dietaryFiber, "g", "fiber"),
    ]

    static let webhookNames = fields.map(\.webhook)
    static let recordNames = fields.map(\.record)

    static func webhook(_ members: Members) -> [Field] {
        fields.compactMap { field in
            members.number(field.webhook).map { Field(type: field.2, value: $0, unit: field.3, short: field.4) }
        }
    }

    static func record(_ members: Members) -> [Field] {
        fields.compactMap { field in
            let object = members.object(field.record)
            return (object?.number("inGrams") ?? object?.number("inKilocalories")).map {
                Field(type: field.2, value: $0, unit: field.3, short: field.4)
            }
        }
    }
}
