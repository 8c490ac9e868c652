import HubWire
import Testing

/// Members and elements of answers as raw bytes.
@Suite struct RawMembersTests {
    @Test func `parts keep every byte`() {
        let members = RawMembers.members(of: Array(#" {"a" : 1.00, "b":[{"x": 1},2 ],"c":{} } "#.utf8)[...])
        func text(_ name: String) -> String? { members[name].map { String(decoding: $0, as: UTF8.self) } }
        #expect(text("a") == "1.00")
        #expect(text("c") == "{}")
        let elements = RawMembers.elements(of: members["b"] ?? [])
        #expect(elements.map { String(decoding: $0, as: UTF8.self) } == [#"{"x": 1}"#, "2"])
    }

    @Test(arguments: ["", "{}", "[]", "7", "{", "[1", #"{"a":"#])
    func `a text without parts or with a cut end gives no wrong parts`(_ text: String) {
        let bytes = Array(text.utf8)[...]
        #expect(RawMembers.members(of: bytes).isEmpty)
        #expect(RawMembers.elements(of: bytes).count <= 1)
    }
}
