import ArgumentParser
import Foundation
import HubProcess
import Testing

@testable import HubCommand

/// The commands that the README and Docs/Commands.md show.
@Suite struct DocumentedCommandTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")

    /// Each line of a shell block that begins with `hub`, as the shell divides it into words.
    private static func commands(in file: String) async throws -> [[String]] {
        let text = try String(contentsOf: root.appending(path: file).standardizedFileURL, encoding: .utf8)
        let blocks = text.components(separatedBy: "```sh\n").dropFirst().compactMap {
            $0.components(separatedBy: "\n```").first
        }
        let lines = blocks.flatMap { $0.split(separator: "\n") }.filter { $0.hasPrefix("hub ") }
        let script = lines.map { line in "set -- \(line)\nprintf '%s\\037' \"$@\"; echo" }.joined(separator: "\n")
        let printed = try await ChildProcess("/bin/sh", ["-euc", script]).result()
        #expect(printed.code == 0, "\(printed.errors)")
        return printed.output.split(separator: "\n").map { $0.split(separator: "\u{1F}").dropFirst().map(String.init) }
    }

    @Test(arguments: [("README.md", 0), ("Docs/Commands.md", 25)])
    func `every command of a document is one that hub takes, with its arguments and options`(
        file: String, least: Int
    ) async throws {
        let commands = try await Self.commands(in: file)
        #expect(commands.count >= least)
        for command in commands {
            #expect(throws: Never.self, "hub \(command.joined(separator: " "))") {
                try RootCommand.parseAsRoot(command)
            }
        }
    }
}
