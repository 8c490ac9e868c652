import HubWire
import JSON
public import Samples

/// Reads `Record`: a quantity or a category.
extension ExportReader {
    /// Reads a record at the top level; the token is its start.
    func readRecord() throws(ExportError) {
        let isEmpty = token == .empty
        readAttributes()
        // The last element of a truncated file is incomplete.
        if !isEmpty { guard try readRecordChildren() else { return } }
        guard let made = finish() else { return }
        if made.type.isMember {
            // Deferred records are emitted at the end, even if reading resumes in the middle of the file.
            return try deferred.append(
                DeferredRecords.Record(
                    mark: made.mark, kind: made.kind, start: made.start, end: made.end, bytes: made.record(in: nil)))
        }
        give(made)
    }

    func give(_ made: FinishedRecord) {
        tally(made.kind.type, made.kind.source, made.start, made.end)
        guard !isSilent else { return }
        batch.append(made.record(in: nil), made.kind)
    }

    /// Copies the tag's attributes into the draft.
    ///
    /// - Parameter known: attributes that the caller reads.
    func readAttributes(except known: [StaticString] = []) {
        draft.reset(at: tokenizer.offset)
        for index in 0..<tokenizer.attributeCount {
            let value = tokenizer.value(index)
            switch tokenizer.attributeName(index).count {
            case 4 where tokenizer.attributeIsNamed(index, "type"): draft.type = draft.type ?? type(value)
            case 4 where tokenizer.attributeIsNamed(index, "unit"):
                draft.unit = draft.type?.unit(value)
                if draft.type == nil { draft.unit = laterUnit() }
            case 5 where tokenizer.attributeIsNamed(index, "value"):
                draft.hasValue = true
                draft.value.removeAll(keepingCapacity: true)
                draft.value.append(contentsOf: value)
            case 6 where tokenizer.attributeIsNamed(index, "device"): draft.device = device(value)
            // iOS 8 has no sourceName.
            case 6 where tokenizer.attributeIsNamed(index, "source") && isOfOldForm: draft.source = source(value)
            case 7 where tokenizer.attributeIsNamed(index, "endDate"): takeEnd(value)
            case 9 where tokenizer.attributeIsNamed(index, "startDate"): takeStart(value)
            case 10 where tokenizer.attributeIsNamed(index, "sourceName"): draft.source = source(value)
            case 12 where tokenizer.attributeIsNamed(index, "creationDate"):
                let created = times.time(value)
                draft.created = created?.seconds
                if created?.microseconds != 0 { addUnread(index) }
            case 13 where tokenizer.attributeIsNamed(index, "sourceVersion"):
                draft.revision = versions.value(of: value) { MetadataEntry(version: $0) }
            default:
                if known.contains(where: { tokenizer.attributeIsNamed(index, $0) }) { continue }
                // iOS 8 writes metadata as attributes.
                if isOfOldForm {
                    takeMetadata(tokenizer.attributeName(index), value)
                } else {
                    addUnread(index)
                }
            }
        }
    }

    private var isOfOldForm: Bool {
        tokenizer.value(of: "sourceName") == nil && tokenizer.value(of: "source") != nil
    }

    /// The unit of an element whose type attribute comes after its unit.
    private func laterUnit() -> UnitEntry? {
        guard let name = tokenizer.value(of: "type"), let unit = tokenizer.value(of: "unit") else { return nil }
        return type(name)?.unit(unit)
    }

    private func takeStart(_ value: UnsafeRawBufferPointer) {
        guard draft.start == nil else {
            // Work around an old bug of iOS, which wrote the end as a second start.
            account.note(.repeatedAttribute, at: draft.offset)
            if draft.end == nil { takeEnd(value) }
            return
        }
        draft.start = readTime(value)
    }

    private func takeEnd(_ value: UnsafeRawBufferPointer) {
        guard draft.end == nil || draft.hasWrongTime else { return }
        draft.end = readTime(value)
    }

    /// Reads a time of the draft; keeps the original text if it cannot be read.
    private func readTime(_ value: UnsafeRawBufferPointer) -> ExportTime? {
        let time = times.time(value)
        if time == nil {
            draft.wrongTime = draft.wrongTime ?? String(XMLText.decoded(value).text.prefix(64))
        } else if times.wasForeign, !draft.isForeignTime {
            draft.isForeignTime = true
            account.note(.foreignTime, place(reason: String(XMLText.decoded(value).text.prefix(64))))
        }
        return time
    }

    /// The position of the draft's element, with its type and source.
    func place(reason: String? = nil) -> AppleExportSummary.Place {
        AppleExportSummary.Place(
            byte: draft.offset, date: draft.start.map { utc.text($0) } ?? draft.wrongTime, type: draft.type?.name,
            source: draft.source?.name, reason: reason)
    }

    /// Keeps an attribute that has no place in the record.
    private func addUnread(_ index: Int) {
        let (name, _) = XMLText.decoded(tokenizer.attributeName(index))
        var json: [UInt8] = []
        json.append(quoted: XMLText.decoded(tokenizer.value(index)).text)
        draft.addUnread(name, json: json)
    }

    func type(_ bytes: UnsafeRawBufferPointer) -> TypeEntry? {
        let entry = types.value(of: bytes) { bytes in
            let text = XMLText.decoded(bytes).text
            let health = TypeRegistry.standard.resolve(text)
            let id = health?.id ?? (try? TypeID(text)) ?? ExportReader.element
            // A name that cannot be a type id is kept among the attributes of its element.
            let isName = id != ExportReader.element
            if isName, let known = typesByID[id] { return known }
            let isWanted = options.filter.types?.contains(id) ?? true
            let kind = isName ? health?.kind ?? SampleKind(healthKitIdentifier: text) ?? .other : .other
            let entry = TypeEntry(
                id, health: health, kind: kind, index: self.index(of: id), isWanted: isWanted,
                name: isName ? id.rawValue : text)
            if isName, typesByID.count < Self.maximumTypes { typesByID[id] = entry }
            return entry
        }
        if entry.health == nil, entry.id.rawValue.hasPrefix("HK"), account.unknownTypes.count < 1_000 {
            account.unknownTypes.insert(entry.id.rawValue)
        }
        return entry
    }

    func type(_ name: String) -> TypeEntry? { Array(name.utf8).withUnsafeBytes { type($0) } }

    /// The type for elements without another place; their attributes go into the metadata.
    static let element = TypeID.exportElement

    func source(_ bytes: UnsafeRawBufferPointer) -> SourceEntry {
        let entry = sources.value(of: bytes) {
            SourceEntry($0, options) { self.index(ofSource: $0) }
        }
        if !entry.oddities.isEmpty { account.note(entry.oddities, at: tokenizer.offset) }
        return entry
    }

    func device(_ bytes: UnsafeRawBufferPointer) -> MetadataEntry {
        let entry = devices.value(of: bytes) { MetadataEntry(device: $0, times: &times, utc: &utc) }
        if !entry.oddities.isEmpty { account.note(entry.oddities, at: tokenizer.offset) }
        return entry
    }

    private func readRecordChildren() throws(ExportError) -> Bool {
        try readChildren { (reader) throws(ExportError) in
            if reader.tokenizer.isNamed("MetadataEntry") {
                try reader.readMetadata()
            } else if reader.tokenizer.isNamed("HeartRateVariabilityMetadataList") {
                try reader.readBeats()
            } else {
                try reader.keepUnknown()
            }
        }
    }

    /// Reads a `MetadataEntry` into the draft.
    func readMetadata() throws(ExportError) {
        guard let key = tokenizer.value(of: "key"), let value = tokenizer.value(of: "value") else {
            // A key or a value alone has no meaning, but the importer must not drop it.
            draft.addUnread("MetadataEntry", json: ExportReader.object(tokenizer.texts))
            account.note(.unreadMetadata, place(reason: "MetadataEntry without key or value"))
            return try skipChildren(of: "MetadataEntry")
        }
        takeMetadata(key, value)
        try skipChildren(of: "MetadataEntry")
    }

    private func takeMetadata(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
        let (name, text) = (XMLText.decoded(key), XMLText.decoded(value))
        account.note(name.oddities.union(text.oddities), at: tokenizer.offset)
        let (entry, isRead) = metadataReader.read(name.text, text.text)
        switch entry {
        case .zone(let zone): draft.zone = zone
        case .syncIdentifier(let identifier):
            draft.syncIdentifier = identifier
            _ = draft.add("appleSyncIdentifier", text: identifier)
        case .syncVersion(let version):
            draft.syncVersion = version
            _ = draft.add("appleSyncVersion", json: Array(String(version).utf8))
        case .externalUUID(let uuid):
            draft.externalUUID = uuid
            _ = draft.add("externalUUID", text: uuid)
        case .member(let member, let json):
            if member == "foodType", isRead { draft.foodType = text.text }
            if !isRead || !draft.add(member, json: json) {
                account.note(.unreadMetadata, place(reason: name.text))
                draft.addUnread(name.text, json: json)
            }
        }
    }

    /// Reads a record within another element, using the draft; the token is its start.
    func readMember() throws(ExportError) -> FinishedRecord? {
        readAttributes()
        let isWhole = try readChildren { (reader) throws(ExportError) in
            if reader.tokenizer.isNamed("MetadataEntry") {
                try reader.readMetadata()
            } else {
                try reader.keepUnknown()
            }
        }
        return isWhole ? finish() : nil
    }

    /// The occurrence number of a member's identity: 1 unless another correlation has already taken it.
    func claim(_ member: FinishedRecord, by owner: UInt64) -> Int {
        var occurrence = 1
        while !members.claim(member.mark &+ UInt64(occurrence - 1), by: owner), occurrence < 100 { occurrence += 1 }
        return occurrence
    }

    /// Emits records that occur within another element without it.
    func giveAlone(_ members: [FinishedRecord]) {
        for member in members { giveMember(member, in: nil, owner: member.mark) }
    }

    /// Emits a record that occurs within another element, with or without a group.
    func giveMember(_ member: FinishedRecord, in group: [UInt8]?, owner: UInt64) {
        let occurrence = member.type.isMember ? claim(member, by: owner) : 1
        tally(member.kind.type, member.kind.source, member.start, member.end)
        guard !isSilent else { return }
        batch.append(member.record(in: group, occurrence: occurrence), member.kind)
    }

    /// Reads the beats of a heart rate variability: wall-clock times without a date, in the phone's format.
    private func readBeats() throws(ExportError) {
        var beats: [UInt8] = [0x5B]
        var count = 0
        _ = try readChildren { (reader) throws(ExportError) in
            guard reader.tokenizer.isNamed("InstantaneousBeatsPerMinute"),
                let bpm = reader.tokenizer.value(of: "bpm"), let time = reader.tokenizer.value(of: "time")
            else { return try reader.keepUnknown() }
            count += 1
            guard count <= ExportReader.maximumBeats, beats.count < ExportReader.metadataRoom else {
                return try reader.skipChildren(of: "")
            }
            if beats.count > 1 { beats.append(0x2C) }
            beats.append(literal: #"{"bpm":"#)
            if let number = DecimalText.number(bpm) {
                NumberWriter.append(number.value, to: &beats)
            } else {
                beats.append(quoted: XMLText.decoded(bpm).text)
            }
            let text = XMLText.decoded(time).text
            if let start = reader.draft.start, let instant = BeatTime.instant(text, near: start.seconds) {
                beats.append(literal: #","time":""#)
                reader.utc.append(instant.seconds, to: &beats)
                if !instant.fraction.isEmpty {
                    beats.removeLast()
                    beats.append(0x2E)
                    beats += instant.fraction.utf8
                    beats.append(0x5A)
                }
                beats.append(0x22)
            } else {
                beats.append(literal: #","clock":"#)
                beats.append(quoted: text)
            }
            beats.append(0x7D)
            try reader.skipChildren(of: "")
        }
        if count > Self.maximumBeats || beats.count >= Self.metadataRoom {
            account.note(.leftOut, at: tokenizer.offset)
        }
        beats.append(0x5D)
        if count > 0 { _ = draft.add("beats", json: beats) }
    }

    /// The most beats that occur in a minute and fit into the metadata.
    private static let maximumBeats = 240
}

extension TypeID {
    /// An element of the export that the hub has no form for, kept with its attributes.
    static let exportElement = ExportReader.declared("x.apple.exportElement")
    /// A clinical document in FHIR format.
    static let clinicalDocument = ExportReader.declared("x.apple.clinicalDocument")
    /// Used only in the account: the total of the types that are not counted individually.
    static let otherTypes = ExportReader.declared("x.apple.otherTypes")
    /// The voltages of an electrocardiogram.
    static let ecgVoltages = ExportReader.declared("x.apple.ecgVoltages")
}

extension ExportReader {
    /// The types that an importer declares.
    public static let declaredTypes: [TypeID] = [.exportElement, .clinicalDocument, .ecgVoltages]

    fileprivate static func declared(_ text: String) -> TypeID {
        guard let id = try? TypeID(text) else { preconditionFailure("\(text) is not an id") }
        return id
    }
}
