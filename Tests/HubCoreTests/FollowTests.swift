import Foundation
import Platform
import Testing

/// Following from a cursor to live messages without gaps or duplicates (chapter 7.1).
@Suite struct FollowTests {
    /// The state that a follower saves in one transaction.
    private struct Kept: Sendable {
        var cursor: String?
        var sequences: [Int64] = []
    }

    /// The documented algorithm, run until the follower has enough records.
    private func follow(_ hub: RunningHub, _ kept: Kept, upTo isEnough: @Sendable (Kept) -> Bool) async throws -> Kept {
        var kept = kept
        let listener = try await hub.listener("sample/", "retraction/", "hub/pulse/")  // 1
        let peer = try await hub.client("follower")
        var highest: [String: Int64] = [:]
        var known: Int64 = 0

        func ask() async throws {  // 2
            var next: String?
            repeat {
                let since = kept.cursor.map { #""since":"\#($0)","# } ?? #""kinds":["quantity","retraction"],"#
                let page = try await peer.query(since + #""limit":5000"# + (next.map { #","next":"\#($0)""# } ?? ""))
                for record in page.body["records"].array { kept.sequences.append(record["seq"].int ?? -1) }
                next = page.body["next"].string
                if next == nil { kept.cursor = page.body["cursor"].string }
            } while next != nil
            known = Int64(kept.cursor?.split(separator: "-").last ?? "") ?? 0
        }

        try await ask()
        while !isEnough(kept) {  // 3
            guard let message = await listener.nextIfAny(within: .milliseconds(500)) else {
                try await ask()
                continue
            }
            if message.topic == "hub/pulse/" {  // 5
                if message.record["head"].int ?? 0 > known { try await ask() }
                continue
            }
            guard message.sequence > known else { continue }
            if message.previous > known, message.previous > highest[message.topic] ?? 0 {
                try await ask()
                continue
            }
            kept.sequences.append(message.sequence)
            highest[message.topic] = message.sequence
            known = message.sequence  // 4
            let epoch = kept.cursor?.split(separator: "-").first ?? ""
            kept.cursor = "\(epoch)-\(known)"
        }
        _ = try await peer.ask("BYE")
        await peer.close()
        await listener.close()
        return kept
    }

    @Test(arguments: 1...3)
    func `R7.2 R7.3 R8.5 a follower sees every version once, despite restarts of the hub`(round: Int) async throws {
        let seed = UInt64.random(in: .min ... .max)
        var random = SeededGenerator(seed: seed)
        let folder = try Folder()
        var kept = Kept()
        var given: Int64 = 0
        for start in 0..<4 {
            let batches = Int.random(in: 5...15, using: &random)
            let sizes = (0..<batches).map { _ in Int.random(in: 1...60, using: &random) }
            let isBackfill = (0..<batches).map { _ in Int.random(in: 0..<4, using: &random) == 0 }
            // In half of the rounds the follower may stop early.
            let goal = given + Int64(sizes.reduce(0, +))
            let enough = Bool.random(using: &random) ? goal : Int64.random(in: given...goal, using: &random)
            let (before, begun) = (given, kept)
            kept = try await withHub(in: folder) { hub in
                async let followed = follow(hub, begun) { $0.sequences.last ?? before >= enough }
                let source = try await hub.client("source")
                for (index, size) in sizes.enumerated() {
                    _ = try await source.give(
                        (0..<size).map { weight("\(start)-\(index)-\($0)") }, backfill: isBackfill[index])
                }
                return try await followed
            }
            given = goal
        }
        let all = given
        kept = try await withHub(in: folder) { [kept] hub in
            try await follow(hub, kept) { $0.sequences.last == all }
        }
        #expect(kept.sequences == Array(1...given), "seed \(seed), round \(round)")
    }
}
