import FoundationEssentials
import JSON
import Samples

/// Reads the files beside the XML: electrocardiograms, routes that no workout names, clinical documents.
extension ExportReader {
    private static let maximumDocument = 16 << 20

    func readFiles() throws(ExportError) {
        readOtherRoutes()
        let unnamed = package.names(in: "clinical-records").filter { !namedFiles.contains($0) }
        // If the filter excludes clinical documents, the files that they name are not reported.
        let isAsked = options.filter.types?.contains(.clinicalDocument) ?? true
        for name in unnamed where isAsked { account.note(.otherFile, AppleExportSummary.Place(file: name)) }
        guard options.filter.types?.contains(.electrocardiogram) ?? true else { return }
        for name in package.names(in: "electrocardiograms") where name.hasSuffix(".csv") {
            guard let bytes = document(name) else { continue }
            let file: ECGFile
            do throws(ECGFile.ECGError) { file = try ECGFile(bytes) } catch {
                account.note(.damagedFile, AppleExportSummary.Place(file: name, date: error.time, reason: error.reason))
                continue
            }
            if let line = file.firstUnreadLine {
                account.note(
                    .lostLine, AppleExportSummary.Place(file: name, reason: "first at line \(line)"),
                    count: file.unreadLines
                )
            }
            if file.isForeignTime {
                account.note(.foreignTime, AppleExportSummary.Place(file: name, date: utc.text(file.time)))
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
                account.note(.missingFile, AppleExportSummary.Place(file: name))
                return nil
            }
            guard fileBytes < maximumFileBytes else {
                account.note(.leftOut, AppleExportSummary.Place(file: name))
                return nil
            }
            let bytes = try source.readAll(upTo: most)
            fileBytes += Int64(bytes.count)
            if source.hasWrongSum {
                account.note(.damagedFile, AppleExportSummary.Place(file: name, reason: "wrong sum"))
            }
            return bytes
        } catch {
            account.note(
                error.code == .tooLarge && isPart ? .leftOut : .damagedFile,
                AppleExportSummary.Place(file: name, reason: error.message))
            if account.fault == nil, !isPart { account.fault = "\(name): \(error.message)" }
            return nil
        }
    }

    // MARK: - Electrocardiograms

    private func give(_ file: ECGFile) {
        let seconds = file.hertz.map { Double(file.voltages.count) / $0 } ?? 0
        // If the rate implies an end beyond the range of timestamps, the end is unknown.
        let told = Timestamp(file.recorded, adding: seconds + Double(file.time.microseconds) / 1_000_000)
        if told == nil {
            account.note(
                .unreadValue,
                AppleExportSummary.Place(
                    date: utc.text(file.time), type: "electrocardiogram", reason: "a rate at which it has no end"))
        }
        let end = told ?? Timestamp(microseconds: file.recorded * 1_000_000 + file.time.microseconds)
        let lastSecond = -(-end.microseconds).flooredDivision(by: 1_000_000)
        guard options.filter.sources == nil, options.filter.takes(file.recorded, lastSecond),
            let type = type("HKDataTypeIdentifierElectrocardiogram")
        else { return account.filtered += 1 }
        var metadata = ElementDraft()
        for (name, text) in [
            ("classification", file.classification), ("symptoms", file.symptoms), ("lead", file.lead),
            ("sampleRate", file.sampleRate),
        ] where !text.isEmpty { _ = metadata.add(name, text: text) }
        if let hertz = file.hertz {
            var json = Array(#"{"value":"#.utf8)
            NumberWriter.append(hertz, to: &json)
            json.append(literal: #","unit":"Hz"}"#)
            _ = metadata.add("frequency", json: json)
        }
        if !file.device.isEmpty {
            _ = metadata.add("device", json: Array(#"{"hardwareVersion":"#.utf8) + Self.quoted(file.device) + [0x7D])
        }
        if !file.softwareVersion.isEmpty {
            _ = metadata.add(
                "sourceRevision", json: Array(#"{"version":"#.utf8) + Self.quoted(file.softwareVersion) + [0x7D])
        }
        _ = metadata.add("voltages", json: Array(String(file.voltages.count).utf8))
        var key: [UInt8] = []
        keys.begin("ecg", type: type.id.rawValue)
        keys.add(file.device)
        keys.add(Int64(file.voltages.count))
        _ = keys.end(at: file.recorded, to: &key)
        let times =
            Array(#","start":""#.utf8) + utc.text(file.time).utf8 + Array(#"","end":""#.utf8) + end.text.utf8
        var record = type.head + Array(#","value":"#.utf8) + Self.quoted(file.classification)
        record += times
        record.append(0x22)
        record += zoneJSON + noSource.json
        record += Array(#","key":""#.utf8) + key + Array(#"","group":""#.utf8) + key
        record.append(0x22)
        record = appendingMetadata(of: metadata, noSource, to: record)
        append(record, type, file.recorded, lastSecond)
        giveVoltages(file, key, times)
    }

    /// The zone for times that the export gives without one.
    var zoneJSON: [UInt8] {
        options.zone.map { Array(#","zone":"#.utf8) + Self.quoted($0) } ?? []
    }

    private func append(_ record: [UInt8], _ type: TypeEntry, _ start: Int64, _ end: Int64) {
        let kind = ExportBatch.Mark(type: type.index, source: noSource.index)
        tally(kind.type, kind.source, start, end)
        batch.append(record, kind)
    }

    /// Emits the voltages, as many in each record as fit.
    private func giveVoltages(_ file: ECGFile, _ key: [UInt8], _ times: [UInt8]) {
        guard let type = type("x.apple.ecgVoltages") else { return }
        for (part, first) in stride(from: 0, to: file.voltages.count, by: 5_000).enumerated() {
            let piece = file.voltages[first..<min(first + 5_000, file.voltages.count)]
            var metadata = ElementDraft()
            _ = metadata.add("first", json: Array(String(first).utf8))
            _ = metadata.add("count", json: Array(String(piece.count).utf8))
            _ = metadata.add("unit", text: file.unit)
            var record = type.head + Array(#","value":"#.utf8) + Self.quoted(piece.joined(separator: " ")) + times
            record.append(0x22)
            record += zoneJSON + noSource.json
            record += Array(#","key":""#.utf8) + key
            record += " \(part + 1)".utf8
            record += Array(#"","group":""#.utf8) + key
            record.append(0x22)
            guard record.count < 64_000 else {
                account.note(.leftOut, AppleExportSummary.Place(date: utc.text(file.recorded), type: type.name))
                continue
            }
            append(
                appendingMetadata(of: metadata, noSource, to: record), type, file.recorded, file.recorded)
        }
    }

    // MARK: - Clinical documents

    /// Reads `ClinicalRecord`: its attributes, the whole document that it names, and the files that the document names.
    func readClinicalRecord() throws(ExportError) {
        let (texts, offset) = (tokenizer.texts, tokenizer.offset)
        if token == .open { try skipChildren(of: "ClinicalRecord") }
        func text(_ name: String) -> String? { texts.first { $0.name == name }?.value }
        let name = text("resourceFilePath").map { $0.hasPrefix("/") ? String($0.dropFirst()) : $0 }
        if let name, package.has(name) { namedFiles.insert(name) }
        guard let start = text("receivedDate").flatMap({ times.time($0)?.seconds }) else {
            return account.note(
                text("receivedDate") == nil ? .missingAttribute : .wrongTime,
                AppleExportSummary.Place(
                    byte: offset, date: text("receivedDate").map { String($0.prefix(64)) }, type: "ClinicalRecord",
                    source: text("sourceName"), reason: name))
        }
        guard let type = type("x.apple.clinicalDocument") else { return }
        let source = text("sourceName").map { name in Array(name.utf8).withUnsafeBytes { self.source($0) } } ?? noSource
        guard type.isWanted, source.isWanted, options.filter.takes(start, start) else {
            return account.filtered += 1
        }
        var key: [UInt8] = []
        keys.begin("clinical", type: text("type") ?? "")
        keys.add(text("sourceURL") ?? "")
        keys.add(text("identifier") ?? "")
        _ = keys.end(at: start, to: &key)
        var writer = DocumentWriter(type: type, source: source, start: start, group: key)
        for member in ["type", "identifier", "sourceURL", "fhirVersion"] {
            if let text = text(member) { writer.facts.append((member, text)) }
        }
        let document = name.flatMap { self.document($0) }
        give(Self.pieces(of: document ?? []), of: name, key, writer)
        // A document names few files, and they become records at once: at most a hundred, with a total size of one document.
        var room = Self.maximumDocument
        for (number, file) in attachments(of: document ?? []).enumerated() {
            namedFiles.insert(file)
            guard number < 100 else {
                account.note(.leftOut, AppleExportSummary.Place(file: file))
                continue
            }
            guard let bytes = self.document(file, upTo: room, isPart: true) else { continue }
            room -= bytes.count
            writer.facts = [("encoding", "base64")]
            if let identifier = text("identifier") { writer.facts.insert(("identifier", identifier), at: 0) }
            give(Self.packed(bytes), of: file, key + " a\(number + 1)".utf8, writer)
        }
    }

    /// The shared properties of a document's records.
    private struct DocumentWriter {
        let type: TypeEntry
        let source: SourceEntry
        let start: Int64
        let group: [UInt8]
        var facts: [(name: String, text: String)] = []
    }

    /// Emits a file as several records, each with one piece.
    private func give(_ pieces: [String], of name: String?, _ key: [UInt8], _ writer: DocumentWriter) {
        let (type, source, start) = (writer.type, writer.source, writer.start)
        for (part, piece) in pieces.enumerated() {
            var metadata = ElementDraft()
            for fact in writer.facts { _ = metadata.add(fact.name, text: fact.text) }
            if let name { _ = metadata.add("file", text: name) }
            if pieces.count > 1 {
                _ = metadata.add("part", json: Array("\(part + 1)".utf8))
                _ = metadata.add("parts", json: Array("\(pieces.count)".utf8))
            }
            var record = type.head
            if !piece.isEmpty { record += Array(#","value":"#.utf8) + Self.quoted(piece) }
            record += Array(#","start":""#.utf8) + utc.text(start).utf8
            record.append(0x22)
            record += zoneJSON + source.json
            record += Array(#","key":""#.utf8) + key
            if part > 0 { record += " \(part + 1)".utf8 }
            record += Array(#"","group":""#.utf8) + writer.group
            record.append(0x22)
            record = appendingMetadata(of: metadata, source, to: record)
            let kind = ExportBatch.Mark(type: type.index, source: source.index)
            tally(kind.type, kind.source, start, start)
            if !isSilent { batch.append(record, kind) }
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
    static func pieces(of bytes: [UInt8]) -> [String] {
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
}
