import Foundation
import HubProcess
import HubSettings
import HubWire
import Testing

@testable import HubCore

/// The manifests and settings checks of the programs in `hub.conf`, and where their answers appear.
@Suite struct ProgramAnswerTests {
    /// Answers `--check-settings` with the content of a file beside it, and saves the question.
    private static let program = #"""
        case "$1" in
        --describe)
          echo '{"name":"probe","summary":"s","version":"1","checksSettings":true,"settings":[
            {"name":"count","type":"integer","help":"h","minimum":1,"default":3},
            {"name":"key","type":"string","help":"h","secret":true}]}' ;;
        --check-settings) cat > "$0.asked"; cat "$0.answer" ;;
        esac
        """#

    private func load(_ text: String, in folder: Folder) async throws -> CheckedConfiguration {
        try folder.configure("[person.me]\n" + text)
        return await folder.loader().load()
    }

    @Test func `R13.8 a program checks only settings that fit its manifest, and each objection has its line`()
        async throws
    {
        let folder = try Folder()
        let script = try folder.script("hub-probe", Self.program)
        let answer =
            #"{"objections":[{"setting":"count","reason":"too many for s3cret"},{"reason":"no link"}],"later":1}"#
        try answer.write(toFile: script + ".answer", atomically: true, encoding: .utf8)
        // The program is found beside the hub by the instance's name. It is not confined, so that it can save the question.
        let checked = try await load("[plugin.probe]\nconfine = false\ncount = 7\nkey = \"s3cret\"\n", in: folder)
        let problems = checked.loaded.problems.filter { $0.severity == .error }
        #expect(problems.map(\.key) == [nil, "count"])
        #expect(problems.map(\.message) == ["no link", "too many for <secret>"])
        #expect(problems.map(\.line) == [5, 7])
        let asked = JSON(try String(contentsOfFile: script + ".asked", encoding: .utf8))
        #expect(asked.fits(#"{"count":7,"key":"s3cret"}"#))

        // The default replaces a wrong value and a missing one.
        try FileManager.default.removeItem(atPath: script + ".asked")
        _ = try await load("[plugin.probe]\nconfine = false\ncount = 0\n", in: folder)
        #expect(try String(contentsOfFile: script + ".asked", encoding: .utf8) == #"{"count":3}"#)
        try #"{"objections":[]}"#.write(toFile: script + ".answer", atomically: true, encoding: .utf8)
        #expect(
            try await load("[plugin.probe]\nconfine = false\n", in: folder).loaded.problems.map(\.key) == ["confine"])
        #expect(try String(contentsOfFile: script + ".asked", encoding: .utf8) == #"{"count":3}"#)
    }

    @Test func `a program that ends before it has read the question gives no answer and affects no other`()
        async throws
    {
        // The hub ignores SIGPIPE, too.
        signal(SIGPIPE, SIG_IGN)
        let folder = try Folder()
        let script = try folder.script("hub-hasty", "exit 3")
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    let question = PluginQuestion(
                        path: script, arguments: ["--check-settings"], reach: .unconfined,
                        input: String(repeating: "x", count: 1_000_000), patience: .seconds(60))
                    guard case .failure(let failure) = await question.ask({ .success($0.count) }) else {
                        Issue.record("a program that prints nothing counts as answered")
                        return
                    }
                    #expect(failure.code == .exited && failure.message.contains("exit code 3"), "\(failure)")
                }
            }
        }
    }

    @Test func `the program of a disabled instance may be missing`() async throws {
        let folder = try Folder()
        let text = "[plugin.gone]\nenabled = false\n[plugin.lost]\nenabled = true\n"
        #expect(try await load(text, in: folder).faults.keys.sorted() == ["lost"])
    }

    @Test(arguments: [
        ("", "it printed nothing"), ("fine", #"it printed no JSON ("fine")"#),
        (#"{"ok":true}"#, "objections: missing, and needed; expected an array, empty if nothing is wrong"),
        (#"{"objections":[{"setting":5,"reason":"r"}]}"#, "objections[0].setting: expected a string, found 5"),
    ])
    func `R13.8 an invalid answer to the settings check gives a warning that describes it`(
        _ answer: String, _ words: String
    ) async throws {
        let folder = try Folder()
        let script = try folder.script("hub-probe", Self.program)
        try answer.write(toFile: script + ".answer", atomically: true, encoding: .utf8)
        let problems = try await load("[plugin.probe]\n", in: folder).loaded.problems
        #expect(problems.count == 1 && problems[0].severity == .warning)
        #expect(problems[0].message.contains("\(script) --check-settings: \(words)"), "\(problems)")
    }

    @Test func `R13.8 all mistakes of a section are reported at once, including those its program finds`() async throws
    {
        let folder = try Folder()
        let script = try folder.script("hub-probe", Self.program)
        try
            #"{"objections":[{"setting":"key","reason":"not so"},{"setting":"count","reason":"not this"},{"reason":"nor that"}]}"#
            .write(toFile: script + ".answer", atomically: true, encoding: .utf8)
        // Objections to settings that the program was not asked about are dropped, and so are general ones.
        let section = "[plugin.probe]\ncount = 0\nunknown = 1\nkey = \"${HOME}\"\n"
        for (more, others) in [("", [String]()), ("[person.ben]\nheight = 5\n", ["height"])] {
            let loaded = try await load(section + more, in: folder).loaded
            let keys = loaded.problems.compactMap(\.key)
            #expect(keys.sorted() == (["count", "key", "unknown"] + others).sorted(), "\(loaded.problems)")
            #expect(loaded.problems.filter { $0.key == "key" }.map(\.message) == ["not so"], "\(loaded.problems)")
            #expect(loaded.refusedInstances == ["probe"])
        }
    }

    @Test func `status and plugins show the program's kind, whatever the instance's name is`() async throws {
        let folder = try Folder()
        let script = try folder.script("hub-probe", Self.program)
        try #"{"objections":[]}"#.write(toFile: script + ".answer", atomically: true, encoding: .utf8)
        let checked = try await load(
            """
            [plugin.nat]
            executable = "\(script)"
            enabled = false
            [plugin.wrong]
            executable = "\(script)"
            count = 0
            """, in: folder)
        let hub = try await RunningHub(
            checked, policy: Setting().policy, lifePolicy: LifecyclePolicy(), in: folder)
        let peer = try await hub.client()
        let status = try await peer.status()["plugins"].array
        #expect(status.map { $0["name"].string } == ["nat", "wrong"])
        #expect(status.allSatisfy { $0["kind"].string == "probe" }, "\(status)")
        #expect(try await peer.query("", want: "plugins").body["plugins"][0]["kind"].string == "probe")
        try await hub.stop()
    }
}
