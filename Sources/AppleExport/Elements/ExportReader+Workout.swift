import JSON
import Samples

/// `Workout`, with all that stands in it.
extension ExportReader {
    func readWorkout() throws(ExportError) {
        readAttributes()
        draft.unread.removeAll()
        let attributes = Dictionary(
            tokenizer.texts.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        draft.type = type("HKWorkoutTypeIdentifier")
        let activity = attributes["workoutActivityType"].flatMap { WorkoutActivity.activity(named: $0) }
        var workout = WorkoutDraft()
        let isWanted = draft.type?.isWanted ?? true
        let isWhole = try readChildren(recordsBelong: true) { (reader) throws(ExportError) in
            switch String(decoding: reader.tokenizer.name, as: UTF8.self) {
            case "MetadataEntry": try reader.readMetadata()
            case "WorkoutStatistics": try reader.readStatistics(&workout.totals)
            case "WorkoutEvent": try reader.readEvent(&workout.events)
            case "WorkoutActivity": try reader.readActivity(activity, &workout.activities)
            case "WorkoutZoneGroup": try reader.readZones(&workout.zones)
            case "WorkoutRoute": try reader.readRoute(&workout.routes)
            case "Location": try reader.readLocation(&workout.routes)
            case "Record":
                let outer = reader.draft
                reader.account.nestedRecords += 1
                reader.isWithinWanted = isWanted
                if let member = try reader.readMember() { workout.members.append(member) }
                reader.isWithinWanted = false
                reader.draft = outer
            default: try reader.passOver()
            }
        }
        guard isWhole else { return workout.members.forEach { giveMember($0, in: nil, owner: $0.mark) } }
        addTotals(attributes, activity, &workout)
        give(workout, activity, attributes)
    }

    // MARK: - What stands in it

    /// A figure of a type: `sum`, `average`, `minimum` or `maximum`.
    ///
    /// Its times are those of the workout, and often wrong.
    private func readStatistics(_ totals: inout WorkoutDraft.Totals) throws(ExportError) {
        let offset = tokenizer.offset
        let texts = tokenizer.texts
        if texts.count(where: { $0.name == "startDate" }) > 1 { account.note(.repeatedAttribute, at: offset) }
        var isRead = false
        if let type = tokenizer.value(of: "type").flatMap({ type($0) }) {
            let unit = tokenizer.value(of: "unit").map { type.unit($0) }
            for statistic in ["sum", "average", "minimum", "maximum"] {
                guard let text = texts.first(where: { $0.name == statistic })?.value else { continue }
                let number = Array(text.utf8).withUnsafeBytes { DecimalText.number($0) }
                isRead = unit.flatMap { unit in number.map { totals.add(type, statistic, $0, unit) } } ?? false
                if !isRead { break }
            }
        }
        if !isRead { keepUnread("WorkoutStatistics", texts, offset) }
        try skipChildren(of: "WorkoutStatistics")
    }

    /// What the hub has no place for, under `unread`.
    private func keepUnread(_ name: String, _ texts: [(name: String, value: String)], _ offset: Int64) {
        account.note(.unreadValue, at: offset)
        let label = texts.first { $0.name == "type" }?.value ?? "\(offset)"
        draft.addUnread("\(name) \(label)", json: ExportReader.object(texts))
    }

    static func object(_ texts: [(name: String, value: String)]) -> [UInt8] {
        var (json, known): ([UInt8], Set<String>) = ([0x7B], [])
        for text in texts where known.insert(text.name).inserted {
            if json.count > 1 { json.append(0x2C) }
            json.append(quoted: text.name)
            json.append(0x3A)
            json.append(quoted: text.value)
        }
        return json + [0x7D]
    }

    private func readEvent(_ events: inout [[UInt8]]) throws(ExportError) {
        let (texts, offset) = (tokenizer.texts, tokenizer.offset)
        let outer = draft
        draft.reset(at: offset)
        defer { draft = outer }
        _ = try readChildren { (reader) throws(ExportError) in
            reader.tokenizer.isNamed("MetadataEntry") ? try reader.readMetadata() : try reader.passOver()
        }
        let name = texts.first { $0.name == "type" }?.value ?? ""
        guard name.hasPrefix("HKWorkoutEventType"), let kind = ExportReader.eventKinds[String(name.dropFirst(18))],
            let start = time(texts.first { $0.name == "date" }?.value)
        else { return account.note(.unreadValue, at: offset) }
        var json = Array(#"{"type":""#.utf8) + kind.utf8
        json.append(literal: #"","start":""#)
        utc.append(start, to: &json)
        json.append(0x22)
        if let (seconds, text, unit) = duration(texts), seconds > 0 {
            if let end = Timestamp(start, adding: seconds) {
                json.append(literal: #","end":""#)
                json += end.text.utf8
                json.append(0x22)
            } else {
                account.note(.unreadValue, at: offset)
            }
            // To the last digit, which a time has no room for.
            _ = draft.add(
                "duration",
                json: Array(#"{"value":"#.utf8) + text + Array(#","unit":""#.utf8) + unit.utf8 + Array("\"}".utf8))
        }
        endPart(&json)
        events.append(json)
    }

    /// The metadata of what was read, and the end of its object.
    private func endPart(_ json: inout [UInt8]) {
        if !draft.metadata.isEmpty {
            json.append(literal: #","metadata":{"#)
            json += draft.metadata
            json.append(0x7D)
        }
        json.append(0x7D)
    }

    private static let eventKinds = [
        "Pause": "pause", "Resume": "resume", "Lap": "lap", "Marker": "marker", "MotionPaused": "motionPaused",
        "MotionResumed": "motionResumed", "Segment": "segment", "PauseOrResumeRequest": "pauseOrResumeRequest",
    ]

    private func time(_ text: String?) -> Int64? {
        text.flatMap { Array($0.utf8).withUnsafeBytes { times.seconds($0) } }
    }

    /// `duration` and `durationUnit`: seconds, and as they are written, the number as JSON.
    private func duration(
        _ texts: [(name: String, value: String)]
    ) -> (seconds: Double, number: [UInt8], unit: String)? {
        guard let text = texts.first(where: { $0.name == "duration" })?.value, let value = DecimalText.number(text),
            value >= 0
        else { return nil }
        let unit = texts.first { $0.name == "durationUnit" }?.value ?? "min"
        guard let parsed = try? HealthUnit(unit), let second = try? HealthUnit("s"),
            let seconds = try? parsed.convert(value, to: second), seconds < 1e9
        else { return nil }
        var number: [UInt8] = []
        NumberWriter.append(value, to: &number)
        return (seconds, number, unit)
    }

    /// A part of a workout of several; one whose activity the export does not say has that of its workout.
    private func readActivity(_ usual: WorkoutActivity?, _ activities: inout [[UInt8]]) throws(ExportError) {
        let (texts, offset) = (tokenizer.texts, tokenizer.offset)
        let outer = draft
        draft.reset(at: offset)
        var (totals, events) = (WorkoutDraft.Totals(), [[UInt8]]())
        _ = try readChildren { (reader) throws(ExportError) in
            switch String(decoding: reader.tokenizer.name, as: UTF8.self) {
            case "MetadataEntry": try reader.readMetadata()
            case "WorkoutStatistics": try reader.readStatistics(&totals)
            case "WorkoutEvent": try reader.readEvent(&events)
            default: try reader.passOver()
            }
        }
        defer { draft = outer }
        let named = texts.first { $0.name == "workoutActivityType" }.flatMap {
            WorkoutActivity.activity(named: $0.value)
        }
        guard let start = time(texts.first { $0.name == "startDate" }?.value) else {
            return account.note(.missingAttribute, at: offset)
        }
        let end = time(texts.first { $0.name == "endDate" }?.value)
        if let uuid = texts.first(where: { $0.name == "uuid" })?.value { _ = draft.add("uuid", text: uuid) }
        var json = Array(#"{"activity":""#.utf8) + (named ?? usual ?? ExportReader.otherActivity).name.utf8
        json.append(literal: #"","start":""#)
        utc.append(start, to: &json)
        if let end, end >= start {
            json.append(literal: #"","end":""#)
            utc.append(end, to: &json)
        }
        json.append(0x22)
        appendDuration(texts, start, end, to: &json)
        totals.append(to: &json)
        ExportReader.append("events", events, to: &json)
        if !draft.unread.isEmpty { _ = draft.add("unread", json: [0x7B] + draft.unread + [0x7D]) }
        endPart(&json)
        activities.append(json)
    }

    /// An activity that the hub does not know is HealthKit's own `other`, with what it is in metadata.
    private static let otherActivity =
        WorkoutActivity.activity(named: "HKWorkoutActivityTypeOther") ?? WorkoutActivity.all[0]

    /// Without pauses.
    ///
    /// One that is longer than the workout is kept as it is written.
    private func appendDuration(
        _ texts: [(name: String, value: String)], _ start: Int64, _ end: Int64?, to json: inout [UInt8]
    ) {
        guard let (seconds, text, unit) = duration(texts) else { return }
        guard end.map({ seconds <= Double($0 - start) + 1 }) ?? true else {
            account.note(.unreadValue, at: draft.offset)
            return draft.addUnread(
                "duration",
                json: Array(#"{"value":"#.utf8) + text + Array(#","unit":""#.utf8) + unit.utf8 + Array("\"}".utf8))
        }
        json.append(literal: json.last == 0x7B ? #""duration":"# : #","duration":"#)
        NumberWriter.append(seconds, to: &json)
    }

    private static func append(_ name: StaticString, _ parts: [[UInt8]], to json: inout [UInt8]) {
        guard !parts.isEmpty else { return }
        json.append(literal: json.last == 0x7B ? "\"" : ",\"")
        json.append(literal: name)
        json.append(literal: "\":[")
        for (index, part) in parts.enumerated() {
            if index > 0 { json.append(0x2C) }
            json += part
        }
        json.append(0x5D)
    }

    private func readZones(_ zones: inout [[UInt8]]) throws(ExportError) {
        var texts = ExportReader.object(tokenizer.texts)
        var parts: [[UInt8]] = []
        _ = try readChildren { (reader) throws(ExportError) in
            guard reader.tokenizer.isNamed("WorkoutZone") else { return try reader.passOver() }
            parts.append(ExportReader.object(reader.tokenizer.texts))
            try reader.skipChildren(of: "WorkoutZone")
        }
        texts.removeLast()
        ExportReader.append("zones", parts, to: &texts)
        texts.append(0x7D)
        zones.append(texts)
    }

    // MARK: - As a record

    /// Totals that older files have as attributes, where there is no statistic of that kind.
    private func addTotals(_ attributes: [String: String], _ activity: WorkoutActivity?, _ workout: inout WorkoutDraft)
    {
        let kinds: [(name: String, type: TypeID?)] = [
            ("totalEnergyBurned", .activeEnergyBurned), ("totalDistance", activity?.distance),
            ("totalSwimmingStrokeCount", .swimmingStrokeCount), ("totalFlightsClimbed", .flightsClimbed),
        ]
        for (name, id) in kinds {
            guard let text = attributes[name] else { continue }
            let unit =
                attributes[name + "Unit"] ?? (name.hasPrefix("totalE") || name.hasPrefix("totalD") ? "" : "count")
            if let id, workout.totals.sums.contains(id) { continue }
            let number = Array(text.utf8).withUnsafeBytes { DecimalText.number($0) }
            if let id, let number, let type = type(id.rawValue) {
                if workout.totals.add(type, "sum", number, UnitEntry(unit, of: type.health)) { continue }
            }
            // The activity does not tell the kind of this distance: it is kept under its name in the export.
            var json = Array(#"{"value":"#.utf8)
            if let number { NumberWriter.append(number.value, to: &json) } else { json.append(quoted: text) }
            json.append(literal: #","unit":"#)
            json.append(quoted: unit)
            json.append(0x7D)
            _ = draft.add(name, json: json)
        }
    }

    private func give(_ workout: WorkoutDraft, _ activity: WorkoutActivity?, _ attributes: [String: String]) {
        let source = draft.source ?? noSource
        let end = draft.end ?? draft.start ?? 0
        guard let type = draft.type, let start = draft.start, end >= start else {
            account.note(draft.start == nil && !draft.hasWrongTime ? .missingAttribute : .wrongTime, at: draft.offset)
            return workout.members.forEach { giveMember($0, in: nil, owner: $0.mark) }
        }
        guard source.isWanted, options.filter.takes(start, end) else {
            account.filtered += 1
            return workout.members.forEach { giveMember($0, in: nil, owner: $0.mark) }
        }
        let named = activity?.name ?? attributes["workoutActivityType"] ?? ""
        guard type.isWanted else {
            account.filtered += 1
            workout.members.forEach { giveMember($0, in: nil, owner: $0.mark) }
            // Its routes may be wanted without it.
            output.removeAll(keepingCapacity: true)
            let (keyStart, keyEnd, _) = appendKey(of: type, named, source, start, end)
            let key = Array(output[keyStart..<keyEnd])
            for (number, route) in workout.routes.enumerated() { give(route, number + 1, key, source) }
            return
        }
        if activity == nil {
            account.note(.unreadValue, at: draft.offset)
            draft.addUnread(
                "workoutActivityType", json: ExportReader.quoted(attributes["workoutActivityType"] ?? ""))
        }
        let name = (activity ?? ExportReader.otherActivity).name
        output.removeAll(keepingCapacity: true)
        output += type.head
        output.append(literal: #","value":""#)
        output += name.utf8
        output.append(0x22)
        append(start, end)
        let (keyStart, keyEnd, mark) = appendKey(of: type, named, source, start, end)
        let key = Array(output[keyStart..<keyEnd])
        output.append(literal: #","group":""#)
        output += key
        output.append(0x22)
        let rest = appendParts(workout, attributes, start, end)
        if !workout.zones.isEmpty {
            var zones: [UInt8] = [0x5B]
            zones += workout.zones.joined(separator: [0x2C])
            _ = draft.add("zones", json: zones + [0x5D])
        }
        appendMetadata(source)
        let kind = ExportBatch.Mark(type: type.index, source: source.index)
        tally(kind.type, kind.source, start, end)
        if !isSilent { batch.append(Array(output), kind) }
        for member in workout.members { giveMember(member, in: key, owner: mark) }
        for (number, part) in rest.enumerated() { giveRest(part, number + 1, key, source, start, end) }
        for (number, route) in workout.routes.enumerated() { give(route, number + 1, key, source) }
    }

    /// The source and the key of a workout.
    private func appendKey(
        of type: TypeEntry, _ activity: String, _ source: SourceEntry, _ start: Int64, _ end: Int64
    ) -> (Int, Int, UInt64) {
        beginKey(type, source, start, end)
        if !hasOwnIdentity { keys.add(activity) }
        return appendKey(source, start)
    }

    static func quoted(_ text: String) -> [UInt8] {
        var json: [UInt8] = []
        json.append(quoted: text)
        return json
    }

    /// The member `workout`, and what of it a record has no room for.
    private func appendParts(
        _ workout: WorkoutDraft, _ attributes: [String: String], _ start: Int64, _ end: Int64
    ) -> [(name: String, json: [UInt8])] {
        var parts: [UInt8] = [0x7B]
        appendDuration(attributes.map { ($0.key, $0.value) }, start, end, to: &parts)
        workout.totals.append(to: &parts)
        var rest: [(name: String, json: [UInt8])] = []
        var room = ExportReader.partsRoom - parts.count
        func fitting(_ all: [[UInt8]], _ name: String, most: Int) -> [[UInt8]] {
            var taken: [[UInt8]] = []
            for part in all {
                if taken.count < most, part.count + 1 < room {
                    taken.append(part)
                    room -= part.count + 1
                } else {
                    rest.append((name, part))
                }
            }
            return taken
        }
        ExportReader.append("activities", fitting(workout.activities, "WorkoutActivity", most: 100), to: &parts)
        ExportReader.append("events", fitting(workout.events, "WorkoutEvent", most: 1_000), to: &parts)
        guard parts.count > 1 else { return rest }
        output.append(literal: #","workout":"#)
        output += parts
        output.append(0x7D)
        return rest
    }

    /// Of the 65,536 bytes of a record, without its metadata.
    private static let partsRoom = 46_000

    /// An event or an activity beyond what the workout's record has room for.
    private func giveRest(
        _ part: (name: String, json: [UInt8]), _ number: Int, _ key: [UInt8], _ source: SourceEntry, _ start: Int64,
        _ end: Int64
    ) {
        guard part.json.count < ExportReader.metadataRoom else { return account.note(.leftOut, at: draft.offset) }
        let type = elementType
        output.removeAll(keepingCapacity: true)
        output += type.head
        output.append(literal: #","value":"#)
        output.append(quoted: part.name)
        append(start, end)
        output += source.json
        output.append(literal: #","key":""#)
        output += key
        output += " part \(number)".utf8
        output.append(literal: #"","group":""#)
        output += key
        output.append(literal: #"","metadata":{"part":"#)
        output += part.json
        output.append(literal: "}}")
        tally(type.index, source.index, start, end)
        if !isSilent { batch.append(Array(output), ExportBatch.Mark(type: type.index, source: source.index)) }
    }
}
