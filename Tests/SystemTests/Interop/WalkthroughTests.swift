import Foundation
import HubProcess
import Testing

/// Runs Docs/Walkthrough.md as it is, with the lines of seed 004's check list.
@Suite(.serialized) struct WalkthroughTests {
    @Test func `the walk-through authorises, saves, asks and takes back, every line as it stands in the document`()
        async throws
    {
        let host = try HubHost()
        let hub = try await host.start()
        let script = try host.folder.write(
            try ReadmePrograms("Docs/Walkthrough.md").text("walkthrough.sh"), to: "walkthrough.sh")
        var environment = host.environment
        environment["PATH"] = "\(Programs.folder):/usr/bin:/bin"
        // A question's dates are in the machine's zone, entered dates in the person's zone: so yesterday is the same day in both.
        environment["TZ"] = "Europe/Berlin"
        let walk = try ChildProcess("/bin/sh", [script], environment: environment)
        let end = await walk.waitForExit()
        let (lines, errors) = (await walk.allLines(), walk.errorLines)
        try #require(end == 0, "\(lines)\n\(errors)")
        func holds(_ words: String..., file: [String]) -> Bool {
            file.contains { line in words.allSatisfy { line.contains($0) } }
        }
        // Save a category sample: only values of its enumeration are accepted.
        #expect(holds("sleepAnalysis", "Asleep core", file: lines))
        #expect(holds("sleepAnalysis has no value \"dreaming\"", file: errors))
        // 300 J of a ham sandwich, at an instant. The question of the day finds both meals.
        #expect(lines.count { $0.contains("dietaryEnergyConsumed") && $0.contains("0.072 kcal") } == 2)
        #expect(lines.count { $0.contains("dietaryEnergyConsumed") && $0.contains("400 kcal") } == 2)
        // A workout that a person enters, with energy, distance and its interval.
        #expect(holds(#""type":"workout","value":"swimming","raw":46"#, file: lines))
        #expect(holds(#""type":"activeEnergyBurned","value":300,"unit":"kcal""#, file: lines))
        #expect(
            holds(#""type":"distanceSwimming","value":1000,"unit":"m","original":{"value":1,"unit":"km"}"#, file: lines)
        )
        // The most recent height and weight, in inches and pounds. Input that is not a number gets a message.
        #expect(holds("height", "70 in", file: lines) && holds("weight", "177.0 lb", file: lines))
        #expect(holds("height", "70 inches", file: lines) && holds("weight", "177.0 pounds", file: lines))
        #expect(holds(#""value":1.778,"unit":"m","original":{"value":70,"unit":"in"}"#, file: lines))
        #expect(holds(#""original":{"value":177,"unit":"lb"}"#, file: lines))
        #expect(holds("\"about 177\": expected a number", file: errors))
        #expect(holds("unit \"in\"", "expected \"kg\" or a unit of the same dimension", file: errors))
        // The age from the date of birth; without a date there is no age.
        #expect(holds("not set", file: lines) && holds("51", file: lines))
        // Deleted by number and brought back, then everything deleted by a filter: nothing is left.
        #expect(lines.contains("1 retracted") && lines.contains("1 is back"))
        #expect(errors.last == "no records", "\(errors)")
        #expect(try await host.command("plugins").lines.contains { $0.contains("fit") })
        #expect(await hub.stop() == 0)
    }

    @Test func `every test that the document names for a line of the seed's check list exists`() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..").standardizedFileURL
        let text = try String(contentsOf: root.appending(path: "Docs/Walkthrough.md"), encoding: .utf8)
        let named = text.split(separator: "\n").filter { $0.hasPrefix("| ") }.compactMap { line in
            line.split(separator: "`").dropFirst().first.map(String.init)
        }
        #expect(named.count >= 19)
        var tests = ""
        let files = FileManager.default.enumerator(
            at: root.appending(path: "Tests"), includingPropertiesForKeys: nil, options: .skipsHiddenFiles)
        for case let file as URL in files ?? .init() where file.pathExtension == "swift" {
            tests += try String(contentsOf: file, encoding: .utf8)
        }
        for name in named { #expect(tests.contains("func `\(name)`"), "no test is called \(name)") }
    }
}
