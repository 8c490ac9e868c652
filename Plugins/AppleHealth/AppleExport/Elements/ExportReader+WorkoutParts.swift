import HubWire
import JSON
import Samples

/// Reads the contents of a `Workout`: statistics, events, activities, zones, routes.
extension ExportReader {
    /// Reads a statistic of a type: `sum`, `average`, `minimum` or `maximum`.
    ///
    /// Ignores its times, which should be those of the workout and are often wrong.
    func readStatistics(_ totals: inout WorkoutDraft.Totals) throws(ExportError) {
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

    /// Keeps content that the hub has no place for under `unread`.
    func keepUnread(_ name: String, _ texts: [(name: String, value: String)], _ offset: Int64) {
        let label = texts.first { $0.name == "type" }.map { " \($0.value)" } ?? ""
        account.note(.unreadValue, place(reason: name + label))
        draft.addUnread(name + label, json: ExportReader.object(texts))
    }

    static func object(_ texts: [(name: String, value: String)]) -> [UInt8] {
        var (json, known): ([UInt8], Set<String>) = ([0x7B], [])
        for text in texts where known.insert(text.name).inserted {
            json.begin(text.name)
            json.append(quoted: text.value)
        }
        return json + [0x7D]
    }

    func readEvent(_ events: inout WorkoutDraft.Parts) throws(ExportError) {
        let (texts, offset) = (tokenizer.texts, tokenizer.offset)
        var outer = draft
        draft.reset(at: offset)
        addUnread(texts, except: ["type", "date", "duration", "durationUnit"])
        defer { draft = outer }
        _ = try readChildren { (reader) throws(ExportError) in
            reader.tokenizer.isNamed("MetadataEntry") ? try reader.readMetadata() : try reader.keepUnknown()
        }
        let name = texts.first { $0.name == "type" }?.value ?? ""
        guard name.hasPrefix("HKWorkoutEventType"), let kind = ExportReader.eventKinds[String(name.dropFirst(18))],
            let start = time(texts.first { $0.name == "date" }?.value)
        else {
            account.note(.unreadValue, place(reason: "a WorkoutEvent that cannot be read"))
            return outer.addUnread("WorkoutEvent \(name)", json: ExportReader.object(texts))
        }
        var json = Array(#"{"type":""#.utf8) + kind.utf8
        json.append(literal: #"","start":""#)
        utc.append(start, to: &json)
        json.append(0x22)
        if let (seconds, written) = duration(texts), seconds > 0 {
            if let end = Timestamp(start.seconds, adding: seconds + Double(start.microseconds) / 1_000_000) {
                json.append(literal: #","end":""#)
                json += end.text.utf8
                json.append(0x22)
            } else {
                account.note(.unreadValue, place(reason: "a WorkoutEvent that has no end"))
            }
            // Keep all digits, because a time cannot hold them.
            _ = draft.add("duration", json: written)
        }
        endPart(&json)
        if !events.append(json) { account.note(.leftOut, at: offset) }
    }

    /// Keeps the attributes of a part that the hub has no place for.
    private func addUnread(_ texts: [(name: String, value: String)], except known: Set<String>) {
        for text in texts where !known.contains(text.name) {
            draft.addUnread(text.name, json: .quoted(text.value))
        }
    }

    /// Appends the metadata of a part, including its zone, because a part has no zone member, and closes the object.
    private func endPart(_ json: inout [UInt8]) {
        if let zone = draft.zone { _ = draft.add("timeZone", text: zone) }
        if !draft.unread.isEmpty { _ = draft.add("unread", json: [0x7B] + draft.unread + [0x7D]) }
        if draft.leftOut > 0 { account.note(.leftOut, at: draft.offset, count: draft.leftOut) }
        if !draft.metadata.isEmpty {
            json.append(literal: #","metadata":{"#)
            json += draft.metadata
            json.append(0x7D)
        }
        json.append(0x7D)
    }

    static let eventKinds = [
        "Pause": "pause", "Resume": "resume", "Lap": "lap", "Marker": "marker", "MotionPaused": "motionPaused",
        "MotionResumed": "motionResumed", "Segment": "segment", "PauseOrResumeRequest": "pauseOrResumeRequest",
    ]

    func time(_ text: String?) -> ExportTime? { text.flatMap { times.time($0) } }

    /// Reads `duration` and `durationUnit`: the seconds, and the quantity in the original unit.
    private func duration(_ texts: [(name: String, value: String)]) -> (seconds: Double, written: [UInt8])? {
        guard let text = texts.first(where: { $0.name == "duration" })?.value else { return nil }
        let unit = texts.first { $0.name == "durationUnit" }?.value ?? "min"
        let parsed = (try? HealthUnit(unit)) ?? UnitWords.spelling(of: unit).flatMap { try? HealthUnit($0) }
        guard let value = DecimalText.number(text), value >= 0, let parsed, let second = try? HealthUnit("s"),
            let seconds = try? parsed.convert(value, to: second), seconds < 1e9
        else {
            account.note(.unreadValue, place(reason: "duration"))
            draft.addUnread("duration", json: .quoted("\(text) \(unit)"))
            return nil
        }
        return (seconds, .quantity(value, unit: unit))
    }

    /// Reads one activity of a workout with several; if the export does not give its kind, the workout's kind is used.
    func readActivity(_ usual: WorkoutActivity?, _ activities: inout WorkoutDraft.Parts) throws(ExportError) {
        let (texts, offset) = (tokenizer.texts, tokenizer.offset)
        var outer = draft
        draft.reset(at: offset)
        addUnread(
            texts, except: ["workoutActivityType", "startDate", "endDate", "uuid", "duration", "durationUnit"])
        var (totals, events) = (WorkoutDraft.Totals(), WorkoutDraft.Parts())
        _ = try readChildren { (reader) throws(ExportError) in
            switch String(decoding: reader.tokenizer.name, as: UTF8.self) {
            case "MetadataEntry": try reader.readMetadata()
            case "WorkoutStatistics": try reader.readStatistics(&totals)
            case "WorkoutEvent": try reader.readEvent(&events)
            default: try reader.keepUnknown()
            }
        }
        defer { draft = outer }
        let named = texts.first { $0.name == "workoutActivityType" }.flatMap {
            WorkoutActivity.activity(named: $0.value)
        }
        guard let start = time(texts.first { $0.name == "startDate" }?.value) else {
            account.note(.unreadValue, place(reason: "WorkoutActivity without a time that can be read"))
            return outer.addUnread("WorkoutActivity", json: ExportReader.object(texts))
        }
        let end = time(texts.first { $0.name == "endDate" }?.value)
        for (name, isRead) in [("workoutActivityType", named != nil), ("endDate", end.map { $0 >= start } ?? false)] {
            guard !isRead, let text = texts.first(where: { $0.name == name })?.value else { continue }
            account.note(.unreadValue, place(reason: "\(name) of a WorkoutActivity"))
            draft.addUnread(name, json: .quoted(text))
        }
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
        ExportReader.append("events", events.all, to: &json)
        endPart(&json)
        if !activities.append(json) { account.note(.leftOut, at: offset) }
    }

    /// For activities that the hub does not know: HealthKit's `other`, with the original name in the metadata.
    static let otherActivity =
        WorkoutActivity.activity(named: "HKWorkoutActivityTypeOther") ?? WorkoutActivity.all[0]

    /// Appends the duration without pauses.
    ///
    /// A duration longer than the workout is kept as it is written.
    func appendDuration(
        _ texts: [(name: String, value: String)], _ start: ExportTime, _ end: ExportTime?, to json: inout [UInt8]
    ) {
        guard let (seconds, written) = duration(texts) else { return }
        guard end.map({ seconds <= $0.seconds(since: start) + 1 }) ?? true else {
            account.note(.unreadValue, place(reason: "a duration longer than its element"))
            return draft.addUnread("duration", json: written)
        }
        json.begin("duration")
        NumberWriter.append(seconds, to: &json)
    }

    static func append(_ name: String, _ parts: [[UInt8]], to json: inout [UInt8]) {
        guard !parts.isEmpty else { return }
        json.begin(name)
        json.append(0x5B)
        json += parts.joined(separator: [0x2C])
        json.append(0x5D)
    }

    func readZones(_ zones: inout WorkoutDraft.Parts) throws(ExportError) {
        let offset = tokenizer.offset
        var texts = ExportReader.object(tokenizer.texts)
        var parts = WorkoutDraft.Parts()
        _ = try readChildren { (reader) throws(ExportError) in
            guard reader.tokenizer.isNamed("WorkoutZone") else { return try reader.keepUnknown() }
            if !parts.append(ExportReader.object(reader.tokenizer.texts)) {
                reader.account.note(.leftOut, at: reader.tokenizer.offset)
            }
            try reader.skipChildren(of: "WorkoutZone")
        }
        texts.removeLast()
        ExportReader.append("zones", parts.all, to: &texts)
        texts.append(0x7D)
        if !zones.append(texts) { account.note(.leftOut, at: offset) }
    }

    // MARK: - Routes

    func readRoute(_ routes: inout Routes) throws(ExportError) {
        let outer = draft
        readAttributes()
        var route = RouteDraft(draft: ElementDraft())
        _ = try readChildren { (reader) throws(ExportError) in
            if reader.tokenizer.isNamed("MetadataEntry") { return try reader.readMetadata() }
            if reader.tokenizer.isNamed("Location") { return try reader.readLocation(&route, &routes) }
            guard reader.tokenizer.isNamed("FileReference"), let path = reader.tokenizer.value(of: "path") else {
                return try reader.keepUnknown()
            }
            let text = XMLText.decoded(path).text
            let name = text.hasPrefix("/") ? String(text.dropFirst()) : text
            if routes.take(file: name) {
                route.files.append(name)
            } else {
                reader.account.note(.leftOut, reader.place(reason: "a file of a route"))
            }
            // The file counts as named even if its workout is not imported.
            if reader.package.has(name) { reader.namedFiles.insert(name) }
            try reader.skipChildren(of: "FileReference")
        }
        route.draft = draft
        draft = outer
        guard routes.all.count < 1_000 else {
            return account.note(.leftOut, place(reason: "a route of a workout that has 1,000 already"))
        }
        routes.all.append(route)
    }

    /// Reads a point of a very old file without GPX.
    func readLocation(_ routes: inout Routes) throws(ExportError) {
        if routes.all.last.map({ $0.points.isEmpty }) ?? true { routes.all.append(RouteDraft(draft: draft)) }
        var route = routes.all.removeLast()
        try readLocation(&route, &routes)
        routes.all.append(route)
    }

    private func readLocation(_ route: inout RouteDraft, _ routes: inout Routes) throws(ExportError) {
        let offset = tokenizer.offset
        let texts = Dictionary(tokenizer.texts.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        try skipChildren(of: "Location")
        var point = RoutePointReader()
        let time = texts["date"] ?? texts["timestamp"] ?? ""
        point.microseconds = times.time(time).map { $0.seconds * 1_000_000 + $0.microseconds }
        for name in ["latitude", "longitude", "altitude", "horizontalAccuracy", "verticalAccuracy", "speed", "course"] {
            if let text = texts[name] { Array(text.utf8).withUnsafeBytes { point.take(name, $0) } }
        }
        switch point.made() {
        case .point(let made):
            if routes.take(made) { return route.points.append(made) }
            account.note(
                .leftOut, AppleExportSummary.Place(byte: offset, reason: "a Location beyond the room of a workout"))
        case .timeless:
            account.note(.lostPoint, AppleExportSummary.Place(byte: offset, reason: "a Location without time"))
        case .placeless:
            account.note(
                .lostPoint, AppleExportSummary.Place(byte: offset, date: time, reason: "a Location without place"))
        case .unplaced: account.note(.unplacedPoint, at: offset)
        }
    }
}
