import JSON
import Samples

/// Reads `Workout` with its contents.
extension ExportReader {
    func readWorkout() throws(ExportError) {
        readAttributes(except: Self.workoutAttributes)
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
                if workout.members.count < 1_000, workout.memberBytes < ExportReader.partsBound {
                    reader.isWithinWanted = isWanted
                    if let member = try reader.readMember() {
                        workout.memberBytes += member.bytes.count
                        workout.members.append(member)
                    }
                } else {
                    // No workout has this many records, so its end is missing.
                    try reader.readRecord()
                }
                reader.isWithinWanted = false
                reader.draft = outer
            default: try reader.keepUnknown()
            }
        }
        guard isWhole else { return giveAlone(workout.members) }
        addTotals(attributes, activity, &workout)
        give(workout, activity, attributes)
    }

    private static let workoutAttributes: [StaticString] = [
        "workoutActivityType", "duration", "durationUnit", "totalEnergyBurned", "totalEnergyBurnedUnit",
        "totalDistance", "totalDistanceUnit", "totalSwimmingStrokeCount", "totalSwimmingStrokeCountUnit",
        "totalFlightsClimbed", "totalFlightsClimbedUnit",
    ]

    // MARK: - Writing the record

    /// Adds the totals that older files have as attributes, unless there is a statistic of the same kind.
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
            // The activity does not determine the kind of this distance, so it keeps its name in the export.
            var json = Array(#"{"value":"#.utf8)
            if let number { NumberWriter.append(number.value, to: &json) } else { json.append(quoted: text) }
            json.append(#","unit":"#, quoted: unit)
            json.append(0x7D)
            _ = draft.add(name, json: json)
        }
    }

    private func give(_ workout: WorkoutDraft, _ activity: WorkoutActivity?, _ attributes: [String: String]) {
        let source = draft.source ?? noSource
        guard let type = draft.type, let start = draft.start else {
            noteTimeless("Workout")
            return giveAlone(workout.members)
        }
        let end = draft.end ?? start
        guard source.isWanted, options.filter.takes(start.seconds, max(start, end).seconds) else {
            account.filtered += 1
            return giveAlone(workout.members)
        }
        guard hasGoodEnd else {
            giveAsElement(workout, attributes)
            return giveAlone(workout.members)
        }
        noteUnlikely(start, end)
        let named = activity?.name ?? attributes["workoutActivityType"] ?? ""
        guard type.isWanted else {
            account.filtered += 1
            giveAlone(workout.members)
            // The filter may select its routes without it.
            output.removeAll(keepingCapacity: true)
            let (keyStart, keyEnd, _) = appendKey(of: type, named, source, start, end)
            let key = Array(output[keyStart..<keyEnd])
            give(workout.routes, key, source)
            return
        }
        if activity == nil {
            account.note(.unreadValue, place(reason: "an activity that is not known"))
            draft.addUnread(
                "workoutActivityType", json: .quoted(attributes["workoutActivityType"] ?? ""))
        }
        let name = (activity ?? ExportReader.otherActivity).name
        output.removeAll(keepingCapacity: true)
        output += type.head
        output.append(#","value":"#, quoted: name)
        append(start, end)
        let (keyStart, keyEnd, mark) = appendKey(of: type, named, source, start, end)
        let key = Array(output[keyStart..<keyEnd])
        output.append(#","group":""#, key)
        let rest = appendParts(workout, attributes, start, end)
        let zones = workout.zones.all.joined(separator: [0x2C])
        if !workout.zones.all.isEmpty { _ = draft.add("zones", json: Array("[".utf8) + zones + [0x5D]) }
        appendMetadata(source)
        let kind = ExportBatch.Mark(type: type.index, source: source.index)
        tally(kind.type, kind.source, start.seconds, end.seconds)
        if !isSilent { batch.append(Array(output), kind) }
        for member in workout.members { giveMember(member, in: key, owner: mark) }
        for (number, part) in rest.enumerated() { giveRest(part, number + 1, key, source, start, end) }
        give(workout.routes, key, source)
    }

    private func give(_ routes: Routes, _ key: [UInt8], _ source: SourceEntry) {
        let files = ExportFiles(reader: self)
        for (number, route) in routes.all.enumerated() { files.give(route, number + 1, key, source) }
    }

    /// Keeps a workout with an invalid end as it is written, as far as it fits into a record, and without its routes.
    private func giveAsElement(_ workout: WorkoutDraft, _ attributes: [String: String]) {
        let texts = attributes.map { (name: $0.key, value: $0.value) }.sorted { $0.name < $1.name }
        draft.addUnread("Workout", json: Self.object(texts))
        var parts: [UInt8] = [0x7B]
        workout.totals.append(to: &parts)
        ExportReader.append("activities", workout.activities.all, to: &parts)
        ExportReader.append("events", workout.events.all, to: &parts)
        ExportReader.append("zones", workout.zones.all, to: &parts)
        if parts.count > 1 { draft.addUnread("parts", json: parts + [0x7D]) }
        if !workout.routes.all.isEmpty {
            account.note(
                .leftOut, place(reason: "routes of a workout whose end cannot be"), count: workout.routes.all.count)
        }
        if let made = finish(element: "Workout") { give(made) }
    }

    /// Appends the source and the key of a workout.
    private func appendKey(
        of type: TypeEntry, _ activity: String, _ source: SourceEntry, _ start: ExportTime, _ end: ExportTime
    ) -> (Int, Int, UInt64) {
        beginKey(type, source, start, end)
        if !hasOwnIdentity { keys.add(activity) }
        return appendKey(source, start)
    }

    /// Appends the member `workout`; returns the parts that do not fit into the record.
    private func appendParts(
        _ workout: WorkoutDraft, _ attributes: [String: String], _ start: ExportTime, _ end: ExportTime
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
        ExportReader.append("activities", fitting(workout.activities.all, "WorkoutActivity", most: 100), to: &parts)
        ExportReader.append("events", fitting(workout.events.all, "WorkoutEvent", most: 1_000), to: &parts)
        guard parts.count > 1 else { return rest }
        output.append(literal: #","workout":"#)
        output += parts
        output.append(0x7D)
        return rest
    }

    /// Maximum size of each kind of content in a workout, many times that of the longest one known.
    static let partsBound = 8 << 20
    /// Share of a record's 65,536 bytes that is available without its metadata.
    private static let partsRoom = 46_000

    /// Emits an event or an activity that did not fit into the workout's record.
    private func giveRest(
        _ part: (name: String, json: [UInt8]), _ number: Int, _ key: [UInt8], _ source: SourceEntry,
        _ start: ExportTime, _ end: ExportTime
    ) {
        guard part.json.count < ExportReader.metadataRoom else {
            return account.note(.leftOut, place(reason: "a part larger than a record"))
        }
        let type = elementType
        output.removeAll(keepingCapacity: true)
        output += type.head
        output.append(#","value":"#, quoted: part.name)
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
        tally(type.index, source.index, start.seconds, end.seconds)
        if !isSilent { batch.append(Array(output), ExportBatch.Mark(type: type.index, source: source.index)) }
    }
}
