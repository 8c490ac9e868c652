import Foundation
import HubClient
import HubCore
import HubProcess
import HubWire
import Testing

@testable import HubCommand

/// `hub erase` with a hub in another process, also one that is killed.
@Suite(.serialized) struct EraseTests {
    private func weights(_ range: Range<Int>) -> [String] {
        range.map {
            #"{"type":"weight","value":71.390725,"unit":"kg","start":"2026-03-01T07:30:05+01:00","key":"needle-\#($0)","metadata":{"note":"needle"}}"#
        }
    }

    /// The value of each record, as text and in SQLite's encoding.
    private static let value = [
        Data("71.390725".utf8), withUnsafeBytes(of: 71.390725.bitPattern.bigEndian) { Data($0) },
    ]

    private func files(with needle: String, in folder: String) throws -> [String] {
        try files(with: [Data(needle.utf8)], in: folder)
    }

    private func files(with needles: [Data], in folder: String) throws -> [String] {
        let files = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
        return files.filter { file in
            let bytes = FileManager.default.contents(atPath: folder + "/" + file) ?? Data()
            return needles.contains { bytes.range(of: $0) != nil }
        }
    }

    private func erasure(_ hub: TestHub) async throws -> HubStatus.Erasure? {
        let status = try await hub.run(["status", "--json"])
        return try JSONDecoder().decode(HubStatus.self, from: Data(status.output.utf8)).erasure
    }

    /// Returns when some of the records have been erased and others have not, while the command runs.
    private func waitForSome(of total: Int64, _ hub: TestHub, _ command: ChildProcess) async throws {
        while true {
            // `nil` once the command has ended.
            let isRunning = command.residentBytes != nil
            if let state = try await erasure(hub), state.records == total, state.left ?? 0 < total { return }
            try #require(isRunning, "the command ended before the test saw its erasure in progress")
        }
    }

    @Test func `R8.43 erase lists the records, asks for confirmation, and removes them`() async throws {
        let hub = try await TestHub()
        let folder = try TemporaryFolder()
        try hub.give(weights(0..<3))
        try await hub.succeed(["backup", folder.path + "/b.sqlite"])
        let look = try await hub.run(["erase", "--type", "weight", "--dry-run"])
        #expect(look.output.contains("\n3 records in 3 versions, about "), "\(look.output)\(look.errors)")
        let listed = look.output.split(separator: "\n").prefix(4)
        #expect(listed[0].hasPrefix("TIME") && listed[1...].allSatisfy { $0.contains("weight") && $0.contains(" kg ") })
        try Data().write(to: URL(filePath: hub.data + "/hub.sqlite.replaced-1"))
        let copy = try await hub.run(["erase", "2", "--dry-run"])
        #expect(copy.output.contains("hub.sqlite.replaced-1 goes too, as a whole"), "\(copy.output)")
        #expect(copy.output.contains("--keep-copies leaves it"), "\(copy.output)")
        try FileManager.default.removeItem(atPath: hub.data + "/hub.sqlite.replaced-1")
        let two = try await hub.run(["erase", "2", "--dry-run"])
        let ends = two.output.split(separator: "\n").map { $0.hasSuffix(" 2") }
        #expect(ends == [false, true, false, false], "\(two.output)")
        #expect(look.output.contains("/b.sqlite is a backup that may have them, and stays"))
        try await hub.expect(["erase", "2"], .usage)
        let unknown = try await hub.expect(["erase", "9", "--yes"], .unhealthy)
        #expect(unknown.errors.hasPrefix("hub: no record has the number 9"))
        let one = try await hub.run(["erase", "2", "--yes"])
        #expect(
            one.output == "erased 1 record\n\(folder.path)/b.sqlite is a backup that may have them, and stays\n",
            "\(one.errors)")
        #expect(one.errors.contains("not erased: what plugins have not given yet"))
        let again = try await hub.run(["erase", "--allow", "2"])
        #expect(again.output == "2 may be sent again\n", "\(again.errors)")
        try await hub.expect(["erase", "--type", "weight", "--yes", "--json"], output: "\"records\":2")
        #expect(try files(with: "needle", in: hub.data) == [])
        let trace = try await hub.run(["trace", "1"])
        #expect(trace.code == 0 && !trace.output.contains("71.39"), "\(trace.output)\(trace.errors)")
        #expect(try await hub.stop() == 0)
        let doctor = try await hub.run(["doctor", "--deep"])
        #expect(!doctor.output.contains("counters say"), "\(doctor.output)")
    }

    @Test func `R8.43 a backup whose disk did not answer is listed as possibly present`() throws {
        let text =
            #"{"dryRun":true,"records":1,"versions":1,"bytes":1,"sinks":[],"copies":[],"backups":["/a","/b"],"unseen":["/b"],"unknown":[]}"#
        let lines = EraseCommand.backups(try JSONDecoder().decode(OwnCommands.Erase.Report.self, from: Data(text.utf8)))
        #expect(lines[0] == "/a is a backup that may have them, and stays")
        #expect(lines.count == 2 && lines[1].hasPrefix("/b ") && lines[1].hasSuffix("its disk did not answer"))
    }

    @Test(.timeLimit(.minutes(3)))
    func `R6.40 a hub that is killed during an erasure completes it after a restart`() async throws {
        let hub = try await TestHub()
        for part in 0..<5 { try hub.give(weights((part * 900)..<(part * 900 + 900))) }
        #expect(try files(with: "needle", in: hub.data) != [])
        let command = try hub.start(["erase", "--type", "weight", "--yes"])
        try await waitForSome(of: 4_500, hub, command)
        await hub.kill()
        _ = await command.result()
        #expect(try files(with: "needle", in: hub.data) != [])
        try await hub.restart()
        try await eventually { try await erasure(hub) == nil }
        #expect(try files(with: "needle", in: hub.data) == [])
        let samples = try await hub.run(["samples", "--json"])
        #expect(samples.code == 0 && samples.output.isEmpty)
        #expect(try await hub.stop() == 0)
        #expect(try files(with: "needle", in: hub.data) == [])
    }

    // MARK: - Concurrent operations

    private func expectGone(_ hub: TestHub, _ note: Comment? = nil) throws {
        #expect(try files(with: [Data("needle".utf8)] + Self.value, in: hub.data) == [], note)
    }

    @Test(.timeLimit(.minutes(3)), arguments: Need.age.isMet ? [false, true] : [false])
    func
        `R8.43 R6.40 an erasure lists a backup made at the same time, and the hub's folder keeps no trace of the records`(
            _ isEncrypted: Bool
        ) async throws
    {
        let hub = try await TestHub()
        let folder = try TemporaryFolder()
        let key = isEncrypted ? try await KeyPair(folder, "key") : nil
        let arguments = ["backup", folder.path] + (key.map { ["--recipient", $0.recipient] } ?? [])
        func backups() throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: folder.path).filter {
                $0.hasPrefix("hub-") && !$0.hasSuffix(".summary")
            }
        }
        for part in 0..<3 { try hub.give(weights((part * 900)..<(part * 900 + 900))) }
        #expect(try files(with: Self.value, in: hub.data) != [], "the value must exist before it is erased")
        func noted() -> Int {
            (FileManager.default.contents(atPath: hub.data + "/hub.sqlite.backups") ?? Data()).split(separator: 10)
                .count
        }
        let before = noted()
        let backup = try hub.start(arguments)
        while noted() == before { try await Task.sleep(for: .milliseconds(1)) }
        // Stops the backup at any point: it has begun to read or is about to. The erasure ends or waits for it.
        backup.signal(SIGSTOP)
        let erase = try hub.start(["erase", "--type", "weight", "--yes", "--json"])
        try await eventually { try await hub.run(["samples", "--json"]).output.isEmpty }
        backup.signal(SIGCONT)
        let (made, done) = (await backup.result(), await erase.result())
        #expect(made.code == 0 && done.code == 0, "\(made.errors)\(done.errors)")
        let answer = try JSONDecoder().decode(OwnCommands.Erase.Report.self, from: Data(done.output.utf8))
        #expect(answer.records == 2_700)
        let file = try #require(try backups().first)
        // An unfinished backup has the suffix `.part`.
        #expect(answer.backups.count == 1)
        #expect(answer.backups.contains { $0.contains("/\(file)") }, "\(answer.backups)")
        try expectGone(hub)
        try await hub.succeed(
            ["backup", "--verify", "\(folder.path)/\(file)"] + (key.map { ["--identity", $0.file] } ?? []))
        try expectGone(hub)
        #expect(try await hub.stop() == 0)
        try expectGone(hub)
    }

    @Test(.timeLimit(.minutes(3)))
    func `R6.40 R6.44 retention during an erasure leaves no erased value in a day`() async throws {
        let hub = try await TestHub("[person.me]\n[retention.old]\ntypes = [\"weight\"]\nthin_after_days = 30\n")
        for part in 0..<3 { try hub.give(weights((part * 900)..<(part * 900 + 900))) }
        try hub.give([#"{"type":"height","value":1.8,"unit":"m","start":"2026-03-01T07:30:05+01:00","key":"h"}"#])
        let retention = try hub.start(["retention", "--yes"])
        try await hub.succeed(["erase", "--type", "weight", "--yes", "--json"])
        _ = await retention.result()
        try expectGone(hub)
        let again = try await hub.run(["retention", "--yes"])
        #expect(again.output.hasPrefix("old: 0 samples thinned"), "\(again.output)\(again.errors)")
        #expect(try await hub.stop() == 0)
        try expectGone(hub)
        let doctor = try await hub.run(["doctor", "--deep"])
        #expect(!doctor.output.contains("counters say"), "\(doctor.output)")
    }

    @Test(.timeLimit(.minutes(3)))
    func
        `R6.40 a store is not compacted during an erasure, and compacting one of a killed hub lets the erasure continue`()
        async throws
    {
        let hub = try await TestHub()
        for part in 0..<3 { try hub.give(weights((part * 900)..<(part * 900 + 900))) }
        let command = try hub.start(["erase", "--type", "weight", "--yes"])
        try await waitForSome(of: 2_700, hub, command)
        let refused = try await hub.run(["compact"])
        #expect(refused.code != 0)
        await hub.kill()
        _ = await command.result()
        try await hub.succeed(["compact"])
        try await hub.restart()
        try await eventually { try await erasure(hub) == nil }
        try expectGone(hub)
        #expect(try await hub.stop() == 0)
        try expectGone(hub)
    }
}
