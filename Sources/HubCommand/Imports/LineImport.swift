import Digests
import Foundation
import HandEntries
import HubClient
import HubSettings
import HubWire
import JSON
import Samples

/// Gives a hub what `hub export`, `hub samples --json` or the sink of line files has written, each record as its own source gave it.
final class LineImport {
    /// What became of all.
    struct Account: Encodable, Equatable {
        var lines: Int64 = 0
        var stored: Int64 = 0
        var duplicates: Int64 = 0
        var rejected: Int64 = 0
        /// Lines that are no records.
        var unreadable: Int64 = 0
        /// Given to the person that the line names, whom the hub did not find by its rules.
        var assigned: Int64 = 0
        /// What does not come back as it was, by what it is.
        var notes: [String: Int64] = [:]
        /// Why lines were not taken, the first of each reason with its line; of the first thousand reasons.
        var reasons: [String: Reason] = [:]

        struct Reason: Encodable, Equatable {
            var firstLine: Int
            var count: Int64
        }

        mutating func refuse(_ line: Int, _ reason: String) {
            let reason = reasons[reason] != nil || reasons.count < 1_000 ? reason : "other reasons"
            reasons[reason, default: Reason(firstLine: line, count: 0)].count += 1
        }
        mutating func note(_ what: String, _ count: Int64 = 1) { notes[what, default: 0] += count }
    }

    /// A record that waits to be given.
    private struct Waiting {
        let line: Int
        let start: String?
        let owner: Owner
        let key: String?
        let number: Int64?
        let isSample: Bool
        let wasEdited: Bool
        let group: String?
        let identity: [UInt8]
        let record: [UInt8]
    }

    /// Whose a record is, as a hub says it.
    private enum Owner: Hashable {
        case person(String)
        case guest
        /// It waits in the inbox.
        case nobody

        init(person: String?, isGuest: Bool) { self = person.map(Owner.person) ?? (isGuest ? .guest : .nobody) }
    }

    /// The instance of all its sessions, which may give records of every source (R4.34).
    static let instance = "hub-import"
    /// So many records of one source wait at most, and so many bytes.
    private static let (records, bytes) = (1_000, 786_432)
    /// So many sources have a session at a time.
    private static let sessions = 16

    private let endpoint: String
    private let owner: DoorClient
    private let entries: [Welcome.PersonEntry]
    private var persons: [String] { entries.map(\.name) }
    /// How quantities of types that the registry does not have are added up, as a person says.
    private let aggregations: [String: AggregationStyle]
    /// Types that the registry does not have, as the file has them.
    private var declares: [TypeDeclaration] = []
    /// The last line that takes each record back: by a digest, because there may be very many.
    private var takenBack: [SIMD2<UInt64>: Int] = [:]
    private var doors: [String: DoorClient] = [:]
    private var waiting: [String: [Waiting]] = [:]
    private(set) var account = Account()

    /// - Parameter aggregations: by type, of those that the registry does not have.
    init(endpoint: String, aggregations: [String: AggregationStyle] = [:]) throws {
        (self.endpoint, self.aggregations) = (endpoint, aggregations)
        owner = try DoorClient(endpoint: endpoint, command: "import")
        entries = try owner.open().persons
    }

    // MARK: - First look

    /// What a file has, before anything is given.
    struct Survey: Encodable {
        var records: Int64 = 0
        var days: Int64 = 0
        var retractions: Int64 = 0
        /// Lines that are no records.
        var unreadable: Int64 = 0
        /// Why the first of them is none, with its number.
        var firstFault: String?
        /// Records that the hub has already, as far as their keys tell; of a dry run alone.
        var known: Int64?
        var plugins: [String: Int64] = [:]
        var persons: [String: Int64] = [:]
        /// The earliest and the latest start, as the file has them.
        var first: String?
        var last: String?
    }

    /// Reads all lines, and gives nothing.
    ///
    /// - Throws: where it is of persons whom `hub.conf` does not have.
    func survey(_ path: String, looksUp: Bool, progress: (Int64, Int64) throws -> Void) throws -> Survey {
        var survey = Survey(known: looksUp ? 0 : nil)
        var keys: [String: Set<String>] = [:]
        var foreign: [String: TypeDeclaration] = [:]
        var (earliest, latest) = (Int64.max, Int64.min)
        var lines = try FileLines(path)
        while let line = try lines.next() {
            try progress(lines.position, lines.size)
            let record: ExportedLine
            do throws(ExportedLine.Fault) {
                guard !line.isTooLong else { throw ExportedLine.Fault(reason: "longer than any record") }
                record = try read(line.bytes)
            } catch {
                survey.unreadable += 1
                survey.firstFault = survey.firstFault ?? "line \(line.number): \(error.reason)"
                continue
            }
            if record.isRetraction {
                survey.retractions += 1
                takenBack[Self.digest(record)] = line.number
                continue
            }
            if foreign[record.type] == nil { foreign[record.type] = declaration(of: record) }
            if record.isDay { survey.days += 1 } else { survey.records += 1 }
            survey.plugins[record.plugin, default: 0] += 1
            if let person = record.person { survey.persons[person, default: 0] += 1 }
            if let start = record.start, let time = try? Timestamp(parsing: start) {
                if time.microseconds < earliest { (earliest, survey.first) = (time.microseconds, start) }
                if time.microseconds > latest { (latest, survey.last) = (time.microseconds, start) }
            }
            if looksUp, let key = record.key {
                keys[record.plugin, default: []].insert(key)
                if keys[record.plugin]?.count == 500 {
                    survey.known? += try known(keys.removeValue(forKey: record.plugin) ?? [], record.plugin)
                }
            }
        }
        for (plugin, rest) in keys { survey.known? += try known(rest, plugin) }
        try refuseStrangers(survey)
        try declare(foreign)
        return survey
    }

    /// A line, with its person as this hub names them.
    private func read(_ line: ArraySlice<UInt8>) throws(ExportedLine.Fault) -> ExportedLine {
        try ExportedLine(line) { [entries] name in entries.named(name)?.name ?? name }
    }

    /// What a plugin had declared of the type of a record; `nil` where the registry has it.
    private func declaration(of record: ExportedLine) -> TypeDeclaration? {
        guard record.type.hasPrefix("x.") || record.type.hasPrefix("hc."),
            TypeRegistry.standard.resolve(record.type) == nil,
            let kind = record.isDay ? .quantity : SampleKind(rawValue: record.kind)
        else { return nil }
        return TypeDeclaration(
            id: record.type, kind: kind, unit: record.unit, aggregation: aggregations[record.type])
    }

    private func declare(_ foreign: [String: TypeDeclaration]) throws {
        declares = foreign.values.sorted { $0.id < $1.id }
        let unknown = declares.filter { $0.kind == .quantity && $0.aggregation == nil }.map(\.id)
        guard !unknown.isEmpty else { return }
        throw Failure(
            .usage,
            "a plugin had declared \(unknown.joined(separator: ", ")), and the file does not say how values are added "
                + "up; say it: "
                + unknown.map { "--declare \($0)=\(AggregationStyle.discreteArithmetic)" }.joined(separator: " ")
                + ", or =cumulative; nothing was stored")
    }

    private func known(_ keys: Set<String>, _ plugin: String) throws -> Int64 {
        var filter = QueryRequest.Filter()
        (filter.sources, filter.condition) = ([plugin], .keys(keys.sorted()))
        var count: Int64 = 0
        try owner.pages(QueryRequest(id: 0, filter: filter)) { records, _ in count += Int64(records.count) }
        return count
    }

    private func refuseStrangers(_ survey: Survey) throws {
        let strangers = survey.persons.keys.filter { !persons.contains($0) }.sorted()
        guard !strangers.isEmpty else { return }
        let tables = strangers.map { "[person.\($0)]" }.joined(separator: ", ")
        let one = strangers.count == 1
        throw Failure(
            .usage,
            "the file has records of \(strangers.joined(separator: ", ")), whom hub.conf does not name; add \(tables) "
                + "to it and say hub apply; nothing was stored of \(one ? "it" : "them")")
    }

    // MARK: - Giving

    /// What became of one line's record.
    struct Outcome {
        let line: Int
        let key: String?
        /// Its number in the other hub, where the line has it.
        let was: Int64?
        let result: RecordResult
    }

    /// Gives all lines, after they were looked at (``survey(_:looksUp:progress:)``); what the hub has stays as it is.
    func give(
        _ path: String, tell: (Outcome) throws -> Void = { _ in }, progress: (Int64, Int64) throws -> Void
    ) throws {
        var lines = try FileLines(path)
        while let line = try lines.next() {
            try progress(lines.position, lines.size)
            account.lines += 1
            do throws(ExportedLine.Fault) {
                guard !line.isTooLong else {
                    throw ExportedLine.Fault(reason: "longer than \(FileLines.longest) bytes; no record is")
                }
                let record = try read(line.bytes)
                try take(record, line.number)
            } catch {
                account.unreadable += 1
                account.refuse(line.number, error.reason)
            }
            for plugin in full { try flush(plugin, all: false, tell) }
        }
        for plugin in waiting.keys.sorted() { try flush(plugin, all: true, tell) }
    }

    private func take(_ record: ExportedLine, _ line: Int) throws(ExportedLine.Fault) {
        guard !record.isRetraction else {
            return account.note("a record was taken back in the other hub; what this one has of it stays")
        }
        if let end = takenBack[Self.digest(record)], end > line {
            return account.note("not given, because a later line takes the record back")
        }
        if record.strangeNumbers > 0 {
            account.note("without the numbers of records of the other hub that they were made from")
        }
        waiting[record.plugin, default: []].append(
            Waiting(
                line: line, start: record.start, owner: Owner(person: record.person, isGuest: record.isGuest),
                key: record.key, number: record.number, isSample: !record.isDay, wasEdited: record.wasEdited,
                group: record.group, identity: record.identity, record: record.record))
    }

    private static func digest(_ record: ExportedLine) -> SIMD2<UInt64> {
        let bytes = Digests.sha256(record.identity)
        return SIMD2(bytes[..<8].reduce(0) { $0 << 8 | UInt64($1) }, bytes[8..<16].reduce(0) { $0 << 8 | UInt64($1) })
    }

    private var full: [String] {
        waiting.filter {
            $1.count >= LineImport.records || $1.count % 64 == 0 && LineImport.size($1) >= LineImport.bytes
        }
        .keys.sorted()
    }

    private static func size(_ records: [Waiting]) -> Int { records.reduce(0) { $0 + $1.record.count } }

    /// Gives what waits of a source; what begins when the last of it does waits on, unless it is `all`: it may be of one group with what
    /// comes next.
    private func flush(_ plugin: String, all: Bool, _ tell: (Outcome) throws -> Void) throws {
        guard let records = waiting[plugin], !records.isEmpty else { return }
        var count = records.count
        if !all, let last = records.last?.start {
            count = (records.lastIndex { $0.start != last } ?? -1) + 1
            if count == 0 { count = records.count }
        }
        waiting[plugin] = count < records.count ? Array(records[count...]) : nil
        var rest = records[..<count]
        while !rest.isEmpty {
            var (end, size) = (rest.startIndex, 0)
            while end < rest.endIndex, end - rest.startIndex < LineImport.records,
                size + rest[end].record.count <= LineImport.bytes || end == rest.startIndex
            {
                size += rest[end].record.count + 1
                end += 1
            }
            try give(Array(rest[..<end]), of: plugin, tell)
            rest = rest[end...]
        }
    }

    private func give(_ all: [Waiting], of plugin: String, _ tell: (Outcome) throws -> Void) throws {
        let there = try corrected(all, plugin)
        var batch: [Waiting] = []
        for waiting in all {
            guard let own = there[waiting.identity] else {
                batch.append(waiting)
                continue
            }
            account.duplicates += 1
            if own.record != waiting.record {
                account.note(
                    waiting.wasEdited
                        ? "a person had changed them by hand there and here: what this hub has stays"
                        : "a person has changed others of their group by hand here: what this hub has stays")
            }
            try tell(Outcome(line: waiting.line, key: waiting.key, was: waiting.number, result: own.result))
        }
        guard !batch.isEmpty else { return }
        var records = RawRecords()
        for waiting in batch { records.append(waiting.record) }
        let results: [RecordResult]
        do { results = try door(of: plugin).give(records) } catch let failure as Failure
            where StoreFault.isFullDisk(failure.message)
        { throw StoreFault.failure(failure.message) }
        guard results.count == batch.count else {
            throw Failure(.dialogue, "the hub has answered \(results.count) of \(batch.count) records")
        }
        var numbers: [(number: Int64, owner: Owner, isNew: Bool)] = []
        for (waiting, result) in zip(batch, results) {
            switch result {
            case .stored(let number, _):
                account.stored += 1
                if waiting.wasEdited {
                    account.note("a person had changed them by hand: what they said is now their source's word")
                }
                if waiting.isSample { numbers.append((number, waiting.owner, true)) }
            case .duplicate(let number, _):
                account.duplicates += 1
                if waiting.isSample { numbers.append((number, waiting.owner, false)) }
            case .rejected(let code, let reason):
                account.rejected += 1
                account.refuse(waiting.line, "\(code.rawValue): \(reason)")
            }
            try tell(Outcome(line: waiting.line, key: waiting.key, was: waiting.number, result: result))
        }
        try assign(numbers)
    }

    /// Records that a person has corrected in this hub too, and the others of their groups, by identity.
    ///
    /// Given again, the correction of the file would become the word of their source, and could not be taken back; and the
    /// rest of a blood pressure is no blood pressure.
    private func corrected(
        _ lines: [Waiting], _ plugin: String
    ) throws -> [[UInt8]: (record: [UInt8], result: RecordResult)] {
        let groups = Set(lines.filter(\.wasEdited).compactMap(\.group))
        let meant = lines.filter { $0.wasEdited || ($0.group.map(groups.contains) ?? false) }
        let keys = Set(meant.compactMap(\.key))
        guard !keys.isEmpty else { return [:] }
        var filter = QueryRequest.Filter()
        (filter.sources, filter.condition) = ([plugin], .keys(keys.sorted()))
        var found: [[UInt8]: (record: [UInt8], result: RecordResult)] = [:]
        var edited: (identities: Set<[UInt8]>, groups: Set<String>) = ([], [])
        try owner.pages(QueryRequest(id: 0, filter: filter)) { records, _ in
            for bytes in records {
                guard let line = try? ExportedLine(bytes), let number = line.number,
                    case .number(let digits)? = JSONTree(Array(bytes))?["seq"], let sequence = Int64(digits)
                else { continue }
                found[line.identity] = (line.record, .duplicate(number: number, sequence: sequence))
                guard line.wasEdited else { continue }
                edited.identities.insert(line.identity)
                if let group = line.group { edited.groups.insert(group) }
            }
        }
        let left = meant.filter { line in
            edited.identities.contains(line.identity) || (line.group.map(edited.groups.contains) ?? false)
        }
        let identities = Set(left.map(\.identity))
        return found.filter { identities.contains($0.key) }
    }

    private func door(of plugin: String) throws -> DoorClient {
        if let door = doors[plugin] { return door }
        if doors.count >= LineImport.sessions { doors.removeAll() }
        let door = try DoorClient(
            endpoint: endpoint, command: "import", source: plugin, instance: LineImport.instance, declares: declares)
        doors[plugin] = door
        return door
    }

    /// Gives records to the persons whose they were, where the rules of this hub have found others or none.
    ///
    /// A record that was there already keeps its person and stays a guest's, because a person may have said so here.
    private func assign(_ numbers: [(number: Int64, owner: Owner, isNew: Bool)]) throws {
        guard persons.count != 1 || numbers.contains(where: { $0.owner != .person(persons[0]) }), !numbers.isEmpty
        else { return }
        let wanted = Dictionary(numbers.map { ($0.number, ($0.owner, $0.isNew)) }) { first, _ in first }
        var filter = QueryRequest.Filter()
        filter.numbers = wanted.keys.sorted()
        var reader = RecordReader()
        var given: [Owner: [StoredRecord]] = [:]
        try owner.pages(QueryRequest(id: 0, filter: filter)) { records, _ in
            for json in records {
                let stored = try reader.record(json)
                guard let (whose, isNew) = wanted[stored.number] else { continue }
                let has = Owner(person: stored.assignment.person?.name, isGuest: stored.assignment.isGuest)
                if has != whose, isNew || has == .nobody { given[whose, default: []].append(stored) }
            }
        }
        for (whose, records) in given {
            let person: String? = if case .person(let name) = whose { name } else { nil }
            // As they were read: what a person has said meanwhile stays.
            let answer = try owner.hand(
                "assign",
                Assignment(
                    numbers: records.map(\.number), seqs: records.map(\.sequence), to: person,
                    nobody: whose == .nobody, guest: whose == .guest),
                isDryRun: false)
            account.assigned += Int64(answer.entries.count { $0.outcome == "stored" })
        }
    }

    private struct Assignment: Encodable {
        var numbers, seqs: [Int64]
        var to: String?
        var nobody, guest: Bool
        var alone = true
    }
}
