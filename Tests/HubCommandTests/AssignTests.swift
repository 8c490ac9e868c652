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

    @Test func `a weight is assigned against its odds only with --yes, and without a question if the odds agree`()
        async throws
    {
        let hub = try await TestHub(Self.people)
        try hub.give([Self.weight(71, "k1"), Self.weight(84, "k2")])
        let refused = try await hub.run(["assign", "1", "--to", "anna"])
        #expect(refused.code == HubExit.usage.rawValue, "\(refused)")
        #expect(refused.errors.contains("1: by its weight it is ben's (94 %), and hardly anna's (3 %)"), "\(refused)")
        #expect(refused.errors.contains("say --yes"), "\(refused)")
        try await hub.succeed(["assign", "1", "--to", "anna", "--dry-run"], errors: "hardly anna's")
        #expect(try await hub.run(["inbox"]).output.contains("hub assign 1 --to NAME"))

        #expect(try await hub.run(["assign", "1", "--to", "ben"]).code == 0)
        try await hub.succeed(["assign", "2", "--to", "anna", "--yes"], output: "2 is now anna's")
        #expect(try await hub.stop() == 0)
    }

    @Test func `a guest's reading leaves the inbox, is listed by samples --guest, and returns with --undo`()
        async throws
    {
        let hub = try await TestHub(Self.people)
        try hub.give([Self.weight(71, "k1"), Self.weight(84, "k2")])
        let waiting = try await hub.run(["inbox"]).output
        let dry = try await hub.run(["assign", "1", "--guest", "--dry-run"])
        #expect(dry.output.hasPrefix("1 would be a guest's: weight 71.0 kg"), "\(dry)")
        let assigned = try await hub.run(["assign", "1", "--guest", "--reason", "an uncle"])
        #expect(assigned.code == 0 && assigned.output.hasPrefix("1 is now a guest's: weight 71.0 kg"), "\(assigned)")
        #expect(try await hub.run(["assign", "1", "--guest"]).output == "1 is a guest's already\n")
        let inbox = try await hub.run(["inbox"]).output
        #expect(!inbox.contains("hub assign 1 ") && inbox.contains("hub assign 2 --to NAME"), "\(inbox)")
        #expect(try await hub.run(["status"]).output.contains("1 record in the inbox"))
        let guests = try await hub.run(["samples", "--guest"]).output
        #expect(guests.contains("a guest") && guests.contains("71.0 kg") && !guests.contains("84"), "\(guests)")
        let nobodys = try await hub.run(["samples", "--nobody"]).output
        #expect(nobodys.contains("84.0 kg") && !nobodys.contains("71.0"), "\(nobodys)")
        let json = try await hub.run(["samples", "--guest", "--json"]).output
        #expect(json.contains(#""person":null,"unassigned":"guest""#), "\(json)")
        let story = try await hub.run(["trace", "1"]).output
        #expect(story.contains("none: a guest's") && story.contains("assigned by hand: an uncle"), "\(story)")

        let back = try await hub.run(["assign", "1", "--undo"])
        #expect(back.output.hasPrefix("1 is now in the inbox: weight 71.0 kg"), "\(back)")
        #expect(try await hub.run(["assign", "1", "--undo"]).output == "1 is as the rules had it already\n")
        #expect(try await hub.run(["inbox"]).output == waiting)
        #expect(try await hub.run(["trace", "1"]).output.contains("assignment undone by hand"))
        let all = try await hub.run(["assign", "--inbox", "--guest", "--yes"])
        #expect(all.output.split(separator: "\n").count == 2, "\(all)")
        #expect(try await hub.run(["inbox"]).errors.contains("the inbox is empty"))
        for wrong in [["--guest", "--nobody"], ["--undo", "--reason", "why"], ["--undo", "--to", "ben"]] {
            #expect(try await hub.run(["assign", "1"] + wrong).code == HubExit.usage.rawValue)
        }
        #expect(try await hub.stop() == 0)
    }
}
