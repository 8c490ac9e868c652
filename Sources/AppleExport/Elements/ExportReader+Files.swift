import JSON
import Samples

/// The files beside the XML: electrocardiograms, routes that no workout names, clinical documents.
extension ExportReader {
    private static let maximumDocument = 16 << 20

    func readFiles() throws(ExportError) {
        readOtherRoutes()
        let unnamed = package.names(in: "clinical-records").count { !namedFiles.contains($0) }
        if unnamed > 0 { account.note(.otherFile, count: unnamed) }
        guard options.filter.types?.contains(.electrocardiogram) ?? true else { return }
        for name in package.names(in: "electrocardiograms") where name.hasSuffix(".csv") {
            guard let bytes = document(name) else { continue }
            guard let file = ECGFile(bytes) else {
                account.note(.damagedFile)
                continue
            }
            if file.unreadLines > 0 { account.note(.unreadValue, count: file.unreadLines) }
            give(file)
        }
    }

    /// A file of the export, whole; `nil` where it is not there or cannot be read, which the account tells.
    private func document(_ name: String) -> [UInt8]? {
        do throws(ExportError) {
            guard let source = try package.open(name) else {
                account.note(.missingFile)
                return nil
            }
            let bytes = try source.readAll(upTo: Self.maximumDocument)
            if source.hasWrongSum { account.note(.damagedFile) }
            return bytes
        } catch {
            account.note(.damagedFile)
            if account.fault == nil { account.fault = "\(name): \(error.message)" }
            return nil
        }
    }

    // MARK: - Electrocardiograms

    private func give(_ file: ECGFile) {
        let seconds = file.hertz.map { Double(file.voltages.count) / $0 } ?? 0
        // A rate at which it would take longer than time goes on says nothing of its end.
        let told = Timestamp(file.recorded, adding: seconds)
        if told == nil { account.note(.unreadValue) }
        let end = told ?? Timestamp(microseconds: file.recorded * 1_000_000)
        let lastSecond = -(-end.microseconds).flooredDivision(by: 1_000_000)
        guard options.filter.sources == nil, options.filter.takes(file.recorded, lastSecond),
            let type = type("HKDataTypeIdentifierElectrocardiogram")
        else { return account.filtered += 1 }
        var metadata = Draft()
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
            Array(#","start":""#.utf8) + utc.text(file.recorded).utf8 + Array(#"","end":""#.utf8) + end.text.utf8
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

    /// The zone of what an export says without one.
    var zoneJSON: [UInt8] {
        options.zone.map { Array(#","zone":"#.utf8) + Self.quoted($0) } ?? []
    }

    private func append(_ record: [UInt8], _ type: TypeEntry, _ start: Int64, _ end: Int64) {
        let kind = ExportBatch.Mark(type: type.index, source: noSource.index)
        tally(kind.type, kind.source, start, end)
        batch.append(record, kind)
    }

    /// The voltages, as many in a record as it has room for.
    private func giveVoltages(_ file: ECGFile, _ key: [UInt8], _ times: [UInt8]) {
        guard let type = type("x.apple.ecgVoltages") else { return }
        for (part, first) in stride(from: 0, to: file.voltages.count, by: 5_000).enumerated() {
            let piece = file.voltages[first..<min(first + 5_000, file.voltages.count)]
            var metadata = Draft()
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
                account.note(.leftOut)
                continue
            }
            append(
                appendingMetadata(of: metadata, noSource, to: record), type, file.recorded, file.recorded)
        }
    }

    // MARK: - Clinical documents

    /// `ClinicalRecord`: what it says, and the document that it names, whole.
    func readClinicalRecord() throws(ExportError) {
        let (texts, offset) = (tokenizer.texts, tokenizer.offset)
        if token == .open { try skipChildren(of: "ClinicalRecord") }
        func text(_ name: String) -> String? { texts.first { $0.name == name }?.value }
        let name = text("resourceFilePath").map { $0.hasPrefix("/") ? String($0.dropFirst()) : $0 }
        if let name, package.has(name) { namedFiles.insert(name) }
        guard let time = text("receivedDate"), let start = Array(time.utf8).withUnsafeBytes({ times.seconds($0) })
        else {
            return account.note(text("receivedDate") == nil ? .missingAttribute : .wrongTime, at: offset)
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
        let pieces = name.flatMap { document($0) }.map { Self.pieces(of: $0) } ?? [""]
        for (part, piece) in pieces.enumerated() {
            var metadata = Draft()
            for member in ["type", "identifier", "sourceURL", "fhirVersion"] {
                if let text = text(member) { _ = metadata.add(member, text: text) }
            }
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
            record += Array(#"","group":""#.utf8) + key
            record.append(0x22)
            record = appendingMetadata(of: metadata, source, to: record)
            let kind = ExportBatch.Mark(type: type.index, source: source.index)
            tally(kind.type, kind.source, start, start)
            if !isSilent { batch.append(record, kind) }
        }
    }

    /// A document in pieces, of which each is text and has room in a record, whatever has to be escaped.
    static func pieces(of bytes: [UInt8]) -> [String] {
        var (pieces, start): ([String], Int) = ([], 0)
        while start < bytes.count {
            var (end, size) = (start, 0)
            while end < bytes.count, size < 40_000 {
                size += bytes[end] < 0x20 ? 6 : bytes[end] == 0x22 || bytes[end] == 0x5C ? 2 : 1
                end += 1
            }
            // Not within a character.
            while end < bytes.count, end > start + 1, bytes[end] & 0xC0 == 0x80 { end -= 1 }
            pieces.append(String(decoding: bytes[start..<end], as: UTF8.self))
            start = end
        }
        return pieces.isEmpty ? [""] : pieces
    }
}
