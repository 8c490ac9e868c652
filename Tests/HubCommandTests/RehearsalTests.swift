import Foundation
import HubClient
import HubProcess
import HubStore
import Testing

@testable import HubCommand

/// `hub doctor --rehearse` while a hub runs.
@Suite struct RehearsalTests {
    private struct Report: Decodable {
        struct Rehearsal: Decodable {
            let backup: String
            let store: StoreSummary
            let lostVersions, lostRecords: Int64?
            let seconds: Double
            let bytes: Int64
        }
        struct Finding: Decodable { let severity, text: String }
        let findings: [Finding]
        let worst: String
        let rehearsal: Rehearsal?
    }

    private func rehearse(_ hub: TestHub, _ arguments: String...) async throws -> (code: Int32, report: Report) {
        let result = try await hub.run(["doctor", "--rehearse", "--json"] + arguments)
        #expect(!FileManager.default.fileExists(atPath: hub.data + "/rehearsal"), "nothing of it stays")
        return (result.code, try JSON.decode(Report.self, from: result.output.utf8))
    }

    @Test func `a rehearsal restores, opens and removes the newest backup, and reports how much would be lost`()
        async throws
    {
        let hub = try await TestHub()
        let stick = try TemporaryFolder()
        let none = try await rehearse(hub)
        #expect(none.code == HubExit.broken.rawValue && none.report.worst == "error")
        #expect(none.report.findings[0].text.contains("this hub knows of no backup"))

        try hub.give(CareTests.weights(1...3))
        #expect(try await hub.run(["backup", stick.path, "--incremental"]).code == 0)
        let same = try await rehearse(hub)
        #expect(same.code == 0 && same.report.rehearsal?.lostVersions == 0, "\(same.report.findings)")
        try hub.give(CareTests.weights(4...5))
        let behind = try await rehearse(hub)
        #expect(behind.code == 0 && behind.report.findings[0].severity == "good")
        let rehearsal = try #require(behind.report.rehearsal)
        #expect(rehearsal.store.records == 3 && rehearsal.lostVersions == 2 && rehearsal.lostRecords == 2)
        #expect(rehearsal.bytes >= rehearsal.store.bytes && rehearsal.seconds > 0)
        // An increment is restored together with its predecessors.
        try await Task.sleep(for: .milliseconds(1_050))
        #expect(try await hub.run(["backup", stick.path, "--incremental"]).code == 0)
        let newest = try await rehearse(hub, "--backup", stick.path)
        #expect(newest.report.rehearsal?.backup.hasSuffix(".increment") == true)
        #expect(newest.report.rehearsal?.store.records == 5 && newest.report.rehearsal?.lostVersions == 0)
        let quiet = try await hub.run(["doctor", "--rehearse", "-q"])
        #expect(quiet.code == 0 && quiet.output.isEmpty)
        // Meanwhile the hub works on with its own store.
        try hub.give(CareTests.weights(6...6))
        #expect(try await hub.run(["samples", "--json"]).output.split(separator: "\n").count == 6)
    }

    @Test func `the exit code shows a damaged backup, and one that shares no past with this store`() async throws {
        let (hub, other) = (try await TestHub(), try await TestHub())
        let stick = try TemporaryFolder()
        try hub.give(CareTests.weights(1...9))
        try other.give(CareTests.weights(1...1))
        #expect(try await hub.run(["backup", stick.path + "/mine.sqlite"]).code == 0)
        #expect(try await other.run(["backup", stick.path + "/other.sqlite"]).code == 0)
        let foreign = try await rehearse(hub, "--backup", stick.path + "/other.sqlite")
        #expect(foreign.code == HubExit.notWell.rawValue && foreign.report.findings[0].severity == "warning")
        #expect(foreign.report.findings[0].text.contains("no common past"))
        let mine = URL(filePath: stick.path + "/mine.sqlite")
        var bytes = try Data(contentsOf: mine)
        bytes[20_000] ^= 16
        try bytes.write(to: mine)
        let damaged = try await rehearse(hub)
        #expect(damaged.code == HubExit.broken.rawValue && damaged.report.rehearsal == nil)
        #expect(damaged.report.findings[0].text.contains("is damaged (page 5"), "\(damaged.report.findings)")
        try FileManager.default.removeItem(at: mine)
        let gone = try await rehearse(hub, "--backup", mine.path)
        #expect(
            gone.code == HubExit.broken.rawValue && gone.report.findings[0].text.hasSuffix("there is no such backup"))
    }

    @Test func `a rehearsal upgrades a backup of an older format`() async throws {
        let hub = try await TestHub()
        let folder = try TemporaryFolder()
        try OldFormat.all[7].unpack(into: folder.path)
        let backup = folder.path + "/old.sqlite"
        _ = try StoreFile(folder.path + "/hub.sqlite").backUp(to: backup)
        let old = try await rehearse(hub, "--backup", backup)
        #expect(old.code == HubExit.notWell.rawValue, "another hub's")
        #expect(old.report.rehearsal?.store.schema == "v8", "\(old.report.findings)")
    }

    @Test(.enabled(if: Need.age.isMet, "\(Need.age.reason)"))
    func `a rehearsal of an encrypted backup needs its key`() async throws {
        let hub = try await TestHub()
        let stick = try TemporaryFolder()
        try hub.give(CareTests.weights(1...2))
        let key = stick.path + "/key.txt"
        let made = try await ChildProcess("/usr/bin/env", ["age-keygen", "-o", key]).result()
        let recipient = try #require(made.errors.split(whereSeparator: \.isWhitespace).last)
        #expect(try await hub.run(["backup", stick.path, "--recipient", String(recipient)]).code == 0)
        let without = try await rehearse(hub)
        #expect(without.code == HubExit.broken.rawValue)
        #expect(without.report.findings[0].text.contains("say --identity FILE"))
        let with = try await rehearse(hub, "--identity", key)
        #expect(with.code == 0 && with.report.rehearsal?.store.records == 2, "\(with.report.findings)")
    }
}
