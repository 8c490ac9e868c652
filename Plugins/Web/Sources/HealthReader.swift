import Foundation
import HealthText
import PluginKit

/// Records of one person as the hub has them.
struct HealthReader: Sendable {
    let hub: PluginContext

    /// Of each type the sample with the latest end, by the type's name.
    func latest(of person: Welcome.PersonEntry) async throws -> [StoredRecord] {
        var filter = QueryRequest.Filter()
        filter.persons = [person.name]
        var found: [StoredRecord] = []
        for try await page in hub.query(filter, latest: true) { found += page.records }
        return found.sorted {
            TypeName.text($0.type).localizedStandardCompare(TypeName.text($1.type)) == .orderedAscending
        }
    }

    /// The newest samples of a type.
    func newest(_ type: TypeID, of person: String, limit: Int64) async throws -> [StoredRecord] {
        var filter = QueryRequest.Filter()
        (filter.types, filter.persons) = ([type.rawValue], [person])
        var found: [StoredRecord] = []
        // Each may have come by several sources.
        for try await page in hub.query(filter, order: .newestFirst, mirrors: true, limit: limit * 8) {
            found += page.records.filter { !$0.isRepeat }
        }
        return Array(found.prefix(Int(limit)))
    }

    /// The sample of a type that began first; `nil` where there is none.
    func oldest(_ type: TypeID, of person: String) async throws -> Sample? {
        var filter = QueryRequest.Filter()
        (filter.types, filter.persons) = ([type.rawValue], [person])
        for try await page in hub.query(filter, order: .time, limit: 1) {
            if case .sample(let sample)? = page.records.first?.record { return sample }
        }
        return nil
    }
}

extension HealthReader {
    /// A record that this viewer may see.
    ///
    /// - Throws: `NoSuchPage` where there is none, and in the same words for one that is another's.
    func any(_ number: Int64, for viewer: Viewer) async throws -> StoredRecord {
        guard let record = try await records([number])[number], viewer.maySee(record) else { throw NoSuchPage() }
        return record
    }

    /// The same of samples alone: not of what was taken back, and not of a day's value.
    func sample(_ number: Int64, for viewer: Viewer) async throws -> (record: StoredRecord, sample: Sample) {
        let record = try await any(number, for: viewer)
        guard case .sample(let sample) = record.record else { throw NoSuchPage() }
        return (record, sample)
    }

    /// Those of the records that there are, by number, whatever and whosever they are.
    func records(_ numbers: [Int64]) async throws -> [Int64: StoredRecord] {
        var found: [Int64: StoredRecord] = [:]
        let numbers = numbers.filter { $0 > 0 }
        for start in stride(from: 0, to: numbers.count, by: Self.most) {
            let some = Array(numbers[start..<min(start + Self.most, numbers.count)])
            for try await page in hub.query(.init(numbers: some)) {
                for record in page.records { found[record.number] = record }
            }
        }
        return found
    }

    /// Numbers of one question.
    private static let most = 1_000
}

extension QueryRequest.Filter {
    /// Records by their numbers, whatever and whosever they are.
    ///
    /// Not by a person: then what was given to another is a retraction for the one who had it.
    init(numbers: [Int64]) {
        self.init()
        (self.numbers, kinds) = (numbers, QueryRequest.Kind.allCases)
    }
}

extension HealthReader {
    /// What belongs together with a record, itself included, in the order of the numbers: of this viewer's alone.
    func group(of record: StoredRecord, for viewer: Viewer) async throws -> [StoredRecord] {
        guard var filter = Self.group(of: record) else { return [record] }
        if let person = record.assignment.person { filter.persons = [person.name] } else { filter.isOfNobody = true }
        var found: [StoredRecord] = []
        for try await page in hub.query(filter, limit: 200) { found += page.records.filter(viewer.maySee) }
        return found.sorted { $0.number < $1.number }
    }

    /// What goes along with a correlation or a workout where that is changed, by number, of whichever person; none where one of them is not for this viewer.
    func members(of record: StoredRecord, for viewer: Viewer) async throws -> [StoredRecord] {
        guard case .sample(let sample) = record.record, [.correlation, .workout].contains(sample.value.kind),
            let filter = Self.group(of: record)
        else { return [] }
        var found: [StoredRecord] = []
        for try await page in hub.query(filter, limit: 200) { found += page.records }
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

extension StoredRecord {
    /// Whether the hub had the same event by another source before: lists show one of them.
    var isRepeat: Bool { mirrors.contains { $0 < number } }
}

/// A type as people call it.
enum TypeName {
    static func text(_ type: TypeID) -> String { NameWords.type(type) }

    /// As it stands within a sentence.
    static func lowered(_ type: TypeID) -> String { NameWords.lowered(NameWords.type(type)) }
}

extension Welcome.PersonEntry {
    /// How this person reads values.
    var reader: Reader {
        var types: [TypeID: String] = [:]
        for (name, unit) in units { if let type = try? TypeID(name) { types[type] = unit } }
        return Reader(
            displayName: displayName, locale: locale.flatMap(Reader.locale), units: types,
            zone: zone.flatMap { TimeZone(identifier: $0) } ?? .current)
    }
}
