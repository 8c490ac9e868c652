import Foundation
import HubClient
import HubProcess
import Testing

@testable import HubCommand

/// `hub configure`: settings of a plugin, changed in `hub.conf`.
@Suite struct ConfigureCommandTests {
    private static let manifest =
        #"{"name":"probe","summary":"s","version":"1","settings":[{"name":"poll_every","type":"duration","help":"How often.","default":"1h"},{"name":"names","type":"list","items":{"type":"string"},"help":"Names."},{"name":"token","type":"string","secret":true,"help":"A token."},{"name":"folder","type":"path","help":"F."}]}"#

    private static func hub() async throws -> TestHub {
        let folder = try TemporaryFolder()
        let path = try folder.writeProbe(manifest)
        return try await TestHub(
            "[person.me]\n\n# the probe\n[plugin.probe] # here\nexecutable = \"\(path)\"\nfolder = \"files\"\n",
            in: folder)
    }

    @Test func `configure changes settings, prints the command that undoes the change, and keeps comments`()
        async throws
    {
        let hub = try await Self.hub()
        let before = try hub.settings
        let dry = try await hub.run(["configure", "probe", "poll_every=5min", "--dry-run"])
        #expect(dry.code == 0 && dry.output.contains("poll_every would be 5min; it was not in the file"), "\(dry)")
        #expect(dry.output.contains("restart probe: its section has changed"), "\(dry)")
        #expect(try hub.settings == before)
        try await hub.succeed(
            ["configure", "probe", "poll_every=5min", "names=a", "names=b"],
            errors: "hub configure probe --unset names --unset poll_every takes it back")
        #expect(try hub.settings.contains("# the probe\n[plugin.probe] # here\n"))
        #expect(try hub.settings.contains("names = [\"a\", \"b\"]\n"))
        let more = try await hub.run(["configure", "probe", "names=it's", "--disable"])
        #expect(more.errors.contains("hub configure probe --enable names=a,b takes it back"), "\(more)")
        #expect(try await hub.run(["configure", "probe", "--enable", "names=a,b"]).code == 0)
        try await hub.succeed(["configure", "probe", "names=a,b"], errors: "it is so already")
        let secret = try await hub.run(["configure", "probe", "token=geheim", "--json"])
        #expect(secret.code == 0 && secret.output.contains(#""secret":true"#), "\(secret)")
        #expect(!secret.output.contains("geheim"))
        _ = try await hub.run(["configure", "probe", "--unset", "names", "--unset", "poll_every", "--unset", "token"])
        #expect(try hub.settings.replacing("enabled = true\n", with: "") == before)
        // There is no command that restores a relative path: it would be relative to the folder of the shell, not to
        // that of `hub.conf`.
        let path = try await hub.run(["configure", "probe", "folder=/tmp", "poll_every=5min"])
        #expect(path.code == 0 && path.errors.contains("no command restores the former value of folder"), "\(path)")
        #expect(try await hub.stop() == 0)
    }

    @Test func `a plugin whose program is missing is not enabled, and hub conf stays; disabling needs no program`()
        async throws
    {
        let folder = try TemporaryFolder()
        let hub = try await TestHub(
            "[person.me]\n\n[plugin.probe]\nenabled = false\nexecutable = \"\(folder.path)/hub-gone\"\n", in: folder)
        let before = try hub.settings
        let refused = try await hub.run(["configure", "probe", "--enable"])
        #expect(refused.code != 0 && refused.errors.contains("probe cannot run, so it stays as it is"), "\(refused)")
        #expect(refused.errors.contains("hub-gone"), "\(refused)")
        #expect(try hub.settings == before)

        let enabled = before.replacing("enabled = false\n", with: "enabled = true\n")
        try enabled.write(toFile: hub.configuration, atomically: true, encoding: .utf8)
        _ = try await hub.run(["apply"])
        try await hub.succeed(["configure", "probe", "--disable"])
        #expect(try hub.settings == before)
        #expect(try await hub.stop() == 0)
    }

    @Test func `configure adds a person and sets the hub's zone, and prints the command that undoes it`() async throws {
        let hub = try await Self.hub()
        let before = try hub.settings
        let added = try await hub.run(["configure", "--person", "anna", "locale=de_DE"])
        #expect(added.code == 0 && added.output.contains("[person.anna] is added"), "\(added)")
        #expect(added.errors.contains("remove [person.anna] from hub.conf, then hub apply"), "\(added)")
        #expect(
            try hub.settings
                == before.replacing("[person.me]\n", with: "[person.me]\n\n[person.anna]\nlocale = \"de_DE\"\n"))
        let weight = try await hub.run(["configure", "--person", "anna", "expected_weight=61.5", "unit=lb"])
        #expect(weight.output.contains("[person.anna]: expected_weight is 61.5; it was not in the file"), "\(weight)")
        #expect(
            weight.errors.contains("hub configure --person anna --unset expected_weight --unset unit takes it back"))
        try await hub.succeed(["configure", "--hub", "zone=Asia/Tokyo"], errors: "hub configure --hub ")
        for (arguments, code, reason) in [
            (["--person", "Anna"], 0, "it is so already"), (["--person", "a b"], 64, "letters"),
            (["--person", "anna", "height=180"], 64, "the owner writes others into hub.conf"),
            (["--person", "anna", "zone=Mars/X"], 65, "zone"),
            (["--person", "anna", "--disable"], 64, "only a plugin"), (["--hub"], 64, "name what to change"),
            (["--hub", "--person", "anna"], 64, "exclude each other"), (["--unset", "zone"], 64, "name a plugin"),
        ] {
            let wrong = try await hub.run(["configure"] + arguments)
            #expect(wrong.code == code && (wrong.output + wrong.errors).contains(reason), "\(arguments): \(wrong)")
        }
        #expect(try await hub.stop() == 0)
    }

    @Test func `an invalid change is refused with its setting and exit code, and hub conf stays as it was`()
        async throws
    {
        let hub = try await Self.hub()
        let before = try hub.settings
        for (arguments, code, reason) in [
            (["probe", "poll_every=never"], 65, "poll_every"),
            (["probe", "pol_every=5min"], 64, "did you mean poll_every?"),
            (["probe", "executable=/bin/sh"], 64, "the owner changes it"), (["prob", "--enable"], 64, "probe"),
            (["probe", "--enable", "--disable"], 64, "exclude each other"), (["probe"], 64, "name what to change"),
        ] {
            let wrong = try await hub.run(["configure"] + arguments)
            #expect(wrong.code == code && (wrong.output + wrong.errors).contains(reason), "\(arguments): \(wrong)")
            #expect(try hub.settings == before)
        }
        let changed = before + "# more\n"
        try changed.write(toFile: hub.configuration, atomically: true, encoding: .utf8)
        try await hub.expect(["configure", "probe", "poll_every=5min"], .tryAgain, errors: "hub apply first")
        #expect(try hub.settings == changed)
        #expect(try await hub.stop() == 0)
    }

    @Test(.timeLimit(.minutes(5)))
    func `R8.182 hub conf is whole, old or new, if the hub is killed while it writes`()
        async throws
    {
        let hub = try await Self.hub()
        var (old, seen) = (try hub.settings, [Bool]())
        for round in 0..<10 {
            let call = try hub.start(["configure", "probe", "poll_every=\(round + 2)min"])
            // The time of the kill moves through the call: it grows a little each round.
            try await Task.sleep(for: .milliseconds(60 * round))
            await hub.kill()
            // The command would look for the hub for several seconds.
            call.signal(SIGKILL)
            _ = await call.result()
            let now = try hub.settings
            let new = now.contains("poll_every = \"\(round + 2)min\"")
            #expect(now == old || new, "\(now)")
            #expect(now.replacing(/poll_every = .*\n/, with: "") == old.replacing(/poll_every = .*\n/, with: ""))
            seen.append(new)
            old = now
            try await hub.restart()
            #expect(try await hub.run(["check"]).code == 0)
        }
        #expect(try await hub.run(["configure", "probe", "poll_every=30min"]).code == 0, "\(seen)")
        let left = try FileManager.default.contentsOfDirectory(atPath: hub.folder.path).filter {
            $0.hasSuffix(".draft")
        }
        #expect(left.isEmpty, "\(left)")
        #expect(try await hub.stop() == 0)
    }
}
