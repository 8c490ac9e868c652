import Foundation
import HubProcess
import Testing

/// The guarantees of STORED when the store fails (chapter 5).
@Suite struct StoreFailureTests {
    @Test func `R5.1 while the store is locked no source gets STORED, and nothing is published`() async throws {
        let folder = try Folder()
        try await withHub(in: folder) { hub, peer in
            let listener = try await hub.listener("sample/")
            let hold = try StoreHold(folder)
            await peer.give(unanswered: [weight("a")])
            // The hub continues with everything else.
            #expect(try await peer.ask("PING", #"{"a":1}"#).verb == "PONG")
            #expect(try await peer.status()["head"].int == 0)
            #expect(try await peer.all().records.isEmpty)
            #expect(await listener.nextIfAny(within: .milliseconds(50)) == nil)
            try hold.release()
            #expect(try await peer.next().results == ["stored"])
            #expect(try await listener.next().sequence == 1)
        }
        // The record is still there after a restart of the hub.
        try await withHub(in: folder) { hub, peer async throws in
            #expect(try await peer.give([weight("a")]).results == ["duplicate"])
        }
    }

    @Test func `R5.5 R5.6 while commits fail nothing is acknowledged, and afterwards the order is kept`()
        async throws
    {
        let folder = try Folder()
        try await withHub(in: folder) { hub, peer in
            let other = try await hub.client("other")
            await peer.answerPings(false)
            let before = try #require(try await peer.give([weight("k", 9)]).body["credit"]["bytes"].int)
            let fault = try StoreFault(folder)
            // The versions of one record, each in a separate batch.
            for value in 1...4 { await peer.give(unanswered: [weight("k", Double(value))]) }
            await other.give(unanswered: [weight("o", 1)])
            var refused: [Int64] = []
            var proof: [UInt8] = []
            while proof.isEmpty || refused.count < 4 {
                let answer = try await peer.next()
                if answer.verb == "PING" {
                    proof = answer.all[1]
                } else {
                    #expect(answer.code == "store" && answer.body["closed"].truth == false, "\(answer)")
                    #expect(answer.body["after"].int ?? 0 > 0 && answer.body["credit"]["records"].int == 1)
                    #expect(answer.body["credit"]["bytes"].int == before)
                    refused.append(answer.body["ref"].int ?? -1)
                }
            }
            #expect(refused == [2, 3, 4, 5])
            #expect(try await other.next().code == "store")
            let status = try await peer.status()
            #expect(status["store"]["state"].string != "ok" && status["store"]["error"].string != nil)
            #expect(status["head"].int == 1)

            // The store works again. A batch sent before the client knew of the failure must not overtake those to be sent again.
            try fault.repair()
            let early = try await peer.give([weight("k", 5)])
            #expect(early.code == "store" && early.body["ref"].int == 6)
            await peer.send([Array("PONG".utf8), proof])
            for value in 1...5 { #expect(try await peer.give([weight("k", Double(value))]).results == ["stored"]) }
            #expect(try await peer.status()["store"]["state"].string == "ok")
            let trace = try await peer.query(#""number":1"#, want: "trace").body["trace"]["versions"].array
            #expect(trace.map { $0["record"]["value"].double } == [9, 1, 2, 3, 4, 5])
            #expect(hub.log.lines.count { $0.contains("the store does not work") } == 1)
            #expect(hub.log.lines.count { $0.contains("the store works again") } == 1)
        }
    }

    @Test(.enabled(if: Need.mount.isMet, "\(Need.mount.reason)"))
    func `R5.5 a full disk gives an ERROR, no confirmed record is lost, and freeing space is enough to continue`()
        async throws
    {
        let folder = try Folder()
        let disk = try SmallDisk(at: folder.data, bytes: 1_500_000)
        try await withHub(in: folder) { hub, peer in
            var (confirmed, batch) = (0, 0)
            var failed: Frames?
            while failed == nil {
                let answer = try await peer.give((0..<200).map { weight("k\(batch)-\($0)") })
                if answer.code == nil { confirmed += answer.results.count } else { failed = answer }
                batch += 1
            }
            #expect(
                failed?.code == "store" && failed?.body["reason"].string?.contains("full") == true,
                "\(String(describing: failed))")
            #expect(confirmed > 0 && confirmed % 200 == 0)
            #expect(try await peer.status()["store"]["state"].string == "full")
            #expect(try await peer.status()["head"].int == Int64(confirmed))
            let retract = try await peer.command("retract", #"{"numbers":[1]}"#)
            #expect(
                retract.body.fits(#"{"outcome":"failed","code":"store"}"#)
                    || retract.body["outcome"].string == "done")

            disk.resize(bytes: 50_000_000)
            let head = try #require(try await peer.status()["head"].int)
            #expect(
                try await peer.give((0..<200).map { weight("late-\($0)") }).results
                    == [String](repeating: "stored", count: 200))
            #expect(try await peer.status()["head"].int == head + 200)
            #expect(try await peer.status()["store"]["state"].string == "ok")
            #expect(try await peer.all(#""kinds":["quantity","retraction"]"#).records.count == confirmed + 200)
        }
        _ = disk
    }
}
