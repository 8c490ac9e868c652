import Foundation
import HubSettings
import HubWire
import Platform
import Testing

@Suite struct SettingEditorTests {
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

    private static func edited(
        _ text: String, _ table: [String], _ change: (inout SettingEditor) throws -> Void
    ) throws -> String {
        var editor = try SettingEditor(text, of: table)
        try change(&editor)
        return editor.text
    }

    @Test(arguments: ["\n", "\r\n"])
    func `a setting replaces its value, or goes below its commented example or at the end`(
        _ ending: String
    ) throws {
        let file = Self.file.replacing("\n", with: ending)
        func expect(_ key: String, _ value: SettingValue, _ old: String, _ new: String) throws {
            let text = try Self.edited(file, ["person", "anna"]) { try $0.set(key, to: value) }
            #expect(text == file.replacing(old.replacing("\n", with: ending), with: new.replacing("\n", with: ending)))
            #expect(text != file)
        }
        try expect("zone", .string("Asia/Tokyo"), "# of her days\n", "# of her days\nzone = \"Asia/Tokyo\"\n")
        try expect("units", .list([.string("weight=kg")]), "[ \"height=ft\",\n  \"weight=st\" ]", "[\"weight=kg\"]")
        try expect("unit", .string("lb"), "\"weight=st\" ]\n", "\"weight=st\" ]\nunit = \"lb\"\n")
        let hub = try Self.edited(file, ["hub"]) { try $0.set("zone", to: .string("Asia/Tokyo")) }
        #expect(hub == file.replacing("\"/d\"" + ending, with: "\"/d\"\(ending)zone = \"Asia/Tokyo\"\(ending)"))
    }

    @Test func `a commented setting is uncommented on request and keeps its own comment`()
        throws
    {
        let text = try Self.edited(Self.file, ["person", "anna"]) {
            try $0.set("zone", to: .string("Asia/Tokyo"), uncomments: true)
        }
        #expect(
            text
                == Self.file.replacing(
                    "# zone = \"Europe/Berlin\"                 # of her days",
                    with: "zone = \"Asia/Tokyo\"                        # of her days"))
    }

    @Test func `setting an equal value changes nothing, and removing a setting removes its lines`() throws {
        let same = try Self.edited(Self.file, ["person", "anna"]) {
            try $0.set("units", to: .list([.string("height=ft"), .string("weight=st")]))
        }
        #expect(same == Self.file)
        let less = try Self.edited(Self.file, ["person", "anna"]) { try $0.remove("units") }
        #expect(less == Self.file.replacing("units = [ \"height=ft\",\n  \"weight=st\" ]\n", with: ""))
    }

    @Test func `an edit that would lose a comment is refused with the setting to write, without the value`()
        throws
    {
        var editor = try SettingEditor(Self.file, of: ["plugin", "a"])
        let refusal = try #require(throws: SettingEditor.Refusal.self) {
            try editor.set("list", to: .list([.string("y")]))
        }
        #expect(refusal.description.contains("write list there by hand"), "\(refusal)")
        #expect(!refusal.description.contains("\"y\""))
        #expect(throws: SettingEditor.Refusal.self) { try editor.set("short", to: .integer(1)) }
        #expect(throws: SettingEditor.Refusal.self) { try editor.remove("list") }
        #expect(editor.text == Self.file)
        var dotted = try SettingEditor("plugin.a.list = []\n", of: ["plugin", "a"])
        #expect(throws: SettingEditor.Refusal.self) { try dotted.set("other", to: .integer(1)) }
        #expect(throws: SettingEditor.Refusal.self) { try dotted.remove("list") }
        try dotted.set("list", to: .boolean(true))
        #expect(dotted.text == "plugin.a.list = true\n")
        #expect(throws: SettingEditor.Refusal.self) { _ = try SettingEditor("a = \n", of: ["a"]) }
    }

    @Test func `a new setting of an inline table is written within its braces`() throws {
        let text = try Self.edited("plugin = { a = { one = 1 }, b = {} }\n", ["plugin", "a"]) {
            try $0.set("two", to: .boolean(true))
        }
        #expect(text == "plugin = { a = { one = 1, two = true }, b = {} }\n")
    }

    @Test(arguments: ["\n", "\r\n"])
    func `an entry of an inline table is added, changed and removed without other changes`(
        _ ending: String
    ) throws {
        let file = "[person.a]   # a\nunit = \"kg\" # u\n\n# b\n[person.b]\n".replacing("\n", with: ending)
        let one = try Self.edited(file, ["person", "a"]) { try $0.set("x-1", of: "slots", to: .integer(0)) }
        let line = "slots = { x-1 = 0 }" + ending
        #expect(one == file.replacing("# u" + ending, with: "# u" + ending + line))
        let two = try Self.edited(one, ["person", "a"]) {
            try $0.set("y", of: "slots", to: .integer(3))
            try $0.set("x-1", of: "slots", to: .integer(7))
        }
        #expect(two == one.replacing("{ x-1 = 0 }", with: "{ x-1 = 7, y = 3 }"))
        let back = try Self.edited(two, ["person", "a"]) {
            try $0.set("x-1", of: "slots", to: nil)
            #expect($0.text.contains("slots = { y = 3 }"))
            try $0.set("z", of: "slots", to: nil)
            try $0.set("y", of: "slots", to: nil)
        }
        #expect(back == file)
        // A table with its own header is edited, and one in an unsupported form is left unchanged.
        let own = "[person.a.slots]\ny = 1 # here\n"
        #expect(
            try Self.edited(own, ["person", "a"]) { try $0.set("y", of: "slots", to: .integer(2)) }
                == "[person.a.slots]\ny = 2 # here\n")
        #expect(throws: SettingEditor.Refusal.self) {
            _ = try Self.edited("person.a.unit = 1\n", ["person", "a"]) {
                try $0.set("y", of: "slots", to: .integer(2))
            }
        }
    }

    @Test(arguments: ["\n", "\r\n"]) func `a table is inserted behind the last one of its kind, or at the end`(
        _ ending: String
    )
        throws
    {
        let file = Self.file.replacing("\n", with: ending)
        let person = try Self.edited(file, ["person", "ben"]) { try $0.insert("# Ben\n[person.ben]\nunit = \"kg\"\n") }
        let block = "\n# Ben\n[person.ben]\nunit = \"kg\"\n".replacing("\n", with: ending)
        #expect(person == file.replacing("a = 1" + ending, with: "a = 1" + ending + block))
        let rule = try Self.edited(file, ["retention", "heart"]) { try $0.insert("[retention.heart]\ntypes = []\n") }
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

    @Test(arguments: [section, section.replacing("\n", with: "\r\n"), "\u{FEFF}\(section)"])
    func `writing and removing a setting restores the file byte for byte`(_ text: String) throws {
        let back = try Self.edited(text, Self.plugin) { editor in
            try editor.set("poll", to: .string("2min"))
            #expect(editor.text.contains("# poll = \"5min\"\(text.contains("\r\n") ? "\r\n" : "\n")poll = \"2min\""))
            try editor.set("other", to: .integer(5))
            try editor.remove("other")
            try editor.remove("poll")
            try editor.remove("poll")
        }
        #expect(back == text)
    }

    @Test func `a new value replaces the old one, and the comment behind it stays`() throws {
        #expect(
            try Self.edited(Self.section, Self.plugin) { try $0.set("name", to: .string("new")) }
                == Self.section.replacing("'old'", with: "\"new\""))
        #expect(
            try Self.edited(Self.section, Self.plugin) { try $0.set("many", to: .list([.string("z")])) }
                == Self.section.replacing("[\"x\", \"y\"]", with: "[\"z\"]"))
        #expect(
            try Self.edited(Self.section, Self.plugin) { try $0.remove("name") }
                == Self.section.replacing("name = 'old'   # why", with: "# why"))
    }

    @Test(arguments: [
        "\"", "\\", "\"\"\"", "'''", "a\nb", "a\r\nb", "x\"\n[plugin.a.grants]\nowner = [\"*\"]\n", "# no comment",
        "${NAME}", "\u{7F}\u{1}\t", "]", "ü 漢 \u{2028}",
    ])
    func `a text with any characters is written as the value of exactly one setting`(_ text: String) throws {
        for key in ["name", "poll", "new", "long"] {
            var editor = try SettingEditor(Self.section, of: Self.plugin)
            try editor.set(key, to: .string(text))
            let again = try SettingEditor(editor.text, of: Self.plugin)
            #expect(again.value(key) == .string(text))
            #expect(again.isReference(key) == text.hasPrefix("${"))
            #expect(try GrantsEditor(editor.text, of: "a").list("owner") == nil)
        }
    }

    @Test func `a line within a multi-line text is not taken for a setting`() throws {
        let text = try Self.edited(Self.section, Self.plugin) { try $0.set("inner", to: .integer(2)) }
        #expect(text == Self.section.replacing("# not yours\n", with: "# not yours\ninner = 2\n"))
    }

    /// Edits one table in files with tables in random order and all kinds of lines.
    @Test(arguments: 0..<60) func `no change touches a line of another table`(_ seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let lines = [
            "# a comment", "", "one = 1", "# two = 2  # said", "three = [1,\n  2]", "four = '''\n[no]\n'''",
            "five = \"x\" # why", "  six   =   6", "#seven=7", "eight = { a = 1 }",
        ]
        var text = ""
        let ending = Bool.random(using: &random) ? "\r\n" : "\n"
        let names = ["a", "b", "c", "\"d.e\""].shuffled(using: &random)
        for name in names {
            text += "[plugin.\(name)]\n"
            for line in lines.shuffled(using: &random).prefix(Int.random(in: 0...8, using: &random)) {
                text += line + "\n"
            }
        }
        text = text.replacing("\n", with: ending)
        let key = try #require(["one", "two", "three", "five", "six", "seven", "nine"].randomElement(using: &random))
        let value = try #require(
            [SettingValue.integer(9), .string("a \" b"), .list([.boolean(true)])].randomElement(using: &random))
        let isUncommenting = Bool.random(using: &random)
        let after = try Self.edited(text, ["plugin", "b"]) { try $0.set(key, to: value, uncomments: isUncommenting) }
        func parts(_ text: String) throws -> (String, String, String) {
            let header = "[plugin.b]" + ending
            let start = try #require(text.range(of: header))
            let next = text[start.upperBound...].range(of: "[plugin.")?.lowerBound ?? text.endIndex
            return (String(text[..<start.lowerBound]), String(text[start.lowerBound..<next]), String(text[next...]))
        }
        let (old, new) = (try parts(text), try parts(after))
        #expect(old.0 == new.0 && old.2 == new.2)
        #expect(try SettingEditor(after, of: ["plugin", "b"]).value(key) == value)
        #expect(new.1.split(separator: ending).count - old.1.split(separator: ending).count <= 1)
    }
}
