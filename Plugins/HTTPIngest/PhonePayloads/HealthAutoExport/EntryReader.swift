import JSON
import Samples

/// Reads an element of the arrays beside the metrics.
struct EntryReader {
    let bytes: UnsafeRawBufferPointer
    let context: PhoneContext
    /// The element's path.
    let at: String

    init(_ bytes: UnsafeRawBufferPointer, _ context: PhoneContext, _ at: String) {
        (self.bytes, self.context, self.at) = (bytes, context, at)
    }

    var maker: SampleMaker { SampleMaker(context: context, account: "hae") }

    func read(_ entry: HealthAutoExportSteps.Entry, _ value: JSONValue, _ batch: inout PhoneBatch) {
        do throws(ItemError) { try read(entry, Members(item: value, in: bytes), &batch) } catch {
            batch.reject(at, error)
        }
    }

    private func read(
        _ entry: HealthAutoExportSteps.Entry, _ members: Members, _ batch: inout PhoneBatch
    ) throws(ItemError) {
        try batch.noteUnread(members, but: entry.names, in: "/data/\(entry.rawValue)", at: at)
        guard let start = members.time("start") else { throw ItemError("time", "start is missing, or cannot be read") }
        let end = members.time("end") ?? start
        guard start.microseconds <= end.microseconds else { throw ItemError("time", "end is before start") }
        switch entry {
        case .workouts:
            var workout = WorkoutReader(self, members, start, end)
            try workout.read(&batch)
        case .symptoms: try symptom(members, start, end, &batch)
        case .cycleTracking: try cycle(members, start, end, &batch)
        case .stateOfMind: try mood(members, start, end, &batch)
        case .ecg: try ecg(members, start, end, &batch)
        case .heartRateNotifications: try notification(members, start, end, &batch)
        case .medications: try dose(members, start, end, &batch)
        }
    }

    func add(_ sample: Sample?, _ batch: inout PhoneBatch) throws(ItemError) {
        guard let sample else { throw ItemError("metadata", "it is too large for a record") }
        batch.records.append(PhoneRecord(.sample(sample), .pointer(at)))
    }

    private func key(_ start: Timestamp, _ rest: String) -> String { "\(PhoneTime.key(start.microseconds)) \(rest)" }

    private func type(_ name: String) -> TypeID? { try? TypeID(name) }

    // MARK: - Symptoms and cycle

    private static let symptoms: [String: HealthType] = Dictionary(
        uniqueKeysWithValues: TypeRegistry.standard.all.filter { $0.kind == .category && $0.group == "symptoms" }
            .map { (PhoneKeys.folded($0.displayName), $0) })

    private static let severities = [
        "unspecified": "unspecified", "not_present": "notPresent", "present": "present", "mild": "mild",
        "moderate": "moderate", "severe": "severe",
    ]

    private func symptom(
        _ members: Members, _ start: Timestamp, _ end: Timestamp, _ batch: inout PhoneBatch
    ) throws(ItemError) {
        guard let name = members.text("name"), !name.isEmpty else { throw ItemError("type", "name is missing") }
        let severity = members.text("severity")
        let word = Self.severities[PhoneKeys.folded(severity ?? "unspecified")]
        let known = Self.symptoms[PhoneKeys.folded(name)].flatMap { type in
            word.flatMap { type.value(named: $0)?.raw }.map { (type: type.id, raw: $0) }
        }
        var metadata = MetadataWriter()
        // The severity is in the phone's language, or the type does not have it.
        if known == nil { metadata.add("severity", text: severity) }
        metadata.add("wasUserEntered", truth: members.truth("userEntered"))
        try give(name, known, else: "symptom", members.text("source") ?? "", start, end, metadata, &batch)
    }

    private func cycle(
        _ members: Members, _ start: Timestamp, _ end: Timestamp, _ batch: inout PhoneBatch
    ) throws(ItemError) {
        guard let name = members.text("name"), !name.isEmpty else { throw ItemError("type", "name is missing") }
        let word = members.text("value")
        let values = word.map { PhoneKeys.folded($0).replacing("_", with: "") }
        let found = TypeRegistry.standard.all.first {
            $0.kind == .category && $0.group == "reproductive"
                && PhoneKeys.folded($0.displayName) == PhoneKeys.folded(name)
        }
        let raw = found.flatMap { type in
            type.values.count == 1
                ? type.values[0].raw
                : type.values.first { PhoneKeys.folded($0.name).replacing("_", with: "") == values }?.raw
        }
        let known = found.flatMap { type in raw.map { (type: type.id, raw: $0) } }
        var metadata = MetadataWriter()
        if known == nil { metadata.add("value", text: word) }
        if known?.type == .menstrualFlow {
            // Every menstrual flow in HealthKit must have this key.
            metadata.add("menstrualCycleStart", truth: members.truth("isCycleStart") ?? false)
        } else {
            metadata.add("isCycleStart", truth: members.truth("isCycleStart"))
        }
        try give(name, known, else: "cycle", members.text("source") ?? "", start, end, metadata, &batch)
    }

    /// Adds a category value; if the hub does not know it, keeps the app's name under a type `x.hae.` with this word.
    private func give(
        _ name: String, _ known: (type: TypeID, raw: Int)?, else word: String, _ source: String, _ start: Timestamp,
        _ end: Timestamp, _ metadata: MetadataWriter, _ batch: inout PhoneBatch
    ) throws(ItemError) {
        var metadata = metadata
        metadata.add("sourceName", text: source)
        if let known {
            let key = key(start, "\(known.type) r \(PhoneKeys.hash(source))")
            return try add(maker.category(known.type, known.raw, key, start, end, metadata), &batch)
        }
        guard let type = type("x.hae.\(word)") else { return }
        let key = key(start, "\(word) r \(PhoneKeys.hash(source, name))")
        try add(maker.sample(type, .other(name), key, start, end, metadata), &batch)
    }

    // MARK: - Mind

    private func mood(
        _ members: Members, _ start: Timestamp, _ end: Timestamp, _ batch: inout PhoneBatch
    ) throws(ItemError) {
        guard let id = members.text("id"), !id.isEmpty else { throw ItemError("key", "id is missing") }
        var metadata = MetadataWriter()
        metadata.add("kind", text: members.text("kind"))
        for name in ["labels", "associations", "valence", "valenceClassification"] as [StaticString] {
            metadata.add("\(name)", json: members[name].map(members.json))
        }
        if let more = members["metadata"], more.kind == .object, !Members(more, in: bytes).all.isEmpty {
            metadata.add("metadata", json: members.json(more))
        }
        let valence = SampleValue.other(members.digits("valence"))
        try add(maker.sample(.stateOfMind, valence, key(start, id), start, end, metadata), &batch)
    }

    // MARK: - Heart

    private func ecg(
        _ members: Members, _ start: Timestamp, _ end: Timestamp, _ batch: inout PhoneBatch
    ) throws(ItemError) {
        var metadata = MetadataWriter()
        for name in ["averageHeartRate", "samplingFrequency", "numberOfVoltageMeasurements"] as [StaticString] {
            metadata.add("\(name)", json: members.digits(name))
        }
        if let severity = members.text("severity"), PhoneKeys.compared(severity) != "none" {
            metadata.add("severity", text: severity)
        }
        metadata.add("sourceName", text: members.text("source"))
        let base = key(start, "electrocardiogram")
        let voltages = members["voltageMeasurements"].map { Voltages(bytes, $0) }
        var sample = maker.sample(
            .electrocardiogram, .other(members.text("classification")), base, start, end, metadata)
        let strips = voltages?.strips ?? []
        if !strips.isEmpty { sample?.group = base }
        try add(sample, &batch)
        guard let type = type("x.hae.ecgVoltages") else { return }
        if let voltages, voltages.unread > 0 {
            batch.reject(
                "\(at)/voltageMeasurements", "value", "\(voltages.unread) voltages cannot be read; the others are kept")
        }
        for (index, strip) in strips.enumerated() {
            var metadata = MetadataWriter()
            metadata.add("first", json: "\(strip.first)")
            metadata.add("unit", text: strip.unit)
            metadata.add("voltages", json: strip.json)
            guard
                let sample = maker.sample(
                    type, .other(nil), "\(base) \(index + 1)", start, end, group: base, metadata)
            else { continue }
            batch.kept.append(PhoneRecord(.sample(sample), .pointer("\(at)/voltageMeasurements")))
        }
    }

    private static let notifications = [
        "high_heart_rate_notification": TypeID.highHeartRateEvent, "low_heart_rate_notification": .lowHeartRateEvent,
        "irregular_rhythm_notification": .irregularHeartRhythmEvent,
    ]

    private func notification(
        _ members: Members, _ start: Timestamp, _ end: Timestamp, _ batch: inout PhoneBatch
    ) throws(ItemError) {
        guard let type = members.text("heartNotification").flatMap({ Self.notifications[PhoneKeys.folded($0)] }) else {
            throw ItemError("type", "does not say which notification it is")
        }
        var metadata = MetadataWriter()
        if let threshold = members.number("threshold") ?? members.number("threshhold"),
            type != .irregularHeartRhythmEvent
        {
            metadata.add("heartRateEventThreshold", threshold, unit: "count/min")
        }
        metadata.add("sourceName", text: members.text("source") ?? members.object("source")?.text("name"))
        for name in ["heartRate", "heartRateData", "heartRateVariation", "hrvData"] as [StaticString] {
            guard let list = members[name], list.kind == .array, list.end - list.start > 2 else { continue }
            metadata.add("\(name)", json: members.json(list))
        }
        try add(maker.category(type, 0, key(start, "\(type)"), start, end, metadata), &batch)
    }

    // MARK: - Medication

    private func dose(
        _ members: Members, _ start: Timestamp, _ end: Timestamp, _ batch: inout PhoneBatch
    ) throws(ItemError) {
        guard let text = members.text("displayText")?.trimmed, !text.isEmpty else {
            throw ItemError("value", "displayText is missing")
        }
        var metadata = MetadataWriter()
        metadata.add("status", text: members.text("status"))
        metadata.add("form", text: members.text("form"))
        metadata.add("dosage", json: members.digits("dosage"))
        metadata.add(
            "scheduledDate", text: members.text("scheduledDate").map { PhoneTime.read($0)?.text ?? $0 })
        metadata.add("nickname", text: members.text("nickname"))
        if members.truth("isArchived") == true { metadata.add("isArchived", truth: true) }
        if let codings = members["codings"], codings.kind == .array, codings.end - codings.start > 2 {
            metadata.add("codings", json: members.json(codings))
        }
        try add(
            maker.sample(
                .medicationDoseEvent, .other(text), key(start, "medication \(PhoneKeys.hash(text))"), start, end,
                metadata),
            &batch)
    }
}

extension HealthAutoExportSteps.Entry {
    /// The members of an element in all versions of the app.
    ///
    /// Includes the series of a workout, because they also arrive as metrics.
    fileprivate var names: [StaticString] {
        switch self {
        case .workouts:
            [
                "id", "name", "start", "end", "duration", "location", "isIndoor", "strokeStyle", "swolfScore",
                "salinity",
                "metadata", "activeEnergyBurned", "totalEnergy", "intensity", "intesity", "distance", "speed",
                "avgSpeed",
                "maxSpeed", "elevationUp", "elevationDown", "elevation", "temperature", "humidity", "lapLength",
                "minHeartRate", "avgHeartRate", "maxHeartRate", "heartRate", "stepCadence", "swimCadence",
                "flightsClimbed",
                "stepCount", "activeEnergy", "basalEnergy", "totalSwimmingStrokeCount", "walkingAndRunningDistance",
                "cyclingDistance", "swimDistance", "swimStroke", "heartRateData", "heartRateRecovery", "route",
            ]
        case .symptoms: ["start", "end", "name", "severity", "userEntered", "source"]
        case .cycleTracking: ["start", "end", "name", "value", "isCycleStart", "source"]
        case .stateOfMind:
            [
                "id", "start", "end", "kind", "labels", "associations", "valence", "valenceClassification", "metadata",
            ]
        case .ecg:
            [
                "start", "end", "classification", "severity", "averageHeartRate", "numberOfVoltageMeasurements",
                "samplingFrequency", "source", "voltageMeasurements",
            ]
        case .heartRateNotifications:
            [
                "start", "end", "heartNotification", "threshold", "threshhold", "heartRate", "heartRateData",
                "heartRateVariation", "hrvData", "source",
            ]
        case .medications:
            [
                "start", "end", "displayText", "status", "form", "dosage", "scheduledDate", "nickname", "isArchived",
                "codings",
            ]
        }
    }
}

/// Splits the voltages of an electrocardiogram, which do not fit into one record.
private struct Voltages {
    struct Strip {
        /// The index of its first voltage in the whole recording.
        var first: Int
        var unit: String
        var json: String
    }

    private(set) var strips: [Strip] = []
    private(set) var unread = 0

    init(_ bytes: UnsafeRawBufferPointer, _ list: JSONValue) {
        var cursor = ArrayCursor(list, in: bytes)
        var numbers: [String] = []
        var (size, first, unit) = (0, 0, "V")
        func end(_ strips: inout [Strip]) {
            if !numbers.isEmpty {
                strips.append(Strip(first: first, unit: unit, json: "[\(numbers.joined(separator: ","))]"))
            }
            (numbers, size) = ([], 0)
        }
        while let element = cursor.next(), cursor.count <= PhoneBody.maximumRoutePoints {
            let members = Members(element, in: bytes)
            guard let digits = members.digits("voltage"), digits.utf8.count <= 32 else {
                unread += 1
                continue
            }
            let own = members.text("units") ?? "V"
            if size + digits.utf8.count > 12_000 || own != unit { end(&strips) }
            if numbers.isEmpty { (first, unit) = (cursor.count - 1, own) }
            numbers.append(digits)
            size += digits.utf8.count + 1
        }
        end(&strips)
    }
}

extension String {
    /// The text without white space at its ends.
    var trimmed: String {
        var rest = self[...]
        while let character = rest.first, character.isWhitespace { rest.removeFirst() }
        while let character = rest.last, character.isWhitespace { rest.removeLast() }
        return String(rest)
    }
}
