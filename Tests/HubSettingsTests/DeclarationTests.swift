import Foundation
import HubSettings
import HubWire
import Platform
import Samples
import Testing

@Suite struct DeclarationTests {
    private static let everyType: [SettingDeclaration] = [
        .init("text", .string(), help: "A text.", required: true),
        .init(
            "code", .string(TextRule(pattern: "[a-z]{3}", expected: "three letters", example: "abc")), help: "A code."),
        .init("count", .integer(Bounds(10, 20)), help: "A count.", default: .integer(12)),
        .init("share", .number(Bounds(nil, 0.5)), help: "A share.", default: .number(0.25)),
        .init("loud", .boolean, help: "Whether sound is on.", default: .boolean(false)),
        .init("wait", .duration(Bounds(SettingDuration("1min"))), help: "A pause."),
        .init("room", .size(Bounds(nil, ByteSize("4KiB"))), help: "Room.", default: .string("1KiB")),
        .init("mode", .choice(["a", "b"]), help: "A mode."),
        .init("log", .path, help: "A path."),
        .init("base", .url(schemes: ["ws"]), help: "A URL."),
        .init("zone", .timeZone, help: "A zone.", default: .string("UTC")),
        .init("born", .date, help: "A date."),
        .init("at", .timeOfDay, help: "A time."),
        .init("many", .list(of: .integer(Bounds(3))), help: "Some numbers."),
        .init("token", .string(), help: "A token.", required: true, secret: true),
    ]

    @Test func `a rendered block with every line uncommented has no problems`() {
        for (instance, declarations) in [
            ("every-type", Self.everyType), ("exist", existSettings), ("9 b", scaleSettings),
        ] {
            let block = SampleConfiguration.render(instance: instance, declarations: declarations)
            let switchedOn = block.split(separator: "\n").dropFirst()
                .map { $0.hasPrefix("# ") ? $0.dropFirst(2) : $0 }.joined(separator: "\n")
            var environment = SettingsEnvironment.sample
            for declaration in declarations where declaration.isSecret {
                environment.variables[SampleConfiguration.variable(instance, declaration.name)] = "it"
            }
            let file = SettingsFile.load(
                text: switchedOn, file: "sample.conf", environment: environment, declarations: declarations)
            #expect(file.problems.map(\.description) == [], "\(block)")
            #expect(Set(file.settings?.keys.map { $0 } ?? []) == Set(declarations.map(\.name)))
        }
    }

    @Test func `a rendered block reads as documentation`() {
        #expect(
            SampleConfiguration.render(
                instance: "exist",
                declarations: [existSettings[1], existSettings[2], scaleSettings[0], scaleSettings[1]]) == """
                    [plugin.exist]
                    ## The application's secret.
                    ## Takes text. Not set by default.
                    # client_secret = "${EXIST_CLIENT_SECRET}"
                    ## Base URL of Exist.
                    ## Takes a URL that begins with https:// or http://.
                    # base_url = "https://exist.io/api/2/"
                    ## Bluetooth address of the scale.
                    ## Takes six pairs of hex digits, such as "00:4D:32:1A:2B:3C". Needed.
                    # address = "00:4D:32:1A:2B:3C"
                    ## Pause before the next attempt.
                    ## Takes a duration from 1s to 1h, such as "30s", "5min" or "2h".
                    # retry_after = "30s"

                    """)
    }

    @Test func `declarations round-trip through their documented JSON form`() throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let json = try encoder.encode(Self.everyType + scaleSettings)
        #expect(try JSONDecoder().decode([SettingDeclaration].self, from: json) == Self.everyType + scaleSettings)
        #expect(
            String(
                decoding: try encoder.encode([scaleSettings[0], scaleSettings[1], Self.everyType[13]]), as: UTF8.self)
                == #"[{"example":"00:4D:32:1A:2B:3C","expected":"six pairs of hex digits","help":"Bluetooth address of the scale.","name":"address","pattern":"([0-9A-F]{2}:){5}[0-9A-F]{2}","required":true,"type":"string"},{"default":"30s","help":"Pause before the next attempt.","maximum":"1h","minimum":"1s","name":"retry_after","type":"duration"},{"help":"Some numbers.","items":{"minimum":3,"type":"integer"},"name":"many","type":"list"}]"#
        )
    }

    @Test func `faulty declarations are reported to their author`() {
        #expect(SettingDeclaration.faults(in: Self.everyType + scaleSettings) == [])
        let bad: [(SettingDeclaration, String)] = [
            (
                .init("Bad", .boolean, help: "x"),
                "a name is at most 64 small letters, digits and _, beginning with a letter"
            ),
            (.init("enabled", .boolean, help: "x"), "the hub reads this key itself"),
            (.init("a", .boolean, help: ""), "help is one line of text"),
            (.init("a", .integer(), help: "x", secret: true), "only a string, a url or a path can be secret"),
            (
                .init("a", .boolean, help: "x", default: .boolean(true), required: true),
                "a setting with a default cannot be required"
            ),
            (.init("a", .string(TextRule(pattern: "(")), help: "x"), "\"(\" is not a regular expression"),
            (.init("a", .string(TextRule(pattern: "b")), help: "x"), "a pattern needs an example"),
            (
                .init("a", .string(TextRule(pattern: "b", example: "c")), help: "x"),
                "the example does not match the pattern"
            ),
            (.init("a", .choice([]), help: "x"), "choices must be at least one text, all different"),
            (.init("a", .list(of: .list(of: .boolean)), help: "x"), "a list cannot hold lists"),
            (
                .init("a", .integer(Bounds(1, 5)), help: "x", default: .integer(6)),
                "the default does not obey its own rule: expected a whole number from 1 to 5"
            ),
        ]
        for (declaration, fault) in bad {
            #expect(SettingDeclaration.faults(in: [declaration]) == ["setting \"\(declaration.name)\": \(fault)"])
        }
        #expect(
            SettingDeclaration.faults(in: [scaleSettings[2], scaleSettings[2]]) == [
                "setting \"channel\": it is declared twice"
            ])
    }

    @Test func `the sections of hub conf are declared without faults`() {
        for declarations in [HubConfiguration.hubDeclarations, HouseholdSettings.ofPersons] {
            let own = declarations.filter { !SettingDeclaration.reservedNames.contains($0.name) }
            #expect(SettingDeclaration.faults(in: own) == [])
        }
    }

    @Test func `durations and sizes are exact and round-trip through their text`() {
        let spans: [(String, Int64)] = [
            ("0s", 0), ("1us", 1), ("250ms", 250_000), ("30s", 30_000_000), ("5min", 300_000_000),
            ("2h", 7_200_000_000),
            ("1h30min", 5_400_000_000), ("1d", 86_400_000_000), ("9223372036854775807us", .max),
        ]
        for (text, microseconds) in spans { #expect(SettingDuration(text)?.microseconds == microseconds, "\(text)") }
        for text in [
            "", "5", "s", "1.5h", "-1s", "1min1h", "1s1s", "1 s", "1m", "1sx", "9223372036854775808us", "106751992d",
            "٣s",
        ] {
            #expect(SettingDuration(text) == nil, "\(text)")
        }
        #expect(ByteSize("256MiB")?.bytes == 268_435_456)
        #expect(ByteSize("500kB")?.bytes == 500_000)
        for text in ["", "256", "256M", "1.5MiB", "-1B", "8388608TiB", "1MiBx"] {
            #expect(ByteSize(text) == nil, "\(text)")
        }
        var random = SeededGenerator(seed: 7)
        for _ in 0..<2_000 {
            let amount = Int64.random(in: 0...(.max), using: &random) >> Int64.random(in: 0..<63, using: &random)
            #expect(
                SettingDuration(microseconds: amount).flatMap { SettingDuration($0.description) }?.microseconds
                    == amount)
            #expect(ByteSize(bytes: amount).flatMap { ByteSize($0.description) }?.bytes == amount)
        }
    }

    @Test func `a simulated clock has a rate and a start, which may be any spelling of an instant`() {
        #expect(ClockSetting("system") == .system)
        #expect(
            ClockSetting("1970-01-01T01:00:00.000001+01:00@0.5")
                == .simulated(start: Timestamp(microseconds: 1), rate: 0.5))
        #expect(
            ClockSetting("1969-12-31T23:59:59Z@1") == .simulated(start: Timestamp(microseconds: -1_000_000), rate: 1))
        #expect(
            ClockSetting("2024-02-29T00:00:00-00:30@60")
                == .simulated(start: Timestamp(microseconds: 1_709_166_600_000_000), rate: 60))
        for text in [
            "", "System", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00@1", "2026-01-01T00:00:00Z@0",
            "2026-01-01T00:00:00Z@-1",
            "2026-01-01T00:00:00Z@nan", "2026-01-01T00:00:00Z@1e3", "2026-02-29T00:00:00Z@1", "2026-01-01T24:00:00Z@1",
            "2026-01-01T00:00:00.1234567Z@1", "2026-01-01T00:00:00+01@1", "2026-01-01 00:00:00Z@1",
            "2026-01-01T00:00:00Z@@1",
        ] { #expect(ClockSetting(text) == nil, "\(text)") }
    }
}
