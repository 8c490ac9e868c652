import FoundationEssentials
// Without this import `TimeZone` knows no zone but GMT.
import FoundationInternationalization
import HubWire
import JSON
import Samples

/// Reads `Me`, `ActivitySummary`, `Audiogram` and `VisionPrescription`.
struct OtherElements {
    let reader: ExportReader
    private var options: ExportOptions { reader.options }

    // MARK: - Me

    /// Reads the phone's facts about the person.
    ///
    /// They hold from the person's birth on, so that each export gives the same records.
    func readMe() throws(ExportError) {
        let facts = reader.tokenizer.texts
        let offset = reader.tokenizer.offset
        let isEmpty = reader.token == .empty
        let birth = facts.first { $0.name.hasSuffix("DateOfBirth") }.flatMap { ForeignDate.day($0.value) }
        let start = birth.map { Int64($0.daysSinceEpoch) * 86_400 } ?? 0
        guard Timestamp(microseconds: start * 1_000_000).isRepresentable else {
            reader.account.note(
                .wrongTime, AppleExportSummary.Place(byte: offset, reason: "a date of birth that no record can have"))
            return isEmpty ? () : try reader.skipChildren(of: "Me")
        }
        var unread: [(name: String, value: String)] = []
        for fact in facts {
            guard let health = TypeRegistry.standard.resolve(fact.name), health.kind == .characteristic else {
                unread.append(fact)
                continue
            }
            let value: String
            if health.id == .dateOfBirth {
                guard birth != nil || fact.value.isEmpty else {
                    unread.append(fact)
                    continue
                }
                value = fact.value.isEmpty ? "notSet" : fact.value
            } else if let known = health.value(named: fact.value) {
                value = known.name
            } else if health.values.isEmpty, !fact.value.isEmpty {
                value = fact.value
            } else {
                unread.append(fact)
                continue
            }
            give(health, value, start)
        }
        keepUnread(unread, of: "Me", at: ExportTime(seconds: start), offset)
        if !isEmpty { try reader.skipChildren(of: "Me") }
    }

    /// Keeps the data of an element that has no type and no place in the hub as a separate record.
    private func keepUnread(
        _ facts: [(name: String, value: String)], of element: String, at start: ExportTime, _ offset: Int64
    ) {
        guard !facts.isEmpty else { return }
        reader.draft.reset(at: offset)
        (reader.draft.type, reader.draft.start) = (reader.elementType, start)
        reader.account.note(
            .unreadValue,
            reader.place(reason: "\(element): \(facts.prefix(8).map { $0.name.prefix(64) }.joined(separator: ", "))"))
        _ = reader.draft.add("attributes", json: ExportReader.object(facts))
        // Equal facts produce equal keys.
        reader.draft.value = Array(facts.map { "\($0.name)=\($0.value)" }.joined(separator: " ").utf8)
        if let made = reader.make(as: element) { reader.give(made) }
    }

    private func give(_ health: HealthType, _ value: String, _ start: Int64) {
        guard options.filter.types?.contains(health.id) ?? true, options.filter.sources == nil,
            options.filter.takes(start, start)
        else { return reader.account.filtered += 1 }
        guard let type = reader.type(health.id.rawValue) else { return }
        reader.give(
            PartRecord(
                type: type, source: reader.noSource, key: Array(health.id.rawValue.utf8), start: reader.utc.text(start),
                seconds: (start, start), value: value))
    }

    // MARK: - ActivitySummary

    /// Reads the activity rings of a day.
    ///
    /// If a day has several summaries with different goals, the last one counts. It is emitted at the end.
    func readActivitySummary() throws(ExportError) {
        let isEmpty = reader.token == .empty
        let offset = reader.tokenizer.offset
        let all = reader.tokenizer.texts
        let texts = Dictionary(all.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        if !isEmpty { try reader.skipChildren(of: "ActivitySummary") }
        let place = AppleExportSummary.Place(
            byte: offset, date: texts["dateComponents"].map { String($0.prefix(32)) }, type: "ActivitySummary")
        guard let date = texts["dateComponents"].flatMap({ ForeignDate.day($0) }) else {
            return reader.account.note(texts["dateComponents"] == nil ? .missingAttribute : .wrongTime, place)
        }
        guard date.daysSinceEpoch > 0 || !Self.isPlaceholder(texts) else {
            return reader.account.note(.placeholderDay, place)
        }
        let day = summaryDay(date)
        guard Timestamp(day.start, adding: 0) != nil, Timestamp(day.end, adding: 0) != nil else {
            return reader.account.note(.wrongTime, place)
        }
        guard options.filter.types?.contains(.activitySummary) ?? true, options.filter.sources == nil,
            options.filter.takes(day.start, day.end)
        else { return reader.account.filtered += 1 }
        var figures: [UInt8] = []
        var unread: [(name: String, value: String)] = []
        for (name, unit) in [
            ("activeEnergyBurned", texts["activeEnergyBurnedUnit"].map(Self.energy)), ("appleMoveTime", "min"),
            ("appleExerciseTime", "min"), ("appleStandHours", "count"),
        ] {
            guard let text = texts[name] else { continue }
            // One summary per day is held until the end.
            guard let unit, unit.utf8.count <= 64, let value = DecimalText.number(text), value >= 0,
                unit == "min" || unit == "count" || Self.isEnergy(unit)
            else {
                unread += all.filter { $0.name.hasPrefix(name) }
                continue
            }
            figures.begin(name)
            figures.append(literal: #"{"value":"#)
            NumberWriter.append(value, to: &figures)
            if let goal = texts[name + "Goal"].flatMap({ DecimalText.number($0) }), goal >= 0 {
                figures.append(literal: #","goal":"#)
                NumberWriter.append(goal, to: &figures)
            }
            figures.append(#","unit":"#, quoted: unit)
            figures.append(0x7D)
        }
        if figures.isEmpty { unread = all }
        keepUnread(unread, of: "ActivitySummary", at: ExportTime(seconds: day.start), offset)
        guard !figures.isEmpty else { return }
        var record = Array(#"{"type":"activitySummary","start":""#.utf8)
        record += summaryTime(day.start).utf8
        record.append(literal: #"","end":""#)
        record += summaryTime(day.end).utf8
        record.append(#"","zone":"#, quoted: options.dayZone)
        record += reader.noSource.json
        record.append(#","key":""#, Array((texts["dateComponents"] ?? "").utf8))
        record.append(literal: #","activitySummary":{"#)
        record += figures
        record.append(literal: "}}")
        if reader.summaries.count >= Self.maximumDays { giveSummaries() }
        if let before = reader.summaries.updateValue((record, day.end), forKey: day.start), before.record != record {
            reader.account.note(.repeatedDay, place)
        }
    }

    /// Whether a summary contains no activity, only goals; phones write such days before all others.
    private static func isPlaceholder(_ texts: [String: String]) -> Bool {
        ["activeEnergyBurned", "appleMoveTime", "appleExerciseTime", "appleStandHours"].allSatisfy { name in
            texts[name].map { DecimalText.number($0) == 0 } ?? true
        }
    }

    /// The hub's spelling of a unit of energy.
    private static func energy(_ unit: String) -> String {
        isEnergy(unit) ? unit : UnitWords.spelling(of: unit) ?? unit
    }

    /// Whether the unit is a readable unit of energy.
    ///
    /// The hub rejects a record with an unreadable unit, which would lose the day's other rings.
    private static func isEnergy(_ unit: String) -> Bool {
        guard let unit = try? HealthUnit(unit), let energy = try? HealthUnit("kcal") else { return false }
        return unit.isCompatible(with: energy)
    }

    /// More than two hundred years.
    private static let maximumDays = 80_000

    /// Emits the waiting summaries in order of days.
    func giveSummaries() {
        let kind = ExportBatch.Mark(type: reader.index(of: .activitySummary), source: reader.noSource.index)
        for (start, summary) in reader.summaries.sorted(by: { $0.key < $1.key }) {
            // A day ends where the next one begins, which is already another date.
            reader.tally(kind.type, kind.source, start, summary.end - 1)
            reader.batch.append(summary.record, kind)
        }
        reader.summaries = [:]
    }

    /// The span from one midnight of the zone to the next.
    private func summaryDay(_ date: LocalDate) -> (start: Int64, end: Int64) {
        (midnight(date), midnight(date.adding(days: 1)))
    }

    private func midnight(_ date: LocalDate) -> Int64 {
        let plain = Int64(date.daysSinceEpoch) * 86_400
        guard let zone = TimeZone(identifier: options.dayZone) else { return plain }
        func offset(at second: Int64) -> Int64 {
            Int64(zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(second))))
        }
        // If the clocks skip midnight, the day begins later by the length of the skip; if midnight occurs twice, the first one counts.
        let before = plain - offset(at: plain - 86_400)
        let after = plain - offset(at: plain + 86_400)
        return before + offset(at: before) != plain && after + offset(at: after) == plain ? after : before
    }

    private func summaryTime(_ seconds: Int64) -> String {
        let offset =
            TimeZone(identifier: options.dayZone)?
            .secondsFromGMT(for: Date(timeIntervalSince1970: Double(seconds))) ?? 0
        return Timestamp(microseconds: seconds * 1_000_000, offsetMinutes: Int16(offset / 60)).text
    }

    // MARK: - Audiogram, VisionPrescription

    func readAudiogram() throws(ExportError) {
        reader.readAttributes()
        if reader.draft.type == nil || reader.draft.type?.kind != .other {
            reader.draft.type = reader.type("HKDataTypeIdentifierAudiogram")
        }
        var points: [UInt8] = []
        let isWhole = try reader.readChildren { (reader) throws(ExportError) in
            if reader.tokenizer.isNamed("MetadataEntry") { return try reader.readMetadata() }
            guard reader.tokenizer.isNamed("SensitivityPoint") else { return try reader.keepUnknown() }
            let point = quantities(["frequency", "leftEar", "rightEar"], valueSuffix: "Value")
            if points.count + point.count < ExportReader.metadataRoom {
                points.append(literal: points.isEmpty ? "[" : ",")
                points += point
            } else {
                reader.account.note(.leftOut, reader.place(reason: "a SensitivityPoint"))
            }
            try reader.skipChildren(of: "SensitivityPoint")
        }
        if !points.isEmpty { _ = reader.draft.add("points", json: points + [0x5D]) }
        if isWhole, let made = reader.finish(element: "Audiogram") { reader.give(made) }
    }

    func readPrescription() throws(ExportError) {
        reader.readAttributes(except: ["dateIssued", "expirationDate", "brand"])
        let kind = reader.tokenizer.value(of: "type").map { XMLText.decoded($0).text }
        reader.draft.type = reader.type("HKVisionPrescriptionTypeIdentifier")
        reader.draft.start = reader.tokenizer.value(of: "dateIssued").flatMap { reader.times.time($0) }
        if reader.draft.start == nil {
            reader.draft.wrongTime = reader.tokenizer.value(of: "dateIssued").map {
                String(XMLText.decoded($0).text.prefix(64))
            }
        }
        if let kind { _ = reader.draft.add("prescriptionType", text: kind) }
        for name in ["expirationDate", "brand"] {
            guard
                let index = (0..<reader.tokenizer.attributeCount).first(where: {
                    reader.tokenizer.attributeName($0).elementsEqual(name.utf8)
                })
            else { continue }
            let text = XMLText.decoded(reader.tokenizer.value(index)).text
            if !text.isEmpty { _ = reader.draft.add(name, text: tokenizerTime(text) ?? text) }
        }
        let isWhole = try reader.readChildren { (reader) throws(ExportError) in
            if reader.tokenizer.isNamed("MetadataEntry") { return try reader.readMetadata() }
            let name = String(decoding: reader.tokenizer.name, as: UTF8.self)
            guard name == "RightEye" || name == "LeftEye" || name == "Attachment" else {
                return try reader.keepUnknown()
            }
            let fields = reader.tokenizer.texts.map(\.name).filter { !$0.hasSuffix("Unit") }
            let member = name.prefix(1).lowercased() + name.dropFirst()
            if !reader.draft.add(member, json: quantities(fields, valueSuffix: "")) {
                reader.account.note(.leftOut, reader.place(reason: name))
            }
            try reader.skipChildren(of: name)
        }
        if isWhole, let made = reader.finish(element: "VisionPrescription") { reader.give(made) }
    }

    private func tokenizerTime(_ text: String) -> String? {
        Array(text.utf8).withUnsafeBytes { reader.times.seconds($0) }.map { reader.utc.text($0) }
    }

    /// The attributes of this tag as quantities: `sphere="-1.25" sphereUnit="D"` becomes `"sphere":{"value":-1.25,"unit":"D"}`.
    private func quantities(_ names: [String], valueSuffix: String) -> [UInt8] {
        let texts = Dictionary(
            reader.tokenizer.texts.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        var output: [UInt8] = [0x7B]
        for name in names {
            guard let text = texts[name + valueSuffix] else { continue }
            output.begin(name)
            if let number = DecimalText.number(text) {
                output.append(literal: #"{"value":"#)
                NumberWriter.append(number, to: &output)
                if let unit = texts[name + "Unit"] { output.append(#","unit":"#, quoted: unit) }
                output.append(0x7D)
            } else {
                output.append(quoted: text)
            }
        }
        // Attributes that are not quantities are kept as written.
        let read = Set(names.flatMap { [$0 + valueSuffix, texts[$0 + valueSuffix] == nil ? "" : $0 + "Unit"] })
        for (name, text) in texts.sorted(by: { $0.key < $1.key }) where !read.contains(name) {
            output.begin(name)
            output.append(quoted: text)
        }
        output.append(0x7D)
        return output
    }
}
