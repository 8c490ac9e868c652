import HubClient
import HubProcess
import Testing

@testable import HubCommand

@Suite struct AssignTests {
    private static let people = """
        [person.anna]
        expected_weight = 62
        [person.ben]
        expected_weight = 75

        """

    private static func weight(_ kilograms: Double, _ key: String) -> String {
        #"{"type":"weight","value":\#(kilograms),"unit":"kg","start":"2026-03-15T07:30:05+01:00","key":"\#(key)"}"#
    }

    @Test func `a weight is assigned against its odds only after a yes, and with its odds at once`() async throws {
        let hub = try await TestHub(Self.people)
        try hub.give([Self.weight(71, "k1"), Self.weight(84, "k2")])
        let refused = try await hub.run(["assign", "1", "--to", "anna"])
        #expect(refused.code == HubExit.usage.rawValue, "\(refused)")
        #expect(refused.errors.contains("1: by its weight it is ben's (94 %), and hardly anna's (3 %)"), "\(refused)")
        #expect(refused.errors.contains("say --yes"), "\(refused)")
        #expect(try await hub.run(["inbox"]).output.contains("hub assign 1 --to NAME"))

        #expect(try await hub.run(["assign", "1", "--to", "ben"]).code == 0)
        let confirmed = try await hub.run(["assign", "2", "--to", "anna", "--yes"])
        #expect(confirmed.code == 0 && confirmed.output.contains("2 is now anna's"), "\(confirmed)")
        #expect(try await hub.stop() == 0)
    }
}
