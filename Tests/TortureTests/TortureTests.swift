import Foundation
import HubProcess
import Testing
import TortureDiary

/// The promise that matters most: whatever dies and hangs, nothing is lost and nothing doubled, and the accounts are right.
///
/// `TORTURE_SECONDS` has it last longer, for hours if need be; `TORTURE_SEED` repeats the decisions of a run.
@Suite(.serialized) struct TortureTests {
    private static func number(_ name: String) -> UInt64? {
        ProcessInfo.processInfo.environment[name].flatMap(UInt64.init)
    }

    @Test func `whoever is killed and stopped, nothing confirmed is lost or doubled, and the accounts balance`()
        async throws
    {
        let seconds = Int(Self.number("TORTURE_SECONDS") ?? 45)
        let seed = Self.number("TORTURE_SEED") ?? .random(in: 0 ... .max)
        print("torture: TORTURE_SECONDS=\(seconds) TORTURE_SEED=\(seed)")
        let torture = try await Torture(seed: seed, seconds: seconds)
        let watcher = Watcher(torture.door)
        try await torture.run(seconds: seconds)
        try await torture.finish(within: .seconds(90 + seconds / 10))

        var evidence = try torture.evidence(try await watcher.end())
        try torture.askAll(&evidence)
        let printed = try await torture.host.command("status", "--json")
        let status = try JSONDecoder().decode(StatusSample.self, from: Data(printed.lines.joined().utf8))
        #expect(status.sinks.count == 2 && status.head == evidence.last?.head)
        let ends = await torture.end()
        #expect(ends == ["source-outside": 0, "sink-outside": 0, "hub": 0], "TORTURE_SEED=\(seed)")

        var judge = Checker(evidence)
        let findings = judge.judge()
        print("torture: \(Self.summary(judge, evidence))")
        guard !findings.isEmpty else { return }
        torture.host.folder.keep()
        Issue.record(
            """
            TORTURE_SEED=\(seed): \(findings.count) findings; diaries and store are left in \(torture.host.folder.path)
            \(findings.prefix(8).joined(separator: "\n"))
            """)
    }

    private static func summary(_ judge: Checker, _ evidence: Evidence) -> String {
        let kinds = Dictionary(grouping: evidence.disturbances, by: { "\($0.what) \($0.victim)" }).mapValues(\.count)
        let handovers = evidence.sinks.values.map { Handover.all($0.lines).reduce(0) { $0 + $1.items.count } }
        return """
            \(judge.said.count) records, \(judge.versions.count) versions, \(handovers.reduce(0, +)) handed over, \
            \(evidence.sightings.count) looks at the accounts; \
            \(kinds.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ", "))
            """
    }
}
