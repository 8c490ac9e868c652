import HubWire
import Testing

@Suite struct ArgumentTests {
    private static let declarations: [SettingDeclaration] = [
        .init("days", .integer(Bounds(1, 30)), help: "How many.", default: .integer(7)),
        .init("account", .string(), help: "Whose.", required: true),
        .init("file", .path, help: "Where."),
        .init("code", .string(), help: "A code.", secret: true),
        .init("kinds", .list(of: .choice(["weight", "sleep"])), help: "What."),
    ]

    private func check(_ json: String) -> ArgumentCheck {
        ArgumentCheck(json: json.utf8, declarations: Self.declarations)
    }

    @Test func `a missing argument gets its default, and a missing optional one gets no value`() {
        let check = check(#"{"account":"me","kinds":["sleep"],"code":"s3cret"}"#)
        #expect(check.problems == [])
        #expect(
            check.values == [
                "days": .integer(7), "account": .string("me"), "kinds": .list([.string("sleep")]),
                "code": .secret(Secret("s3cret")),
            ])
    }

    @Test func `all problems are reported at once, and none repeats a given value`() {
        let check = check(#"{"dayz":3,"days":31,"file":"notes.txt","code":{"s3cret":1},"kinds":["wait"]}"#)
        #expect(
            check.problems == [
                "dayz: no such argument; did you mean days?", "days: expected a whole number from 1 to 30",
                "account: missing, and needed; expected text", "file: expected an absolute path",
                "code: expected text", "kinds: element 1: expected one of \"weight\" or \"sleep\"",
            ])
    }

    @Test func `references to variables and files are not resolved in arguments`() {
        let check = check(#"{"account":"${file:/etc/passwd}"}"#)
        #expect(check.problems == [] && check.values["account"] == .string("${file:/etc/passwd}"))
    }

    @Test(arguments: ["[]", "7", "", "{\"account\":", "null"])
    func `a text that is not an object is one problem`(_ json: String) {
        #expect(check(json).problems == ["expected an object of arguments"])
    }

    @Test func `of a thousand unknown arguments the first are listed and the rest counted`() {
        let json = "{\(((0..<1_000).map { "\"wrong\($0)\":1" }).joined(separator: ","))}"
        let problems = check(json).problems
        #expect(problems.count == 21 && problems.last == "and 981 more")
    }
}
