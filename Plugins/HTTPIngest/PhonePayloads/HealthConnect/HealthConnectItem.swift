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

    /// Creates an element identified by its source app.
    init(
        maker: SampleMaker, at: String, start: Timestamp, end: Timestamp?, metadata: MetadataWriter, origin: String
    ) {
        (self.maker, self.at, self.start, self.end, self.metadata) = (maker, at, start, end, metadata)
        (suffix, isKnownByID, self.origin) = (PhoneKeys.hash(origin), false, origin)
    }

    /// Creates an element identified by its id.
    init(
        maker: SampleMaker, at: String, start: Timestamp, end: Timestamp?, metadata: MetadataWriter, origin: String,
        id: String, version: Int64?
    ) {
        (self.maker, self.at, self.start, self.end, self.metadata) = (maker, at, start, end, metadata)
        (suffix, self.version, isKnownByID, self.origin) = (id, version, true, origin)
    }

    /// A device, in the form of the metadata.
    static func device(_ members: Members) -> String? {
        var writer = MetadataWriter()
        writer.add("manufacturer", text: members.text("manufacturer"))
        writer.add("model", text: members.text("model"))
        return writer.text
    }

    private var time: String { PhoneTime.key(start.microseconds, keepsMilliseconds: true) }

    private func key(_ type: String) -> String { isKnownByID ? "\(time) \(suffix)" : "\(time) \(type) \(suffix)" }

    private func add(_ samples: [Sample?], _ batch: inout PhoneBatch) {
        guard samples.allSatisfy({ $0 != nil }) else {
            return batch.reject(at, "metadata", "it is too large for a record, or its id is too long")
        }
        for case var sample? in samples {
            sample.sourceVersion = version
            batch.records.append(PhoneRecord(.sample(sample), .pointer(at)))
        }
    }

    // MARK: - Numbers

    func number(
        _ type: HealthConnectType, _ value: Double?, _ member: String, isBucket: Bool = false,
        _ batch: inout PhoneBatch
    ) {
        guard let value else { return batch.reject(at, "value", "\(member) is a number") }
        if let fault = fault(type, value) { return batch.reject(at, fault.0, fault.1) }
        guard let id = try? TypeID(type.type) else { return }
        let sum = isBucket ? PhoneNumbers.rounded(value) : value
        let key = isBucket ? "\(time) \(type.type) b" : key(type.type)
        var maker = maker
        if type.registered?.aggregation == .cumulative {
            maker = SampleMaker(context: maker.context, account: isBucket ? "\(maker.account) sums" : accountOfApp)
        }
        add([maker.quantity(id, sum, type.unit, key, start, end, metadata)], &batch)
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
    ) {
        if let fault = fault(type, mean) { return batch.reject(at, fault.0, fault.1) }
        guard let id = try? TypeID(type.type) else { return }
        var metadata = metadata
        metadata.add("aggregation", text: "mean")
        metadata.add("minimum", number: low)
        metadata.add("maximum", number: high)
        add(
            [
                maker.quantity(
                    id, PhoneNumbers.rounded(mean), type.unit, "\(time) \(type.type) b", start, end, metadata)
            ], &batch)
    }

    private func fault(_ type: HealthConnectType, _ value: Double) -> (String, String)? {
        guard let registered = type.registered else { return nil }
        if let fault = PhoneNumbers.fault(value, type.unit, registered) { return fault }
        guard !type.isPercent || !PhoneNumbers.isNoPercentage(value, of: registered.id) else {
            return ("value", "as 0 to 100 it is beyond a person's range")
        }
        // Health Connect forbids it, but some apps that read it from elsewhere still send it.
        return registered.id == .weight && value <= 0 ? ("value", "a weight is positive") : nil
    }

    func pressure(_ systolic: Double?, _ diastolic: Double?, _ batch: inout PhoneBatch) {
        guard let systolic, let diastolic else {
            return batch.reject(at, "value", "systolic and diastolic are numbers")
        }
        for (id, value) in [(TypeID.bloodPressureSystolic, systolic), (.bloodPressureDiastolic, diastolic)] {
            guard let type = TypeRegistry.standard.type(id), let fault = PhoneNumbers.fault(value, "mmHg", type) else {
                continue
            }
            return batch.reject(at, fault.code, fault.reason)
        }
        let base = isKnownByID ? "\(time) \(suffix)" : "\(time) bp \(suffix)"
        guard let samples = maker.pressure(systolic, diastolic, base: base, start, end, metadata) else {
            return batch.reject(at, "metadata", "it is too large for a record, or its id is too long")
        }
        add(samples, &batch)
    }

    // MARK: - Events

    func category(_ type: TypeID, _ raw: Int, _ batch: inout PhoneBatch) {
        add([maker.category(type, raw, key("\(type)"), start, end, metadata)], &batch)
    }

    /// Converts a code of Health Connect to HealthKit's.
    func coded(_ type: TypeID, _ value: Double?, _ codes: [Int: Int], _ batch: inout PhoneBatch) {
        guard let value, let code = Int(exactly: value) else {
            return batch.reject(at, "value", "a number is expected")
        }
        guard let raw = codes[code] else { return batch.ignore(at, "no record can hold the code \(code)") }
        category(type, raw, &batch)
    }

    func flow(_ value: Double?, _ batch: inout PhoneBatch) {
        // Every menstrual flow in HealthKit must have this key; Health Connect marks the start in its periods.
        var item = self
        item.metadata.add("menstrualCycleStart", truth: false)
        item.coded(.menstrualFlow, value, HealthConnectCodes.flow, &batch)
    }

    func period(_ batch: inout PhoneBatch) {
        guard let type = try? TypeID("x.hc.menstruationPeriod") else { return }
        add([maker.sample(type, .other(nil), key("menstruationPeriod"), start, end, metadata)], &batch)
    }

    func intercourse(_ value: Double?, _ batch: inout PhoneBatch) {
        var item = self
        let code = value.flatMap { Int(exactly: $0) } ?? 0
        item.metadata.add("sexualActivityProtectionUsed", truth: HealthConnectCodes.protection[code])
        item.category(.sexualActivity, 0, &batch)
    }

    // MARK: - Elements with several values

    func nutrition(_ name: String?, _ fields: [NutritionFields.Field], _ batch: inout PhoneBatch) {
        guard !fields.isEmpty else { return batch.reject(at, "value", "it has no nutrients") }
        let base = isKnownByID ? "\(time) \(suffix)" : "\(time) food \(suffix)"
        for field in fields {
            guard let type = TypeRegistry.standard.type(field.type),
                let fault = PhoneNumbers.fault(field.value, field.unit, type)
            else { continue }
            return batch.reject(at, fault.code, fault.reason)
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
        add(samples, &batch)
    }

    func workout(_ exerciseType: Int?, _ figures: HealthConnectWorkoutTotals, _ batch: inout PhoneBatch) {
        guard let exerciseType, let activity = ExerciseTypes.activity(exerciseType) else {
            return batch.reject(at, "value", "type is a number")
        }
        var metadata = metadata
        metadata.add("exerciseType", json: "\(exerciseType)")
        metadata.add("strideLength", json: figures.stride.map { "{\"value\":\(NumberWriter.text($0)),\"unit\":\"m\"}" })
        let parts = figures.parts(of: activity)
        if parts.distanceIsOther {
            metadata.add(
                "distance", json: figures.distance.map { "{\"value\":\(NumberWriter.text($0)),\"unit\":\"m\"}" })
        }
        var sample = maker.sample(
            .workout, .workout(activity: activity.name, raw: Int64(activity.raw)), key("workout"), start, end, metadata)
        if parts.parts != WorkoutParts() { sample?.workout = parts.parts }
        add([sample], &batch)
    }

    /// Adds the stages of a night as one group of intervals.
    func sleep(_ stages: [SleepStage], _ batch: inout PhoneBatch) {
        let group = isKnownByID ? suffix : "\(time) \(suffix)"
        var samples: [Sample?] = []
        for stage in stages {
            let time = PhoneTime.key(stage.start.microseconds, keepsMilliseconds: true)
            let key = isKnownByID ? "\(time) \(suffix)" : "\(time) sleepAnalysis \(suffix)"
            samples.append(
                maker.category(.sleepAnalysis, stage.raw, key, stage.start, stage.end, group: group, metadata))
        }
        add(samples, &batch)
    }
}

/// A stage of sleep, with HealthKit's number.
struct SleepStage {
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
