import Foundation
import Testing

@testable import HubCommand

/// The whole way, from a simulated scale through its plugin and the hub to a subscriber.
@Suite struct DemoTests {
    @Test func `a demonstration adds up, and leaves nothing behind`() async throws {
        let demo = try await TestProgram.hub(["demo", "--for", "4"])
        #expect(demo.code == 0, "\(demo.errors)")
        let lines = demo.output.split(separator: "\n")
        let folder = try #require(lines.first { $0.contains("/hub-demo-") }?.split(separator: " ").first)
        #expect(!FileManager.default.fileExists(atPath: String(folder)))
        #expect(lines.contains { $0 == "The scale is connected." })
        let weight = /\s{2}\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \S+\s{2}[\d.]+ kg\s{2}me\s{2}#\d+/
        let weights = lines.count { $0.wholeMatch(of: weight) != nil }
        #expect(weights > 12)
        #expect(
            lines.last
                == "demo: \(weights) weights played, \(weights) stored, 0 rejected, 0 duplicates; the hub stopped cleanly"
        )
    }

    @Test func `a folder that is in use is not demonstrated in`() async throws {
        let folder = try TestFolder()
        try folder.write("")
        let demo = try await TestProgram.hub(["demo", "--keep", folder.path])
        #expect(demo.code == HubExit.usage.rawValue)
        #expect(demo.errors == "hub: --keep \(folder.path): the folder is not empty; name a new one\n")
    }
}
