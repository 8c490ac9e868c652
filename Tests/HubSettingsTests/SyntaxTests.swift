import Foundation
import HubSettings
import HubWire
import Platform
import Testing

@Suite struct SyntaxTests {
    @Test func `one syntax mistake hides no other problem`() {
        let text = """
            [hub]
            keep_raw = maybe
            log_level = "inof"
            log_level = "info"
            [plugin.ihealth-hs3]
            address = 00:4D
            channel = [
              1
            link = "tpc"
            [hub]
            zone = "nowhere"
            [plugin.exist]
            factor = 2
            """
        let loaded = load(text)
        #expect(loaded.configuration == nil)
        #expect(loaded.problems.map(\.line) == [2, 3, 4, 5, 6, 7, 9, 10, 13])
        #expect(
            loaded.problems.filter { !$0.message.hasPrefix("not TOML: ") }.map(\.description) == [
                "hub.conf:3: [hub] log_level = \"inof\": expected one of \"trace\", \"debug\", \"info\", \"notice\", \"warning\", \"error\" or \"critical\"; did you mean \"info\"?",
                "hub.conf:5: [plugin.ihealth-hs3]: does not start while a part of it cannot be read",
                "hub.conf:9: [plugin.ihealth-hs3] link = \"tpc\": expected one of \"rfcomm\", \"tcp\" or \"serial\"; did you mean \"tcp\"?",
                "hub.conf:13: [plugin.exist] factor = 2: expected a number from 0.0 to 1.0",
            ])
    }

    @Test func `the errors for a decimal comma, a yes and a misspelled true say what to write`() {
        let lines = load("[person.me]\nexpected_weight = 64,5\n[plugin.exist]\nenabled = yes\n").lines.joined(
            separator: "\n")
        #expect(
            lines.contains("hub.conf:2: not TOML: nothing follows a comma here: a number has a decimal point, as 64.5"))
        #expect(lines.contains("hub.conf:4: not TOML: expected true or false, in small letters and without quotes"))
        #expect(
            load("[plugin.exist]\nenabled = ture\n").lines.contains(
                "hub.conf:2: not TOML: expected a value; did you mean true?"))
    }

    @Test func `a repeated key and a repeated table are reported with their lines`() {
        let lines = load("[hub]\nkeep_raw = true\nkeep_raw = true\n[plugin.exist]\n[plugin.exist]\n").lines
        #expect(lines.count == 3)
        #expect(lines[0].hasPrefix("hub.conf:3: not TOML:") && lines[0].contains("'keep_raw'"))
        #expect(lines[1] == "hub.conf:4: [plugin.exist]: does not start while a part of it cannot be read")
        #expect(lines[2].hasPrefix("hub.conf:5: not TOML:") && lines[2].contains("'plugin.exist'"))
    }

    @Test func `a person whose header cannot be read is not reported as unknown`() {
        #expect(
            load("[person.anna\nheight = 3\n[plugin.exist]\npersons = ['anna']").lines
                == ["hub.conf:1: not TOML: expected ] after the table's name"])
    }

    @Test func `a NUL is reported and does not cut a text`() {
        #expect(
            load("[hub]\ndata = \"/a\\u0000b\"").lines == [
                "hub.conf:2: [hub] data = \"/a\\u0000b\": a text cannot contain the character U+0000"
            ])
        #expect(
            load("[hub]\n\0\nkeep_raw = true").lines == [
                "hub.conf:2: not TOML: the control character U+0000 cannot stand here"
            ])
    }

    @Test func `a dotted key of thousands of steps is a problem on its line, and the process survives`() {
        let deep = Array(repeating: "a", count: 20_000).joined(separator: ".")
        let fault = "not TOML: more than 64 values inside each other"
        #expect(load("[plugin.\(deep)]\n[plugin.exist]").lines == ["hub.conf:1: \(fault)"])
        #expect(load("[plugin.exist]\nfactor = 2\n\n[hub]\n\(deep) = 1").lines.last == "hub.conf:5: \(fault)")
        let half = Array(repeating: "a", count: 40).joined(separator: ".")
        #expect(load("\(half) = { \(half) = 1 }").lines == ["hub.conf:1: \(fault)"])
        #expect(load("[\(half)]\n\(half) = 1").lines.contains("hub.conf:2: \(fault)"))
    }

    @Test(arguments: ["[=x]", "[é]", "[[ .a]]", "[#]"])
    func `a header without a name is a problem, and the process survives`(header: String) {
        #expect(
            load("[hub]\nzone = 5\n\(header)\na = 1\n[plugin.exist]\nfactor = 2").lines == [
                "hub.conf:2: [hub] zone = 5: expected an IANA time zone, such as \"Europe/Berlin\"",
                "hub.conf:3: not TOML: expected a name: letters, digits, _ and -, or a text in quotes",
                "hub.conf:6: [plugin.exist] factor = 2: expected a number from 0.0 to 1.0",
            ])
    }

    @Test func `a byte order mark is ignored`() {
        #expect(load("\u{FEFF}[hub]\nkeep_raw = 1").lines == ["hub.conf:2: [hub] keep_raw = 1: expected true or false"])
        #expect(load("\u{FEFF}[=]").problems.map(\.line) == [1])
    }

    @Test func `the number of reported syntax problems is limited`() {
        let text = String(repeating: "= 1\n", count: 1_000)
        #expect(load(text).problems.count == 20)
        #expect(
            load(String(repeating: "#", count: 1_048_577)).lines == ["hub.conf:1: a settings file has at most 1 MiB"])
    }

    @Test(arguments: UInt64(1)...4)
    func `a file with changed bytes is read, or its problems name lines of the file`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let good = Array(goodFile.utf8)
        let marks = Array("[]{}\"'=.,#\n\\\0é€ \u{7F}${}0x1e9:".utf8)
        for round in 0..<mutationRounds {
            var bytes = good
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                let byte = marks.randomElement(using: &random) ?? 0
                switch Int.random(in: 0..<5, using: &random) {
                case 0: bytes[place] = byte
                case 1: bytes.insert(byte, at: place)
                case 2: bytes.remove(at: place)
                case 3: bytes[place] = UInt8.random(in: 0...255, using: &random)
                default: bytes.removeSubrange(place..<min(bytes.count, place + Int.random(in: 1...40, using: &random)))
                }
            }
            let text = String(decoding: bytes, as: UTF8.self)
            let loaded = load(text)
            let lineCount = text.utf8.count { $0 == 0x0A } + 1
            let note: Comment = "seed \(seed), round \(round):\n\(text)"
            #expect(loaded.configuration != nil || loaded.problems.hasErrors, note)
            #expect(loaded.problems.allSatisfy { (1...lineCount).contains($0.line) && $0.column >= 1 }, note)
            #expect(loaded.refusedInstances.isEmpty || loaded.problems.hasErrors, note)
        }
    }
}
