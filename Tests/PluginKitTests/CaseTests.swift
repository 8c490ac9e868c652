import Foundation
import PluginKit
import PluginTesting
import Samples
import Testing

/// Gives the weights that its far side provides.
struct CaseSource: SourcePlugin {
    static let manifest = Manifest(
        name: "case-source", summary: "Gives the weights of a setting.", version: "1.0", writes: ["weight"],
        settings: [.init("readings", .string(), help: "Weights in kilograms, separated by commas.", required: true)])

    func run(_ hub: PluginContext) async throws {
        for (index, text) in try hub.settings.text("readings").split(separator: ",").enumerated() {
            let value = try #require(Double(text))
            let sample = try Sample(
                source: hub.source(), key: #require(RecordKey("reading-\(index)")), type: .weight,
                value: .quantity(value, unit: "kg"), start: hub.clock.time)
            try await hub.give([sample])
        }
        await hub.untilStopped()
    }
}

private struct Readings: PluginCase.FarSide {
    var variables: [String: String]
    func stop() async {}

    init(_ script: Data) throws {
        let values = try JSONDecoder().decode([Double].self, from: script)
        variables = ["READINGS": values.map { "\($0)" }.joined(separator: ",")]
    }
}

@Suite(.timeLimit(.minutes(1))) struct `Cases in folders` {
    @Test(arguments: PluginCase.all(in: .module)) func `a plugin gives the records that its case expects`(
        _ testCase: PluginCase
    )
        async throws
    {
        try await testCase.run(CaseSource()) { try Readings($0) }
    }

    @Test func `a case that fails lists every difference`() async throws {
        let place = try TestPlace()
        func write(_ name: String, _ text: String) throws {
            try text.write(toFile: "\(place.directory)/\(name)", atomically: false, encoding: .utf8)
        }
        try write("settings.toml", "readings = \"${READINGS}\"\n")
        try write("script.json", "[72.3,72.5]")
        try write(
            "expected.jsonl",
            #"{"kind":"quantity","type":"weight","value":72.4,"unit":"kg","start":"*","key":"reading-0","zone":"UTC"}"#)
        let testCase = PluginCase(directory: URL(filePath: place.directory))
        let failure = await #expect(throws: CaseFailure.self) {
            try await testCase.run(CaseSource()) { try Readings($0) }
        }
        let differences = try #require(failure?.differences)
        #expect(differences.count >= 2)
        #expect(differences[0] == "record 1: value: expected 72.4, found 72.3")
        #expect(differences[1] == #"record 1: zone: expected "UTC", it is absent"#)
    }
}
