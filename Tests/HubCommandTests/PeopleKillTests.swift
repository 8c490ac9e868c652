import Foundation
import HubClient
import HubProcess
import Testing

@testable import HubCommand

/// Kills the hub between the parts of a weigh-in and during a correction: a group is never divided.
@Suite(.serialized) struct PeopleKillTests {
    private static let people = """
        [person.anna]
        expected_weight = 62
        [person.ben]
        expected_weight = 75

        """

    private struct Row: Decodable {
        struct Metadata: Decodable { var profileOf: String? }
        var number: Int64
        var type: String
        var value: Double
        var person: String?
        var group: String?
        var metadata: Metadata?
    }

    private func parts(_ group: String, _ kilograms: Double, _ more: String = "") -> [String] {
        [("bodyFatPercentage", 0.21, "%"), ("hc.boneMass", 3.1, "kg"), ("weight", kilograms, "kg")].map {
            type, value, unit in
            #"{"type":"\#(type)","value":\#(value),"unit":"\#(unit)","start":"2026-03-15T07:30:05+01:00","#
                + #""key":"\#(group) \#(type)","group":"\#(group)"\#(more)}"#
        }
    }

    private func rows(_ hub: TestHub) async throws -> [Row] {
        let result = try await hub.run(["samples", "--json"])
        try #require(result.code == 0, "\(result.errors)")
        return try result.output.split(separator: "\n").map { try JSONDecoder().decode(Row.self, from: Data($0.utf8)) }
    }

    /// Sends the records and waits until the hub has stored them.
    private func give(_ hub: TestHub, _ records: [String]) async throws {
        try await blocking { try hub.give(records) }
    }

    @Test(.timeLimit(.minutes(5)))
    func `R6.28 a hub killed between the parts of a weigh-in assigns all parts to one person`() async throws {
        let hub = try await TestHub(Self.people)
        for round in 0..<6 {
            let parts = parts("g\(round)", round.isMultiple(of: 2) ? 62.2 : 75.1)
            try await give(hub, [parts[round % 2]])
            if round.isMultiple(of: 3) {
                await hub.kill()
            } else {
                // The rest is in flight: it may be stored or not, and is sent again.
                let pause = UInt32.random(in: 0...8_000)
                try await blocking {
                    try hub.give(parts) {
                        usleep(pause)
                        hub.signal(SIGKILL)
                    }
                }
                await hub.waitForEnd()
            }
            try await hub.restart()
            try await give(hub, parts)
        }
        let groups = Dictionary(grouping: try await rows(hub), by: \.group)
        #expect(groups.count == 6)
        for (group, rows) in groups {
            let expected = (group?.last?.wholeNumberValue ?? 0).isMultiple(of: 2) ? "anna" : "ben"
            #expect(rows.count == 3 && rows.allSatisfy { $0.person == expected }, "\(group ?? "-"): \(rows)")
        }
        #expect(try await hub.stop() == 0)
    }

    @Test(.timeLimit(.minutes(5)))
    func `R6.31 a hub killed during the correction of a weigh-in has moved the whole group or nothing`() async throws {
        let hub = try await TestHub(Self.people)
        try await give(hub, parts("g", 75, #","subject":{"name":"anna"}"#))
        for round in 0..<6 {
            let target = round.isMultiple(of: 2) ? "ben" : "anna"
            let assign = try hub.start(["assign", "2", "--to", target])
            try await Task.sleep(for: .milliseconds(Int.random(in: 0...60)))
            await hub.kill()
            assign.signal(SIGTERM)
            _ = await assign.result()
            try await hub.restart()
            let rows = try await rows(hub)
            #expect(rows.count == 3 && Set(rows.map(\.person)).count == 1, "round \(round): \(rows)")
            try await hub.succeed(["assign", "2", "--to", target])
        }
        try await hub.succeed(["assign", "2", "--to", "ben"])
        let rows = try await rows(hub)
        #expect(rows.allSatisfy { $0.person == "ben" && ($0.metadata?.profileOf == "anna") == ($0.type != "weight") })
        #expect(try await hub.stop() == 0)
    }

    @Test func `the inbox shows a weigh-in as one line with its candidates, and assign moves the whole group`()
        async throws
    {
        let hub = try await TestHub(Self.people)
        try await give(hub, parts("h", 74.7))
        try await hub.expect(["trace", "3"], output: "by weight: 74.7 kg: ben ")
        try await give(hub, parts("g", 68.4))
        let inbox = try await hub.run(["inbox"])
        let lines = inbox.output.split(separator: "\n")
        #expect(
            lines.count == 2 && lines[1].contains("weight 68.4 kg") && lines[1].contains("anna "), "\(inbox.output)")
        let assigned = try await hub.run(["assign", "6", "--to", "ben", "--yes"])
        #expect(assigned.output.split(separator: "\n").count == 3, "\(assigned.output)")
        #expect(try await hub.run(["inbox"]).output.isEmpty)
        #expect(try await hub.stop() == 0)
    }
}
