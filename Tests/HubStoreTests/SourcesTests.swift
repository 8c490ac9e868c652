import HubProcess
import Platform
import Samples
import Testing

@testable import HubStore

/// The counts of records by source.
@Suite struct SourcesTests {
    private struct Owner: Hashable {
        let type: String
        let person: String?
        let source: Source
    }

    @Test(arguments: Thoroughness.some([1, 2] as [UInt64]))
    func `R8.87 counts of sources agree with the records, in pieces of any size`(seed: UInt64) async throws {
        let folder = try TemporaryFolder()
        let store = try folder.open()
        var random = SeededGenerator(seed: seed)
        let people = try await store.ensurePersons(["anna", "ben"], recordedAt: 1)
        for round in 0..<6 {
            let samples = try (0..<40).map { index in
                try sample(
                    "\(round) \(index)".replacing(" ", with: "-"), type: ["weight", "heartRate"][index % 2],
                    source: Source(plugin: "p\(index % 3)", device: index % 4 == 0 ? "d" : nil),
                    at: Int64.random(in: 0..<50, using: &random) * 600,
                    lasting: [0, 0, 60, 90_000, 5_000_000].randomElement(using: &random) ?? 0)
            }
            let owner: Assignment = round == 5 ? .nobody(reason: "no rule") : .person(people[round % 2])
            _ = try await store.put(samples.map(Record.sample), owner)
        }
        let taken = try sample("0-3", source: Source(plugin: "p0"))
        #expect(try await store.retract(taken).placement != nil)
        for round in 0..<20 {
            var query = RecordQuery { $0.kinds = KindSelection(nil, followsChanges: false) }
            if round % 3 == 1 { query.types = [try type("weight")] }
            if round % 4 == 1 { query.from = Int64.random(in: 0..<50, using: &random) * 600_000_000 }
            if round % 5 == 1 { query.condition = RecordQuery.Where(.duration([Comparison(.over, 0)]), as: "long") }
            var expected: [Owner: (Int64, Int64, Int64)] = [:]
            for record in try await store.all(query).records {
                guard case .sample(let sample) = record.record else { continue }
                let owner = Owner(
                    type: sample.type.rawValue, person: record.assignment.person?.name, source: sample.source)
                let old = expected[owner] ?? (0, .max, .min)
                expected[owner] = (
                    old.0 + 1, min(old.1, sample.start.microseconds), max(old.2, sample.end.microseconds)
                )
            }
            var found = SourceCountPage(counts: [], next: nil)
            var pages = 0
            let rows = [1, 7, Int.max].randomElement(using: &random) ?? 1
            repeat {
                query.next = found.next
                found.add(try await store.sources(query, within: PageTimeLimit(rows: rows, duration: .zero)))
                pages += 1
            } while found.next != nil
            #expect(found.counts.count == expected.count)
            for count in found.counts {
                let owner = Owner(type: count.type.rawValue, person: count.person?.name, source: count.source)
                let (number, first, last) = try #require(expected[owner])
                #expect(count.count == number && count.first == first && count.last == last, "seed \(seed): \(query)")
            }
            #expect(rows == .max || pages > 1 || expected.isEmpty)
        }
    }
}
