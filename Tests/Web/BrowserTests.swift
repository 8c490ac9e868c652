import Foundation
import HubProcess
import Testing

/// A real Chromium, led by its driver, looks at what a real hub serves; what it does there is in the folder `Browser`.
@Suite(.serialized, .enabled(if: Need.browser.isMet, "\(Need.browser.reason)"), .timeLimit(.minutes(10)))
struct BrowserTests {
    /// Runs one of the programs, which prints a line for each fault, and at the end what it has looked at.
    private func run(_ name: String, _ arguments: [String] = []) async throws {
        let program = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Browser/\(name).py")
        let result = try await ChildProcess(
            try Tool.python(with: "json"), [program.standardizedFileURL.path, Programs.folder] + arguments
        ).result()
        let lines = result.output.split(separator: "\n")
        for fault in lines.dropLast() { Issue.record("\(fault)") }
        #expect(result.code == 0, "\(lines.last ?? "") \(result.errors.suffix(4_000))")
    }

    @Test
    func
        `each page, light and dark and at three sizes, keeps the rules of accessibility, asks no other place, and reads the same without JavaScript`()
        async throws
    { try await run("pages", Thoroughness.isWhole ? [] : ["--brief"]) }

    @Test func `no text that a person or a plugin can choose becomes markup or script on any page`() async throws {
        try await run("hostile")
    }

    @Test
    func
        `a program on another port gets no cookie of the page's own name, and with the cookie of 127.0.0.1 it changes nothing`()
        async throws
    { try await run("neighbour") }

    @Test
    func
        `with Tab, Enter and letters alone a value is added, edited and taken back, a record assigned, a plugin enabled, and that undone`()
        async throws
    { try await run("keyboard") }

    @Test func `a month of the demo ends with every plugin well, and its page has the figures of the commands`()
        async throws
    { try await run("demo", ["60"]) }
}
