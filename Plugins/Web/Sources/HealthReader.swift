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
        for try await page in hub.query(filter, order: .newestFirst, limit: limit) { found += page.records }
        return found
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
    func record(_ number: Int64, for viewer: Viewer) async throws -> StoredRecord {
        try await find(number, nil, for: viewer)
    }

    /// The same of what was taken back, too, and of a day's value.
    func any(_ number: Int64, for viewer: Viewer) async throws -> StoredRecord {
        try await find(number, RecordKind.allCases, for: viewer)
    }

    private func find(_ number: Int64, _ kinds: [RecordKind]?, for viewer: Viewer) async throws -> StoredRecord {
        guard number > 0 else { throw NoSuchPage() }
        var filter = QueryRequest.Filter()
        (filter.numbers, filter.kinds) = ([number], kinds)
        for try await page in hub.query(filter) {
            if let record = page.records.first(where: { $0.number == number }), viewer.maySee(record) { return record }
        }
        throw NoSuchPage()
    }
}

extension HealthReader {
    /// What belongs together with a record, itself included, in the order of the numbers: of this viewer's alone.
    func group(of record: StoredRecord, for viewer: Viewer) async throws -> [StoredRecord] {
        guard case .sample(let sample) = record.record, let group = sample.group else { return [record] }
        var filter = QueryRequest.Filter()
        (filter.group, filter.sources) = (group, [sample.source.plugin])
        if let person = record.assignment.person { filter.persons = [person.name] } else { filter.isOfNobody = true }
        var found: [StoredRecord] = []
        for try await page in hub.query(filter, limit: 200) { found += page.records.filter(viewer.maySee) }
        return found.sorted { $0.number < $1.number }
    }
}

/// A type as people call it.
enum TypeName {
    static func text(_ type: TypeID) -> String { TypeRegistry.standard.type(type)?.displayName ?? type.rawValue }
}

extension Welcome.PersonEntry {
    /// How this person reads values.
    var reader: Reader {
        var types: [TypeID: String] = [:]
        for (name, unit) in units { if let type = try? TypeID(name) { types[type] = unit } }
        return Reader(locale: locale.flatMap(Reader.locale), units: types)
    }
}
