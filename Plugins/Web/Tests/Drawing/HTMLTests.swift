import Foundation
import HubProcess
import JSON
import Platform
import Testing

@testable import Web

@Suite struct HTMLTests {
    /// Texts that have broken out of other programs' markup, each form once.
    private static let payloads: [String] = [
        "<script>alert(1)</script>", "</title><script>alert(1)</script>", "\"><img src=x onerror=alert(1)>",
        "' onmouseover='alert(1)", "\" autofocus onfocus=alert(1) x=\"", "`onload=alert(1)`", "javascript:alert(1)",
        "JaVaScRiPt:alert(1)", "java\tscript:alert(1)", "java\nscript:alert(1)", "\u{1}javascript:alert(1)",
        " javascript:alert(1)", "data:text/html,<script>alert(1)</script>", "vbscript:msgbox(1)",
        "&#106;avascript:alert(1)", "javascript&colon;alert(1)", "//evil.example/x", "/\\evil.example",
        "\\\\evil.example", "<!--", "-->", "<![CDATA[x]]>", "]]>", "<?xml?>", "</", "<", ">", "&", "&amp;", "&lt",
        "&notin", "&#0;", "&#x3c;", "<svg/onload=alert(1)>", "<math><mtext></p><img onerror=alert(1)>",
        "<template><style>", "</style><script>", "</textarea><script>", "</select><img>", "<plaintext>", "<xmp>",
        "<base href=//evil.example>", "{{7*7}}", "${7*7}", "\0", "a\0b", "\r", "\r\n", "a\rb", "\u{c}", "\u{b}",
        "\u{7f}", "\u{85}", "\u{a0}", "\u{2028}", "\u{2029}", "\u{202e}abc", "\u{feff}", "\u{fffe}", "\u{fffd}", "é",
        "e\u{301}", "👩‍👩‍👧", "＜script＞", "\"", "'", "\"'", "=", "/>", "  two  ", "\n\nlines\n", "\t", "",
    ]

    /// A page with the value in each place of a template that can have one.
    private static func page(_ value: String) -> HTML {
        let body: HTML = """
            <p class="\(value)" title='\(value)'>\(value)</p><textarea>x\(value)</textarea>\
            <a href="\(url: value)">link</a><svg><title>\(value)</title><text>\(value)</text></svg>\
            <select><option value="\(value)">\(value)</option></select><pre>x\(value)</pre>
            """
        return HTMLDocument(title: "x" + value, styles: ["/page.css"], scripts: ["/page.js"], body: body).html
    }

    /// The text as an HTML parser returns it: with line feeds as line ends, and without characters that HTML cannot contain.
    private static func readable(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { scalar in
                    (scalar.value < 0x20 && ![0x09, 0x0A, 0x0D].contains(scalar.value)) || scalar.value == 0x7F
                        ? "\u{fffd}" : scalar
                }))
    }

    @Test(.enabled(if: Need.html5lib.isMet, "\(Need.html5lib.reason)"))
    func `a value is text in every place as a browser reads it, and does not change the page`() async throws {
        var generator = SeededGenerator(seed: 20_261_124)
        var values = Self.payloads
        for _ in 0..<400 {
            // Parts of two payloads, joined.
            let pieces = (0..<2).map { _ in Self.payloads.randomElement(using: &generator) ?? "" }
            values.append(String(pieces[0].prefix(Int.random(in: 0...8, using: &generator))) + pieces[1])
        }
        // The page with a value that has no special characters.
        let mark = "VALUE"
        let trees = try await Self.trees(([mark] + values).map(Self.page))
        let plain = trees[0]
        for (value, tree) in zip(values, trees.dropFirst()) {
            let expected = plain.map { word in
                word == "#" ? word : word.replacingOccurrences(of: mark, with: Self.readable(value))
            }
            let seen = zip(expected, tree).map { expected, word in
                // An address of this site stays as it is; any other leads nowhere.
                expected == "#" && word == value && Self.isHere(value) ? "#" : word
            }
            #expect(seen == expected, "\(value.debugDescription)")
            #expect(tree.count == plain.count)
        }
    }

    private static func isHere(_ value: String) -> Bool { "/?#".contains(value.first ?? "x") && !value.hasPrefix("//") }

    private static func trees(_ pages: [HTML]) async throws -> [[String]] {
        let lines = pages.map { JSONTree.members(["markup": .text($0.text)]).bytes + [0x0A] }
        let folder = try TemporaryFolder()
        let file = try folder.write(String(decoding: lines.joined(), as: UTF8.self), to: "pages")
        let program = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "tree.py").path
        let python = try ChildProcess(
            try Tool.python(with: "html5lib"), [program], input: FileHandle(forReadingAtPath: file))
        let result = await python.result()
        try #require(result.code == 0, "\(result.errors)")
        let answers = result.output.split(separator: "\n")
        try #require(answers.count == pages.count)
        return try answers.map { try JSONDecoder().decode([String].self, from: Data($0.utf8)) }
    }

    @Test(arguments: [
        "javascript:alert(1)", "JAVASCRIPT:alert(1)", "data:text/html,x", "vbscript:x", "//evil.example",
        "/\\evil.example",
        "\\evil", " https://a.example", "ht\ntps://a.example", "mailto:a@b.example", "a/b", "", "httpx://a.example",
    ]) func `an address that is neither of this site nor HTTP leads nowhere`(_ address: String) {
        let link: HTML = "<a href=\"\(url: address)\">"
        #expect(link.text == "<a href=\"#\">")
    }

    @Test(arguments: [
        ("/", "/"), ("/data/weight?person=a&by=day", "/data/weight?person=a&amp;by=day"), ("?range=1y", "?range=1y"),
        ("#", "#"), ("#top", "#top"), ("https://a.example/'", "https://a.example/&#39;"),
        ("HTTP://a.example", "HTTP://a.example"),
    ]) func `an address of this site or by HTTP stays as it is`(_ address: String, _ written: String) {
        let link: HTML = "<a href=\"\(url: address)\">"
        #expect(link.text == "<a href=\"\(written)\">")
    }

    @Test func `markup is inserted into markup unchanged, as are lists, attributes and nothing`() {
        let none: HTML? = nil
        let items = HTML.each(["a", "<b>"]) { "<li>\($0)</li>" }
        let list: HTML = "<ul \("hidden", if: true)\("open", if: false)>\(items)\(none)\(7)</ul>"
        #expect(list.text == "<ul hidden><li>a</li><li>&lt;b&gt;</li>7</ul>")
        #expect(HTML.joined(["a", "b"], by: ", ").text == "a, b")
        #expect(HTML().isEmpty && (HTML() + "a").text == "a")
    }
}
