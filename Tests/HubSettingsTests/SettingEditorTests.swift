import Foundation
import HubSettings
import Seeds
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
    func `a setting is written in place of its value, below its comment, or at the end`(
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

    @Test func `a comment that shows a setting becomes the setting where that is wanted, and keeps what it says`()
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

    @Test func `what is there already changes nothing, and what is taken out takes its line along`() throws {
        let same = try Self.edited(Self.file, ["person", "anna"]) {
            try $0.set("units", to: .list([.string("height=ft"), .string("weight=st")]))
        }
        #expect(same == Self.file)
        let less = try Self.edited(Self.file, ["person", "anna"]) { try $0.remove("units") }
        #expect(less == Self.file.replacing("units = [ \"height=ft\",\n  \"weight=st\" ]\n", with: ""))
    }

    @Test func `what cannot be changed without losing a comment is refused with the line to write`() throws {
        var editor = try SettingEditor(Self.file, of: ["plugin", "a"])
        let refusal = try #require(throws: SettingEditor.Refusal.self) {
            try editor.set("list", to: .list([.string("y")]))
        }
        #expect(refusal.description.contains("write list = [\"y\"] there by hand"), "\(refusal)")
        #expect(throws: SettingEditor.Refusal.self) { try editor.set("short", to: .integer(1)) }
        #expect(editor.text == Self.file)
        var dotted = try SettingEditor("plugin.a.list = []\n", of: ["plugin", "a"])
        #expect(throws: SettingEditor.Refusal.self) { try dotted.set("other", to: .integer(1)) }
        #expect(throws: SettingEditor.Refusal.self) { _ = try SettingEditor("a = \n", of: ["a"]) }
    }

    @Test func `braces get a further setting within them`() throws {
        let text = try Self.edited("plugin = { a = { one = 1 }, b = {} }\n", ["plugin", "a"]) {
            try $0.set("two", to: .boolean(true))
        }
        #expect(text == "plugin = { a = { one = 1, two = true }, b = {} }\n")
    }

    @Test(arguments: ["\n", "\r\n"]) func `a table goes behind the last of its kind, or to the end`(_ ending: String)
        throws
    {
        let file = Self.file.replacing("\n", with: ending)
        let person = try Self.edited(file, ["person", "ben"]) { try $0.insert("# Ben\n[person.ben]\nunit = \"kg\"\n") }
        let block = "\n# Ben\n[person.ben]\nunit = \"kg\"\n".replacing("\n", with: ending)
        #expect(person == file.replacing("a = 1" + ending, with: "a = 1" + ending + block))
        let rule = try Self.edited(file, ["retention", "heart"]) { try $0.insert("[retention.heart]\ntypes = []\n") }
        #expect(rule == file + ending + ending + "[retention.heart]\ntypes = []\n".replacing("\n", with: ending))
    }

    /// Files of tables in every order, with every kind of line, and a change of one of them.
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
