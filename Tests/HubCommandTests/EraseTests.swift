import Foundation
import HubClient
import HubCore
import HubProcess
import Testing

@testable import HubCommand

/// `hub erase` on a hub that is a process of its own, and is killed.
@Suite(.serialized) struct EraseTests {
    private func weights(_ range: Range<Int>) -> [String] {
        range.map {
            #"{"type":"weight","value":71.390725,"unit":"kg","start":"2026-03-01T07:30:05+01:00","key":"needle-\#($0)","metadata":{"note":"needle"}}"#
        }
    }

    private func files(with needle: String, in folder: String) throws -> [String] {
        let files = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
        return files.filter { file in
            FileManager.default.contents(atPath: folder + "/" + file)?.range(of: Data(needle.utf8)) != nil
        }
    }

    private func erasure(_ hub: TestHub) async throws -> HubStatus.Erasure? {
        let status = try await hub.run(["status", "--json"])
        return try JSONDecoder().decode(HubStatus.self, from: Data(status.output.utf8)).erasure
    }

    @Test func `R8.43 what is about to be erased is shown, asked about, and then gone`() async throws {
        let hub = try await TestHub()
        let folder = try TemporaryFolder()
        try hub.give(weights(0..<3))
        let backup = try await hub.run(["backup", folder.path + "/b.sqlite"])
        #expect(backup.code == 0, "\(backup.errors)")
        let look = try await hub.run(["erase", "--type", "weight", "--dry-run"])
        #expect(
            look.output.hasPrefix("3 records in 3 versions, about "),
            "\(look.output)\(look.errors)")
        #expect(look.output.contains("/b.sqlite is a backup that may have them, and stays"))
        let unasked = try await hub.run(["erase", "2"])
        #expect(unasked.code == HubExit.usage.rawValue)
        let unknown = try await hub.run(["erase", "9", "--yes"])
        #expect(unknown.code == HubExit.notWell.rawValue)
        #expect(unknown.errors.hasPrefix("hub: no record has the number 9"))
        let one = try await hub.run(["erase", "2", "--yes"])
        #expect(
            one.output
                == "erased 1 record\n\(folder.path)/b.sqlite is a backup that may have them, and stays\n",
            "\(one.errors)")
        #expect(one.errors.contains("not erased: what plugins have not given yet"))
        let again = try await hub.run(["erase", "--allow", "2"])
        #expect(again.output == "2 may be sent again\n", "\(again.errors)")
        let rest = try await hub.run(["erase", "--type", "weight", "--yes", "--json"])
        #expect(rest.output.contains("\"records\":2"), "\(rest.output)\(rest.errors)")
        #expect(try files(with: "needle", in: hub.data) == [])
        let trace = try await hub.run(["trace", "1"])
        #expect(trace.code == 0 && !trace.output.contains("71.39"), "\(trace.output)\(trace.errors)")
        #expect(try await hub.stop() == 0)
        let doctor = try await hub.run(["doctor", "--deep"])
        #expect(!doctor.output.contains("counters say"), "\(doctor.output)")
    }

    @Test(.timeLimit(.minutes(3)))
    func `R6.40 a hub that is killed while it erases goes on with it, and nothing is left`() async throws {
        let hub = try await TestHub()
        for part in 0..<5 { try hub.give(weights((part * 900)..<(part * 900 + 900))) }
        #expect(try files(with: "needle", in: hub.data) != [])
        let command = try hub.start(["erase", "--type", "weight", "--yes"])
        while true {
            // The records are chosen, and some of them are erased.
            if let state = try await erasure(hub), state.records == 4_500, state.left ?? 0 < 4_500 { break }
        }
        hub.signal(SIGKILL)
        await hub.waitForEnd()
        _ = await command.result()
        #expect(try files(with: "needle", in: hub.data) != [])
        try await hub.restart()
        while try await erasure(hub) != nil {}
        #expect(try files(with: "needle", in: hub.data) == [])
        let samples = try await hub.run(["samples", "--json"])
        #expect(samples.code == 0 && samples.output.isEmpty)
        #expect(try await hub.stop() == 0)
        #expect(try files(with: "needle", in: hub.data) == [])
    }
}
