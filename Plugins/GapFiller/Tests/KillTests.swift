import Foundation
import Platform
import Samples
import Testing

/// kill -9 of the hub and of the gap-filler while weigh-ins are added, changed and deleted.
@Suite(.serialized) struct KillTests {
    /// Number of kills in one run; `FILLER_KILLS` sets another.
    private static let kills = ProcessInfo.processInfo.environment["FILLER_KILLS"].flatMap(Int.init) ?? 10

    @Test(.timeLimit(.minutes(5)))
    func `after kills of the hub and the gap-filler at random times every day is right`() async throws {
        let seed =
            ProcessInfo.processInfo.environment["FILLER_SEED"].flatMap(UInt64.init) ?? .random(in: 0 ... .max)
        var dice = SeededGenerator(seed: seed)
        let scene = try await Scene(hub: "clock = \"2024-05-20T10:00:00Z@1\"")
        try await scene.startFiller("series = [\"mean\", \"first\"]", isReady: false)
        let first = try #require(LocalDate("2023-05-01"))
        var known: [String] = []
        for kill in 0..<Self.kills {
            for step in 0..<4 {
                // A batch of late weigh-ins, corrections, and sometimes a deletion.
                var batch: [Scene.Weighing] = []
                for index in 0..<Int.random(in: 1...30, using: &dice) {
                    let date = first.adding(days: .random(in: 0...384, using: &dice))
                    let isNew = known.isEmpty || Int.random(in: 0..<4, using: &dice) > 0
                    let key = isNew ? "\(kill)-\(step)-\(index)" : known[.random(in: known.indices, using: &dice)]
                    if batch.contains(where: { $0.key == key }) { continue }
                    batch.append(
                        Scene.Weighing(
                            key: key, start: "\(date.text)T\(Int.random(in: 10...21, using: &dice)):00:00+02:00",
                            value: 80 + Double(Int.random(in: 0...40, using: &dice)) / 10))
                    if isNew { known.append(key) }
                }
                try scene.give(batch.map(\.json))
                if known.count > 5, Bool.random(using: &dice) {
                    try scene.retract(known.remove(at: .random(in: known.indices, using: &dice)))
                }
            }
            // Kill somewhere in the work that follows.
            try await Task.sleep(for: .milliseconds(.random(in: 0...40, using: &dice)))
            switch Int.random(in: 0..<3, using: &dice) {
            case 0: try await scene.killHub()
            case 1:
                await scene.killFiller()
                try await scene.startFiller(isReady: false)
            default:
                await scene.killFiller()
                try await scene.killHub()
                try await scene.startFiller(isReady: false)
            }
        }
        try await scene.settle()
        #expect(try scene.days() == scene.expected(today: "2024-05-20"), "seed \(seed)")
        #expect(
            try scene.days(series: "first30")
                == scene.expected(SeriesRules(.first, mirrorTolerance: 0.05), today: "2024-05-20"), "seed \(seed)")
        try await scene.stopFiller()
    }
}
