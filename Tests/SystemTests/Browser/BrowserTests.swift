import Foundation
import HubProcess
import Testing

/// A real Chromium, led by its driver, checks the pages of a real hub with the programs of the folder `Browser`.
@Suite(.serialized, .enabled(if: Need.browser.isMet, "\(Need.browser.reason)"), .timeLimit(.minutes(10)))
struct BrowserTests {
    /// With `make test` only some pages, and one text instead of two in each field.
    private static let extent = Thoroughness.isWhole ? [] : ["--brief"]

    /// Runs one of the programs, which prints a line for each fault, and a summary of its checks at the end.
    private func run(_ name: String, _ arguments: [String] = []) async throws {
        let program = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Programs/\(name).py")
        let result = try await ChildProcess(
            try Tool.python(with: "json"), [program.standardizedFileURL.path, Programs.folder] + arguments
        ).result()
        let lines = result.output.split(separator: "\n")
        for fault in lines.dropLast() { Issue.record("\(fault)") }
        #expect(result.code == 0, "\(lines.last ?? "") \(result.errors.suffix(4_000))")
    }

    @Test
    func
        `each page, light and dark and at three sizes, is accessible, loads nothing from elsewhere and works without JavaScript`()
        async throws
    { try await run("pages", Self.extent) }

    @Test func `no text that a person or a plugin can choose becomes markup or script on any page`() async throws {
        try await run("hostile", Self.extent)
    }

    @Test
    func
        `a program on another port gets no cookie of the page's own name, and with the cookie of 127.0.0.1 it changes nothing`()
        async throws
    { try await run("neighbour") }

    @Test
    func
        `with Tab, Enter and letters alone a value is added, edited and retracted, a record assigned, a plugin enabled`()
        async throws
    { try await run("keyboard") }

    @Test func `after a month of the demo every plugin is well, and the page shows the same figures as the commands`()
        async throws
    { try await run("demo", [Thoroughness.isWhole ? "60" : "30"] + Self.extent) }
}
