import HubProcess
import Samples
import Testing

@testable import HubStore

@Suite struct TraceTests {
    let folder: TemporaryFolder
    let store: Store

    init() throws { (folder, store) = try newStore() }

    @Test(arguments: [1, 2, 7, 1_000])
    func `R8.40 the pages of a trace have each version once, the newest first`(limit: Int) async throws {
        for value in 0..<20 { _ = try await store.put(try sample("k", 70 + Double(value))) }
        // The version beneath an edit is newer than the visible one.
        var edit = SampleEdit(type: try type("weight"))
        edit.value = .quantity(99, unit: "kg")
        _ = try await store.carryOut(.edit(number: 1, edit), recordedAt: 3)
        _ = try await store.put(try sample("k", 50))
        var (sequences, place): ([Int64], RecordTrace.Place?) = ([], nil)
        repeat {
            let page = try #require(try await store.trace(1, from: place, versions: limit))
            #expect(page.versionCount == 22)
            #expect(page.versions.count <= limit)
            let found = page.versions.map(\.record.sequence)
            #expect(found == found.sorted())
            if place == nil { #expect(found.contains(page.current.sequence)) }
            sequences += found
            place = page.next
        } while place != nil
        #expect(sequences.sorted() == Array(1...22))
    }

    @Test func `R8.40 a page of large versions ends at about a MiB`() async throws {
        let text = String(repeating: "x", count: 16_000)
        for value in 0..<150 {
            var heavy = try sample("k", 70 + Double(value))
            heavy.metadata = JSONObject(trusted: "{\"a\":\"\(text)\"}")
            _ = try await store.put(heavy)
        }
        let page = try #require(try await store.trace(1))
        #expect((60...70).contains(page.versions.count))
        #expect(page.versionCount == 150 && page.next != nil)
    }

    @Test func `R8.34 R8.40 the days made of a record are found among many, in pieces of any size`() async throws {
        _ = try await store.put(try sample("k"))
        _ = try await store.put(
            try (0..<40).map { number in
                var day = try day("2024-01-01", 70, series: "s\(number % 3)")
                day.date = day.date.adding(days: number)
                day.basis = [.number(number % 4 == 0 ? 1 : 11)]
                return .day(day)
            })
        var story = try #require(
            try await store.trace(1, from: nil, versions: 10, within: PageTimeLimit(rows: 3, duration: .zero)))
        var pieces = 1
        while let next = story.next {
            let more = try #require(
                try await store.trace(1, from: next, versions: 0, within: PageTimeLimit(rows: 3, duration: .zero)))
            #expect(more.versions.isEmpty)
            story.add(days: more)
            pieces += 1
        }
        #expect(pieces > 10)
        let whole = try #require(try await store.trace(1))
        #expect(whole.next == nil && whole.days.count == 10 && whole.days == story.days)
    }

    @Test func `the page token of a trace is valid for its record only`() async throws {
        for value in 0..<3 { _ = try await store.put(try sample("k", 70 + Double(value))) }
        let page = try #require(try await store.trace(1, versions: 1))
        let mark = try #require(page.next).text(of: 1)
        #expect(RecordTrace.Place(mark, of: 1) == page.next)
        for text in [mark + "0.", "", "1", "1.2", "a.b.c", "1.-1.0", "01.1.1"] {
            #expect(RecordTrace.Place(text, of: 1) == nil, "\(text)")
        }
        #expect(RecordTrace.Place(mark, of: 2) == nil)
    }
}
