import Testing

@testable import HubCore

@Suite struct FairQueueTests {
    /// Runs turns, each with the cost of its client, and returns the clients in order.
    private func turns(_ count: Int, _ queue: inout FairQueue<Int, String>, _ costs: [String: Int]) -> [String] {
        (0..<count).compactMap { _ in
            guard let client = queue.next(where: { _ in true }) else { return nil }
            queue.charge(.milliseconds(costs[client] ?? 1), to: 0, client)
            queue.append(client, of: 0, client)
            return client
        }
    }

    @Test func `R8.39 clients get the same time, not the same number of turns`() {
        var queue = FairQueue<Int, String>()
        for client in ["dear", "cheap"] { queue.append(client, of: 0, client) }
        let turns = turns(1_100, &queue, ["dear": 10, "cheap": 1])
        #expect((95...105).contains(turns.count { $0 == "dear" }))
    }

    @Test func `R8.39 a client that was idle comes next, but accumulates no time`() {
        var queue = FairQueue<Int, String>()
        let many = (0..<50).map { "c\($0)" }
        for client in many { queue.append(client, of: 0, client) }
        _ = turns(1_000, &queue, [:])
        queue.append("late", of: 1, "late")
        let next = turns(1_000, &queue, [:])
        #expect(next.firstIndex(of: "late") ?? .max <= 1)
        #expect((15...25).contains(next.count { $0 == "late" }))
    }

    @Test func `R8.39 a client that asks again right after each answer is not treated as new`() {
        var queue = FairQueue<Int, String>()
        queue.append("steady", of: 1, "steady")
        var count = 0
        for _ in 0..<100 {
            queue.append("again", of: 2, "again")
            while let client = queue.next(where: { _ in true }) {
                queue.charge(.milliseconds(client == "again" ? 10 : 1), to: 0, client)
                guard client == "steady" else { break }
                count += 1
                queue.append(client, of: 1, client)
            }
        }
        #expect(count >= 900)
    }

    @Test func `R8.39 the sessions of a client share its turns, and an ended session gets none`() {
        var queue = FairQueue<Int, Int>()
        var counts: [Int: Int] = [:]
        for session in [1, 2] { queue.append(session, of: session, "a") }
        queue.append(3, of: 3, "b")
        for _ in 0..<400 {
            guard let session = queue.next(where: { _ in true }) else { break }
            counts[session, default: 0] += 1
            queue.charge(.milliseconds(1), to: session, session == 3 ? "b" : "a")
            queue.append(session, of: session, session == 3 ? "b" : "a")
        }
        #expect((199...201).contains(counts[3] ?? 0) && (99...101).contains(counts[1] ?? 0))
        queue.drop(3)
        #expect(queue.next { $0 == 3 } == nil)
    }
}
