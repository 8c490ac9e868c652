import Foundation
import HubProcess
import Testing

@testable import hub_torture

/// The most important promise: whatever dies, hangs, lies or is cut, no confirmed record is lost or doubled, and the hub reports the fault.
@Suite(.timeLimit(.minutes(5))) struct TortureTests {
    /// Rounds with these seeds have every fault of disk and store, and no long fault.
    static let seeds: Range<UInt64> = 30..<35

    @Test func `a hub survives the faults of one round, and with make test-all those of all rounds`() async throws {
        let rounds = Thoroughness.isWhole ? Self.seeds.count : 1
        let run = try await ChildProcess(
            "hub-torture", ["--rounds", "\(rounds)", "--seed", "\(Self.seeds.lowerBound)"]
        ).result()
        #expect(run.code == 0, "\(run.output)\(run.errors)")
        #expect(run.output.contains("\(rounds) of \(rounds) rounds held"))
    }

    @Test func `the judge finds a loss that the hub cannot find, and the round says how to repeat it`() async throws {
        let run = try await ChildProcess("hub-torture", ["--rounds", "1", "--seed", "7", "--plant"]).result()
        #expect(run.code == 1)
        #expect(run.output.contains("BROKEN seed 7: planted") && run.output.contains("    LOST: "), "\(run.output)")
        #expect(run.output.contains("make torture SEED=7 ROUNDS=1"))
        let folder = try #require(run.output.firstMatch(of: /findings, kept in ([^;]+);/)?.1)
        for file in ["schedule.txt", "journal.txt", "hub.log", "source-inside.diary", "data.kept/hub.sqlite"] {
            #expect(FileManager.default.fileExists(atPath: "\(folder)/\(file)"), "\(file)")
        }
        try FileManager.default.removeItem(atPath: String(folder))
    }

    @Test func `the rounds of make test-all have every kind of fault`() {
        let kinds = Self.seeds.flatMap { Schedule.kinds(of: $0) }
        #expect(Set(kinds) == Set(StoreFault.allCases))
    }

    @Test func `the same seed makes the same schedule, and other seeds make other ones`() {
        for seed in UInt64(0)..<200 { #expect(Schedule(seed: seed).lines == Schedule(seed: seed).lines) }
        #expect(Set((UInt64(0)..<200).map { Schedule(seed: $0).lines }).count == 200)
    }
}
