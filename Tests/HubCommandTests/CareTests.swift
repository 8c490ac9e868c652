import Foundation
import HubClient
import HubProcess
import HubStore
import Testing

@testable import HubCommand

/// `hub backup` and `hub restore` with a hub in another process.
@Suite struct CareTests {
    static func weights(_ days: ClosedRange<Int>) -> [String] {
        days.map { day in
            #"{"type":"weight","value":7\#(day).3,"unit":"kg","start":"2026-03-0\#(day)T07:30:05+01:00","key":"2026030\#(day)"}"#
        }
    }

    struct Report: Decodable {
        let file: String
        let store: StoreSummary
        let removed: [String]
    }

    @Test func `a restored backup of a running hub has its former state, and a follower starts over`()
        async throws
    {
        let hub = try await TestHub()
        let folder = try TemporaryFolder()
        try hub.give(CareTests.weights(1...3))
        let follower = try hub.start(["tap", "sample/weight/", "--since", "0", "--count", "9"])
        try await follower.line { $0.contains("#3") }

        let made = try await hub.succeed(["backup", folder.path, "--json"])
        let report = try JSON.decode(Report.self, from: made.output.utf8)
        #expect(report.store.head == 3 && report.store.records == 3)
        #expect(report.file.hasPrefix(folder.path + "/hub-2"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count == 1)
        let sound = try await hub.run(["backup", "--verify", report.file])
        #expect(
            sound.output.hasPrefix("\(report.file)  sound: 3 records, newest \(report.store.epoch)-3, last stored 20"))

        try hub.give(CareTests.weights(4...5))
        try await follower.line { $0.contains("#5") }
        let look = try await hub.succeed(["restore", report.file, "--dry-run"])
        #expect(
            look.output.contains("lost     2 versions of records, sequence 4 to 5, stored after 20"), "\(look.output)")
        let early = try await hub.expect(["restore", report.file, "--yes"], .tryAgain)
        #expect(early.errors.hasPrefix("hub: the hub runs; stop it first"))

        #expect(try await hub.stop() == 0)
        try await hub.expect(["restore", report.file], .usage)
        let restored = try await hub.succeed(["restore", report.file, "--yes"])
        #expect(restored.output.contains("the replaced store is kept as \(hub.data)/hub.sqlite.replaced-2"))
        try await hub.restart()
        // The new epoch in the pulse is the follower's only sign of the restore.
        try await follower.line { $0.contains("restored") }
        try hub.give(CareTests.weights(4...4))
        let kept = try await hub.run(["samples", "weight", "--json"])
        #expect(kept.output.split(separator: "\n").count == 4)
        let seen = await follower.result().output.split(separator: "\n").compactMap {
            $0.split(separator: "#").last.flatMap { Int($0) }
        }
        #expect(seen == [1, 2, 3, 4, 5, 1, 2, 3, 4])
    }

    @Test func `rotation removes old backups of this hub and no other file`() async throws {
        let hub = try await TestHub()
        try hub.give(CareTests.weights(1...1))
        let folder = try TemporaryFolder()
        let others = ["hub-20200101T000000Z.sqlite", "hub-notes.txt", "hub-20200101T000000Z.sqlite.old"]
        for name in others { try Data("mine".utf8).write(to: URL(filePath: "\(folder.path)/\(name)")) }
        for year in 2021...2023 {
            let made = try await hub.succeed(["backup", "\(folder.path)/hub-\(year)0101T000000Z.sqlite"])
            #expect(made.errors.contains("not in it: hub.conf, tokens (secrets.db), keys"))
        }
        let made = try await hub.succeed(["backup", folder.path, "--keep", "2"])
        #expect(made.output.hasSuffix("removed hub-20220101T000000Z.sqlite\nremoved hub-20210101T000000Z.sqlite\n"))
        let left = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(Set(left).isSuperset(of: others + ["hub-20230101T000000Z.sqlite"]))
        #expect(left.count == others.count + 2)
        let noted = try String(contentsOfFile: hub.data + "/hub.sqlite.backups", encoding: .utf8)
        #expect(noted.contains("hub-20230101T000000Z.sqlite"))
        #expect(!noted.contains("hub-20220101T000000Z.sqlite") && !noted.contains("hub-20210101T000000Z.sqlite"))
    }

    @Test func `after a clock was ahead, --keep removes the backup with the oldest records, never the one just made`()
        async throws
    {
        let hub = try await TestHub()
        let folder = try TemporaryFolder()
        // Named as by a clock that was ten years ahead.
        let ahead = (1...2).map { "hub-2099010\($0)T000000Z.sqlite" }
        for (day, name) in zip(1...2, ahead.reversed()) {
            try hub.give(CareTests.weights(day...day))
            #expect(try await hub.run(["backup", "\(folder.path)/\(name)"]).code == 0)
        }
        try hub.give(CareTests.weights(3...3))
        let made = try await hub.succeed(["backup", folder.path, "--keep", "2", "--json"])
        let report = try JSON.decode(Report.self, from: made.output.utf8)
        // The first backup has the later name and fewer records.
        #expect(report.removed == [ahead[1]])
        let kept = [URL(filePath: report.file).lastPathComponent, ahead[0]]
        #expect(Set(try FileManager.default.contentsOfDirectory(atPath: folder.path)) == Set(kept))

        // A backup from an epoch that a restore has ended counts as older than the current epoch, even if it has more
        // records.
        #expect(try await hub.stop() == 0)
        #expect(try await hub.run(["restore", "\(folder.path)/\(ahead[0])", "--yes"]).code == 0)
        try await hub.succeed(["backup", folder.path + "/hub-20200101T000000Z.sqlite"])
        try FileManager.default.removeItem(atPath: report.file)
        let last = try await hub.run(["backup", folder.path, "--keep", "2", "--json"])
        #expect(try JSON.decode(Report.self, from: last.output.utf8).removed == [ahead[0]])
    }

    @Test func `backup neither overwrites a file nor writes into the hub's own folder`() async throws {
        let hub = try await TestHub()
        let folder = try TemporaryFolder()
        try folder.write("mine")
        try await hub.expect(["backup", folder.configuration], .usage, errors: "nothing is overwritten")
        #expect(try String(contentsOfFile: folder.configuration, encoding: .utf8) == "mine")
        for place in [hub.data, hub.data + "/copy.sqlite"] {
            try await hub.expect(
                ["backup", place], .usage, errors: "a backup inside the hub's own folder \(hub.data) is lost with it")
        }
        for name in ["/missing/", "/missing", "/backups.d"] {
            let nowhere = try await hub.run(["backup", folder.path + name])
            #expect(nowhere.code == HubExit.usage.rawValue)
            #expect(nowhere.errors.contains("there is no such folder. Make it (mkdir -p \(folder.path)/"))
            #expect(nowhere.errors.contains("or name a file: \(folder.path)/\(name.split(separator: "/")[0]).sqlite"))
        }
        let apart = try await hub.expect(
            ["backup", folder.path + "/missing/one.sqlite"], .usage,
            errors: "\(folder.path)/missing: no backup can be written there (No such file or directory)")
        #expect(!apart.errors.contains(".part"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["hub.conf"])
        try await hub.expect(["backup", folder.path + "/one.sqlite", "--keep", "3"], .usage)
    }

    @Test func `restore refuses a file that is no backup, and a backup of another hub`() async throws {
        let (hub, other) = (try await TestHub(), try await TestHub())
        let folder = try TemporaryFolder()
        try folder.write("no database")
        try other.give(CareTests.weights(1...2))
        let foreign = folder.path + "/other.sqlite"
        #expect(try await other.run(["backup", foreign]).code == 0)
        #expect(try await hub.stop() == 0)
        let rubbish = try await hub.expect(["restore", folder.configuration, "--yes"], .unhealthy)
        #expect(rubbish.errors.hasSuffix("; hub import reads what hub export has written\n"), "\(rubbish.errors)")
        try await hub.expect(["restore", folder.path + "/missing", "--yes"], .usage)
        try await hub.expect(["restore", foreign, "--yes"], .unhealthy, errors: "Say --other-hub if you mean it")
        #expect(try await hub.run(["restore", foreign, "--yes", "--other-hub"]).code == 0)
        try await hub.restart()
        #expect(try await hub.run(["samples", "--json"]).output.split(separator: "\n").count == 2)
    }

    @Test(arguments: [
        (["backup", "/media/stick", "--incremental"], "restic keeps small, deduplicated copies"),
        (
            ["backup", "--incremental", "--recipient", "age1x", "--keep", "3"],
            "restic keeps small, deduplicated copies"
        ),
        (["doctor", "--rehearse", "-q"], "hub restore FILE --dry-run"),
        (["doctor", "--rehearse", "--backup", "/media/stick"], "hub restore FILE --dry-run"),
        (["doctor", "--backup", "/media/stick", "--rehearse"], "hub restore FILE --dry-run"),
        (["doctor", "--identity", "key.txt"], "hub restore FILE --dry-run --identity KEY"),
    ]) func `an option that is gone is an error that names its replacement`(_ words: [String], _ remedy: String)
        async throws
    {
        let result = try await Programs.hub(words)
        #expect(result.code == HubExit.usage.rawValue)
        let first = result.errors.prefix { $0 != "\n" }
        #expect(first.hasPrefix("hub: hub \(words[0]) --") && first.contains(" is gone: "), "\(first)")
        #expect(first.contains(remedy) && first.hasSuffix("see Docs/Backups.md"), "\(first)")
    }

    @Test func `a misspelled name is answered with the closest match only`() async throws {
        let type = try await Programs.hub(["samples", "wieght"])
        #expect(type.code == HubExit.usage.rawValue)
        #expect(type.errors == "hub: there is no type wieght; did you mean weight? hub types lists all\n")
        let command = try await Programs.hub(["statuss"])
        #expect(command.code == HubExit.usage.rawValue)
        #expect(command.errors == "hub: there is no command statuss; did you mean hub status?\n")
        #expect(try await Programs.hub(["logg"]).errors.contains("did you mean hub log?"))
        let date = try await Programs.hub(["log", "weight", "64.2", "--date", "yesterday"])
        #expect(date.errors.hasPrefix("hub: unknown option '--date'. Did you mean '--at'?\nUsage: hub log"), "\(date)")
        let people = try await Programs.hub(["people"])
        #expect(people.errors.contains("hub profile shows a person's profile"), "\(people)")
        let none = try await Programs.hub(["xyzzy"])
        #expect(none.errors == "hub: there is no command xyzzy; hub --help lists them\n")
    }
}
