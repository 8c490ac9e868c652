import HubWire
import JSON
import Samples

/// Turns the draft into the text of a record.
extension ExportReader {
    /// The content of the record's value.
    private enum Content {
        case quantity(UnitEntry, DecimalText.Number)
        case category(ValueEntry)
        /// A text, for a type that has no other form or is unknown.
        case text(isDeclared: Bool)
        /// The element as it is, because its value does not suit the type.
        case element
    }

    /// The record of the draft; returns `nil` and notes it in the account if there is none.
    func finish(element name: String = "Record") -> FinishedRecord? {
        guard let type = draft.type else {
            account.note(.missingAttribute, place(reason: "\(name) without type"))
            return nil
        }
        let source = draft.source ?? noSource
        guard type.isWanted || isWithinWanted, source.isWanted else {
            account.filtered += 1
            return nil
        }
        guard let start = draft.start else {
            noteTimeless(name)
            return nil
        }
        let end = draft.end ?? start
        guard options.filter.takes(start.seconds, max(start, end).seconds) else {
            account.filtered += 1
            return nil
        }
        guard hasGoodEnd else { return make(type, source, start, start, wrongEnd(), name) }
        noteUnlikely(start, end)
        return make(type, source, start, end, content(of: type), name)
    }

    /// The draft as a record of an element that has no other form.
    func make(as name: String) -> FinishedRecord? {
        guard let type = draft.type, let start = draft.start else { return nil }
        return make(type, noSource, start, start, .element, name)
    }

    /// Notes an element without a usable time.
    func noteTimeless(_ name: String) {
        account.note(
            draft.hasWrongTime ? .wrongTime : .missingAttribute,
            place(reason: draft.wrongTime.map { "time \"\($0)\"" } ?? "\(name) without startDate"))
    }

    /// Whether the end is readable and not before the start.
    var hasGoodEnd: Bool { !draft.hasWrongTime && draft.start.map { draft.end ?? $0 >= $0 } ?? false }

    private func wrongEnd() -> Content {
        let reason = draft.wrongTime.map { "end \"\($0)\"" } ?? "end \(draft.end.map { utc.text($0) } ?? "")"
        account.note(.wrongEnd, place(reason: reason))
        draft.addUnread("endDate", json: .quoted(draft.wrongTime ?? draft.end.map { utc.text($0) } ?? ""))
        return .element
    }

    /// Notes a time that no measurement can have; the hub stores the record and marks it as implausible.
    func noteUnlikely(_ start: ExportTime, _ end: ExportTime) {
        guard start.seconds < Self.earliest || end.seconds > latest else { return }
        let wrong = start.seconds < Self.earliest || start.seconds > latest ? start : end
        account.note(.unlikelyTime, place(reason: "time \(utc.text(wrong))"))
    }

    private func content(of type: TypeEntry) -> Content {
        if let missing = type.required.first(where: { !draft.names.contains($0) }) {
            return unread(.missingMetadata, "HK\(missing.prefix(1).uppercased())\(missing.dropFirst()) is missing")
        }
        switch type.kind {
        case .quantity: return quantity(of: type)
        case .category:
            if draft.hasValue {
                let value = draft.value.withUnsafeBytes { type.value($0) }
                if value.name != nil { return .category(value) }
            } else if let health = type.health, health.values.count == 1 {
                return .category(ValueEntry(only: health.values[0]))
            }
            return type.health == nil ? .text(isDeclared: false) : unread(.unreadValue, "no value of this type")
        case .other:
            return type.health == nil && SampleKind(healthKitIdentifier: type.id.rawValue) == nil
                ? unread(.unreadValue, "a type that no record can have") : .text(isDeclared: type.health != nil)
        case .correlation, .workout, .characteristic:
            return unread(.unreadValue, "\(type.name) as a Record")
        }
    }

    private func quantity(of type: TypeEntry) -> Content {
        let number = draft.value.withUnsafeBytes { DecimalText.number($0) }
        if let unit = draft.unit, unit.isFit, let number {
            guard type.possible?.contains(unit.canonical(number.value)) ?? true else {
                return unread(
                    .impossibleValue,
                    unit.text == "%"
                        ? "a fraction is 0 to 1" : "beyond what this type can have; its unit may be another")
            }
            return .quantity(unit, number)
        }
        let reason =
            number == nil
            ? draft.hasValue ? "the value is not a number" : "there is no value"
            : draft.unit.map { "unit \"\($0.text.prefix(32))\"" } ?? "there is no unit"
        let content = unread(.unreadValue, reason)
        return type.health == nil ? .text(isDeclared: false) : content
    }

    private func unread(_ oddity: AppleExportSummary.Anomaly, _ reason: String?) -> Content {
        account.note(oddity, place(reason: reason))
        return .element
    }

    private func make(
        _ type: TypeEntry, _ source: SourceEntry, _ start: ExportTime, _ end: ExportTime, _ content: Content,
        _ name: String
    ) -> FinishedRecord {
        output.removeAll(keepingCapacity: true)
        var entry = type
        beginKey(type, source, start, end)
        switch content {
        case .quantity(let unit, let number):
            output.append(bytes: type.head)
            output.append(literal: #","value":"#)
            if number.isJSON {
                output.append(bytes: draft.value)
            } else {
                NumberWriter.append(number.value, to: &output)
            }
            output.append(bytes: unit.json)
            if let written = unit.written { _ = draft.add("unit", text: written) }
            if !hasOwnIdentity { keys.addFourDigits(unit.canonical(number.value)) }
        case .category(let value):
            output.append(bytes: type.head)
            output.append(bytes: value.json)
            if let unit = draft.unit { _ = draft.add("unit", text: unit.written ?? unit.text) }
            if !isSynchronized { keys.add(value.name ?? "") }
        case .text(let isDeclared):
            output.append(bytes: type.head)
            if !isDeclared { output.append(literal: #","kind":"other""#) }
            let text = draft.value.withUnsafeBytes { XMLText.decoded($0).text }
            if draft.hasValue {
                output.append(#","value":"#, quoted: text)
            }
            if !hasOwnIdentity { keys.add(text) }
            if let unit = draft.unit { _ = draft.add("unit", text: unit.text) }
        case .element:
            entry = elementType
            output.append(bytes: entry.head)
            output.append(#","value":"#, quoted: name)
            addAttributes(type)
            if !hasOwnIdentity { keys.add(draft.value) }
        }
        append(start, end)
        let (keyStart, keyEnd, mark) = appendKey(source, start)
        appendMetadata(source)
        return FinishedRecord(
            type: entry, kind: ExportBatch.Mark(type: entry.index, source: source.index), start: start.seconds,
            end: end.seconds, bytes: Array(output), keyStart: keyStart, keyEnd: keyEnd, mark: mark)
    }

    var elementType: TypeEntry {
        if let known = typesByID[.exportElement] { return known }
        let entry = TypeEntry(
            .exportElement, health: nil, kind: .other, index: index(of: .exportElement),
            isWanted: options.filter.types?.contains(.exportElement) ?? true)
        typesByID[.exportElement] = entry
        return entry
    }

    /// Adds the element's attributes to a record that cannot express them otherwise.
    private func addAttributes(_ type: TypeEntry) {
        var attributes = [(name: "type", value: type.name)]
        if draft.hasValue {
            attributes.append(("value", draft.value.withUnsafeBytes { XMLText.decoded($0).text }))
        }
        if let unit = draft.unit { attributes.append(("unit", unit.written ?? unit.text)) }
        _ = draft.add("attributes", json: Self.object(attributes))
    }

    // MARK: - Parts that all records have

    /// Whether the source identifies the sample by its own id.
    var hasOwnIdentity: Bool { isSynchronized || draft.externalUUID != nil }

    /// Whether the source gives the sample an identifier and version numbers.
    private var isSynchronized: Bool { draft.syncIdentifier != nil && draft.syncVersion != nil }

    func beginKey(_ type: TypeEntry, _ source: SourceEntry, _ start: ExportTime, _ end: ExportTime) {
        if let identifier = draft.syncIdentifier, isSynchronized {
            keys.begin("sync", type: type.name)
            keys.add(source.identity)
            return keys.add(identifier)
        }
        keys.begin(draft.externalUUID == nil ? "value" : "uuid", type: type.name)
        keys.add(source.identity)
        keys.add(start)
        keys.add(end)
        if let uuid = draft.externalUUID { keys.add(uuid) }
        if type.isEaten { keys.add(draft.foodType ?? "") }
    }

    /// Appends `,"start":…,"end":…,"zone":…`.
    func append(_ start: ExportTime, _ end: ExportTime) {
        output.append(literal: #","start":""#)
        utc.append(start, to: &output)
        if end != start {
            output.append(literal: #"","end":""#)
            utc.append(end, to: &output)
        }
        output.append(0x22)
        if let zone = draft.zone ?? options.zone { output.append(#","zone":"#, quoted: zone) }
    }

    /// Appends the source and the key.
    func appendKey(_ source: SourceEntry, _ start: ExportTime) -> (Int, Int, UInt64) {
        output.append(bytes: source.json)
        output.append(literal: #","key":""#)
        let keyStart = output.count
        let mark = keys.end(at: isSynchronized ? nil : start.seconds, to: &output)
        let keyEnd = output.count
        output.append(0x22)
        return (keyStart, keyEnd, mark)
    }

    /// Emits a record that is not an element.
    ///
    /// - Parameter most: the number of bytes that it must stay below without its metadata.
    func give(_ part: PartRecord, upTo most: Int = .max) {
        var record = part.type.head
        if let value = part.value { record.append(#","value":"#, quoted: value) }
        record.append(#","start":"#, quoted: part.start)
        if let end = part.end { record.append(#","end":"#, quoted: end) }
        if let zone = part.draft.zone ?? options.zone { record.append(#","zone":"#, quoted: zone) }
        record += part.source.json
        record.append(#","key":""#, part.key)
        if let group = part.group { record.append(#","group":""#, group) }
        if !part.route.isEmpty { record += Array(#","route":["#.utf8) + part.route + [0x5D] }
        guard record.count < most else {
            return account.note(.leftOut, .init(date: utc.text(part.seconds.start), type: part.type.name))
        }
        let kept = (draft, output)
        (draft, output) = (part.draft, record)
        appendMetadata(part.source)
        record = output
        (draft, output) = kept
        let kind = ExportBatch.Mark(type: part.type.index, source: part.source.index)
        tally(kind.type, kind.source, part.seconds.start, part.seconds.end)
        if !isSilent { batch.append(record, kind) }
    }

    /// Appends the metadata, the version and the end of the record.
    func appendMetadata(_ source: SourceEntry) {
        if isSynchronized, let created = draft.created {
            var json: [UInt8] = [0x22]
            utc.append(created, to: &json)
            json.append(0x22)
            _ = draft.add("creationDate", json: json)
        }
        var hasMetadata = false
        func separate() {
            output.append(literal: hasMetadata ? "," : #","metadata":{"#)
            hasMetadata = true
        }
        var room = ExportReader.metadataRoom
        func add(_ json: [UInt8]) -> Bool {
            guard !json.isEmpty else { return true }
            guard json.count < room else { return false }
            room -= json.count + 1
            separate()
            output.append(bytes: json)
            return true
        }
        var isWhole = add(draft.metadata)
        if !draft.names.contains("device"), let device = draft.device { isWhole = add(device.json) && isWhole }
        if let revision = draft.revision { isWhole = add(revision.json) && isWhole }
        isWhole = add(source.metadata) && isWhole
        if !draft.unread.isEmpty {
            isWhole = add(Array(#""unread":{"#.utf8) + draft.unread + [0x7D]) && isWhole
        }
        let leftOut = draft.leftOut + (isWhole ? 0 : 1)
        if leftOut > 0 { account.note(.leftOut, place(reason: "no room for all metadata"), count: leftOut) }
        if hasMetadata { output.append(0x7D) }
        if let version = draft.syncIdentifier == nil ? draft.created : draft.syncVersion ?? draft.created {
            output.append(literal: #","sourceVersion":"#)
            NumberWriter.append(version, to: &output)
        }
        output.append(0x7D)
    }

    /// The hub accepts at most 16,384 bytes.
    static let metadataRoom = 16_000
}
