import Foundation
import HealthText
import HubClient
import HubSettings
import HubWire
import JSON
import Platform
import Samples

/// Gives a hub the records that `hub export`, `hub samples --json` or the sink of line files wrote, in the form of their sources.
final class LineImport {
    /// The totals of an import.
    struct Account: Encodable, Equatable {
        var lines: Int64 = 0
        var stored: Int64 = 0
        var duplicates: Int64 = 0
        var rejected: Int64 = 0
        /// Lines that are not records.
        var unreadable: Int64 = 0
        /// Records assigned to the person in the line, because the hub's rules did not find that person.
        var assigned: Int64 = 0
        /// The number of records that do not come back unchanged, by reason.
        var notes: [String: Int64] = [:]
        /// The reasons why lines were rejected, each with its first line; only the first thousand reasons.
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

    /// A record waiting to be given.
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

    /// The owner of a record, as a hub states it.
    private enum Owner: Hashable {
        case person(String)
        case guest
        /// The record waits in the inbox.
        case nobody

        init(person: String?, isGuest: Bool) { self = person.map(Owner.person) ?? (isGuest ? .guest : .nobody) }
    }

    /// The instance of all its sessions, which may give records of any source (R4.34).
    static let instance = "hub-import"
    /// Maximum number of records of one source that wait, and of their bytes.
    private static let (records, bytes) = (1_000, 786_432)
    /// Maximum number of sources that have a session at the same time.
    private static let sessions = 16

    private let endpoint: String
    private let owner: DoorClient
    private let entries: [Welcome.PersonEntry]
    private var persons: [String] { entries.map(\.name) }
    /// The person's choice of how quantities of types outside the registry are added up.
    private let aggregations: [String: AggregationStyle]
    /// The types of the file that the registry does not have.
    private var declares: [TypeDeclaration] = []
    /// The last line that retracts each record, by digest, because there may be very many.
    private var takenBack: [SIMD2<UInt64>: Int] = [:]
    private var doors: [String: DoorClient] = [:]
    private var waiting: [String: [Waiting]] = [:]
    private(set) var account = Account()

    /// - Parameter aggregations: by type, for types that the registry does not have.
    init(endpoint: String, aggregations: [String: AggregationStyle] = [:]) throws {
        (self.endpoint, self.aggregations) = (endpoint, aggregations)
        owner = try DoorClient(endpoint: endpoint, command: "import")
        entries = try owner.open().persons
    }

    // MARK: - First look

    /// The contents of a file, determined before anything is given.
    struct Survey: Encodable {
        var records: Int64 = 0
        var days: Int64 = 0
        var retractions: Int64 = 0
        /// Lines that are not records.
        var unreadable: Int64 = 0
        /// The reason why the first of them is not a record, with its line number.
        var firstFault: String?
        /// Records that the hub already has, judged by their keys; only for a dry run.
        var known: Int64?
        var plugins: [String: Int64] = [:]
        var persons: [String: Int64] = [:]
        /// The earliest and the latest start, as in the file.
        var first: String?
        var last: String?
    }

    /// Reads all lines and gives nothing.
    ///
    /// - Throws: a failure if the file has persons that `hub.conf` does not have.
    func survey(_ path: String, looksUp: Bool, progress: (Int64, Int64) throws -> Void) throws -> Survey {
        var survey = Survey(known: looksUp ? 0 : nil)
        var keys: [String: Set<String>] = [:]
        var foreign: [String: TypeDeclaration] = [:]
        var (earliest, latest) = (Int64.max, Int64.min)
        var lines = try FileLines(path)
        while let line = try lines.next() {
            try progress(lines.position, lines.size)
            let record: ExportedLine
            do throws(ExportedLine.LineError) {
                guard !line.isTooLong else { throw ExportedLine.LineError(reason: "longer than any record") }
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
        try refuseUnknownPersons(survey)
        try declare(foreign)
        return survey
    }

    /// Parses a line, with this hub's name of the person.
    private func read(_ line: ArraySlice<UInt8>) throws(ExportedLine.LineError) -> ExportedLine {
        try ExportedLine(line) { [entries] name in entries.named(name)?.name ?? name }
    }

    /// The declaration that a plugin had made for the type of a record; `nil` if the registry has the type.
    private func declaration(of record: ExportedLine) -> TypeDeclaration? {
        guard record.type.hasPrefix("x.") || record.type.hasPrefix("hc."),
            TypeRegistry.standard.resolve(record.type) == nil,
            let kind = record.isDay ? .quantity : SampleKind(rawValue: record.kind)
        else { return nil }
        return TypeDeclaration(id: record.type, kind: kind, unit: record.unit, aggregation: aggregations[record.type])
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

    private func refuseUnknownPersons(_ survey: Survey) throws {
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

    /// The result for the record of one line.
    struct Outcome {
        let line: Int
        let key: String?
        /// Its number in the other hub, if the line has it.
        let was: Int64?
        let result: RecordResult
    }

    /// Gives all lines after a survey (``survey(_:looksUp:progress:)``); records that the hub has stay as they are.
    func give(
        _ path: String, tell: (Outcome) throws -> Void = { _ in }, progress: (Int64, Int64) throws -> Void
    ) throws {
        var lines = try FileLines(path)
        while let line = try lines.next() {
            try progress(lines.position, lines.size)
            account.lines += 1
            do throws(ExportedLine.LineError) {
                guard !line.isTooLong else {
                    throw ExportedLine.LineError(reason: "longer than \(FileLines.longest) bytes; no record is")
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

    private func take(_ record: ExportedLine, _ line: Int) throws(ExportedLine.LineError) {
        guard !record.isRetraction else {
            return account.note("a record was taken back in the other hub; this hub's version stays")
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
        }.keys.sorted()
    }

    private static func size(_ records: [Waiting]) -> Int { records.reduce(0) { $0 + $1.record.count } }

    /// Gives the waiting records of a source.
    ///
    /// Unless `all` is set, records with the same start as the last one wait on, because they may be in one group with the next ones.
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
                        ? "a person had changed them by hand there and here: this hub's version stays"
                        : "a person has changed others of their group by hand here: this hub's version stays")
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
                    account.note(
                        "a person had changed them by hand: the changed values now count as their source's own")
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
    /// If they were given again, the file's correction would become the value of their source and could not be reverted. The others of a group
    /// are included because part of a blood pressure is no blood pressure.
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

    /// Assigns records to their former persons if the rules of this hub have found others or none.
    ///
    /// A record that already existed keeps its person or its guest mark, because a person may have decided that here.
    private func assign(_ numbers: [(number: Int64, owner: Owner, isNew: Bool)]) throws {
        guard persons.count != 1 || numbers.contains(where: { $0.owner != .person(persons[0]) }), !numbers.isEmpty
        else { return }
        let wanted = Dictionary(numbers.map { ($0.number, ($0.owner, $0.isNew)) }) { first, _ in first }
        var filter = QueryRequest.Filter()
        filter.numbers = wanted.keys.sorted()
        var given: [Owner: [StoredRecord]] = [:]
        try owner.records(QueryRequest(id: 0, filter: filter)) { stored in
            guard let (whose, isNew) = wanted[stored.number] else { return }
            let has = Owner(person: stored.assignment.person?.name, isGuest: stored.assignment.isGuest)
            if has != whose, isNew || has == .nobody { given[whose, default: []].append(stored) }
        }
        for (whose, records) in given {
            let person: String? = if case .person(let name) = whose { name } else { nil }
            // Pass the versions that were read: later decisions of a person stay.
            var command = OwnCommands.Assign(numbers: records.map(\.number), seqs: records.map(\.sequence))
            (command.to, command.alone) = (person, true)
            (command.nobody, command.guest) = (whose == .nobody, whose == .guest)
            let answer = try owner.assign(command, isDryRun: false)
            account.assigned += Int64(answer.entries.count { $0.outcome == "stored" })
        }
    }
}
