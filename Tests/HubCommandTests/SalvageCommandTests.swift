import Foundation
import HubClient
import HubProcess
import Testing

@testable import HubCommand

/// `hub salvage` on the command line.
@Suite struct SalvageCommandTests {
    @Test func `salvage copies the intact part of a damaged store for a restore and reports the losses`()
        async throws
    {
        let hub = try await TestHub()
        for batch in 0..<4 {
            try hub.give(
                (0..<300).map { number in
                    #"{"type":"weight","value":71.3,"unit":"kg","start":"2026-03-01T07:30:05+01:00","key":"\#(10_000 + 300 * batch + number)"}"#
                })
        }
        let file = hub.configuration + ".whole.sqlite"
        try await hub.expect(["salvage", file], .tryAgain)
        #expect(try await hub.stop() == 0)
        let whole = try await hub.run(["salvage", "--dry-run"])
        #expect(
            whole.code == 0 && whole.output.contains("damaged  no page: hub backup")
                && whole.output.contains("lost     nothing"))

        let path = hub.data + "/hub.sqlite"
        var data = try Data(contentsOf: URL(filePath: path))
        let places = data.ranges(of: Data("10425".utf8)).map(\.lowerBound)
        // A table leaf begins with 13; an index contains the key, too.
        let place = try #require(places.first { data[$0 / 4_096 * 4_096] == 13 })
        data[place] ^= 1
        try data.write(to: URL(filePath: path))

        let dry = try await hub.succeed(["salvage", "--dry-run"], output: "damaged  page \(place / 4_096 + 1) of ")
        #expect(
            dry.output.firstMatch(of: /lost     [0-9]+ records, [0-9]+ versions of records in all/) != nil, "\(dry)")
        #expect(dry.output.firstMatch(of: /\n           [0-9]+ weight of [a-z]+ from test-pub/) != nil, "\(dry)")
        try await hub.expect(["salvage", hub.data + "/x.sqlite"], .usage, errors: "is lost with it")
        try await hub.succeed(["salvage", file], output: "now: hub restore \(file)")
        #expect(try await hub.run(["restore", file, "--yes"]).code == 0)
        try await hub.restart()
        let samples = try await hub.run(["samples", "--json"]).output.split(separator: "\n").count
        #expect((1_000..<1_200).contains(samples))
        try hub.give([#"{"type":"weight","value":71.3,"unit":"kg","start":"2026-03-02T07:30:05+01:00","key":"later"}"#])
        #expect(try await hub.run(["status"]).output.contains("records are missing: pages of the store were damaged"))
        #expect(try await hub.run(["doctor", "--deep"]).output.contains("every index and counter is right"))
    }
}
