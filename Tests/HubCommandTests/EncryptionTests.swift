import Foundation
import HubClient
import HubProcess
import HubStore
import Testing

@testable import HubCommand

/// An age key pair.
struct KeyPair {
    let file, recipient: String

    init(_ folder: TemporaryFolder, _ name: String) async throws {
        file = "\(folder.path)/\(name).txt"
        let made = try await ChildProcess("/usr/bin/env", ["age-keygen", "-o", file]).result()
        recipient = try #require(made.errors.split(separator: " ").last.map { $0.trimmingCharacters(in: .newlines) })
    }
}

/// Encrypted backups, and chains of an earlier version, with the real programs.
@Suite(.enabled(if: Need.age.isMet, "\(Need.age.reason)")) struct EncryptionTests {
    private typealias Report = CareTests.Report

    private func names(_ folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    }

    @Test func `an encrypted backup is restored with its key only`() async throws {
        let hub = try await TestHub()
        let (folder, stick) = (try TemporaryFolder(), try TemporaryFolder())
        let (mine, other) = (try await KeyPair(folder, "mine"), try await KeyPair(folder, "other"))
        try hub.give(CareTests.weights(1...3))
        let made = try await hub.succeed(["backup", stick.path, "--recipient", mine.recipient, "--json"])
        let report = try JSON.decode(Report.self, from: made.output.utf8)
        #expect(report.file.hasSuffix(".sqlite.age") && report.store.records == 3)
        #expect(try FileManager.default.attributesOfItem(atPath: report.file)[.posixPermissions] as? Int == 0o600)
        for name in try names(stick.path) {
            let bytes = try Data(contentsOf: URL(filePath: "\(stick.path)/\(name)"))
            for plain in ["SQLite format", "weight", "2026030"] {
                #expect(bytes.range(of: Data(plain.utf8)) == nil, "\(name): \(plain)")
            }
        }
        try await hub.expect(["backup", "--verify", report.file, "--identity", mine.file], output: "sound: 3 records")

        try hub.give(CareTests.weights(4...4))
        #expect(try await hub.stop() == 0)
        let before = try Data(contentsOf: URL(filePath: hub.data + "/hub.sqlite"))
        func refused(_ arguments: [String], _ words: String, environment: [String] = []) async throws {
            let result = try await hub.run(["restore", "--yes"] + arguments, under: environment)
            #expect(result.code != 0 && result.errors.contains(words), "\(result.errors)")
            #expect(try Data(contentsOf: URL(filePath: hub.data + "/hub.sqlite")) == before)
            #expect(try names(hub.data).filter { $0.contains("restoring") || $0.contains("replaced") } == [])
        }
        try await refused([report.file], "it is encrypted for recipients; say --identity FILE")
        try await refused([report.file, "--identity", folder.path + "/none"], "No such file or directory")
        try await refused([report.file, "--identity", other.file], "no identity matched any of the recipients")
        try await refused(
            [report.file, "--identity", mine.file], "sudo apt-get install age", environment: ["PATH=\(folder.path)"])
        let whole = try Data(contentsOf: URL(filePath: report.file))
        let damaged = folder.path + "/hub-20260101T000000Z.sqlite.age"
        for length in Thoroughness.some([whole.count / 2, whole.count - 1, 300, 30]) {
            try whole.prefix(length).write(to: URL(filePath: damaged))
            try await refused([damaged, "--identity", mine.file], damaged)
        }
        for place in Thoroughness.some([whole.count / 2, 25, 150, 250, whole.count - 2]) {
            var flipped = whole
            flipped[place] ^= 4
            try flipped.write(to: URL(filePath: damaged))
            try await refused([damaged, "--identity", mine.file], damaged)
        }
        let look = try await hub.run(["restore", report.file, "--identity", mine.file, "--dry-run"])
        #expect(look.output.contains("lost     1 version of records, sequence 4 to 4"), "\(look.output) \(look.errors)")
        try await hub.succeed(["restore", report.file, "--identity", mine.file, "--yes"])
        try await hub.restart()
        #expect(try await hub.run(["samples", "--json"]).output.split(separator: "\n").count == 3)
    }

    @Test func `a backup that cannot be encrypted leaves no file and reports the reason`() async throws {
        let hub = try await TestHub()
        let (folder, stick) = (try TemporaryFolder(), try TemporaryFolder())
        try hub.give(CareTests.weights(1...1))
        let none = try await hub.run(["backup", stick.path, "--recipient", "age1xyz"], under: ["PATH=\(folder.path)"])
        #expect(none.code == HubExit.usage.rawValue)
        #expect(
            none.errors.contains("age, which encrypts and decrypts backups, is not installed: sudo apt-get install age")
        )
        try await hub.expect(
            ["backup", stick.path, "--recipient", "age1xyz"], .unhealthy, errors: "malformed recipient")
        try await hub.expect(["backup", stick.path, "--recipients-file", folder.path + "/none"], .usage)
        #expect(try names(stick.path) == [])
    }

    @Test(.enabled(if: Need.python.isMet, "\(Need.python.reason)"))
    func `the passphrase is read from the terminal`() async throws {
        let hub = try await TestHub()
        let stick = try TemporaryFolder()
        try hub.give(CareTests.weights(1...2))
        // A pseudo-terminal that types the same passphrase at each prompt.
        let typing = """
            import os, pty, sys
            pid, terminal = pty.fork()
            if pid == 0: os.execvp(sys.argv[1], sys.argv[1:])
            while True:
                try: said = os.read(terminal, 4096)
                except OSError: break
                if not said: break
                sys.stdout.buffer.write(said)
                if b"assphrase" in said: os.write(terminal, b"quite long words\\n")
            sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
            """
        func typed(_ arguments: [String]) async throws -> ChildProcess.Result {
            try await ChildProcess(
                "/usr/bin/env",
                ["python3", "-c", typing, Programs.path("hub")] + arguments + ["--config", hub.configuration]
            ).result()
        }
        let made = try await typed(["backup", stick.path, "--passphrase"])
        #expect(made.code == 0, "\(made.output)")
        let file = try #require(try names(stick.path).first { $0.hasSuffix(".age") })
        let sound = try await typed(["backup", "--verify", "\(stick.path)/\(file)"])
        #expect(sound.code == 0 && sound.output.contains("sound: 2 records"), "\(sound.output)")
    }

    @Test func `--keep removes the oldest encrypted backups with their summaries, and --list describes all`()
        async throws
    {
        let hub = try await TestHub()
        let (folder, stick) = (try TemporaryFolder(), try TemporaryFolder())
        let key = try await KeyPair(folder, "key")
        var made: [Report] = []
        for day in 1...3 {
            try hub.give(CareTests.weights(day...day))
            let result = try await hub.succeed(
                ["backup", stick.path, "--recipient", key.recipient, "--keep", "2", "--json"])
            made.append(try JSON.decode(Report.self, from: result.output.utf8))
            // The names of backups have a resolution of one second.
            try await Task.sleep(for: .milliseconds(1_050))
        }
        let files = made.map { URL(filePath: $0.file).lastPathComponent }
        #expect(made.map(\.removed) == [[], [], [files[0]]])
        #expect(try names(stick.path) == files[1...].flatMap { [$0, $0 + ".summary"] })
        let list = try await hub.run(["backup", "--list", stick.path])
        let lines = list.output.split(separator: "\n")
        #expect(lines.count == 2 && lines[1].hasPrefix("\(files[2])  3 records, newest \(made[2].store.epoch)-3, "))
        // A cut backup does not count, and nothing is known of one without its summary. Neither is removed.
        let cut = try FileHandle(forWritingTo: URL(filePath: made[2].file))
        try cut.truncate(atOffset: 100)
        try cut.close()
        try FileManager.default.removeItem(atPath: made[1].file + ".summary")
        let again = try await hub.expect(
            ["backup", "--list", stick.path], output: "\(files[1])  without its summary, ")
        #expect(again.output.contains("\(files[2])  cut, 100 B"), "\(again.output)")
        let last = try await hub.run(["backup", stick.path, "--keep", "1"])
        #expect(last.code == 0 && !last.output.contains("removed"), "\(last.output)\(last.errors)")
    }

    @Test func `chains of an earlier version are restored, and --keep leaves them with the backups before them`()
        async throws
    {
        let folder = try TemporaryFolder()
        try OldFormat.unpackChain(into: folder.path)
        let key = folder.path + "/key.txt"
        let recipient = try await ChildProcess("/usr/bin/env", ["age-keygen", "-y", key]).result().output
        let whole = folder.path + "/encrypted/hub-20261129T215514Z.sqlite"
        let sealed = try await ChildProcess(
            "/usr/bin/env",
            [
                "age", "--encrypt", "--recipient", recipient.trimmingCharacters(in: .newlines), "--output",
                whole + ".age", whole,
            ]
        ).result()
        #expect(sealed.code == 0, "\(sealed.errors)")
        try FileManager.default.removeItem(atPath: whole)

        let owner = try await TestHub()
        #expect(try await owner.stop() == 0)
        // A hub for each, because hub restore replaces a store only once a second.
        for (kind, last) in [
            ("plain", "hub-20261129T215517Z.increment"), ("encrypted", "hub-20261129T215517Z.increment.age"),
        ] {
            let hub = kind == "plain" ? owner : try await TestHub()
            if kind != "plain" { #expect(try await hub.stop() == 0) }
            let place = "\(folder.path)/\(kind)"
            let list = try await hub.run(["backup", "--list", place]).output.split(separator: "\n")
            #expect(
                list.count == 3 && list[2].hasPrefix("\(last)  increment of an earlier version, 15 records, "),
                "\(list)")
            let sound = try await hub.run(["backup", "--verify", "\(place)/\(last)", "--identity", key])
            #expect(sound.output.contains("sound: 15 records"), "\(sound.errors)")
            try await hub.succeed(["restore", "\(place)/\(last)", "--identity", key, "--other-hub", "--yes"])
            try await hub.restart()
            let samples = try await hub.run(["samples", "--json"]).output.split(separator: "\n")
            #expect(samples.count == 15 && samples.filter { $0.contains(#""value":73"#) }.count == 5)
            #expect(try await hub.stop() == 0)
        }

        let hub = owner
        // One backup older than the newest increment and one newer, both without an increment of their own.
        for name in ["hub-20261129T215516Z.sqlite", "hub-20261129T215600Z.sqlite"] {
            #expect(try await hub.run(["backup", "\(folder.path)/plain/\(name)"]).code == 0)
        }
        let before = try names(folder.path + "/plain")
        let kept = try await hub.run(["backup", folder.path + "/plain", "--keep", "1"])
        #expect(kept.output.hasSuffix("removed hub-20261129T215600Z.sqlite\n"), "\(kept.output)\(kept.errors)")
        #expect(
            kept.errors.contains(
                "2 increments of an earlier version, up to hub-20261129T215517Z.increment: --keep leaves them"))
        #expect(Set(before).subtracting(try names(folder.path + "/plain")) == ["hub-20261129T215600Z.sqlite"])
        // If a clock has gone back, the catalogue shows that a backup may be needed.
        for kind in ["sqlite", "chain"] {
            try FileManager.default.moveItem(
                atPath: "\(folder.path)/plain/hub-20261129T215513Z.\(kind)",
                toPath: "\(folder.path)/plain/hub-20991231T000000Z.\(kind)")
        }
        try await Task.sleep(for: .milliseconds(1_050))
        try await hub.succeed(["backup", folder.path + "/plain", "--keep", "1"])
        #expect(try names(folder.path + "/plain").contains("hub-20991231T000000Z.sqlite"))
        // Without increments the rest of the chain is rotated as usual.
        for name in before where name.hasSuffix(".increment") {
            try FileManager.default.removeItem(atPath: "\(folder.path)/plain/\(name)")
        }
        try await Task.sleep(for: .milliseconds(1_050))
        let rest = try await hub.run(["backup", folder.path + "/plain", "--keep", "1"])
        #expect(rest.code == 0 && !rest.errors.contains("increment"), "\(rest.errors)")
        #expect(try names(folder.path + "/plain").count == 1)
    }

    @Test(.enabled(if: Need.compiler.isMet, "\(Need.compiler.reason)"))
    func `a backup killed at any write leaves no incomplete file that looks complete`() async throws {
        let folder = try TemporaryFolder()
        let hub = try await TestHub(in: folder)
        let stick = try TemporaryFolder()
        let (faults, key) = (Faults(in: folder), try await KeyPair(folder, "key"))
        var (kills, day, last) = (0, 1, 1)
        while kills < 25 {
            try hub.give(CareTests.weights(1...1 + day % 8))
            day += 1
            try faults.begin("end \(last)")
            let stem = stick.path
            let result = try await hub.run(
                ["backup", stem, "--recipient", key.recipient, "--keep", "3"], under: faults.environment)
            try faults.end()
            let listed = try await hub.run(["backup", "--list", stick.path, "--json"])
            let backups = try #require(
                try JSONSerialization.jsonObject(with: Data(listed.output.utf8)) as? [[String: Any]])
            for backup in backups where backup["store"] != nil {
                let name = try #require(backup["name"] as? String)
                let sound = try await hub.run(["backup", "--verify", "\(stick.path)/\(name)", "--identity", key.file])
                #expect(sound.code == 0, "killed at write \(last): \(name): \(sound.errors)")
            }
            if result.code == 0 {
                // A backup that is killed does not prevent the next one.
                if last > 30 { break }
                last = 1 + kills
                try await Task.sleep(for: .milliseconds(1_050))
            } else {
                kills += 1
                last += 1 + last / 4
            }
        }
        #expect(kills > 5)
    }
}
