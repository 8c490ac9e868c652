import ArgumentParser
import Foundation
import HubProcess
import Testing

@testable import HubCommand

/// The commands in the documents.
@Suite struct DocumentedCommandTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        .standardizedFileURL

    /// Each line of a shell block that begins with `hub`, split into words by the shell.
    ///
    /// Lines with pipes, variables or continuations are left out; tests that run whole programs cover them. `hub plugin` is another
    /// program.
    private static func commands(in file: URL) async throws -> [[String]] {
        let text = try String(contentsOf: file, encoding: .utf8)
        let blocks = text.components(separatedBy: "```sh\n").dropFirst().compactMap {
            $0.components(separatedBy: "\n```").first
        }
        let lines = blocks.flatMap { $0.split(separator: "\n") }.filter { line in
            line.hasPrefix("hub ") && !line.hasPrefix("hub plugin ") && !line.contains { "|$<>\\&".contains($0) }
                && line.count { $0 == "'" } % 2 == 0
        }
        let script = lines.map { line in "set -- \(line)\nprintf '%s\\037' \"$@\"; echo" }.joined(separator: "\n")
        let printed = try await ChildProcess("/bin/sh", ["-euc", script]).result()
        #expect(printed.code == 0, "\(file.lastPathComponent): \(printed.errors)")
        return printed.output.split(separator: "\n").map { $0.split(separator: "\u{1F}").dropFirst().map(String.init) }
    }

    @Test func `hub accepts every command of the documents with its arguments and options`() async throws {
        let folders =
            ["Docs"]
            + (try FileManager.default.subpathsOfDirectory(atPath: Self.root.path + "/Plugins")).map { "Plugins/\($0)" }
            .filter { $0.hasSuffix("/README.md") }.map { String($0.dropLast("/README.md".count)) }
        var count = 0
        for folder in folders {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: Self.root.path + "/" + folder)) ?? []
            for name in names.sorted() where name.hasSuffix(".md") {
                for command in try await Self.commands(in: Self.root.appending(path: "\(folder)/\(name)")) {
                    count += 1
                    #expect(throws: Never.self, "\(folder)/\(name): hub \(command.joined(separator: " "))") {
                        try RootCommand.parseAsRoot(command)
                    }
                }
            }
        }
        #expect(count >= 60)
    }
}
