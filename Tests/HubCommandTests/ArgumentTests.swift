import Foundation
import HubProcess
import Testing

/// A program that cannot read its own arguments.
@Suite struct ArgumentTests {
    private static let canHide = Tool.run("unshare", ["--mount", "mount", "-t", "tmpfs", "none", "/proc"])

    @Test(
        .enabled(if: canHide, "only root can hide /proc from a program"),
        arguments: [["hub", "status"], ["hub-gap-filler", "--describe"]])
    func `without /proc a program says in one line why it cannot see its arguments`(words: [String]) async throws {
        // Repeated, because the runtime threads that crash a program without /proc do so only sometimes.
        let script =
            #"mount -t tmpfs none /proc; for n in $(seq 100); do "$0" "$@"; code=$?; [ $code = 71 ] || exit $code; done"#
        let child = try ChildProcess(
            "/usr/bin/env", ["unshare", "--mount", "sh", "-c", script, Programs.path(words[0])] + words.dropFirst())
        let result = await child.result()
        #expect(result.code == 0 && result.output.isEmpty)
        let lines = result.errors.split(separator: "\n")
        #expect(lines.count == 100, "\(result.errors)")
        #expect(lines.allSatisfy { $0.hasPrefix("\(words[0]): its arguments cannot be seen") }, "\(result.errors)")
    }
}
