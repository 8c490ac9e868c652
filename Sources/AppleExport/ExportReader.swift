import Glibc
import JSON
import Samples

/// Reads an export from its beginning to its end, and makes records of it as the hub takes them.
///
/// Used by one task at a time. Holds one piece of the file, what it needs to know of repeated names, and 16 bytes for each member of a
/// correlation; the rest is with who reads.
public final class ExportReader {
    let package: ExportPackage
    let options: ExportOptions
    // One task reads, and no property is handed on while it is being changed: the check of that at each access would be a twelfth of
    // the time of an import.
    @exclusivity(unchecked) var tokenizer: XMLTokenizer
    @exclusivity(unchecked) public internal(set) var account = ExportAccount()

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
    @exclusivity(unchecked) var draft = Draft()
    @exclusivity(unchecked) var output: [UInt8] = []
    /// The token that was read has not been used.
    @exclusivity(unchecked) var isPending = false
    @exclusivity(unchecked) var token = XMLTokenizer.Token.end
    var members = MemberRegister()
    let deferred: DeferredRecords
    var namedFiles: Set<String> = []
    /// Bytes of the files beside the XML that were read, and how many are: much more than the largest export that is known of has.
    var fileBytes: Int64 = 0
    var mostFileBytes: Int64 = 16 << 30
    /// Reading the XML ended before its end.
    private var isCut = false
    /// Nothing of the XML is known to be lost.
    private(set) var isWhole = false
    /// The last summary of each day, by its start.
    var summaries: [Int64: (record: [UInt8], end: Int64)] = [:]
    /// Records within a correlation that is wanted are wanted too.
    var isWithinWanted = false
    private var phase = Phase.start
    /// Times outside these are no measurement's, in seconds since 1970: as the hub sees it ([Samples.md]).
    static let earliest = SampleMembers.earliest / 1_000_000
    private(set) var latest = Int64.max
    private let now = Int64(Glibc.time(nil))
    /// Nothing that ends up to here is given again.
    private let resumeOffset: Int64
    var isSilent: Bool { tokenizer.offset < resumeOffset && phase == .elements }

    private enum Phase { case start, elements, deferred, files, over }

    /// - Parameters:
    ///   - scratch: a folder for a file without a name, for what cannot be given before the end of the export.
    ///   - resumeOffset: the ``ExportBatch/offset`` of the last batch that the hub has; 0 for all.
    public convenience init(
        _ path: String, options: ExportOptions = ExportOptions(), scratch: String, resumeOffset: Int64 = 0
    ) throws(ExportError) {
        try self.init(try ExportPackage(path), options: options, scratch: scratch, resumeOffset: resumeOffset)
    }

    /// An XML in memory.
    public convenience init(
        xml bytes: [UInt8], options: ExportOptions = ExportOptions(), scratch: String
    ) throws(ExportError) {
        try self.init(ExportPackage(xml: bytes), options: options, scratch: scratch)
    }

    public init(
        _ package: ExportPackage, options: ExportOptions, scratch: String, resumeOffset: Int64 = 0
    ) throws(ExportError) {
        (self.package, self.options, self.resumeOffset) = (package, options, resumeOffset)
        tokenizer = XMLTokenizer(try package.openMain())
        deferred = DeferredRecords(in: scratch)
        let others = package.otherFiles
        for other in others { account.note(.otherFile, ExportAccount.Place(file: other)) }
        for reason in package.unreadable { account.note(.damagedFile, ExportAccount.Place(reason: reason)) }
        account.fault = package.unreadable.first
        setLatest(exportDate: nil)
    }

    private func setLatest(exportDate: Int64?) {
        guard now >= SampleMembers.earliestClock / 1_000_000 else { return }
        latest = max(now, exportDate ?? now) + SampleMembers.ahead / 1_000_000
    }

    /// How far the file has been read, of how much; in a zip of its packed bytes.
    public var position: Int64 { tokenizer.inputPosition }
    public var size: Int64 { tokenizer.inputSize }

    /// The next records, about so many; `nil` at the end.
    ///
    /// What is damaged ends no more than it must; the ``account`` tells of it.
    /// - Throws: ``ExportError`` where the file is not an export, or the machine cannot read it or keep what must wait.
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
                if !summaries.isEmpty { giveSummaries() }
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
                try readFiles()
                phase = .over
            case .over:
                return batch.groups.isEmpty ? nil : finished()
            }
        }
        return finished()
    }

    private func finished() -> ExportBatch {
        // A tag that was put back has not been used: the next reading begins with it.
        batch.offset = phase == .elements ? isPending ? tokenizer.offset : tokenizer.endOffset : Int64.max
        return batch
    }

    /// Passes over the declaration, which is where real files are broken.
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

    /// The next tag, or again the one that was put back.
    func nextToken() throws(ExportError) -> XMLTokenizer.Token {
        if isPending {
            isPending = false
        } else {
            token = try tokenizer.next()
        }
        return token
    }

    /// Reads one element at the top; false at the end.
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
        case "Me": try readMe()
        case "Correlation": try readCorrelation()
        case "Workout": try readWorkout()
        case "ActivitySummary": try readActivitySummary()
        case "ClinicalRecord": try readClinicalRecord()
        case "Audiogram": try readAudiogram()
        case "VisionPrescription": try readPrescription()
        default: return try readUnknown(name)
        }
        account.elements[name, default: 0] += 1
    }

    /// Keeps an unknown element of the top with its attributes and children if it has a time.
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

    /// Keeps an unknown element within another, with its children, under `unread` of the outer one.
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

    /// Elements of the top; where one comes within another, the end of that other was lost.
    func isTopLevel(exceptRecords: Bool) -> Bool {
        tokenizer.isNamed("Correlation") || tokenizer.isNamed("Workout") || tokenizer.isNamed("ActivitySummary")
            || tokenizer.isNamed("ClinicalRecord") || tokenizer.isNamed("Audiogram")
            || tokenizer.isNamed("VisionPrescription") || !exceptRecords && tokenizer.isNamed("Record")
    }

    /// Passes over what an element has in it; the token is its beginning.
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

    /// Calls `child` for each element within the one whose beginning was just read; `child` reads what that has in it in turn.
    ///
    /// - Returns: whether its end was there, or the beginning of another at the top where its end was lost.
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
        // A file that has a source for each record has one for all the others.
        guard account.sources.count < 10_000 else { return index(ofSource: "(others)") }
        account.sources.append((name, ExportAccount.Tally()))
        sourceIndex[name] = account.sources.count - 1
        return account.sources.count - 1
    }

    /// HealthKit has some hundreds.
    static let maximumTypes = 2_000

    func index(of id: TypeID) -> Int {
        if let known = typeIndex[id] { return known }
        // As of sources: those of a file that has a type for each record are counted together, and stored all the same.
        guard account.types.count < Self.maximumTypes || id == .otherTypes else {
            return index(of: .otherTypes)
        }
        account.types.append((id, ExportAccount.Tally()))
        typeIndex[id] = account.types.count - 1
        return account.types.count - 1
    }

    func tally(_ type: Int, _ source: Int, _ start: Int64, _ end: Int64) {
        account.types[type].tally.add(start, end)
        account.sources[source].tally.add(start, end)
    }
}
