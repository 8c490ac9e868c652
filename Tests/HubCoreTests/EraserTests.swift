import GRDB
import Testing

@testable import HubCore
@testable import HubStore

/// Erasures that are cancelled before they begin, and unfinished ones.
@Suite struct EraserTests {
    @Test func `R8.43 an erasure cancelled before it selects records gets cancelled and erases nothing`()
        async throws
    {
        let folder = try Folder()
        try await withHub(in: folder) { hub, peer in
            _ = try await peer.give([weight("a"), weight("b")])
            // Blocks the first write of the erasure until the hub has read the cancellation.
            let hold = try StoreHold(folder)
            await peer.say("COMMAND", #"{"id":70,"instance":"hub","command":"erase","args":{"types":["weight"]}}"#)
            await peer.say("COMMAND", #"{"id":70,"cancel":true}"#)
            await peer.say("COMMAND", #"{"id":71,"instance":"hub","command":"none"}"#)
            var outcomes: [Int64: String] = [:]
            func read(until id: Int64) async throws {
                while outcomes[id] == nil {
                    let next = try await peer.next()
                    if next.verb == "OUTCOME", let id = next.body["id"].int {
                        outcomes[id] = next.body["outcome"].string ?? "?"
                    }
                }
            }
            try await read(until: 71)
            try hold.release()
            try await read(until: 70)
            #expect(outcomes == [70: "cancelled", 71: "failed"])
            #expect(try await peer.status()["erasure"]["left"].int == nil)
            #expect(try await peer.all().records.map { $0["key"].string } == ["a", "b"])
        }
    }

    @Test func `R6.45 failed records are retried after the unfinished erasure of a killed hub`() async throws {
        let folder = try Folder()
        try await withHub(in: folder) { hub in
            _ = try await hub.client().give([weight("a"), weight("b"), weight("c")])
        }
        let store = try Store(path: folder.data + "/hub.sqlite", now: 1)
        try await store.pool.write { db in
            try db.execute(sql: "INSERT INTO erasure_fault (number, reason) VALUES (1, 'for a test')")
        }
        #expect(try await store.beginErasure(of: .numbers([2]), removingCopies: true) == 1)
        try store.close()
        try await withHub(in: folder) { hub, peer in
            try await eventually("both records are erased") {
                try await peer.all().records.map { $0["key"].string } == ["c"]
            }
        }
    }

    @Test func `R6.42 a slow count of waiting retractions is followed by a pause of at most five minutes`() {
        #expect(Eraser.pause(after: .seconds(2)) == .seconds(20))
        #expect(Eraser.pause(after: .seconds(7_200)) == .seconds(300))
    }
}
