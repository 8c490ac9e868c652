import HealthText
import PluginKit

/// The latest value of a type: a sample, or the day's sum for a cumulative type.
struct LatestCard: Sendable {
    let record: StoredRecord
    let value: String
    let when: String

    /// Makes another query for sums, and for correlations, whose values are those of their members.
    init(_ record: StoredRecord, _ reader: HealthReader, _ subject: PagePerson) async throws {
        self.record = record
        guard case .sample(let sample) = record.record else {
            (value, when) = ("", "")
            return
        }
        let day = subject.day(of: sample)
        let date = subject.reader.date(day)
        if case .quantity = sample.value, let (_, unit) = ValueText.quantity(record),
            TypeRegistry.standard.type(record.type)?.aggregation == .cumulative,
            let sum = try await reader.rows(record.type, of: subject, from: day, through: day, by: .day, most: 1).first?
                .figures.sum
        {
            value = subject.format(record.type, unit: unit).text(sum)
            when = day == subject.today ? "\(date), so far" : date
            return
        }
        let members = try await reader.members(of: [record], subject)
        value = members[record.number] ?? RecordCells.words(sample, record, subject.reader)
        when = date + MomentText.mark(record)
    }

    /// - Parameter chart: shown below the value.
    func html(_ subject: PagePerson, chart: HTML = HTML()) -> HTML {
        """
        <li><a href="\(url: subject.address("/types/\(record.type.rawValue)"))"><span class="name">\(NameWords.type(record.type))</span>\
        <span class="value">\(value)</span><span class="faint">\(when)</span>\(chart)</a></li>
        """
    }
}

extension HealthReader {
    /// The members of correlations of one type, in words, by number: `134/74 mmHg`, `Lunch: Carbohydrates 40 g, …`.
    func members(of correlations: [StoredRecord], _ subject: PagePerson) async throws -> [Int64: String] {
        let samples = correlations.compactMap { record in
            if case .sample(let sample) = record.record, sample.value == .correlation { (record, sample) } else { nil }
        }
        guard let first = samples.map(\.1.start.microseconds).min(), let last = samples.map(\.1.end.microseconds).max(),
            let type = samples.first?.0.type
        else { return [:] }
        var filter = QueryRequest.Filter()
        filter.persons = [subject.name]
        let needed = TypeRegistry.standard.type(type)?.requiredMembers ?? []
        if !needed.isEmpty { filter.types = needed.map(\.rawValue) }
        (filter.from, filter.to) = (Timestamp(microseconds: first), Timestamp(microseconds: last).next)
        (filter.kinds, filter.condition) = ([.quantity], .part(of: .correlation))
        var found: [String: [StoredRecord]] = [:]
        for record in try await hub.query(filter, order: .newestFirst, limit: 2_000).records {
            guard case .sample(let sample) = record.record, let group = sample.group else { continue }
            found["\(sample.source.plugin)/\(group)", default: []].append(record)
        }
        var words: [Int64: String] = [:]
        for (record, sample) in samples {
            guard let group = sample.group, let parts = found["\(sample.source.plugin)/\(group)"] else { continue }
            words[record.number] = CorrelationText.words(parts, of: record, for: subject.reader)
        }
        return words
    }
}
