import HubSettings
import Testing

/// The lines of a `hub.conf` as they are shown to a person.
@Suite struct ShownLinesTests {
    private static let file = """
        [hub]
        token = "of no plugin"
        [plugin]
        a = { mode = "x", token = "geheim 1", list = ["geheim 2"] }
        b.token = 'geheim 3'
        [plugin.c]  # here
        "token" = "geheim 4"   # why
        list = [
          "geheim 5",  # geheim
          "geheim 6" ] # it is said
        long = \"\"\"
        # token = "a"
        [plugin.no]
        geheim 7\"\"\"
        mode = "x"
        named = "${file:x}"
        # token = "geheim 8" # geheim
        # named = '${NAME}'  # where it stands
        ## "token" = \"\"\"geheim 9
        # a token is a word
        # mode = "y"
        [plugin.c.inner]
        token="geheim 10"
        [[rows]]
        token = "of no plugin"
        """

    private static let shown = """
        [hub]
        token = "of no plugin"
        [plugin]
        a = { mode = "x", token = <secret>, list = <secret> }
        b.token = <secret>
        [plugin.c]  # here
        "token" = <secret>   # why
        list = <secret>
        <secret>
        <secret> # it is said
        long = <secret>
        <secret>
        <secret>
        <secret>
        mode = "x"
        named = "${file:x}"
        # token = <secret>
        # named = '${NAME}'  # where it stands
        ## "token" = <secret>
        # a token is a word
        # mode = "y"
        [plugin.c.inner]
        token=<secret>
        [[rows]]
        token = "of no plugin"
        """

    private static func lines(_ text: String) -> [ShownLines.Line] {
        ShownLines(text) { $0.first == "plugin" && $0.last != "mode" }.lines
    }

    @Test(arguments: [file, file + "\n", (file + "\n").replacing("\n", with: "\r\n"), "\u{FEFF}\(file)"])
    func `a secret is hidden on each of its lines, in whatever form it is written`(_ text: String) {
        let lines = Self.lines(text)
        #expect(lines.map(\.shown).joined(separator: "\n") == Self.shown)
        #expect(lines.map(\.text).joined(separator: "\n") == Self.file)
        let headers = lines.map(\.header)
        #expect(headers[...1] == ["[hub]", "[hub]"] && headers[3] == "[plugin]" && headers[20] == "[plugin.c]  # here")
        #expect(headers.suffix(4) == ["[plugin.c.inner]", "[plugin.c.inner]", "[[rows]]", "[[rows]]"])
    }

    @Test func `all lines of a text that is not TOML are hidden`() {
        let lines = Self.lines("[plugin.a]\n\ntoken = \"geheim\nmode = 1\n")
        #expect(lines.map(\.shown) == ["<secret>", "", "<secret>", "<secret>"])
        #expect(lines.map(\.text) == ["[plugin.a]", "", "token = \"geheim", "mode = 1"])
    }
}
