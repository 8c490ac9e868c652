import GRDB
import Samples

/// Finds samples of the same event from several sources, and marks each with the numbers of the others.
///
/// Marks are not stored, because every new, changed or retracted record may change the marks of others.
struct MirrorMarks {
    /// If more samples than this have the same start, none is compared, which limits the time for a page.
    private static let most = 200

    private let reader: SnapshotReader
    /// Microseconds since 1970.
    ///
    /// Records that ended earlier may not be read.
    private let since: Int64?
    private let allows: (_ type: TypeID, _ plugin: String) -> Bool
    /// The marks of all samples with the same start, by number.
    private var known: [Int64: [Int64]] = [:]

    /// - Parameter allowance: limits the marks to records that the client may read.
    init(_ reader: SnapshotReader, _ allowance: ReadAllowance?) {
        self.reader = reader
        since = allowance?.since
        allows = { allowance?.allows($0, of: $1) ?? true }
    }

    /// - Parameter since: records that ended before it may not be read, in microseconds since 1970.
    init(_ reader: SnapshotReader, since: Int64?) { self.init(reader, ReadAllowance(since: since)) }

    mutating func mark(_ records: inout [StoredRecord]) throws {
        for index in records.indices {
            guard case .sample = records[index].record, records[index].assignment.person != nil else { continue }
            records[index].mirrors = try mirrors(of: records[index].number, records[index].type)
        }
    }

    private mutating func mirrors(of number: Int64, _ type: TypeID) throws -> [Int64] {
        if let found = known[number] { return found }
        let samples = try samples(with: number, type)
        var found: [Int64: [Int64]] = [number: []]
        for group in try alike(samples) {
            let mirrors = Mirrors.find(group)
            for place in Set(mirrors.values) {
                let event = [place] + mirrors.filter { $0.value == place }.map(\.key)
                let numbers = event.map { group[$0].number }.sorted()
                for own in numbers { found[own] = numbers.filter { $0 != own } }
            }
        }
        known.merge(found) { $1 }
        return found[number] ?? []
    }

    // MARK: - Candidates

    private struct Candidate: MirrorCandidate {
        var number, start, end: Int64
        /// 0 if the sample is not a quantity.
        var value: Double
        var rank: Int
        /// Equal for all records of an event: kind, unit, name and text.
        var content: [String?]
        /// The members of a correlation.
        var parts: [Part] = []
    }

    private struct Part {
        var content: String
        var value: Double
    }

    /// The samples of the same person and type that begin at the same time and are not retracted, implausible or filled in; includes itself.
    private func samples(with number: Int64, _ type: TypeID) throws -> [Candidate] {
        let statement = try RawStatement(
            cached: """
                SELECT o.number, o.start, o.duration, o.source, o.kind, o.value, o.unit, o.name, o.content, o.extra, o.grouping,
                    ifnull(o.metadata, (SELECT text FROM term WHERE id = o.shared_metadata))
                FROM sample m CROSS JOIN sample o INDEXED BY sample_history
                WHERE m.number = ?1 AND o.person = m.person AND o.type = m.type AND o.start = m.start
                    AND o.retracted IS NULL AND o.implausible IS NULL AND o.provenance <> 2
                    AND o.start + o.duration >= ?2
                LIMIT \(Self.most + 1)
                """, in: reader.db)
        defer { statement.clear() }
        statement.bind(1, number)
        statement.bind(2, since ?? .min)
        var (found, sources): ([Candidate], Set<Int64>) = ([], [])
        while try statement.step() {
            let source = statement.integer(3)
            let plugin = try reader.termCache.source(source, in: reader.db).plugin
            guard allows(type, plugin) else { continue }
            sources.insert(source)
            let kind = statement.integer(4)
            let words = [6, 7].map { statement.optionalInteger($0).map { String($0) } }
            var sample = Candidate(
                number: statement.integer(0), start: statement.integer(1),
                end: statement.integer(1) + statement.integer(2), value: statement.double(5), rank: Int(source),
                content: [String(kind)] + words + [statement.text(8)])
            // In this kind the value may be only in these members. In other kinds they differ by how the record arrived.
            if kind == Int64(SampleKind.other.code) { sample.content += [statement.text(9), statement.text(11)] }
            if kind == Int64(SampleKind.correlation.code), let group = statement.text(10) {
                sample.parts = try parts(of: group, plugin)
            }
            found.append(sample)
        }
        return sources.count > 1 && found.count <= Self.most ? found : []
    }

    /// Groups of samples that may be the same event, by their content.
    private func alike(_ samples: [Candidate]) throws -> [[Candidate]] {
        var groups: [[Candidate]] = []
        for sample in samples {
            let place = groups.firstIndex { group in
                group[0].content == sample.content && Self.agree(group[0].parts, sample.parts)
            }
            if let place { groups[place].append(sample) } else { groups.append([sample]) }
        }
        return groups.filter { $0.count > 1 }
    }

    private static func agree(_ left: [Part], _ right: [Part]) -> Bool {
        left.count == right.count
            && zip(left, right).allSatisfy { $0.content == $1.content && Mirrors.agree($0.value, $1.value) }
    }

    /// The members of a correlation, sorted by content and value.
    private func parts(of group: String, _ plugin: String) throws -> [Part] {
        let statement = try RawStatement(
            cached: """
                SELECT s.type, s.unit, s.name, s.value FROM sample s INDEXED BY sample_group JOIN source ON source.id = s.source
                WHERE s.grouping = ?1 AND source.plugin = ?2 AND s.retracted IS NULL AND s.kind <> ?3 LIMIT \(Self.most)
                """, in: reader.db)
        defer { statement.clear() }
        statement.bind(1, group)
        statement.bind(2, plugin)
        statement.bind(3, Int64(SampleKind.correlation.code))
        var parts: [Part] = []
        while try statement.step() {
            let words = (0...2).map { statement.optionalInteger(Int32($0)).map { String($0) } ?? "" }
            parts.append(Part(content: words.joined(separator: " "), value: statement.double(3)))
        }
        return parts.sorted { ($0.content, $0.value) < ($1.content, $1.value) }
    }
}
