import HubSettings
import Platform
import Testing

@Suite struct SectionTests {
    private static let file = """
        \u{FEFF}# mine
        [hub]
        data = "/d"

        # of a
        [plugin.a]   # here
        text = \"\"\"
        [plugin.no]
        \"\"\"
        # the end of a
        [plugin.b]
        enabled  =  true # yes
        [plugin.b.grants]
        read = []

        # of c
        # still
        [plugin."c.d"]

        """
    private static let block = "# title\n[plugin.new]\nfile = \"x\"\n# other = 1\n"

    @Test(arguments: [file, file.replacing("\n", with: "\r\n"), "", "[hub]\n"])
    func `R16.20 a section that is added and removed leaves the file as it was, byte for byte`(_ text: String) throws {
        var editor = try ConfigurationEditor(text)
        try editor.add(["plugin", "new"], Self.block, atEnd: true)
        #expect(editor.isEnabled("new") && editor.text.utf8.starts(with: text.utf8))
        #expect(!text.contains("\r\n") || !editor.text.replacing("\r\n", with: "").contains("\n"))
        let taken = try editor.remove(["plugin", "new"])
        #expect(editor.text == text)
        #expect(taken.contains("[plugin.new]"))
    }

    @Test func `R16.22 a section is removed with its own comments, and those of others stay`() throws {
        var editor = try ConfigurationEditor(Self.file)
        let taken = try editor.remove(["plugin", "b"])
        #expect(taken == "[plugin.b]\nenabled  =  true # yes\n[plugin.b.grants]\nread = []\n")
        #expect(editor.text == Self.file.replacing(taken, with: ""))
        var other = try ConfigurationEditor(Self.file)
        #expect(try other.remove(["plugin", "c.d"]) == "\n# of c\n# still\n[plugin.\"c.d\"]\n")
    }

    @Test(arguments: ["", "\n[plugin.next]\n"])
    func `R16.22 comments behind an empty line stay, such as a section that is switched off`(_ next: String) throws {
        let rest = "\n# [plugin.off]\n# file = \"y\"\n\n# a note\n\(next)"
        var editor = try ConfigurationEditor("[hub]\n\n\(Self.block)\(rest)")
        #expect(try editor.remove(["plugin", "new"]) == "\n\(Self.block)")
        #expect(editor.text == "[hub]\n\(rest)")
        // This is the end of a text, not a comment.
        let text = "[plugin.new]\nnote = \"\"\"\na\n\n# b\"\"\"\n"
        editor = try ConfigurationEditor("[hub]\n\n\(text)")
        #expect(try editor.remove(["plugin", "new"]) == "\n\(text)")
    }

    @Test(arguments: ["a", "b", "c.d"]) func `R16.21 enabling and disabling change only one value`(_ name: String)
        throws
    {
        var editor = try ConfigurationEditor(Self.file)
        try editor.setEnabled(name, false)
        #expect(!editor.isEnabled(name) && editor.text.count > Self.file.count - 10)
        let off = editor.text
        try editor.setEnabled(name, true)
        #expect(editor.isEnabled(name))
        try editor.setEnabled(name, false)
        #expect(editor.text == off)
    }

    @Test func `sections of a kind are found by name, kind and executable`() throws {
        let text = """
            [plugin.scale]
            [plugin.kitchen]
            kind = "scale"
            [plugin.other]
            executable = "hub-scale"
            [plugin.far]
            executable = "/bin/hub-scale"
            """
        #expect(try ConfigurationEditor(text).plugins(ofKind: "scale") == ["scale", "kitchen", "other"])
    }

    @Test func `invalid TOML and a second section with the same name are refused`() throws {
        #expect(throws: ConfigurationEditor.EditError.self) { try ConfigurationEditor("[plugin.a\n") }
        var editor = try ConfigurationEditor(Self.file)
        #expect(throws: ConfigurationEditor.EditError.self) {
            try editor.add(["plugin", "a"], Self.block, atEnd: true)
        }
        #expect(throws: ConfigurationEditor.EditError.self) { try editor.remove(["plugin", "z"]) }
        #expect(throws: ConfigurationEditor.EditError.self) {
            try editor.add(["plugin", "z"], "[plugin.z]\nx =\n", atEnd: true)
        }
        #expect(editor.text == Self.file)
    }
}
