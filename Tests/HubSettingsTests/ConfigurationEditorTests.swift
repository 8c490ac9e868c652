import Foundation
import HubProcess
import HubSettings
import HubWire
import Platform
import Testing

@Suite struct ConfigurationEditorTests {
    private static let file = """
        # mine
        [hub]
        data = "/d"

        # Anna
        [person.anna]   # here
        # zone = "Europe/Berlin"                 # of her days
        text = \"\"\"
        [person.no]
        # unit = "kg"
        \"\"\"
        units = [ "height=ft",
          "weight=st" ]
        # the end of her

        [person.anna.slots]
        a = 1

        [plugin.a]
        list = [ # why
          "x" ]
        short = { one = 1 } # two
        """

    private static func edited(_ text: String, _ change: (inout ConfigurationEditor) throws -> Void) throws -> String {
        var editor = try ConfigurationEditor(text)
        try change(&editor)
        return editor.text
    }

    @Test(arguments: ["\n", "\r\n"])
    func `a setting replaces its value, or goes below its commented example or at the end`(_ ending: String) throws {
        let file = Self.file.replacing("\n", with: ending)
        func expect(_ key: String, _ value: SettingValue, _ old: String, _ new: String) throws {
            let text = try Self.edited(file) { try $0.set(key, in: Self.anna, to: value) }
            #expect(text == file.replacing(old.replacing("\n", with: ending), with: new.replacing("\n", with: ending)))
            #expect(text != file)
        }
        try expect("zone", .string("Asia/Tokyo"), "# of her days\n", "# of her days\nzone = \"Asia/Tokyo\"\n")
        try expect("units", .list([.string("weight=kg")]), "[ \"height=ft\",\n  \"weight=st\" ]", "[\"weight=kg\"]")
        try expect("unit", .string("lb"), "\"weight=st\" ]\n", "\"weight=st\" ]\nunit = \"lb\"\n")
        let hub = try Self.edited(file) { try $0.set("zone", in: ["hub"], to: .string("Asia/Tokyo")) }
        #expect(hub == file.replacing("\"/d\"" + ending, with: "\"/d\"\(ending)zone = \"Asia/Tokyo\"\(ending)"))
    }

    @Test func `a commented setting is uncommented on request and keeps its own comment`() throws {
        let text = try Self.edited(Self.file) {
            try $0.set("zone", in: Self.anna, to: .string("Asia/Tokyo"), uncomments: true)
        }
        #expect(
            text
                == Self.file.replacing(
                    "# zone = \"Europe/Berlin\"                 # of her days",
                    with: "zone = \"Asia/Tokyo\"                        # of her days"))
    }

    @Test func `setting an equal value changes nothing, and removing a setting removes its lines`() throws {
        let same = try Self.edited(Self.file) {
            try $0.set("units", in: Self.anna, to: .list([.string("height=ft"), .string("weight=st")]))
        }
        #expect(same == Self.file)
        let less = try Self.edited(Self.file) { try $0.set("units", in: Self.anna, to: nil) }
        #expect(less == Self.file.replacing("units = [ \"height=ft\",\n  \"weight=st\" ]\n", with: ""))
    }

    @Test func `an edit that would lose a comment is refused with the setting to write, without the value`() throws {
        var editor = try ConfigurationEditor(Self.file)
        let refusal = try #require(throws: ConfigurationEditor.EditError.self) {
            try editor.set("list", in: Self.plugin, to: .list([.string("y")]))
        }
        #expect(refusal.text(in: "h").hasPrefix("h:20: [plugin.a] list: "), "\(refusal)")
        #expect(refusal.description.contains("write list there by hand"), "\(refusal)")
        #expect(!refusal.description.contains("\"y\""))
        let shown = try #require(throws: ConfigurationEditor.EditError.self) {
            try editor.set("list", in: Self.plugin, to: .list([.string("y")]), isSecret: false)
        }
        #expect(shown.description.contains("write list = [\"y\"] there by hand"), "\(shown)")
        #expect(throws: ConfigurationEditor.EditError.self) {
            try editor.set("short", in: Self.plugin, to: .integer(1))
        }
        #expect(throws: ConfigurationEditor.EditError.self) { try editor.set("list", in: Self.plugin, to: nil) }
        #expect(editor.text == Self.file)
        var dotted = try ConfigurationEditor("plugin.a.list = []\n")
        #expect(throws: ConfigurationEditor.EditError.self) {
            try dotted.set("other", in: Self.plugin, to: .integer(1))
        }
        #expect(throws: ConfigurationEditor.EditError.self) { try dotted.set("list", in: Self.plugin, to: nil) }
        try dotted.set("list", in: Self.plugin, to: .boolean(true))
        #expect(dotted.text == "plugin.a.list = true\n")
        #expect(throws: ConfigurationEditor.EditError.self) { _ = try ConfigurationEditor("a = \n") }
        let missing = #expect(throws: ConfigurationEditor.EditError.self) {
            try editor.set("x", in: ["retention", "no"], to: .integer(1))
        }
        #expect(missing?.description == "there is no [retention.no]")
    }

    @Test func `a new setting of an inline table is written within its braces`() throws {
        let text = try Self.edited("plugin = { a = { one = 1 }, b = {} }\n") {
            try $0.set("two", in: Self.plugin, to: .boolean(true))
        }
        #expect(text == "plugin = { a = { one = 1, two = true }, b = {} }\n")
    }

    @Test(arguments: ["\n", "\r\n"])
    func `an entry of an inline table is added, changed and removed without other changes`(_ ending: String) throws {
        let file = "[person.a]   # a\nunit = \"kg\" # u\n\n# b\n[person.b]\n".replacing("\n", with: ending)
        let slots = ["person", "a", "slots"]
        let one = try Self.edited(file) { try $0.set("x-1", in: slots, to: .integer(0)) }
        let line = "slots = { x-1 = 0 }" + ending
        #expect(one == file.replacing("# u" + ending, with: "# u" + ending + line))
        let two = try Self.edited(one) {
            try $0.set("y", in: slots, to: .integer(3))
            try $0.set("x-1", in: slots, to: .integer(7))
        }
        #expect(two == one.replacing("{ x-1 = 0 }", with: "{ x-1 = 7, y = 3 }"))
        let back = try Self.edited(two) {
            try $0.set("x-1", in: slots, to: nil)
            #expect($0.text.contains("slots = { y = 3 }"))
            try $0.set("z", in: slots, to: nil)
            try $0.set("y", in: slots, to: nil)
        }
        #expect(back == file)
        // A table with its own header is edited, and one in an unsupported form is left unchanged.
        let own = "[person.a.slots]\ny = 1 # here\n"
        #expect(
            try Self.edited(own) { try $0.set("y", in: slots, to: .integer(2)) } == "[person.a.slots]\ny = 2 # here\n")
        #expect(throws: ConfigurationEditor.EditError.self) {
            _ = try Self.edited("person.a.unit = 1\n") { try $0.set("y", in: slots, to: .integer(2)) }
        }
    }

    @Test(arguments: ["\n", "\r\n"]) func `a table is inserted behind the last one of its kind, or at the end`(
        _ ending: String
    ) throws {
        let file = Self.file.replacing("\n", with: ending)
        let person = try Self.edited(file) { try $0.add(["person", "ben"], "# Ben\n[person.ben]\nunit = \"kg\"\n") }
        let block = "\n# Ben\n[person.ben]\nunit = \"kg\"\n".replacing("\n", with: ending)
        #expect(person == file.replacing("a = 1" + ending, with: "a = 1" + ending + block))
        let rule = try Self.edited(file) { try $0.add(["retention", "heart"], "[retention.heart]\ntypes = []\n") }
        #expect(rule == file + ending + ending + "[retention.heart]\ntypes = []\n".replacing("\n", with: ending))
    }

    private static let section = """
        # mine
        [hub]
        data = "/d"

        [plugin.a]   # here
        ## How often.
        # poll = "5min"
        name = 'old'   # why it is so
        many = ["x", "y"]
        noted = [
          "x", # the first
        ]
        long = \"\"\"
        # inner = 1
        \"\"\"
        day = 2024-01-02
        grants = { read = ["weight"] } # not yours

        # of b
        [plugin.b]
        poll = "1h"

        """

    private static let plugin = ["plugin", "a"]
    private static let anna = ["person", "anna"]

    @Test(arguments: [section, section.replacing("\n", with: "\r\n"), "\u{FEFF}\(section)"])
    func `writing and removing a setting restores the file byte for byte`(_ text: String) throws {
        let back = try Self.edited(text) { editor in
            try editor.set("poll", in: Self.plugin, to: .string("2min"))
            #expect(editor.text.contains("# poll = \"5min\"\(text.contains("\r\n") ? "\r\n" : "\n")poll = \"2min\""))
            try editor.set("other", in: Self.plugin, to: .integer(5))
            try editor.set("other", in: Self.plugin, to: nil)
            try editor.set("poll", in: Self.plugin, to: nil)
            try editor.set("poll", in: Self.plugin, to: nil)
        }
        #expect(back == text)
    }

    @Test func `a new value replaces the old one, and the comment behind it stays`() throws {
        #expect(
            try Self.edited(Self.section) { try $0.set("name", in: Self.plugin, to: .string("new")) }
                == Self.section.replacing("'old'", with: "\"new\""))
        #expect(
            try Self.edited(Self.section) { try $0.set("many", in: Self.plugin, to: .list([.string("z")])) }
                == Self.section.replacing("[\"x\", \"y\"]", with: "[\"z\"]"))
        #expect(
            try Self.edited(Self.section) { try $0.set("name", in: Self.plugin, to: nil) }
                == Self.section.replacing("name = 'old'   # why", with: "# why"))
    }

    @Test(arguments: [
        "\"", "\\", "\"\"\"", "'''", "a\nb", "a\r\nb", "x\"\n[plugin.a.grants]\nowner = [\"*\"]\n", "# no comment",
        "${NAME}", "\u{7F}\u{1}\t", "]", "ü 漢 \u{2028}",
    ])
    func `a text with any characters is written as the value of exactly one setting`(_ text: String) throws {
        for key in ["name", "poll", "new", "long"] {
            var editor = try ConfigurationEditor(Self.section)
            try editor.set(key, in: Self.plugin, to: .string(text))
            let again = try ConfigurationEditor(editor.text)
            #expect(again.value(key, in: Self.plugin) == .string(text))
            #expect(again.value(key, in: Self.plugin)?.hasReference == text.hasPrefix("${"))
            #expect(again.grants("owner", of: "a") == nil)
        }
    }

    @Test func `a line within a multi-line text is not taken for a setting`() throws {
        let text = try Self.edited(Self.section) { try $0.set("inner", in: Self.plugin, to: .integer(2)) }
        #expect(text == Self.section.replacing("# not yours\n", with: "# not yours\ninner = 2\n"))
    }

    /// A file with the tables `a`, `b`, `c` and `"d.e"` in random order, each with some of all kinds of lines.
    private static func file(_ random: inout SeededGenerator) -> String {
        let lines = [
            "# a comment", "", "one = 1", "# two = 2  # said", "three = [1,\n  2]", "four = '''\n[no]\n'''",
            "five = \"x\" # why", "  six   =   6", "#seven=7", "eight = { a = 1 }", "eleven = {b=[2, 3] ,c='d'}",
        ]
        var text = Bool.random(using: &random) ? "# above all\n\n" : ""
        for name in ["a", "b", "c", "\"d.e\""].shuffled(using: &random) {
            text += "[plugin.\(name)]\n"
            for line in lines.shuffled(using: &random).prefix(Int.random(in: 0...9, using: &random)) {
                text += line + "\n"
            }
        }
        return text.replacing("\n", with: Bool.random(using: &random) ? "\r\n" : "\n")
    }

    private static let values = [SettingValue.integer(9), .string("a \" b"), .list([.boolean(true)])]

    @Test(arguments: Thoroughness.seeds(60)) func `no change touches a line of another table`(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let text = Self.file(&random)
        let table = ["plugin", "b"]
        let key = try #require(["one", "two", "three", "five", "six", "seven", "nine"].randomElement(using: &random))
        let value = try #require(Self.values.randomElement(using: &random))
        let isUncommenting = Bool.random(using: &random)
        let after = try Self.edited(text) { try $0.set(key, in: table, to: value, uncomments: isUncommenting) }
        let ending = text.contains("\r\n") ? "\r\n" : "\n"
        func parts(_ text: String) throws -> (String, String, String) {
            let start = try #require(text.range(of: "[plugin.b]" + ending))
            let next = text[start.upperBound...].range(of: "[plugin.")?.lowerBound ?? text.endIndex
            return (String(text[..<start.lowerBound]), String(text[start.lowerBound..<next]), String(text[next...]))
        }
        let (old, new) = (try parts(text), try parts(after))
        #expect(old.0 == new.0 && old.2 == new.2)
        #expect(try ConfigurationEditor(after).value(key, in: table) == value)
        #expect(new.1.split(separator: ending).count - old.1.split(separator: ending).count <= 1)
    }

    @Test(arguments: Thoroughness.seeds(200))
    func `a change that is undone leaves the file as it was, byte for byte`(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let text = Self.file(&random)
        let table = ["plugin", try #require(["a", "b", "c", "d.e"].randomElement(using: &random))]
        let value = try #require(Self.values.randomElement(using: &random))
        var editor = try ConfigurationEditor(text)
        switch Int.random(in: 0..<5, using: &random) {
        case 0:  // A new setting, below a comment about it or after the others.
            let key = try #require(["two", "seven", "nine"].randomElement(using: &random))
            try editor.set(key, in: table, to: value)
            try editor.set(key, in: table, to: nil)
        case 1:  // A new table in braces, whose last entry takes it away.
            for key in ["x", "y"] { try editor.set(key, in: table + ["slots"], to: value) }
            #expect(editor.settings(of: table + ["slots"]).map(\.key) == ["x", "y"])
            for key in ["x", "y"] { try editor.set(key, in: table + ["slots"], to: nil) }
        case 2:  // A new entry of braces.
            let braces = table + [try #require(["eight", "eleven"].randomElement(using: &random))]
            guard editor.has(braces) else { return }
            try editor.set("new", in: braces, to: value)
            try editor.set("new", in: braces, to: nil)
        case 3:  // A new section at the end.
            try editor.add(["plugin", "new"], "# its title\n[plugin.new]\nten = 10\n", atEnd: true)
            #expect(editor.value("ten", in: ["plugin", "new"]) == .integer(10))
            _ = try editor.remove(["plugin", "new"])
        default:  // Another value, and the former one again.
            guard editor.has("one", in: table) else { return }
            try editor.set("one", in: table, to: value)
            try editor.set("one", in: table, to: .integer(1))
        }
        #expect(editor.text == text)
    }

    @Test func `a file that the hub could not read is not made`() throws {
        var editor = try ConfigurationEditor(Self.file)
        let long = SettingValue.string(String(repeating: "x", count: ConfigurationEditor.maximumBytes))
        let refusal = #expect(throws: ConfigurationEditor.EditError.self) {
            try editor.set("zone", in: Self.anna, to: long)
        }
        #expect(refusal?.description.contains("the most that the hub reads") == true)
        #expect(editor.text == Self.file)
    }
}
