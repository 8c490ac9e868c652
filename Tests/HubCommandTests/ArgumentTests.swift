import Foundation
import HubProcess
import Testing

/// A program that cannot see its own arguments.
@Suite struct ArgumentTests {
    private static let canHide = Tool.run("unshare", ["--mount", "mount", "-t", "tmpfs", "none", "/proc"])

    @Test(
        .enabled(if: canHide, "only root can take /proc away from a program"),
        arguments: [["hub", "status"], ["hub-gap-filler", "--describe"]])
    func `without /proc a program says in one line why it sees no arguments`(words: [String]) async throws {
        let script = #"mount -t tmpfs none /proc && exec "$0" "$@""#
        let child = try ChildProcess(
            "/usr/bin/env", ["unshare", "--mount", "sh", "-c", script, Programs.path(words[0])] + words.dropFirst())
        let result = await child.result()
        #expect(result.code == 71)
        #expect(result.errors.hasPrefix("\(words[0]): its arguments cannot be seen") && result.output.isEmpty)
        #expect(result.errors.split(separator: "\n").count == 1, "\(result.errors)")
    }
}
