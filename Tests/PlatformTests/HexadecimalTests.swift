import Platform
import Testing

@Suite struct HexadecimalTests {
    @Test func `every byte is written as two digits, and read back in both cases`() {
        let bytes = [UInt8](.min ... .max)
        let digits = bytes.hexadecimal
        #expect(digits.hasPrefix("000102") && digits.hasSuffix("fdfeff") && digits.count == 512)
        #expect([UInt8](hexadecimal: digits) == bytes)
        #expect([UInt8](hexadecimal: digits.uppercased()) == bytes)
        #expect([UInt8](hexadecimal: "") == [])
    }

    @Test(arguments: ["0", "abc", "+f", "-1", "0x", " 1", "gg", "1\u{301}", "１２", "00:1"])
    func `a text with other characters, or an odd number of digits, is no bytes`(_ text: String) {
        #expect([UInt8](hexadecimal: text) == nil)
    }

    @Test func `a number is padded and never cut`() {
        #expect(UInt64(10).hexadecimal(digits: 4) == "000a")
        #expect(UInt64.max.hexadecimal(digits: 2) == "ffffffffffffffff")
    }
}

@Suite struct MarkupTests {
    private static let text = "a<b>&\"'\t\n\r\0\u{7F}ü\u{FFFD}\u{FFFE}\u{FFFF}\u{FF01}😀"

    @Test func `text of HTML has no character that a parser reads as markup`() {
        #expect(
            Markup.escaped(Self.text)
                == "a&lt;b&gt;&amp;&quot;&#39;\t\n&#13;\u{FFFD}\u{FFFD}ü\u{FFFD}\u{FFFE}\u{FFFF}\u{FF01}😀")
    }

    @Test func `text of XML keeps its line ends in attributes, and has only characters of XML 1_0`() {
        #expect(
            Markup.escaped(Self.text, for: .xml)
                == "a&lt;b&gt;&amp;&quot;'&#9;&#10;&#13;\u{FFFD}\u{7F}ü\u{FFFD}\u{FFFD}\u{FFFD}\u{FF01}😀")
    }
}
