import Foundation
import HubClient
import HubProcess
import HubStore
import Testing

@testable import HubCommand

/// Encrypted backups and chains of them, with the real programs.
@Suite(.enabled(if: Need.age.isMet, "\(Need.age.reason)")) struct EncryptionTests {
    private struct Report: Decodable {
        let file: String
        let store: StoreSummary
        let removed: [String]
        let position: Int?
    }

    /// An age key pair.
    private struct Pair {
        let file, recipient: String

        init(_ folder: TemporaryFolder, _ name: String) async throws {
            file = "\(folder.path)/\(name).txt"
            let made = try await ChildProcess("/usr/bin/env", ["age-keygen", "-o", file]).result()
            recipient = try #require(
                made.errors.split(separator: " ").last.map { $0.trimmingCharacters(in: .newlines) })
        }
    }

    private func names(_ folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    }

    @Test func `an encrypted backup is restored with its key only`() async throws {
        let hub = try await TestHub()
        let (folder, stick) = (try TemporaryFolder(), try TemporaryFolder())
        let (mine, other) = (try await Pair(folder, "mine"), try await Pair(folder, "other"))
        try hub.give(CareTests.weights(1...3))
        let made = try await hub.run(["backup", stick.path, "--recipient", mine.recipient, "--json"])
        #expect(made.code == 0, "\(made.errors)")
        let report = try JSON.decode(Report.self, from: made.output.utf8)
        #expect(report.file.hasSuffix(".sqlite.age") && report.store.records == 3 && report.position == 0)
        #expect(try FileManager.default.attributesOfItem(atPath: report.file)[.posixPermissions] as? Int == 0o600)
        for name in try names(stick.path) {
            let bytes = try Data(contentsOf: URL(filePath: "\(stick.path)/\(name)"))
            for plain in ["SQLite format", "weight", "2026030"] {
                #expect(bytes.firstRange(of: Data(plain.utf8)) == nil, "\(name): \(plain)")
            }
        }
        let sound = try await hub.run(["backup", "--verify", report.file, "--identity", mine.file])
        #expect(sound.output.contains("sound: 3 records"), "\(sound.errors)")

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
        for length in [whole.count - 1, whole.count / 2, 300, 30] {
            try whole.prefix(length).write(to: URL(filePath: damaged))
            try await refused([damaged, "--identity", mine.file], damaged)
        }
        for place in [25, 150, 250, whole.count / 2, whole.count - 2] {
            var flipped = whole
            flipped[place] ^= 4
            try flipped.write(to: URL(filePath: damaged))
            try await refused([damaged, "--identity", mine.file], damaged)
        }
        let look = try await hub.run(["restore", report.file, "--identity", mine.file, "--dry-run"])
        #expect(look.output.contains("lost     1 version of records, sequence 4 to 4"), "\(look.output) \(look.errors)")
        let restored = try await hub.run(["restore", report.file, "--identity", mine.file, "--yes"])
        #expect(restored.code == 0, "\(restored.errors)")
        try await hub.restart()
        #expect(try await hub.run(["samples", "--json"]).output.split(separator: "\n").count == 3)
    }

    @Test func `a backup that cannot be encrypted leaves no file and reports the reason`() async throws {
        let hub = try await TestHub()
        let (folder, stick) = (try TemporaryFolder(), try TemporaryFolder())
        try hub.give(CareTests.weights(1...1))
        let none = try await hub.run(
            ["backup", stick.path, "--recipient", "age1xyz"], under: ["PATH=\(folder.path)"])
        #expect(none.code == HubExit.usage.rawValue)
        #expect(
            none.errors.contains("age, which encrypts and decrypts backups, is not installed: sudo apt-get install age")
        )
        let wrong = try await hub.run(["backup", stick.path, "--recipient", "age1xyz"])
        #expect(
            wrong.code == HubExit.notWell.rawValue && wrong.errors.contains("malformed recipient"), "\(wrong.errors)")
        let missing = try await hub.run(["backup", stick.path, "--recipients-file", folder.path + "/none"])
        #expect(missing.code == HubExit.usage.rawValue)
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

    @Test func `a chain of encrypted increments is listed, restored at any point, and rotated as a whole`() async throws
    {
        let hub = try await TestHub()
        let (folder, stick) = (try TemporaryFolder(), try TemporaryFolder())
        let key = try await Pair(folder, "key")
        func backUp(_ more: String...) async throws -> Report {
            let made = try await hub.run(
                ["backup", stick.path, "--incremental", "--recipient", key.recipient, "--json"] + more)
            #expect(made.code == 0, "\(made.errors)")
            return try JSON.decode(Report.self, from: made.output.utf8)
        }
        var made: [Report] = []
        for day in 1...4 {
            try hub.give(CareTests.weights(day...day))
            made.append(try await backUp())
            // The names of backups have a resolution of one second.
            try await Task.sleep(for: .milliseconds(1_050))
        }
        #expect(made.map(\.position) == [0, 1, 2, 3])
        let list = try await hub.run(["backup", "--list", stick.path])
        #expect(list.output.split(separator: "\n").count == 4)
        for (day, report) in made.enumerated() {
            #expect(list.output.contains("\(day + 1) record"))
            let sound = try await hub.run(["backup", "--verify", report.file, "--identity", key.file])
            #expect(sound.output.contains("sound: \(day + 1) record"), "\(sound.errors)")
        }
        // The newest increment needs the whole chain.
        #expect(try await backUp("--keep", "2").removed == [])
        // Another recipient begins another chain. Then the first chain may be removed, its newest increment first.
        let other = try await Pair(folder, "other")
        try await Task.sleep(for: .milliseconds(1_050))
        let next = try await hub.run(
            ["backup", stick.path, "--incremental", "--recipient", other.recipient, "--keep", "1", "--json"])
        let report = try JSON.decode(Report.self, from: next.output.utf8)
        #expect(report.position == 0 && report.removed.count == 5)
        #expect(report.removed.last == URL(filePath: made[0].file).lastPathComponent)
        let left = URL(filePath: report.file).lastPathComponent
        #expect(try names(stick.path) == [String(left.prefix { $0 != "." }) + ".chain", left])
    }

    @Test(.enabled(if: Need.compiler.isMet, "\(Need.compiler.reason)"))
    func `a backup killed at any write leaves no incomplete file that looks complete`() async throws {
        let folder = try TemporaryFolder()
        let hub = try await TestHub(in: folder)
        let stick = try TemporaryFolder()
        let faults = Faults(in: folder)
        var (kills, day, last) = (0, 1, 1)
        while kills < 25 {
            try hub.give(CareTests.weights(1...1 + day % 8))
            day += 1
            try faults.begin("end \(last)")
            let stem = stick.path
            let result = try await hub.run(["backup", stem, "--incremental", "--keep", "3"], under: faults.environment)
            try faults.end()
            let listed = try await hub.run(["backup", "--list", stick.path, "--json"])
            let backups = try #require(
                try JSONSerialization.jsonObject(with: Data(listed.output.utf8)) as? [[String: Any]])
            for backup in backups where backup["needs"] != nil {
                let name = try #require(backup["name"] as? String)
                let sound = try await hub.run(["backup", "--verify", "\(stick.path)/\(name)"])
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
