import Foundation
import HubProcess
import HubStore
import Testing

@testable import HubCommand

/// The current hub, started with files of an older format.
@Suite struct FormatTests {
    private func place(_ format: OldFormat) throws -> (TemporaryFolder, store: String) {
        let folder = try TemporaryFolder()
        try folder.writeSettings("[person.anna]\n[person.ben]\n")
        try FileManager.default.createDirectory(
            atPath: folder.path + "/data", withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        try format.unpack(into: folder.path + "/data")
        return (folder, folder.path + "/data/hub.sqlite")
    }

    @Test(
        .enabled(if: Need.compiler.isMet, "\(Need.compiler.reason)"), arguments: [OldFormat.all[0], OldFormat.all[7]])
    func `a hub killed at any write of the upgrade leaves a store that opens with all its records`(_ format: OldFormat)
        async throws
    {
        let expected = try format.rows.count { $0.hasPrefix("sample ") || $0.hasPrefix("day ") }
        var (killed, last) = (0, 1)
        while true {
            let (folder, path) = try place(format)
            let faults = Faults(in: folder)
            try faults.begin("end \(last)")
            let hub = try ChildProcess(
                "/usr/bin/env", faults.environment + [Programs.path("hub"), "run", "--config", folder.configuration])
            // The hub is ready once the upgrade is done.
            let isReady = await hub.errorLines(count: 1) { $0.hasPrefix("hub: ready: ") }.count == 1
            await hub.killAndWait()
            killed += isReady ? 0 : 1
            let store = try Store(path: path, now: 0)
            #expect(try await store.verifyAccounts() == [], "killed at write \(last)")
            #expect(try await store.recordCount() == Int64(expected), "killed at write \(last)")
            try store.close()
            #expect(try StoreFile(path).faults(.counters) == [])
            if isReady { break }
            last += max(1, last / 6)
        }
        #expect(killed > 10)
    }

    @Test func `hub run reports that it upgrades a store, and hub doctor finds no error afterwards`() async throws {
        let (folder, _) = try place(OldFormat.all[0])
        let hub = try ChildProcess("hub", ["run", "--config", folder.configuration])
        let lines = await hub.errorLines(count: 1) { $0.hasPrefix("hub: ready: ") }
        #expect(lines.count == 1)
        let said = hub.errorLines.joined(separator: "\n")
        #expect(said.contains("it is copied once, so that each of its pages has a sum: 0 % of 1 MB"), "\(said)")
        #expect(said.contains("it is brought up to date"), "\(said)")
        let doctor = try await ChildProcess("hub", ["doctor", "--deep", "--json", "--config", folder.configuration])
            .result()
        #expect(!doctor.output.contains(#""severity":"error""#), "\(doctor.output)")
        hub.signal(SIGTERM)
        #expect(await hub.result().code == 0)
    }
}
