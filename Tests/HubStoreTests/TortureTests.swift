import Foundation
import HubProcess
import HubStore
import Platform
import Samples
import Testing

@Suite struct TortureTests {
    /// Number of kills of one store; `HUB_TORTURE_ROUNDS` sets another.
    private static let rounds = ProcessInfo.processInfo.environment["HUB_TORTURE_ROUNDS"].flatMap(Int.init) ?? 6

    @Test func `every record confirmed before a kill is stored once, under its number`() async throws {
        let folder = try TemporaryFolder()
        let seed = UInt64.random(in: .min ... .max)
        var random = SeededGenerator(seed: seed)
        var confirmed: [Int: Int64] = [:]
        var next = 0
        for _ in 0..<Self.rounds {
            let size = [1, 7, 200].randomElement(using: &random) ?? 1
            let wanted = Int.random(in: 1...40, using: &random) * size
            let lines = try await kill(after: wanted, folder.store, first: next, size: size)
            for line in lines {
                let parts = line.split(separator: " ").compactMap { Int64($0) }
                #expect(parts.count == 2, "\(line)")
                guard parts.count == 2 else { continue }
                let index = Int(parts[0])
                // A record confirmed twice, because a kill cut off its first answer, must have the same number.
                if let before = confirmed[index] { #expect(before == parts[1], "seed \(seed)") }
                confirmed[index] = parts[1]
                next = max(next, index + 1)
            }
        }
        let store = try folder.open()
        #expect(store.loss == nil, "a kill must not lose confirmed records")
        let all = try await store.all(RecordQuery()).records
        let byKey = Dictionary(grouping: all) { record -> String in
            if case .sample(_, let key) = record.record.identity { key.text } else { "" }
        }
        #expect(byKey.values.allSatisfy { $0.count == 1 }, "seed \(seed)")
        for (index, number) in confirmed {
            let record = byKey["k\(index)"]?.first
            #expect(record?.number == number, "seed \(seed): record \(index)")
            guard case .sample(let sample)? = record?.record else { continue }
            #expect(sample.value == .quantity(Double(index) / 8, unit: "kg"))
        }
        #expect(all.map(\.sequence) == Array(1...store.head))
        #expect(try await store.verifyAccounts() == [], "seed \(seed)")
    }

    @Test func `deliveries answered before a kill are not repeated, and the accounts balance`() async throws {
        let folder = try TemporaryFolder()
        let seed = UInt64.random(in: .min ... .max)
        var random = SeededGenerator(seed: seed)
        var settled: Set<[Int64]> = []
        var next = 0
        for _ in 0..<Self.rounds {
            let wanted = Int.random(in: 1...600, using: &random)
            // Some indices occur again as duplicates.
            next = max(0, next - 5)
            let lines = try await kill(after: wanted, folder.store, first: next, size: 20, sink: true)
            for line in lines {
                let parts = line.split(separator: " ").dropFirst().compactMap { Int64($0) }
                #expect(settled.insert(parts).inserted, "seed \(seed): \(line) was delivered twice")
            }
            let store = try folder.open()
            #expect(try await store.verifyAccounts() == [], "seed \(seed)")
            next = Int(try await store.recordCount())
            try store.close()
        }
        let store = try folder.open()
        let sink = SinkID(instance: "torture", want: "all")
        let account = try await store.sink(sink).account
        #expect(account.wanted == store.head, "seed \(seed)")
        #expect(account.delivered >= Int64(settled.count), "seed \(seed)")
        var session = try await SinkSession(store, sink)
        for record in try await session.take(500) {
            #expect(!settled.contains([record.number, record.sequence]), "seed \(seed): \(record.number)")
        }
    }

    /// Starts the helper, kills it once it has confirmed `wanted` records, and returns all complete lines of its output.
    private func kill(after wanted: Int, _ store: String, first: Int, size: Int, sink: Bool = false) async throws
        -> [String]
    {
        let helper = try ChildProcess("store-torture", [store, String(first), String(size)] + (sink ? ["sink"] : []))
        let lines = await helper.lines(count: wanted)
        #expect(lines.count >= wanted, "the helper ended before it was killed")
        await helper.killAndWait()
        return await helper.allLines()
    }
}
