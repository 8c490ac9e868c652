import HubWire
import Testing

@testable import PluginKit

/// `--check-settings` reports all objections of a plugin at once.
@Suite struct JudgeTests {
    private struct Strict: SourcePlugin {
        static let manifest = Manifest(
            name: "strict", summary: "Objects.", version: "1",
            settings: ["host", "port", "rows"].map { SettingDeclaration($0, .string(), help: "H.") })

        func judge(_ settings: PluginSettings) throws {
            let host: String
            let rows: [Int]
            (host, _, rows) = try PluginSettings.all(
                { try settings.text("host") },
                {
                    guard settings["port"] == nil else {
                        throw PluginFailure(.settings, "setting port: a host has no port")
                    }
                },
                {
                    try PluginSettings.each(["1", "b", "3", "d"]) { text in
                        guard let row = Int(text) else { throw PluginFailure(.settings, "setting rows: \"\(text)\"") }
                        return row
                    }
                })
            #expect(Bool(false), "\(host) \(rows)")
        }

        func run(_ hub: PluginContext) async throws {}
    }

    @Test func `every objection is reported with its setting`() throws {
        let verdict = try PluginCommandLine<Strict>.verdict(on: Array(#"{"port":"5"}"#.utf8))
        #expect(
            verdict.objections == [
                .init(setting: "host", reason: "expected a text, but it is not set"),
                .init(setting: "port", reason: "a host has no port"), .init(setting: "rows", reason: "\"b\""),
                .init(setting: "rows", reason: "\"d\""),
            ])
    }

    @Test func `valid settings are returned in their order`() throws {
        let settings = PluginSettings(["a": .string("x"), "n": .integer(5)])
        let (text, number) = try PluginSettings.all({ try settings.text("a") }, { try settings.integer("n") })
        #expect((text, number) == ("x", 5))
        #expect(try PluginSettings.each(["1", "2"]) { Int($0) } == [1, 2])
        let failure = try #require(throws: PluginFailure.self) {
            try PluginSettings.all({ try settings.text("n") }, { try settings.integer("a") })
        }
        #expect(failure.exit == .settings && failure.reasons.count == 2)
        #expect(failure.message == failure.reasons.joined(separator: "; "))
    }

    @Test func `a program started by hand for a disabled section gets its defaults, or the list of missing settings`()
        throws
    {
        let manifest = { (isRequired: Bool) in
            Manifest(
                name: "strict", summary: "Objects.", version: "1",
                settings: [
                    SettingDeclaration("host", .string(), help: "H.", required: isRequired),
                    SettingDeclaration("every", .duration(), help: "E.", default: .string("5min")),
                    SettingDeclaration("rows", .integer(), help: "R.", default: .integer(7)),
                ])
        }
        let given = try #require(RawJSON(#"{"rows":9}"#))
        let settings = try PluginSettings(welcome: given, for: manifest(false))
        #expect(try settings.duration("every").microseconds == 300_000_000 && settings.integer("rows") == 9)
        #expect(settings["host"] == nil)
        let failure = try #require(throws: PluginFailure.self) {
            try PluginSettings(welcome: given, for: manifest(true))
        }
        #expect(failure.exit == .settings && failure.message.hasPrefix("setting host: "))
        #expect(failure.message.contains("--settings FILE"))
    }
}
