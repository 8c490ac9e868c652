import JSON
import Samples

/// Reads `WorkoutRoute` and the GPX files that it names.
extension ExportReader {
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

    /// Emits the records of a route, in the group of its workout.
    func give(_ route: RouteDraft, _ number: Int, _ key: [UInt8], _ source: SourceEntry) {
        guard let type = type("HKWorkoutRouteTypeIdentifier") else { return }
        guard type.isWanted else { return account.filtered += 1 }
        let own = route.draft.source ?? source
        var writer = RouteWriter(
            head: key + " route \(number)".utf8, group: key, source: own, draft: route.draft, reader: self, type: type)
        for point in route.points { writer.add(point) }
        for file in route.files { readRouteFile(file, &writer) }
        writer.end()
    }

    private func readRouteFile(_ name: String, _ writer: inout RouteWriter) {
        let place = AppleExportSummary.Place(file: name)
        do throws(ExportError) {
            guard let source = try package.open(name) else { return account.note(.missingFile, place) }
            // Each workout may name the same file, and a zip may contain it under many names.
            guard fileBytes < maximumFileBytes else { return account.note(.leftOut, place) }
            let (bytes, faults) = try RouteFile.read(source) { writer.add($0) }
            fileBytes += bytes
            if source.hasWrongSum {
                account.note(.damagedFile, AppleExportSummary.Place(file: name, reason: "wrong sum"))
            }
            note(faults, name)
        } catch {
            account.note(.damagedFile, AppleExportSummary.Place(file: name, reason: error.message))
            if account.fault == nil { account.fault = error.message }
        }
    }

    private func note(_ faults: RouteFile.Faults, _ name: String) {
        let wrongTime = faults.wrongTime.map { "no time that can be read, such as \"\($0)\"" }
        for (oddity, count, reason) in [
            (AppleExportSummary.Anomaly.lostPoint, faults.timeless, wrongTime ?? "no time"),
            (.lostPoint, faults.placeless, "no place"), (.unplacedPoint, faults.unplaced, "an accuracy below 0"),
            (.lostPoint, faults.broken, "the file is damaged there"),
        ] where count > 0 {
            account.note(oddity, AppleExportSummary.Place(file: name, reason: reason), count: count)
        }
    }

    /// Reads the route files that no workout names.
    func readOtherRoutes() {
        guard options.filter.types?.contains(.workoutRoute) ?? true, options.filter.sources == nil,
            let type = type("HKWorkoutRouteTypeIdentifier")
        else { return }
        let names = package.names(in: "workout-routes").filter { !namedFiles.contains($0) && $0.hasSuffix(".gpx") }
        // The lost part may contain the workouts that name these files. Then each workout identifies its route, so do not import them alone.
        guard isWhole else { return names.forEach { account.note(.unnamedRoute, AppleExportSummary.Place(file: $0)) } }
        for name in names {
            var writer = RouteWriter(
                head: nil, group: nil, source: noSource, draft: ElementDraft(), reader: self, type: type)
            readRouteFile(name, &writer)
            writer.end()
        }
    }
}

extension ExportReader {
    /// Appends the metadata of another draft than the current one, and the end of the record.
    func appendingMetadata(of other: ElementDraft, _ source: SourceEntry, to record: [UInt8]) -> [UInt8] {
        let kept = (draft, output)
        defer { (draft, output) = kept }
        (draft, output) = (other, record)
        appendMetadata(source)
        return output
    }
}

/// Writes the points of a route as records, each with some hundreds of points.
struct RouteWriter {
    /// The beginning of its keys; `nil` to use the time of the first point.
    var head: [UInt8]?
    let group: [UInt8]?
    let source: SourceEntry
    let draft: ElementDraft
    let reader: ExportReader
    let type: TypeEntry
    private var points: [UInt8] = []
    private var count = 0
    private var first: Int64 = 0
    private var last: Int64 = 0
    private var part = 0

    init(
        head: [UInt8]?, group: [UInt8]?, source: SourceEntry, draft: ElementDraft, reader: ExportReader, type: TypeEntry
    ) {
        (self.head, self.group, self.source, self.draft) = (head, group, source, draft)
        (self.reader, self.type) = (reader, type)
    }

    mutating func add(_ point: RoutePointText) {
        // The points of a record are in order of time. A point earlier than the last one starts a new record.
        if count >= 400 || points.count > 44_000 || count > 0 && point.microseconds < last { end() }
        if count == 0 { first = point.microseconds }
        last = point.microseconds
        if count > 0 { points.append(0x2C) }
        points += point.json
        count += 1
    }

    mutating func end() {
        guard count > 0 else { return }
        defer {
            points.removeAll(keepingCapacity: true)
            count = 0
        }
        part += 1
        let (start, end) = (first.flooredDivision(by: 1_000_000), -(-last).flooredDivision(by: 1_000_000))
        guard group != nil || reader.options.filter.takes(start, end) else { return reader.account.filtered += 1 }
        if head == nil {
            var key: [UInt8] = []
            reader.keys.begin("route", type: type.id.rawValue)
            reader.keys.add(first)
            _ = reader.keys.end(at: start, to: &key)
            head = key
        }
        var record = type.head
        record.append(literal: #","start":""#)
        record += Timestamp(microseconds: first).text.utf8
        record.append(literal: #"","end":""#)
        record += Timestamp(microseconds: last).text.utf8
        record.append(0x22)
        if let zone = draft.zone ?? reader.options.zone {
            record.append(literal: #","zone":"#)
            record.append(quoted: zone)
        }
        record += source.json
        record.append(literal: #","key":""#)
        record += head ?? []
        record += " \(part)".utf8
        record.append(0x22)
        if let group {
            record.append(literal: #","group":""#)
            record += group
            record.append(0x22)
        }
        record.append(literal: #","route":["#)
        record += points
        record.append(0x5D)
        record = reader.appendingMetadata(of: draft, source, to: record)
        let kind = ExportBatch.Mark(type: type.index, source: source.index)
        reader.tally(kind.type, kind.source, start, end)
        if !reader.isSilent { reader.batch.append(record, kind) }
    }
}
