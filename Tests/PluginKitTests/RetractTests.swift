import HubWire
import PluginTesting
import Samples
import Testing

@testable import PluginKit

/// A plugin retracts its own samples, by list and by filter.
@Suite(.timeLimit(.minutes(1))) struct RetractTests {
    @Test func `a plugin takes back its own samples by their keys, and an empty list is an error`() async throws {
        let scene = try await Scene()
        let done = Tally()
        let run = scene.run { hub in
            let samples = try hub.samples(0..<3)
            _ = try await hub.store(samples)
            let keys = samples.prefix(2).map(\.key)
            let results = try await hub.retract(keys + keys, of: hub.source(device: "d"), reason: "moved")
            #expect(results.map { if case .stored = $0 { true } else { false } } == [true, true])
            await #expect(throws: GiveError.self) { try await hub.retract([]) }
            await #expect(throws: GiveError.self) { try await hub.retract(keys, of: Source(plugin: "other")) }
            var left: [String] = []
            for try await page in hub.query() {
                left += page.records.compactMap {
                    if case .sample(let sample) = $0.record { sample.key.text } else { nil }
                }
            }
            #expect(left == ["key-2"])
            await done.add(left.count)
        }
        await done.reach(1)
        try await scene.end(run)
    }

    @Test func `a plugin retracts its own samples by filter, page by page`() async throws {
        let scene = try await Scene { $0.limits.pageRecords = 40 }
        let done = Tally()
        let run = scene.run { hub in
            _ = try await hub.store(hub.samples(0..<100))
            var filter = QueryRequest.Filter()
            (filter.types, filter.sources) = (["weight"], ["other"])
            #expect(try await hub.retract(matching: filter) == 100)
            #expect(try await hub.retract(matching: filter) == 0)
            await done.add(1)
        }
        await done.reach(1)
        #expect(await scene.hub.queries.allSatisfy { $0.filter.sources == [ScriptedSource.manifest.name] })
        try await scene.end(run)
    }
}
