import Foundation
import HealthText
import HubClient
import HubCore
import HubWire
import Logging
import Samples
import Testing

@testable import HubCommand

/// Text from outside cannot control the terminal.
@Suite struct PlainTextTests {
    /// A text with an example of each kind of control character.
    static let hostile =
        "a\u{1B}[2J\u{1B}]0;t\u{7}\u{9B}31m\u{0}\u{7F}\u{85}\r\u{202E}\u{2066}\u{200F}\u{61C}\u{2028}\u{2029}\tb\nforged"

    static func isHarmless(_ text: some StringProtocol) -> Bool {
        !text.unicodeScalars.contains(where: PlainText.steers)
    }

    @Test func `control characters are escaped, and escaping twice has the same result as once`() {
        #expect(PlainText.line("weight 80.3 kg, Müller’s 体重 👨‍👩‍👧") == "weight 80.3 kg, Müller’s 体重 👨‍👩‍👧")
        #expect(PlainText.escaped("a\u{1B}[2J\u{9B}1m\u{202E}\n\t\r\u{7F}") == #"a\u001b[2J\u009b1m\u202e\n\t\r\u007f"#)
        let shown = PlainText.line(Self.hostile)
        #expect(Self.isHarmless(shown) && PlainText.line(shown) == shown, "\(shown)")
        let all = (0...0x2FFF).compactMap(Unicode.Scalar.init).filter(PlainText.steers)
        #expect(all.count == 32 + 33 + 1 + 2 + 2 + 5 + 4)
        for scalar in all { #expect(Self.isHarmless(PlainText.line("a\(Character(scalar))b"))) }
    }

    @Test func `only colours of this program reach the terminal`() {
        let painted = StatusColour.bad.paint("no", true)
        #expect(PlainText.line(painted) == "\u{1B}[31mno\u{1B}[0m")
        #expect(PlainText.line("\u{1B}[31mno\u{1B}[0m") == #"\u001b[31mno\u001b[0m"#)
        #expect(PlainText.line(StatusColour.bad.paint("\u{1B}[32mok", true)) == "\u{1B}[31m\\u001b[32mok\u{1B}[0m")
    }

    @Test func `escaped JSON decodes to the same value`() throws {
        let text = try JSON.line(["a": Self.hostile])
        let shown = PlainText.json(text)
        #expect(Self.isHarmless(shown))
        #expect(try JSON.decode([String: String].self, from: shown.utf8) == ["a": Self.hostile])
        #expect(PlainText.json("{\n\t\"a\": 1\r\n}") == "{\n\t\"a\": 1\r\n}", "white space outside of strings is kept")
    }

    /// A record with hostile text in every member that its source controls.
    private func record() throws -> StoredRecord {
        let bad = try JSON.line(Self.hostile)
        let json =
            #"{"kind":"other","type":"stateOfMind","value":\#(bad),"start":"2026-03-15T07:30:05Z","end":"2026-03-15T07:30:05Z","person":null,"unassigned":\#(bad),"source":{"plugin":"p"},"key":"k","provenance":"measured","number":7,"seq":9}"#
        var reader = RecordReader()
        return try reader.record(Array(json.utf8)[...])
    }

    @Test func `every text from outside is printed as one line without control characters`() throws {
        let bad = Self.hostile
        let quoted = try JSON.line(bad)
        let record = try record()
        let units = ReadingUnits([])
        var table = RecordText.table()
        table.add(RecordText(record, units).cells)
        let samples = table.takeLines()
        let device = HubStatus.DeviceStatus(
            instance: "evil", device: bad, connected: true, batteryLow: true, lastError: bad, lastHeard: bad)
        var plugin = PluginEntry(
            name: "evil", kind: bad, enabled: true, settings: ["a": .string(bad)],
            commands: [CommandDeclaration("shout", help: bad)])
        (plugin.summary, plugin.version, plugin.fault) = (bad, bad, bad)
        plugin.declarations = [SettingDeclaration("a", .string(), help: bad)]
        let result = try #require(RawJSON(#"{\#(quoted):\#(quoted),"b":[{"c":\#(quoted)}],"d":{"e":[\#(quoted)]}}"#))
        let log = try #require(
            LogLine(reading: "2026-03-15T06:30:05.000000Z info out \(bad.split(separator: "\n")[0])"))
        let printed: [(String, [String])] = [
            ("samples, log, retract", samples), ("inbox", PendingWeighing(record).summary(units).values),
            ("device, status", DeviceText.lines([device], colours: true)), ("plugins", plugin.lines(tokens: nil)),
            ("do, refresh, backfill", ResultText().lines(result)), ("do", plugin.commandLines),
            ("tap", [ResultText().singleLine(result)]), ("logs", [LogsCommand.text(log, colours: true)]),
            ("doctor", DoctorFinding(.error, bad, bad, repair: bad).lines(colours: true)),
            (
                "run",
                [
                    TerminalLogHandler.line(
                        time: Date(timeIntervalSince1970: 0), level: .info, label: "hub", message: bad,
                        metadata: ["a": "\(bad)"])
                ]
            ),
        ]
        for (command, lines) in printed {
            #expect(!lines.isEmpty, "\(command)")
            for line in lines {
                // As Output and Terminal write it, without the colours of this program.
                let shown = PlainText.line(line).replacing(/\u{1B}\[(0|2|31|32|33)m/, with: "")
                #expect(Self.isHarmless(shown), "\(command): \(shown)")
            }
        }
        #expect(
            samples.count == 2 && samples[1].contains(#"a\u001b[2J"#),
            "a line break in a value adds no line: \(samples)")
    }

    @Test func `a text of several lines keeps its lines, each without control characters`() {
        #expect(PlainText.lines("I own:\n  \u{1B}[2Ja scale\n") == "I own:\n  \\u001b[2Ja scale\n")
    }
}
