import Foundation
import HubProcess
import Testing

/// The units of `hub service` under a real systemd (`Tests/Support/Systemd/boot`).
@Suite(.serialized, .timeLimit(.minutes(4)), .enabled(if: Need.systemd.isMet, "\(Need.systemd.reason)"))
struct SystemdTests {
    /// The output of a step, and its exit code.
    private struct Step {
        let said: String
        let code: Int?

        init(_ name: String, in folder: TemporaryFolder) {
            let text = (try? String(contentsOfFile: "\(folder.path)/\(name)", encoding: .utf8)) ?? ""
            let end = text.firstMatch(of: /exit ([0-9]+)\n$/)
            (said, code) = (end.map { String(text[..<$0.range.lowerBound]) } ?? text, end.flatMap { Int($0.1) })
        }
    }

    @Test
    func `under its units the hub runs, confines its plugins, answers its owner, and is restarted after a kill`()
        async throws
    {
        let folder = try TemporaryFolder()
        let booted = try await ChildProcess(Need.boot, [Programs.folder, folder.path]).result()
        #expect(booted.code == 0, "\(booted.errors)")
        func step(_ name: String) -> Step { Step(name, in: folder) }
        for (name, user) in [("hub", "health-hub"), ("person", "person")] {
            #expect(step("\(name)-start").code == 0, "\(step("\(name)-start").said)")
            #expect(step("\(name)-process").said == "\(user)\n")
            // The records of a plugin that the hub has started in its unit.
            #expect(step("\(name)-samples").said.split(separator: "\n").count == 20)
            let status = step("\(name)-status")
            // Alive, with all records, and never restarted.
            #expect(status.said.contains(/\nexample +(running +yes|finished +no) +yes +- +20 +0\s/), "\(status)")
            #expect(status.code == 0)
            #expect(step("\(name)-plugins").said.contains("confined files, sockets, processes, network, calls"))
            #expect(step("\(name)-reload").code == 0)
            #expect(step("\(name)-stop").code == 0)
            #expect(
                step("\(name)-end").said.split(separator: "\n").sorted() == [
                    "ActiveState=inactive", "ExecMainStatus=0", "Result=success",
                ])
            #expect(step("\(name)-left").code == 1, "\(step("\(name)-left").said)")
        }
        // Until here root has run the commands; the hub's own account may run them, too.
        #expect(step("hub-account").code == 0, "\(step("hub-account").said)")
        #expect(
            step("hub-again").said.split(separator: "\n").count == 20,
            "after SIGKILL the hub starts again, with all records")
    }
}
