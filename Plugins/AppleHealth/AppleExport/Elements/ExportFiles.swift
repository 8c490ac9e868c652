import FoundationEssentials
import HubWire
import JSON
import Samples

/// Reads the files beside the XML: electrocardiograms, routes, clinical documents.
struct ExportFiles {
    let reader: ExportReader
    private var options: ExportOptions { reader.options }
    private var package: ExportPackage { reader.package }
    private static let maximumDocument = 16 << 20

    func readAll() {
        readOtherRoutes()
        let unnamed = package.names(in: "clinical-records").filter { !reader.namedFiles.contains($0) }
        // If the filter excludes clinical documents, the files that they name are not reported.
        let isAsked = options.filter.types?.contains(.clinicalDocument) ?? true
        for name in unnamed where isAsked { reader.account.note(.otherFile, file: name) }
        guard options.filter.types?.contains(.electrocardiogram) ?? true else { return }
        for name in package.names(in: "electrocardiograms") where name.hasSuffix(".csv") {
            guard let bytes = document(name) else { continue }
            let file: ECGFile
            do throws(ECGFile.ECGError) { file = try ECGFile(bytes) } catch {
                reader.account.note(.damagedFile, .init(file: name, date: error.time, reason: error.reason))
                continue
            }
            if let line = file.firstUnreadLine {
                reader.account.note(
                    .lostLine, .init(file: name, reason: "first at line \(line)"), count: file.unreadLines)
            }
            if file.isForeignTime {
                reader.account.note(.foreignTime, .init(file: name, date: reader.utc.text(file.time)))
            }
            give(file)
        }
    }

    /// Reads a whole file of the export; returns `nil` and notes it in the account if the file is missing or unreadable.
    ///
    /// - Parameters:
    ///   - most: maximum size in bytes.
    ///   - isPart: whether the file is an optional part of another one.
    private func document(_ name: String, upTo most: Int = maximumDocument, isPart: Bool = false) -> [UInt8]? {
        do throws(ExportError) {
            guard let source = try package.open(name) else {
                reader.account.note(.missingFile, file: name)
                return nil
            }
            guard reader.fileBytes < reader.maximumFileBytes else {
                reader.account.note(.leftOut, file: name)
                return nil
            }
            let bytes = try source.readAll(upTo: most)
            reader.fileBytes += Int64(bytes.count)
            if source.hasWrongSum { reader.account.note(.damagedFile, file: name, reason: "wrong sum") }
            return bytes
        } catch {
            reader.account.note(
                error.code == .tooLarge && isPart ? .leftOut : .damagedFile,
                .init(file: name, reason: error.message))
            if reader.account.fault == nil, !isPart { reader.account.fault = "\(name): \(error.message)" }
            return nil
        }
    }

    // MARK: - Electrocardiograms

    private func give(_ file: ECGFile) {
        let seconds = file.hertz.map { Double(file.voltages.count) / $0 } ?? 0
        // If the rate implies an end beyond the range of timestamps, the end is unknown.
        let told = Timestamp(file.recorded, adding: seconds + Double(file.time.microseconds) / 1_000_000)
        if told == nil {
            reader.account.note(
                .unreadValue,
                .init(
                    date: reader.utc.text(file.time), type: "electrocardiogram", reason: "a rate at which it has no end"
                ))
        }
        let end = told ?? Timestamp(microseconds: file.recorded * 1_000_000 + file.time.microseconds)
        let lastSecond = -(-end.microseconds).flooredDivision(by: 1_000_000)
        guard options.filter.sources == nil, options.filter.takes(file.recorded, lastSecond),
            let type = reader.type("HKDataTypeIdentifierElectrocardiogram")
        else { return reader.account.filtered += 1 }
        var key: [UInt8] = []
        reader.keys.begin("ecg", type: type.id.rawValue)
        reader.keys.add(file.device)
        reader.keys.add(Int64(file.voltages.count))
        _ = reader.keys.end(at: file.recorded, to: &key)
        var record = PartRecord(
            type: type, source: reader.noSource, key: key, start: reader.utc.text(file.time), end: end.text,
            seconds: (file.recorded, lastSecond), value: file.classification, group: key)
        for (name, text) in [
            ("classification", file.classification), ("symptoms", file.symptoms), ("lead", file.lead),
            ("sampleRate", file.sampleRate),
        ] where !text.isEmpty { _ = record.draft.add(name, text: text) }
        if let hertz = file.hertz { _ = record.draft.add("frequency", json: .quantity(hertz, unit: "Hz")) }
        for (name, member, text) in [
            ("device", "hardwareVersion", file.device), ("sourceRevision", "version", file.softwareVersion),
        ] where !text.isEmpty { _ = record.draft.add(name, json: ExportReader.object([(member, text)])) }
        _ = record.draft.add("voltages", json: Array(String(file.voltages.count).utf8))
        reader.give(record)
        giveVoltages(file, record)
    }

    /// Emits the voltages, as many in each record as fit.
    private func giveVoltages(_ file: ECGFile, _ whole: PartRecord) {
        guard let type = reader.type("x.apple.ecgVoltages") else { return }
        for (part, first) in stride(from: 0, to: file.voltages.count, by: 5_000).enumerated() {
            let piece = file.voltages[first..<min(first + 5_000, file.voltages.count)]
            var record = PartRecord(
                type: type, source: whole.source, key: whole.key + " \(part + 1)".utf8, start: whole.start,
                end: whole.end, seconds: (file.recorded, file.recorded), value: piece.joined(separator: " "),
                group: whole.group)
            _ = record.draft.add("first", json: Array(String(first).utf8))
            _ = record.draft.add("count", json: Array(String(piece.count).utf8))
            _ = record.draft.add("unit", text: file.unit)
            reader.give(record, upTo: 64_000)
        }
    }

    // MARK: - Clinical documents

    /// Reads `ClinicalRecord`: its attributes, the whole document that it names, and the files that the document names.
    func readClinicalRecord() throws(ExportError) {
        let (texts, offset) = (reader.tokenizer.texts, reader.tokenizer.offset)
        if reader.token == .open { try reader.skipChildren(of: "ClinicalRecord") }
        func text(_ name: String) -> String? { texts.first { $0.name == name }?.value }
        let name = text("resourceFilePath").map { $0.hasPrefix("/") ? String($0.dropFirst()) : $0 }
        if let name, package.has(name) { reader.namedFiles.insert(name) }
        guard let start = text("receivedDate").flatMap({ reader.times.time($0)?.seconds }) else {
            return reader.account.note(
                text("receivedDate") == nil ? .missingAttribute : .wrongTime,
                .init(
                    byte: offset, date: text("receivedDate").map { String($0.prefix(64)) }, type: "ClinicalRecord",
                    source: text("sourceName"), reason: name))
        }
        guard let type = reader.type("x.apple.clinicalDocument") else { return }
        let named = text("sourceName").map { name in Array(name.utf8).withUnsafeBytes { reader.source($0) } }
        let source = named ?? reader.noSource
        guard type.isWanted, source.isWanted, options.filter.takes(start, start) else {
            return reader.account.filtered += 1
        }
        var key: [UInt8] = []
        reader.keys.begin("clinical", type: text("type") ?? "")
        reader.keys.add(text("sourceURL") ?? "")
        reader.keys.add(text("identifier") ?? "")
        _ = reader.keys.end(at: start, to: &key)
        var record = PartRecord(
            type: type, source: source, key: key, start: reader.utc.text(start), seconds: (start, start), group: key)
        var attachment = record
        for member in ["type", "identifier", "sourceURL", "fhirVersion"] {
            if let text = text(member) { _ = record.draft.add(member, text: text) }
        }
        if let identifier = text("identifier") { _ = attachment.draft.add("identifier", text: identifier) }
        _ = attachment.draft.add("encoding", text: "base64")
        let document = name.flatMap { self.document($0) }
        give(Self.pieces(of: document ?? []), of: name, key, record)
        // A document names few files, and they become records at once: at most a hundred, with a total size of one document.
        var room = Self.maximumDocument
        for (number, file) in attachments(of: document ?? []).enumerated() {
            reader.namedFiles.insert(file)
            guard number < 100 else {
                reader.account.note(.leftOut, file: file)
                continue
            }
            guard let bytes = self.document(file, upTo: room, isPart: true) else { continue }
            room -= bytes.count
            give(Self.packed(bytes), of: file, key + " a\(number + 1)".utf8, attachment)
        }
    }

    /// Emits a file as several records, each with one piece.
    private func give(_ pieces: [String], of name: String?, _ key: [UInt8], _ whole: PartRecord) {
        for (part, piece) in pieces.enumerated() {
            var record = whole
            record.key = part > 0 ? key + " \(part + 1)".utf8 : key
            record.value = piece.isEmpty ? nil : piece
            if let name { _ = record.draft.add("file", text: name) }
            if pieces.count > 1 {
                _ = record.draft.add("part", json: Array("\(part + 1)".utf8))
                _ = record.draft.add("parts", json: Array("\(pieces.count)".utf8))
            }
            reader.give(record)
        }
    }

    /// The files of the export that a document names as `url`, as in FHIR's Attachment, each once.
    private func attachments(of document: [UInt8]) -> [String] {
        var (found, seen) = ([String](), Set<String>())
        let mark: StaticString = "\"url\""
        document.withUnsafeBufferPointer { bytes in
            guard let start = bytes.baseAddress else { return }
            var place = 0
            while let next = ByteSearch.find(mark, in: start + place, bytes.count - place) {
                place += next + mark.utf8CodeUnitCount
                // A colon and white space lie between the name and the text.
                while place < bytes.count, [0x20, 0x09, 0x0A, 0x0D, 0x3A].contains(bytes[place]) { place += 1 }
                guard place < bytes.count, bytes[place] == 0x22 else { continue }
                let text = bytes[(place + 1)...].prefix { $0 != 0x22 }
                guard text.count <= 4_096, let last = text.split(separator: 0x2F).last else { continue }
                let name = "clinical-records/" + String(decoding: last, as: UTF8.self).replacing("\\", with: "")
                if package.has(name), seen.insert(name).inserted { found.append(name) }
            }
        }
        return found
    }

    /// Encodes bytes as base64 pieces that fit into a record.
    private static func packed(_ bytes: [UInt8]) -> [String] {
        stride(from: 0, to: bytes.count, by: 30_000).map {
            Data(bytes[$0..<min($0 + 30_000, bytes.count)]).base64EncodedString()
        }
    }

    /// Splits a document into pieces of text, each of which fits into a record even after escaping.
    private static func pieces(of bytes: [UInt8]) -> [String] {
        var (pieces, start): ([String], Int) = ([], 0)
        while start < bytes.count {
            var (end, size) = (start, 0)
            while end < bytes.count, size < 40_000 {
                size += bytes[end] < 0x20 ? 6 : bytes[end] == 0x22 || bytes[end] == 0x5C ? 2 : 1
                end += 1
            }
            // Do not split a character.
            while end < bytes.count, end > start + 1, bytes[end] & 0xC0 == 0x80 { end -= 1 }
            pieces.append(String(decoding: bytes[start..<end], as: UTF8.self))
            start = end
        }
        return pieces.isEmpty ? [""] : pieces
    }

    // MARK: - Routes

    /// Emits the records of a route, in the group of its workout.
    func give(_ route: RouteDraft, _ number: Int, _ key: [UInt8], _ source: SourceEntry) {
        guard let type = reader.type("HKWorkoutRouteTypeIdentifier") else { return }
        guard type.isWanted else { return reader.account.filtered += 1 }
        let own = route.draft.source ?? source
        var writer = RouteWriter(
            head: key + " route \(number)".utf8, group: key, source: own, draft: route.draft, reader: reader, type: type
        )
        for point in route.points { writer.add(point) }
        for file in route.files { readRouteFile(file, &writer) }
        writer.end()
    }

    private func readRouteFile(_ name: String, _ writer: inout RouteWriter) {
        let place = AppleExportSummary.Place(file: name)
        do throws(ExportError) {
            guard let source = try package.open(name) else { return reader.account.note(.missingFile, place) }
            // Each workout may name the same file, and a zip may contain it under many names.
            guard reader.fileBytes < reader.maximumFileBytes else { return reader.account.note(.leftOut, place) }
            let (bytes, faults) = try RouteFile.read(source) { writer.add($0) }
            reader.fileBytes += bytes
            if source.hasWrongSum { reader.account.note(.damagedFile, file: name, reason: "wrong sum") }
            note(faults, name)
        } catch {
            reader.account.note(.damagedFile, file: name, reason: error.message)
            if reader.account.fault == nil { reader.account.fault = error.message }
        }
    }

    private func note(_ faults: RouteFile.Faults, _ name: String) {
        let wrongTime = faults.wrongTime.map { "no time that can be read, such as \"\($0)\"" }
        for (oddity, count, reason) in [
            (AppleExportSummary.Anomaly.lostPoint, faults.timeless, wrongTime ?? "no time"),
            (.lostPoint, faults.placeless, "no place"), (.unplacedPoint, faults.unplaced, "an accuracy below 0"),
            (.lostPoint, faults.broken, "the file is damaged there"),
        ] where count > 0 {
            reader.account.note(oddity, .init(file: name, reason: reason), count: count)
        }
    }

    /// Reads the route files that no workout names.
    private func readOtherRoutes() {
        guard options.filter.types?.contains(.workoutRoute) ?? true, options.filter.sources == nil,
            let type = reader.type("HKWorkoutRouteTypeIdentifier")
        else { return }
        let names = package.names(in: "workout-routes").filter { name in
            !reader.namedFiles.contains(name) && name.hasSuffix(".gpx")
        }
        // The lost part may contain the workouts that name these files. Then each workout identifies its route, so do not import them alone.
        guard reader.isWhole else { return names.forEach { reader.account.note(.unnamedRoute, file: $0) } }
        for name in names {
            var writer = RouteWriter(
                head: nil, group: nil, source: reader.noSource, draft: ElementDraft(), reader: reader, type: type)
            readRouteFile(name, &writer)
            writer.end()
        }
    }
}
