import HubSettings
import Testing

@Suite struct SectionSettingTests {
    private static let file = """
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

    private static func edited(
        _ text: String = file, _ change: (inout SectionEditor) throws -> Void
    ) throws -> String {
        var editor = try SectionEditor(text, of: "a")
        try change(&editor)
        return editor.text
    }

    @Test(arguments: [file, file.replacing("\n", with: "\r\n"), "\u{FEFF}\(file)"])
    func `a setting that is written and taken out again leaves the file as it was, byte for byte`(_ text: String) throws
    {
        let back = try Self.edited(text) { editor in
            try editor.set("poll", to: .string("2min"))
            #expect(editor.text.contains("# poll = \"5min\"\(text.contains("\r\n") ? "\r\n" : "\n")poll = \"2min\""))
            try editor.set("other", to: .integer(5))
            try editor.unset("other")
            try editor.unset("poll")
            try editor.unset("poll")
        }
        #expect(back == text)
    }

    @Test func `a value takes the place of another, and the comment behind it stays`() throws {
        #expect(
            try Self.edited { try $0.set("name", to: .string("new")) }
                == Self.file.replacing("'old'", with: "\"new\""))
        #expect(
            try Self.edited { try $0.set("many", to: .list([.string("z")])) }
                == Self.file.replacing("[\"x\", \"y\"]", with: "[\"z\"]"))
        #expect(
            try Self.edited { try $0.unset("name") }
                == Self.file.replacing("name = 'old'   # why", with: "# why"))
    }

    @Test func `what is so already is left as it is written`() throws {
        let same = try Self.edited { editor in
            try editor.set("name", to: .string("old"))
            try editor.set("day", to: .string("2024-01-02"))
            try editor.set("many", to: .list([.string("x"), .string("y")]))
        }
        #expect(same == Self.file)
    }

    @Test(arguments: [
        "\"", "\\", "\"\"\"", "'''", "a\nb", "a\r\nb", "x\"\n[plugin.a.grants]\nowner = [\"*\"]\n", "# no comment",
        "${NAME}", "\u{7F}\u{1}\t", "]", "ü 漢 \u{2028}",
    ])
    func `whatever a text has in it, it is one setting's text and nothing else`(_ text: String) throws {
        for key in ["name", "poll", "new", "long"] {
            var editor = try SectionEditor(Self.file, of: "a")
            try editor.set(key, to: .string(text))
            let again = try SectionEditor(editor.text, of: "a")
            #expect(again.written(key) == .string(text))
            #expect(again.isReference(key) == text.hasPrefix("${"))
            #expect(try GrantsEditor(editor.text, of: "a").list("owner") == nil)
        }
    }

    @Test func `what would take a comment along is left to a person's hand, and nothing changes`() throws {
        var editor = try SectionEditor(Self.file, of: "a")
        #expect(throws: SectionEditor.Refusal.self) { try editor.set("noted", to: .list([])) }
        #expect(throws: SectionEditor.Refusal.self) { try editor.unset("noted") }
        #expect(editor.text == Self.file)
        for text in [
            "[plugin]\na = { poll = \"1h\" }\n", "[plugin]\na.poll = \"1h\"\n", "[plugin.a.grants]\nread = []\n",
        ] {
            var other = try SectionEditor(text, of: "a")
            #expect(throws: SectionEditor.Refusal.self) { try other.set("new", to: .integer(1)) }
            #expect(other.text == text)
        }
        var dotted = try SectionEditor("[plugin]\na.poll = \"1h\"\n", of: "a")
        #expect(throws: SectionEditor.Refusal.self) { try dotted.unset("poll") }
        try dotted.set("poll", to: .string("2h"))
        #expect(dotted.text == "[plugin]\na.poll = \"2h\"\n")
    }

    @Test func `a line in a long text is no place for a setting`() throws {
        let text = try Self.edited { try $0.set("inner", to: .integer(2)) }
        #expect(text == Self.file.replacing("[plugin.a]   # here\n", with: "[plugin.a]   # here\ninner = 2\n"))
    }
}
