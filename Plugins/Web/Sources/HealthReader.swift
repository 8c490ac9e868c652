import Foundation
import HealthText
import PluginKit

/// Reads records of one person from the hub.
struct HealthReader: Sendable {
    let hub: PluginContext

    /// The sample with the latest end of each type, sorted by the type's name.
    func latest(of person: Welcome.PersonEntry) async throws -> [StoredRecord] {
        var filter = QueryRequest.Filter()
        filter.persons = [person.name]
        return try await hub.query(filter, latest: true).records.sorted {
            NameWords.type($0.type).localizedStandardCompare(NameWords.type($1.type)) == .orderedAscending
        }
    }

    /// The newest samples of a type.
    func newest(_ type: TypeID, of person: String, limit: Int64) async throws -> [StoredRecord] {
        var filter = QueryRequest.Filter()
        (filter.types, filter.persons) = ([type.rawValue], [person])
        // Each sample may have arrived from several sources.
        let found = try await hub.query(filter, order: .newestFirst, mirrors: true, limit: limit * 8).records
        return Array(found.filter { !$0.isRepeat }.prefix(Int(limit)))
    }

    /// The earliest sample of a type; nil if there is none.
    func oldest(_ type: TypeID, of person: String) async throws -> Sample? {
        var filter = QueryRequest.Filter()
        (filter.types, filter.persons) = ([type.rawValue], [person])
        guard case .sample(let sample)? = try await hub.query(filter, order: .time, limit: 1).records.first?.record
        else { return nil }
        return sample
    }
}

extension HealthReader {
    /// A record that this viewer may see.
    ///
    /// - Throws: ``noSuchPage``, both for an unknown record and for another person's.
    func any(_ number: Int64, for viewer: Viewer) async throws -> StoredRecord {
        guard let record = try await records([number])[number], viewer.maySee(record) else { throw noSuchPage }
        return record
    }

    /// The same for a sample: not for a retraction or a day value.
    func sample(_ number: Int64, for viewer: Viewer) async throws -> (record: StoredRecord, sample: Sample) {
        let record = try await any(number, for: viewer)
        guard case .sample(let sample) = record.record else { throw noSuchPage }
        return (record, sample)
    }

    /// The existing records with these numbers, of any kind and person.
    func records(_ numbers: [Int64]) async throws -> [Int64: StoredRecord] {
        var found: [Int64: StoredRecord] = [:]
        let numbers = numbers.filter { $0 > 0 }
        for start in stride(from: 0, to: numbers.count, by: Self.most) {
            let some = Array(numbers[start..<min(start + Self.most, numbers.count)])
            for record in try await hub.query(.init(numbers: some)).records { found[record.number] = record }
        }
        return found
    }

    /// Maximum number of records in one query.
    private static let most = 1_000
}

extension QueryRequest.Filter {
    /// Selects records by number, of any kind and person.
    ///
    /// A filter by person would return a retraction for a record that was given to another person.
    init(numbers: [Int64]) {
        self.init()
        (self.numbers, kinds) = (numbers, QueryRequest.Kind.allCases)
    }
}

extension HealthReader {
    /// The group of a record, itself included, ordered by number and limited to this viewer.
    func group(of record: StoredRecord, for viewer: Viewer) async throws -> [StoredRecord] {
        guard var filter = Self.group(of: record) else { return [record] }
        if let person = record.assignment.person { filter.persons = [person.name] } else { filter.isOfNoPerson = true }
        let found = try await hub.query(filter, limit: 200).records
        return found.filter(viewer.maySee).sorted { $0.number < $1.number }
    }

    /// The members that change with a correlation or workout, by number; none if this viewer may not see one of them.
    func members(of record: StoredRecord, for viewer: Viewer) async throws -> [StoredRecord] {
        guard case .sample(let sample) = record.record, [.correlation, .workout].contains(sample.value.kind),
            let filter = Self.group(of: record)
        else { return [] }
        let found = try await hub.query(filter, limit: 200).records
        guard found.allSatisfy(viewer.maySee) else { return [] }
        return found.filter { $0.number != record.number }.sorted { $0.number < $1.number }
    }

    private static func group(of record: StoredRecord) -> QueryRequest.Filter? {
        guard case .sample(let sample) = record.record, let group = sample.group else { return nil }
        var filter = QueryRequest.Filter()
        (filter.group, filter.sources) = (group, [sample.source.plugin])
        return filter
    }
}

extension PluginContext {
    /// The records of one answer, as the hub printed them.
    func records(_ query: QueryRequest) async throws -> (records: RawRecords, next: String?, cursor: Cursor?) {
        guard case .records(let records, let next, let cursor) = try await link.ask(query).content else {
            throw RecordEvent.EventError()
        }
        return (records, next, cursor)
    }
}

extension RecordPages {
    /// The records of all pages.
    var records: [StoredRecord] {
        get async throws {
            var records: [StoredRecord] = []
            for try await page in self { records += page.records }
            return records
        }
    }
}

extension StoredRecord {
    /// Whether the hub had the same event from another source before; lists show only the first.
    var isRepeat: Bool { mirrors.contains { $0 < number } }
}

extension Welcome.PersonEntry {
    /// The person's preferences for reading values.
    var reader: DisplayPreferences {
        var types: [TypeID: String] = [:]
        for (name, unit) in units { if let type = try? TypeID(name) { types[type] = unit } }
        return DisplayPreferences(
            displayName: displayName, locale: locale.flatMap(DisplayPreferences.locale), units: types,
            zone: zone.flatMap { TimeZone(identifier: $0) } ?? .current)
    }
}
