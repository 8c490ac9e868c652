import JSON
import Samples

/// Reads a workout of version 1 or 2: the record, its totals, and its route.
struct WorkoutReader {
    private let entry: EntryReader
    private let members: Members
    private let start, end: Timestamp
    private let name: String
    private let activity: WorkoutActivity?
    private var metadata = MetadataWriter()
    private var parts = WorkoutParts()

    init(_ entry: EntryReader, _ members: Members, _ start: Timestamp, _ end: Timestamp) {
        (self.entry, self.members, self.start, self.end) = (entry, members, start, end)
        name = members.text("name")?.trimmed ?? ""
        activity = Self.activity(name, entry.context)
    }

    private static let names: [String: String] = [
        "run": "running", "running": "running", "walk": "walking", "walking": "walking", "cycling": "cycling",
        "cycle": "cycling", "swim": "swimming", "swimming": "swimming", "hiking": "hiking", "hike": "hiking",
        "rowing": "rowing", "row": "rowing", "elliptical": "elliptical", "yoga": "yoga", "pilates": "pilates",
        "core training": "coreTraining", "dance": "socialDance",
        "functional strength training": "functionalStrengthTraining",
        "traditional strength training": "traditionalStrengthTraining",
        "high intensity interval training": "highIntensityIntervalTraining", "stair stepper": "stairClimbing",
    ]

    /// The activity for the app's word, which may start with the place; `nil` for a word in another language.
    private static func activity(_ name: String, _ context: PhoneContext) -> WorkoutActivity? {
        let word = PhoneKeys.compared(name)
        if let own = context.workoutNames[word] { return own }
        let places = ["outdoor ", "indoor ", "pool ", "open water "]
        let plain = places.first(where: word.hasPrefix).map { String(word.dropFirst($0.count)) } ?? word
        return names[plain].flatMap { WorkoutActivity.activity(named: $0) }
    }

    mutating func read(_ batch: inout PhoneBatch) throws(ItemError) {
        guard !name.isEmpty else { throw ItemError("value", "name is missing") }
        guard name.utf8.count <= PhoneBody.maximumText else { throw ItemError("size", "name is too long") }
        metadata.add("workoutName", text: name)
        metadata.add("indoorWorkout", truth: members.truth("isIndoor"))
        metadata.add("location", text: members.text("location"))
        metadata.add("strokeStyle", text: members.text("strokeStyle"))
        metadata.add("salinity", text: members.text("salinity"))
        if let duration = members.number("duration") { setDuration(duration, &batch) }
        let isRecovery = recovery(&batch)
        totals(isRecovery: isRecovery, &batch)
        if let more = members["metadata"], more.kind == .object, more.end - more.start > 2 {
            metadata.add("metadata", json: members.json(more))
        }
        let time = PhoneTime.key(start.microseconds)
        let identity = members.text("id").flatMap { $0.isEmpty ? nil : $0 } ?? "workout \(PhoneKeys.hash(name))"
        let base = "\(time) \(identity)"
        var route = RouteReader(entry: entry, group: base)
        let pieces = members["route"].map { route.read($0, &batch) } ?? []
        guard let activity = activity ?? WorkoutActivity.activity(raw: 3_000) else { return }
        var sample = entry.maker.sample(
            .workout, .workout(activity: activity.name, raw: Int64(activity.raw)), base, start, end,
            group: pieces.isEmpty ? nil : base, metadata)
        if parts != WorkoutParts() { sample?.workout = parts }
        try entry.add(sample, &batch)
        batch.records += pieces.map { PhoneRecord(.sample($0), .pointer("\(entry.at)/route")) }
    }

    private mutating func setDuration(_ duration: Double, _ batch: inout PhoneBatch) {
        // The hub's rule: no longer than from start to end, plus a second for times cut to whole seconds.
        guard duration >= 0, duration <= Double(end.microseconds - start.microseconds) / 1_000_000 + 1 else {
            return batch.ignore("\(entry.at)/duration", "longer than from start to end")
        }
        parts.duration = duration
    }

    /// Whether `heartRateData` contains the recovery after the workout instead of the workout itself; then the averages are wrong, too.
    private func recovery(_ batch: inout PhoneBatch) -> Bool {
        guard let list = members["heartRateData"] else { return false }
        var cursor = ArrayCursor(list, in: entry.bytes)
        guard let first = cursor.next().map({ Members($0, in: entry.bytes) }),
            let time = first.time("date"), time.microseconds >= end.microseconds
        else { return false }
        batch.ignore(
            "\(entry.at)/heartRateData", "recovery series in the wrong field: it begins at the end of the workout")
        for name in ["avgHeartRate", "maxHeartRate", "heartRate"] as [StaticString] where members[name] != nil {
            batch.ignore("\(entry.at)/\(name)", "made from that series")
        }
        return true
    }

    // MARK: - Totals

    /// A number with a unit, as the app writes it.
    private func quantity(_ name: StaticString, in members: Members? = nil) -> (value: Double, unit: String)? {
        guard let object = (members ?? self.members).object(name), let value = object.number("qty") else { return nil }
        return (value, PhoneNumbers.unit(object.text("units") ?? ""))
    }

    private mutating func totals(isRecovery: Bool, _ batch: inout PhoneBatch) {
        sum("activeEnergyBurned", .activeEnergyBurned, &batch)
        // Version 1 has a number here, version 2 has a series.
        sum("activeEnergy", .activeEnergyBurned, &batch)
        sum("stepCount", .stepCount, &batch)
        sum("flightsClimbed", .flightsClimbed, &batch)
        sum("totalSwimmingStrokeCount", .swimmingStrokeCount, &batch)
        sum("distance", activity?.distance, &batch)
        for (name, statistic) in [("speed", .average), ("avgSpeed", .average), ("maxSpeed", .maximum)]
            as [(StaticString, WorkoutParts.Total.Statistic)]
        {
            total(name, speed, statistic, quantity(name), of: "speed", fallback: HealthUnit.speed, &batch)
        }
        if !isRecovery { hearts(&batch) }
        known("intensity", "averageMETs", &batch)
        known("intesity", "averageMETs", &batch)
        known("elevationUp", "elevationAscended", &batch)
        known("elevationDown", "elevationDescended", &batch)
        known("temperature", "weatherTemperature", &batch)
        known("lapLength", "lapLength", &batch)
        if let elevation = members.object("elevation") {
            let unit = PhoneNumbers.unit(elevation.text("units") ?? "m")
            put("elevationAscended", elevation.number("ascent").map { ($0, unit) }, "elevation", &batch)
            let descent = elevation.number("descent")
            put("elevationDescended", descent == 0 ? nil : descent.map { ($0, unit) }, "elevation", &batch)
        }
        if let digits = members.object("humidity")?.digits("qty") {
            let fraction = entry.context.percent == .hundred ? PhoneNumbers.hundredth(digits) : Double(digits)
            put("weatherHumidity", fraction.map { ($0, "%") }, "humidity", &batch)
        }
        if let score = members.number("swolfScore") ?? quantity("swolfScore")?.value {
            metadata.add("swolfScore", number: score)
        }
        for name in ["totalEnergy", "stepCadence", "swimCadence"] as [StaticString] {
            guard let quantity = self.quantity(name) else { continue }
            metadata.add("\(name)", quantity.value, unit: quantity.unit)
        }
    }

    private mutating func hearts(_ batch: inout PhoneBatch) {
        let whole = members.object("heartRate")
        let figures: [(StaticString, StaticString, WorkoutParts.Total.Statistic)] = [
            ("minHeartRate", "min", .minimum), ("avgHeartRate", "avg", .average), ("maxHeartRate", "max", .maximum),
        ]
        for (name, short, statistic) in figures {
            let quantity = self.quantity(name) ?? whole.flatMap { self.quantity(short, in: $0) }
            total(name, .heartRate, statistic, quantity, of: "heart rate", fallback: nil, &batch)
        }
    }

    private var speed: TypeID? {
        switch activity?.name {
        case "running": .runningSpeed
        case "walking", "hiking": .walkingSpeed
        case "cycling": .cyclingSpeed
        default: nil
        }
    }

    private mutating func sum(_ name: StaticString, _ type: TypeID?, _ batch: inout PhoneBatch) {
        total(name, type, .sum, quantity(name), of: "\(name)", fallback: type == nil ? .metre : nil, &batch)
    }

    /// Adds a total of a type; without a type, adds a quantity to the metadata, of the dimension of `fallback`.
    private mutating func total(
        _ name: StaticString, _ type: TypeID?, _ statistic: WorkoutParts.Total.Statistic,
        _ quantity: (value: Double, unit: String)?, of what: String, fallback: HealthUnit?, _ batch: inout PhoneBatch
    ) {
        guard var quantity else { return }
        let known = type.flatMap { TypeRegistry.standard.type($0) }
        if let known { quantity.unit = PhoneNumbers.unit(quantity.unit, of: known.id) }
        let unit = try? HealthUnit(quantity.unit)
        guard let unit, let wanted = known?.healthUnit ?? fallback, unit.isCompatible(with: wanted) else {
            return batch.ignore("\(entry.at)/\(name)", "\(quantity.unit.prefix(64)) is not a unit of \(what)")
        }
        guard let known else { return metadata.add("\(name)", quantity.value, unit: quantity.unit) }
        if let fault = PhoneNumbers.fault(quantity.value, quantity.unit, known) {
            return batch.ignore("\(entry.at)/\(name)", fault.reason)
        }
        guard !parts.totals.contains(where: { $0.type == known.id && $0.statistic == statistic }) else { return }
        parts.totals.append(
            WorkoutParts.Total(known.id, quantity.value, unit: quantity.unit, statistic: statistic))
    }

    /// Adds a quantity under one of HealthKit's keys.
    private mutating func known(_ name: StaticString, _ key: String, _ batch: inout PhoneBatch) {
        put(key, quantity(name), "\(name)", &batch)
    }

    private mutating func put(
        _ key: String, _ quantity: (value: Double, unit: String)?, _ name: String, _ batch: inout PhoneBatch
    ) {
        guard let quantity else { return }
        guard let known = MetadataKey.named(key), case .quantity(let own) = known.content,
            let unit = try? HealthUnit(quantity.unit), let wanted = own.flatMap({ try? HealthUnit($0) }),
            unit.isCompatible(with: wanted)
        else { return batch.ignore("\(entry.at)/\(name)", "unit \(quantity.unit.prefix(64)) does not fit") }
        metadata.add(key, quantity.value, unit: quantity.unit)
    }
}

extension HealthUnit {
    static let metre = (try? HealthUnit("m")) ?? .null
    static let speed = (try? HealthUnit("m/s")) ?? .null
}

/// Reads the route of a workout as records of a few hundred points each, in the workout's group.
struct RouteReader {
    let entry: EntryReader
    let group: String
    /// Points in a record, which has at most 65,536 bytes.
    private static let pointsOfRecord = 200

    mutating func read(_ list: JSONValue, _ batch: inout PhoneBatch) -> [Sample] {
        let at = "\(entry.at)/route"
        guard list.kind == .array else {
            batch.reject(at, "json", "route is an array")
            return []
        }
        var points: [RoutePoint] = []
        var (lost, nowhere) = (0, 0)
        var cursor = ArrayCursor(list, in: entry.bytes)
        while let element = cursor.next() {
            guard points.count < PhoneBody.maximumRoutePoints else {
                batch.reject(at, "size", "only the first \(PhoneBody.maximumRoutePoints) points of a route are taken")
                break
            }
            let members = Members(element, in: entry.bytes)
            guard let point = point(members) else {
                lost += 1
                continue
            }
            // A negative accuracy marks an unknown position.
            if let accuracy = members.number("horizontalAccuracy"), accuracy < 0 {
                nowhere += 1
            } else {
                points.append(point)
            }
        }
        if lost > 0 {
            batch.reject(at, "value", "\(lost) points have no time, no place, or one that is not on the earth")
        }
        if nowhere > 0 { batch.ignore(at, "the phone did not know its location", points: nowhere) }
        // Some phones write a late position after a newer one. Sort by time, and keep the order of equal times.
        if zip(points, points.dropFirst()).contains(where: { $0.time.microseconds > $1.time.microseconds }) {
            points = points.enumerated().sorted { left, right in
                (left.element.time.microseconds, left.offset) < (right.element.time.microseconds, right.offset)
            }.map(\.element)
        }
        return stride(from: 0, to: points.count, by: Self.pointsOfRecord).compactMap { first in
            let piece = Array(points[first..<min(points.count, first + Self.pointsOfRecord)])
            var sample = entry.maker.sample(
                .workoutRoute, .other(nil), "\(group) r\(first / Self.pointsOfRecord + 1)", piece[0].time,
                piece[piece.count - 1].time, group: group)
            sample?.route = piece
            return sample
        }
    }

    private func point(_ members: Members) -> RoutePoint? {
        guard let time = (members.text("timestamp") ?? members.text("date")).flatMap(PhoneTime.read),
            let latitude = members.number("latitude") ?? members.number("lat"), (-90...90).contains(latitude),
            let longitude = members.number("longitude") ?? members.number("lon"), (-180...180).contains(longitude)
        else { return nil }
        func within(_ name: StaticString, _ range: ClosedRange<Double>) -> Double? {
            members.number(name).flatMap { range.contains($0) ? $0 : nil }
        }
        return RoutePoint(
            time, latitude: latitude, longitude: longitude, altitude: within("altitude", -12_000...100_000),
            horizontalAccuracy: within("horizontalAccuracy", 0...1e6),
            verticalAccuracy: within("verticalAccuracy", 0...1e6), speed: within("speed", 0...100_000),
            course: within("course", 0...360))
    }
}
