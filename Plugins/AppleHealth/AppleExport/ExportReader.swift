import Glibc
import HubWire
import JSON
import Samples

/// Reads an export from start to end and turns it into records for the hub.
///
/// Used by one task at a time. It keeps in memory one piece of the file, the repeated names, and 16 bytes for each member of a
/// correlation; the caller holds everything else.
public final class ExportReader {
    let package: ExportPackage
    let options: ExportOptions
    // Only one task reads, and no property is passed on while it is being changed. Checking exclusivity at each access would cost a twelfth
    // of an import's time.
    @exclusivity(unchecked) var tokenizer: XMLTokenizer
    @exclusivity(unchecked) public internal(set) var account = AppleExportSummary()

    @exclusivity(unchecked) var times = ExportTimeReader()
    @exclusivity(unchecked) var utc = UTCWriter()
    @exclusivity(unchecked) var keys = ExportKeys()
    var metadataReader = MetadataReader()
    @exclusivity(unchecked) var types = ByteCache<TypeEntry>(bound: 1_024)
    var typesByID: [TypeID: TypeEntry] = [:]
    var typeIndex: [TypeID: Int] = [:]
    @exclusivity(unchecked) var sources = ByteCache<SourceEntry>()
    var sourceIndex: [String: Int] = [:]
    lazy var noSource = SourceEntry(nil, options) { self.index(ofSource: $0) }
    @exclusivity(unchecked) var versions = ByteCache<MetadataEntry>()
    @exclusivity(unchecked) var devices = ByteCache<MetadataEntry>()

    @exclusivity(unchecked) var batch = ExportBatch()
    @exclusivity(unchecked) var draft = ElementDraft()
    @exclusivity(unchecked) var output: [UInt8] = []
    /// Whether the last token was put back and will be read again.
    @exclusivity(unchecked) var isPending = false
    @exclusivity(unchecked) var token = XMLTokenizer.Token.end
    var members = MemberRegister()
    let deferred: DeferredRecords
    var namedFiles: Set<String> = []
    /// The number of bytes read from the files beside the XML, and its limit, which is far above the largest known export.
    var fileBytes: Int64 = 0
    var maximumFileBytes: Int64 = 16 << 30
    /// Whether reading the XML ended early.
    private var isCut = false
    /// Whether no part of the XML is known to be lost.
    private(set) var isWhole = false
    /// The last summary of each day, by its start.
    var summaries: [Int64: (record: [UInt8], end: Int64)] = [:]
    /// Whether the reader is within a selected correlation, so that its records are selected as well.
    var isWithinWanted = false
    private var phase = Phase.start
    /// Times outside these are implausible, in seconds since 1970; the same bounds as the hub's ([Samples.md]).
    static let earliest = SampleMembers.earliest / 1_000_000
    private(set) var latest = Int64.max
    private let now = Int64(Glibc.time(nil))
    /// Records that end before this offset are not emitted again.
    private let resumeOffset: Int64
    var isSilent: Bool { tokenizer.offset < resumeOffset && phase == .elements }

    private enum Phase { case start, elements, deferred, files, over }

    /// - Parameters:
    ///   - scratch: a folder for an unnamed file with the records that must wait until the end of the export.
    ///   - resumeOffset: the ``ExportBatch/offset`` of the last batch that the hub has; 0 to read everything.
    public convenience init(
        _ path: String, options: ExportOptions = ExportOptions(), scratch: String, resumeOffset: Int64 = 0
    ) throws(ExportError) {
        try self.init(try ExportPackage(path), options: options, scratch: scratch, resumeOffset: resumeOffset)
    }

    public init(
        _ package: ExportPackage, options: ExportOptions, scratch: String, resumeOffset: Int64 = 0
    ) throws(ExportError) {
        (self.package, self.options, self.resumeOffset) = (package, options, resumeOffset)
        tokenizer = XMLTokenizer(try package.openMain())
        deferred = DeferredRecords(in: scratch)
        let others = package.otherFiles
        for other in others { account.note(.otherFile, file: other) }
        for reason in package.unreadable { account.note(.damagedFile, .init(reason: reason)) }
        account.fault = package.unreadable.first
        setLatest(exportDate: nil)
    }

    private func setLatest(exportDate: Int64?) {
        guard now >= SampleMembers.earliestClock / 1_000_000 else { return }
        latest = max(now, exportDate ?? now) + SampleMembers.ahead / 1_000_000
    }

    /// The position in the file and its size; for a zip, in compressed bytes.
    public var position: Int64 { tokenizer.inputPosition }
    public var size: Int64 { tokenizer.inputSize }

    /// The next records, about `count`; `nil` at the end.
    ///
    /// Damage costs as few records as possible and is noted in the ``account``.
    /// - Throws: ``ExportError`` if the file is not an export, or if the machine cannot read it or store the deferred records.
    public func next(_ count: Int) throws(ExportError) -> ExportBatch? {
        batch = ExportBatch()
        while batch.count < count {
            switch phase {
            case .start:
                try begin()
                phase = .elements
            case .elements:
                do throws(ExportError) {
                    while batch.count < count, try readElement() {}
                } catch {
                    guard error.code == .damaged || error.code == .tooLarge else { throw error }
                    account.fault = error.message
                    isCut = true
                }
                if batch.count >= count { break }
                endElements()
                phase = .deferred
                if !summaries.isEmpty { OtherElements(reader: self).giveSummaries() }
            case .deferred:
                guard let record = try deferred.next() else {
                    phase = .files
                    continue
                }
                if members.contains(record.mark) {
                    account.repeatedMembers += 1
                } else {
                    tally(record.kind.type, record.kind.source, record.start, record.end)
                    batch.append(record.bytes, record.kind)
                }
            case .files:
                ExportFiles(reader: self).readAll()
                phase = .over
            case .over:
                return batch.groups.isEmpty ? nil : finished()
            }
        }
        return finished()
    }

    private func finished() -> ExportBatch {
        // A token that was put back is not used up: the next batch begins with it.
        batch.offset = phase == .elements ? isPending ? tokenizer.offset : tokenizer.endOffset : Int64.max
        return batch
    }

    /// Skips the declaration, which is malformed in real files.
    private func begin() throws(ExportError) {
        var version: Int?
        let isFound = try tokenizer.skip(to: "<HealthData", within: 4 << 20) { bytes in
            version = version ?? ExportReader.version(in: bytes)
        }
        account.version = version
        guard isFound else {
            throw ExportError(
                .notAnExport,
                "\(package.path): this is not an export of Apple Health: it has no <HealthData> at its beginning")
        }
    }

    private static func version(in bytes: UnsafeRawBufferPointer) -> Int? {
        let mark: StaticString = "HealthKit Export Version:"
        guard let start = bytes.bindMemory(to: UInt8.self).baseAddress,
            let found = ByteSearch.find(mark, in: start, bytes.count)
        else { return nil }
        let rest = bytes[(found + mark.utf8CodeUnitCount)...].prefix(16).drop { $0 == 0x20 }
        return Int(String(decoding: rest.prefix { (0x30...0x39).contains($0) }, as: UTF8.self))
    }

    /// The next tag, or the one that was put back.
    func nextToken() throws(ExportError) -> XMLTokenizer.Token {
        if isPending {
            isPending = false
        } else {
            token = try tokenizer.next()
        }
        return token
    }

    /// Reads one element at the top level; returns false at the end.
    private func readElement() throws(ExportError) -> Bool {
        switch try nextToken() {
        case .end: return false
        case .close:
            if tokenizer.isNamed("HealthData") { account.isComplete = true }
        case .open, .empty:
            if tokenizer.isNamed("Record") {
                account.elements["Record", default: 0] += 1
                try readRecord()
            } else {
                try readOther()
            }
        }
        return true
    }

    private func endElements() {
        for offset in tokenizer.malformedOffsets { account.note(.malformedTag, at: offset) }
        let uncounted = tokenizer.malformedTags - tokenizer.malformedOffsets.count
        if uncounted > 0 { account.note(.malformedTag, count: uncounted) }
        if !account.isComplete { account.note(.truncated, at: tokenizer.offset) }
        if tokenizer.hasWrongSum { account.note(.wrongSum) }
        isWhole = account.isComplete && !isCut && tokenizer.malformedTags == 0 && !tokenizer.hasWrongSum
    }

    private func readOther() throws(ExportError) {
        let name = String(decoding: tokenizer.name, as: UTF8.self)
        switch name {
        case "HealthData":
            account.locale = tokenizer.value(of: "locale").map { XMLText.decoded($0).text }
            return
        case "ExportDate":
            account.exportDate = tokenizer.value(of: "value").flatMap { times.time($0)?.seconds }
            setLatest(exportDate: account.exportDate)
            return try skipChildren(of: name)
        case "Me": try OtherElements(reader: self).readMe()
        case "Correlation": try CorrelationReader(reader: self).read()
        case "Workout": try readWorkout()
        case "ActivitySummary": try OtherElements(reader: self).readActivitySummary()
        case "ClinicalRecord": try ExportFiles(reader: self).readClinicalRecord()
        case "Audiogram": try OtherElements(reader: self).readAudiogram()
        case "VisionPrescription": try OtherElements(reader: self).readPrescription()
        default: return try readUnknown(name)
        }
        account.elements[name, default: 0] += 1
    }

    /// Keeps an unknown top-level element with its attributes and children if it has a time.
    private func readUnknown(_ name: String) throws(ExportError) {
        let texts = tokenizer.texts
        readAttributes()
        noteUnknown(name)
        draft.type = elementType
        _ = draft.add("attributes", json: Self.object(texts))
        let isWhole = try readChildren(recordsBelong: false) { (reader) throws(ExportError) in
            if reader.tokenizer.isNamed("MetadataEntry") { return try reader.readMetadata() }
            try reader.keepUnknown()
        }
        if draft.start == nil, !draft.hasWrongTime {
            let names = ["date", "dateIssued", "receivedDate", "creationDate", "dateComponents"]
            draft.start =
                names.lazy.compactMap { name in texts.first { $0.name == name }?.value }
                .compactMap { self.times.time($0) }.first
        }
        if isWhole, let made = finish(element: String(name.prefix(64))) { give(made) }
    }

    func noteUnknown(_ name: String) {
        account.note(.unknownElement, place(reason: "<\(name.prefix(64))>"))
        if account.unknownElements.count < 100 { account.unknownElements.insert(String(name.prefix(64))) }
    }

    /// Keeps an unknown nested element, with its children, under `unread` of the outer one.
    func keepUnknown() throws(ExportError) {
        var depth = 0
        repeat {
            switch token {
            case .open where depth > 0 && isTopLevel(exceptRecords: false),
                .empty where depth > 0 && isTopLevel(exceptRecords: false):
                isPending = true
                return
            case .open, .empty:
                let name = String(decoding: tokenizer.name.prefix(64), as: UTF8.self)
                noteUnknown(name)
                draft.addUnread(name, json: Self.object(tokenizer.texts))
                if token == .open { depth += 1 }
            case .close: depth -= 1
            case .end: return
            }
            if depth > 0 { _ = try nextToken() }
        } while depth > 0
    }

    /// Whether the element belongs at the top level.
    ///
    /// If it occurs within another element, the end of that element is missing.
    func isTopLevel(exceptRecords: Bool) -> Bool {
        tokenizer.isNamed("Correlation") || tokenizer.isNamed("Workout") || tokenizer.isNamed("ActivitySummary")
            || tokenizer.isNamed("ClinicalRecord") || tokenizer.isNamed("Audiogram")
            || tokenizer.isNamed("VisionPrescription") || !exceptRecords && tokenizer.isNamed("Record")
    }

    /// Skips the contents of an element; the token is its start.
    func skipChildren(of name: String) throws(ExportError) {
        guard token == .open else { return }
        var depth = 1
        while depth > 0 {
            switch try nextToken() {
            case .end: return
            case .open:
                if depth == 1, name != "Record", isTopLevel(exceptRecords: false) {
                    isPending = true
                    return
                }
                depth += 1
            case .close: depth -= 1
            case .empty: break
            }
        }
    }

    /// Calls `child` for each element within the current one; `child` reads the contents of that element.
    ///
    /// - Returns: whether the element's end was found; also true if the start of another top-level element shows that the end is missing.
    func readChildren(
        recordsBelong: Bool = false, _ child: (ExportReader) throws(ExportError) -> Void
    ) throws(ExportError) -> Bool {
        guard token == .open else { return true }
        while true {
            switch try nextToken() {
            case .end: return false
            case .close: return true
            case .open, .empty:
                if isTopLevel(exceptRecords: recordsBelong) {
                    isPending = true
                    account.note(.malformedTag, place(reason: "its end is missing"))
                    return true
                }
                try child(self)
            }
        }
    }

    func index(ofSource name: String) -> Int {
        if let known = sourceIndex[name] { return known }
        // A file with very many sources has one entry for the rest of them.
        guard account.sources.count < 10_000 else { return index(ofSource: "(others)") }
        account.sources.append((name, AppleExportSummary.Tally()))
        sourceIndex[name] = account.sources.count - 1
        return account.sources.count - 1
    }

    /// HealthKit has a few hundred.
    static let maximumTypes = 2_000

    func index(of id: TypeID) -> Int {
        if let known = typeIndex[id] { return known }
        // A file with very many types has one entry for the rest of them; their records are stored as usual.
        guard account.types.count < Self.maximumTypes || id == .otherTypes else {
            return index(of: .otherTypes)
        }
        account.types.append((id, AppleExportSummary.Tally()))
        typeIndex[id] = account.types.count - 1
        return account.types.count - 1
    }

    func tally(_ type: Int, _ source: Int, _ start: Int64, _ end: Int64) {
        account.types[type].tally.add(start, end)
        account.sources[source].tally.add(start, end)
    }
}
