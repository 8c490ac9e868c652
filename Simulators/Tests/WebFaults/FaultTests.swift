import Testing
import WebFaults

struct FaultTests {
    @Test(arguments: [
        "cut-after@update*1", "delay=0.5@attributes%25.0", "status=503", "too-many", "too-many=60@update*2", "html%1.5",
        "half", "cut-before", "cut-inside@/oauth2/", "odd@update",
    ])
    func `a fault's description equals its source text`(_ text: String) throws {
        #expect(try "\(Fault(text, forms: ["odd"]))" == text)
    }

    @Test(arguments: [
        "", "cut", "delay", "delay=-1", "status=200", "status", "too-many=x", "half=2", "html%101", "html*0", "html*x",
        "odd",
    ])
    func `the error for an unknown fault lists the known ones`(_ text: String) {
        #expect(throws: WebFaultsError.self) { try Fault(text) }
    }

    @Test(arguments: [
        #"{"a":7200,"b":7200.0,"c":[null,true,"x\n\u0001\"\\"],"d":{}}"#, "[]", #"[{"value":80.57}]"#, "null",
        #""Grüße 🚲""#,
    ])
    func `JSON round-trips with the digits of each number`(_ text: String) throws {
        #expect(try #require(JSONTree(Array(text.utf8))).json == text)
    }

    @Test(arguments: ["", "[1,]", "{", #"{"a" 1}"#, "[1] 2", "01"]) func `invalid JSON is refused`(_ text: String) {
        #expect(JSONTree(Array(text.utf8)) == nil)
    }

    @Test func `a form and a query are decoded`() throws {
        let request = WebRequest(
            "POST", "/a/?scope=health_write+activity_write&x=%C3%BC%2B", fields: [:], body: Array("a=1&b=x%20y&c".utf8))
        #expect(request.path == "/a/")
        #expect(request.query("scope") == "health_write activity_write" && request.query("x") == "ü+")
        #expect(request.form == ["a": "1", "b": "x y", "c": ""])
        #expect(WebRequest.encoded("a b+ü") == "a%20b%2B%C3%BC")
    }

    @Test func `a clock can be set, stopped and moved back`() throws {
        let clock = try SettableClock("2026-01-01T00:00:00Z@0")
        #expect(clock.now() == 1_767_225_600_000_000)
        clock.move(seconds: -60)
        #expect(clock.now() == 1_767_225_540_000_000)
        try clock.set("2026-01-01T01:00:00+01:00@0")
        #expect(clock.now() == 1_767_225_600_000_000)
        for wrong in ["", "2026-01-01", "2026-01-01T00:00:00Z@-1", "2026-01-01T00:00:00Z@x"] {
            #expect(throws: WebFaultsError.self) { try clock.set(wrong) }
        }
    }

    @Test func `a fault that cannot happen at a place is kept for another`() throws {
        let desk = FaultQueue([try Fault("status=503*1"), try Fault("delay=1@live/frame")])
        let drawn = desk.draw(for: "/live/frame") { if case .delay = $0 { true } else { false } }
        #expect(drawn.map(\.kind) == [.delay(1)])
        #expect(desk.draw(for: "/live").map(\.kind) == [.status(503)])
        #expect(desk.draw(for: "/live").isEmpty)
    }
}
