import JSON
public import Samples

/// XML in the form of Apple Health's `export.xml`, for one person.
///
/// It has no document type declaration, which parsers of Apple's file have to skip anyway, and no files beside it.
public struct AppleHealthExport: ExportWriter {
    public private(set) var account = ExportSummary()
    private let created: Timestamp
    private let characteristics: [TypeID: String]

    /// - Parameters:
    ///   - created: when the file is made.
    ///   - characteristics: the known characteristics of the person, by type, with the hub's names for the values.
    public init(created: Timestamp, characteristics: [TypeID: String]) {
        (self.created, self.characteristics) = (created, characteristics)
    }

    public mutating func begin(_ output: inout [UInt8]) {
        output.append(
            literal: "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<HealthData locale=\"en_US\">\n <ExportDate")
        output.append(attribute: "value", AppleHealthExport.time(created))
        output.append(literal: "/>\n <Me")
        output.append(attribute: "HKCharacteristicTypeIdentifierDateOfBirth", characteristics[.dateOfBirth] ?? "")
        output.append(attribute: "HKCharacteristicTypeIdentifierBiologicalSex", constant(.biologicalSex))
        output.append(attribute: "HKCharacteristicTypeIdentifierBloodType", constant(.bloodType))
        output.append(attribute: "HKCharacteristicTypeIdentifierFitzpatrickSkinType", constant(.fitzpatrickSkinType))
        output.append(attribute: "HKCharacteristicTypeIdentifierCardioFitnessMedicationsUse", "None")
        output.append(literal: "/>\n")
    }

    /// HealthKit's constant for a characteristic, or its constant for "not set" if the characteristic is unknown.
    private func constant(_ id: TypeID) -> String {
        let type = TypeRegistry.standard.type(id)
        return type?.value(named: characteristics[id] ?? "notSet")?.healthKitNames.first ?? ""
    }

    public mutating func write(_ item: ExportItem, to output: inout [UInt8]) {
        guard case .sample(let sample) = item.record.record else {
            return account.leaveOut("values made for whole days: Apple Health has none")
        }
        let type = TypeRegistry.standard.type(sample.type)
        switch sample.value {
        case .workout(_, let raw):
            guard let activity = WorkoutActivity.activity(raw: Int(raw)) else {
                return account.leaveOut("\(sample.type): HealthKit has no such activity")
            }
            append(workout: sample, activity, &output)
        case .correlation:
            guard let identifier = type?.aliases.healthKit.first else { return leaveOut(sample) }
            append(correlation: item, sample, identifier, &output)
        case .characteristic:
            // Characteristics are written in `Me` at the beginning of the file. It has one value of each and no history.
            return account.leaveOut("characteristics: the current value is in Me")
        case .other:
            guard sample.type == .activitySummary, let summary = sample.activitySummary else { return leaveOut(sample) }
            append(summary, sample, &output)
        case .quantity, .category:
            guard let identifier = AppleHealthExport.identifier(sample, type) else { return leaveOut(sample) }
            append(record: item.record, sample, identifier, type, indent: " ", &output)
        }
        account.written += 1
    }

    public mutating func end(_ output: inout [UInt8]) { output.append(literal: "</HealthData>\n") }

    private mutating func leaveOut(_ sample: Sample) {
        account.leaveOut("\(sample.type): HealthKit has no such type, or exports it in another file")
    }

    /// The HealthKit identifier of a type.
    ///
    /// Types that the registry does not know may be newer HealthKit types; they keep their identifier.
    private static func identifier(_ sample: Sample, _ type: HealthType?) -> String? {
        if let type { return type.aliases.healthKit.first }
        return sample.type.rawValue.hasPrefix("HK") ? sample.type.rawValue : nil
    }

    // MARK: - Elements

    private mutating func append(
        record stored: StoredRecord, _ sample: Sample, _ identifier: String, _ type: HealthType?, indent: StaticString,
        _ output: inout [UInt8]
    ) {
        output.append(literal: indent)
        output.append(literal: "<Record")
        output.append(attribute: "type", identifier)
        origin(sample, &output)
        switch sample.value {
        case .quantity:
            if let (value, unit) = stored.inOneUnit {
                output.append(attribute: "unit", unit)
                output.append(attribute: "value", NumberWriter.text(value))
            }
        case .category(let name, let raw):
            output.append(attribute: "value", type?.value(raw: Int(raw))?.healthKitNames.first ?? name)
        default: break
        }
        times(sample, &output)
        let entries = metadata(sample)
        guard !entries.isEmpty else { return output.append(literal: "/>\n") }
        output.append(literal: ">\n")
        append(entries, indent, &output)
        output.append(literal: indent)
        output.append(literal: "</Record>\n")
    }

    private mutating func append(
        correlation item: ExportItem, _ sample: Sample, _ identifier: String, _ output: inout [UInt8]
    ) {
        output.append(literal: " <Correlation")
        output.append(attribute: "type", identifier)
        origin(sample, &output)
        times(sample, &output)
        output.append(literal: ">\n")
        append(metadata(sample), " ", &output)
        for member in item.members {
            guard case .sample(let part) = member.record else { continue }
            let type = TypeRegistry.standard.type(part.type)
            guard let identifier = AppleHealthExport.identifier(part, type) else { continue }
            append(record: member, part, identifier, type, indent: "  ", &output)
        }
        output.append(literal: " </Correlation>\n")
    }

    private mutating func append(workout sample: Sample, _ activity: WorkoutActivity, _ output: inout [UInt8]) {
        output.append(literal: " <Workout")
        output.append(attribute: "workoutActivityType", activity.healthKitName)
        if let seconds = sample.workoutDuration {
            output.append(attribute: "duration", NumberWriter.text(seconds))
            output.append(attribute: "durationUnit", "s")
        }
        origin(sample, &output)
        times(sample, &output)
        output.append(literal: ">\n")
        append(metadata(sample), " ", &output)
        for event in sample.workout?.events ?? [] { append(event, &output) }
        for total in sample.workout?.totals ?? [] { append(total, of: sample, &output) }
        if sample.workout?.activities.isEmpty == false { account.change("workouts without their single activities") }
        output.append(literal: " </Workout>\n")
    }

    private mutating func append(_ event: WorkoutParts.Event, _ output: inout [UInt8]) {
        output.append(literal: "  <WorkoutEvent")
        output.append(attribute: "type", "HKWorkoutEventType" + AppleHealthExport.capitalized("\(event.kind)"))
        output.append(attribute: "date", time(event.start))
        if event.end != event.start {
            let seconds = Double(event.end.microseconds - event.start.microseconds) / 1_000_000
            output.append(attribute: "duration", NumberWriter.text(seconds))
            output.append(attribute: "durationUnit", "s")
        }
        output.append(literal: "/>\n")
    }

    private mutating func append(_ total: WorkoutParts.Total, of sample: Sample, _ output: inout [UInt8]) {
        guard let identifier = TypeRegistry.standard.type(total.type)?.aliases.healthKit.first else {
            return account.change("workouts without a total that HealthKit has no type for")
        }
        output.append(literal: "  <WorkoutStatistics")
        output.append(attribute: "type", identifier)
        output.append(attribute: "startDate", time(sample.start))
        output.append(attribute: "endDate", time(sample.end))
        let value = NumberWriter.text(total.value)
        switch total.statistic {
        case .sum: output.append(attribute: "sum", value)
        case .average: output.append(attribute: "average", value)
        case .minimum: output.append(attribute: "minimum", value)
        case .maximum: output.append(attribute: "maximum", value)
        }
        output.append(attribute: "unit", total.unit)
        output.append(literal: "/>\n")
    }

    private func append(_ summary: ActivitySummary, _ sample: Sample, _ output: inout [UInt8]) {
        output.append(literal: " <ActivitySummary")
        output.append(attribute: "dateComponents", sample.key.text)
        func figure(
            _ name: StaticString, _ goal: StaticString, _ unitName: StaticString?, _ figure: ActivitySummary.Figure?,
            in unit: String
        ) {
            guard let figure else { return }
            func text(_ value: Double) -> String? {
                guard let from = try? HealthUnit(figure.unit), let to = try? HealthUnit(unit) else { return nil }
                return (try? from.convert(value, to: to)).map(NumberWriter.text)
            }
            if let value = text(figure.value) { output.append(attribute: name, value) }
            if let value = figure.goal.flatMap(text) { output.append(attribute: goal, value) }
            if let unitName { output.append(attribute: unitName, unit) }
        }
        figure(
            "activeEnergyBurned", "activeEnergyBurnedGoal", "activeEnergyBurnedUnit", summary.activeEnergyBurned,
            in: "kcal")
        figure("appleMoveTime", "appleMoveTimeGoal", nil, summary.appleMoveTime, in: "min")
        figure("appleExerciseTime", "appleExerciseTimeGoal", nil, summary.appleExerciseTime, in: "min")
        figure("appleStandHours", "appleStandHoursGoal", nil, summary.appleStandHours, in: "count")
        output.append(literal: "/>\n")
    }

    // MARK: - Attributes

    private func origin(_ sample: Sample, _ output: inout [UInt8]) {
        output.append(attribute: "sourceName", sample.source.names)
        let metadata = sample.metadataTree
        if let version = metadata?["sourceRevision"]?["version"]?.text {
            output.append(attribute: "sourceVersion", version)
        }
        guard let device = metadata?["device"]?.members else { return }
        let names = [
            "name": "name", "manufacturer": "manufacturer", "model": "model", "hardwareVersion": "hardware",
            "firmwareVersion": "firmware", "softwareVersion": "software", "localIdentifier": "localIdentifier",
            "udiDeviceIdentifier": "UDIDeviceIdentifier",
        ]
        let parts = device.compactMap { member in
            names[member.name].flatMap { name in member.value.text.map { "\(name):\($0)" } }
        }
        if !parts.isEmpty { output.append(attribute: "device", "<<HKDevice: 0x0>, \(parts.joined(separator: ", "))>") }
    }

    private mutating func times(_ sample: Sample, _ output: inout [UInt8]) {
        output.append(attribute: "startDate", time(sample.start))
        output.append(attribute: "endDate", time(sample.end))
    }

    private mutating func time(_ time: Timestamp) -> String {
        if time.microseconds % 1_000_000 != 0 { account.change("times without parts of a second") }
        return AppleHealthExport.time(time)
    }

    /// `2026-02-10 06:31:00 +0100`, or `+0000` if the offset is unknown.
    static func time(_ time: Timestamp) -> String {
        let seconds = time.microseconds - ((time.microseconds % 1_000_000) + 1_000_000) % 1_000_000
        let text = Timestamp(microseconds: seconds, offsetMinutes: time.offsetMinutes ?? 0).text
        // 2026-02-10T06:31:00+01:00
        let (date, clock, offset) = (text.prefix(10), text.dropFirst(11).prefix(8), text.suffix(6))
        return "\(date) \(clock) \(offset == "0:00Z" ? "+0000" : offset.filter { $0 != ":" })"
    }

    // MARK: - Metadata

    private func append(_ entries: [(String, String)], _ indent: StaticString, _ output: inout [UInt8]) {
        for (key, value) in entries {
            output.append(literal: indent)
            output.append(literal: " <MetadataEntry")
            output.append(attribute: "key", key)
            output.append(attribute: "value", value)
            output.append(literal: "/>\n")
        }
    }

    /// The metadata as Apple prints it: booleans as 0 and 1, quantities as number and unit, and other values unchanged.
    private mutating func metadata(_ sample: Sample) -> [(String, String)] {
        var entries: [(String, String)] = []
        if let zone = sample.zone { entries.append(("HKTimeZone", zone)) }
        for member in sample.metadataTree?.members ?? [] {
            guard member.name != "device", member.name != "sourceRevision" else { continue }
            let known = MetadataKey.named(member.name)
            let key = known.map { AppleHealthExport.constant($0) } ?? member.name
            guard let text = AppleHealthExport.text(member.value, known) else {
                account.change("metadata without lists and objects")
                continue
            }
            entries.append((key, text))
        }
        return entries
    }

    /// HealthKit's constant for a key.
    static func constant(_ key: MetadataKey) -> String {
        // Prefixes that HealthKit writes in capitals.
        for (ours, theirs) in [("vo2", "VO2"), ("udi", "UDI"), ("swolf", "SWOLF")] where key.name.hasPrefix(ours) {
            return "HK" + theirs + key.name.dropFirst(ours.count)
        }
        return key.name == "woIntervalStepKeyPath" ? "WOIntervalStepKeyPath" : "HK" + capitalized(key.name)
    }

    private static func text(_ value: JSONTree, _ key: MetadataKey?) -> String? {
        switch value {
        case .text(let text):
            guard case .enumeration(let values)? = key?.content,
                let raw = values.first(where: { $0.name == text })?.raw
            else { return text }
            return String(raw)
        case .number(let digits): return digits
        case .truth(let truth): return truth ? "1" : "0"
        case .object:
            guard case .number(let digits)? = value["value"], let unit = value["unit"]?.text else { return nil }
            return "\(digits) \(unit)"
        case .list, .null: return nil
        }
    }

    private static func capitalized(_ name: String) -> String { name.prefix(1).uppercased() + name.dropFirst() }
}
