import Foundation
import GRDB
import Testing

@testable import HubCore
@testable import HubStore

/// Erasures by a person (chapter 6.10), at the door, on the feed and for sinks.
@Suite struct EraseTests {
    private func erase(_ peer: Peer, _ arguments: String, dryRun: Bool = false) async throws -> JSON {
        var answer = try await peer.command("erase", arguments, dryRun: dryRun)
        while answer.verb == "PROGRESS" { answer = try await peer.next() }
        return answer.body
    }

    @Test func `R8.43 R6.40 R6.42 listeners and sinks with the record get an erasure as a retraction`()
        async throws
    {
        try await withHub { hub, peer in
            let listener = try await hub.listener("sample/", "retraction/")
            let sink = try await hub.client("sink")
            try await sink.want()
            _ = try await peer.give([weight("a"), weight("b", 71), weight("c", 73)])
            try await sink.deliver(3)
            try await hub.sink("sink/all") { $0["delivered"].int == 3 }

            let plan = try await erase(peer, #"{"numbers":[2,9]}"#, dryRun: true)
            #expect(
                plan["result"].fits(
                    #"{"dryRun":true,"records":1,"versions":1,"unknown":[9],"copies":[],"backups":[]}"#))
            #expect(plan["result"]["sinks"][0].fits(#"{"sink":"sink/all","records":1}"#))
            #expect(try await peer.all(#""types":["weight"]"#).records.count == 3)

            let done = try await erase(peer, #"{"numbers":[2]}"#)
            #expect(
                done["reason"].string == nil
                    && done["result"].fits(#"{"dryRun":false,"records":1,"named":1,"waitingFor":["sink/all"]}"#))
            var heard: [Frames] = []
            while heard.count < 4 { heard.append(try await listener.next()) }
            #expect(heard[3].topic == "retraction/weight/me/kitchen-script/")
            #expect(
                heard[3].record.fits(
                    #"{"kind":"retraction","number":2,"key":"b","by":"person","reason":"erased"}"#))
            #expect(try await peer.status()["erasure"].fits(#"{"named":1,"waitingFor":["sink/all"]}"#))
            let told = try await sink.accept()
            #expect(told.keys == ["b"] && told.body["records"][0]["kind"].string == "retraction")
            try await eventually("the key is erased too") {
                try await peer.status()["erasure"]["named"].int == nil
            }
            let left = try await peer.all(#""since":"\#(try await peer.status()["epoch"].string ?? "")-0""#).records
            #expect(left.map { $0["key"].string } == ["a", "c", "~erased-2"])
            #expect(left[2].fits(#"{"kind":"retraction","number":2,"seq":4,"reason":"erased"}"#))
        }
    }

    @Test func `R6.41 a source that sends an erased record again gets duplicate until a person allows it`() async throws
    {
        try await withHub { hub, peer in
            _ = try await peer.give([weight("a")])
            _ = try await erase(peer, #"{"numbers":[1]}"#)
            #expect(try await peer.give([weight("a", 99)]).results == ["duplicate"])
            let edit = try await peer.command("retract", #"{"numbers":[1]}"#).body
            #expect(edit["result"]["records"][0].fits(#"{"number":1,"outcome":"erased"}"#))
            let again = try await erase(peer, #"{"numbers":[1,7],"allow":true}"#)
            #expect(again["result"]["records"].array.map { $0["outcome"].string } == ["duplicate", "unknown"])
            #expect(try await peer.give([weight("a", 99)]).results == ["stored"])
        }
    }

    @Test func `R8.43 a filter is required, its names are checked, and a configured person cannot be forgotten`()
        async throws
    {
        try await withHub(.household) { hub, peer in
            _ = try await peer.give([
                weight("a", 70, #","subject":{"name":"me"}"#), weight("b", 71, #","subject":{"name":"you"}"#),
            ])
            #expect(try await erase(peer, "{}")["code"].string == "command")
            #expect(try await erase(peer, #"{"numbers":[]}"#)["code"].string == "command")
            #expect(try await erase(peer, #"{"numbers":[1],"types":["weight"]}"#)["code"].string == "command")
            #expect(try await erase(peer, #"{"types":["wait"]}"#)["code"].string == "command")
            #expect(
                try await erase(peer, #"{"persons":["yu"]}"#)["reason"].string?.contains("did you mean you") == true)
            let forget = try await erase(peer, #"{"forget":"you"}"#)
            #expect(forget["code"].string == "person" && forget["reason"].string?.contains("hub apply") == true)
            #expect(try await erase(peer, #"{"persons":["you"]}"#)["result"]["records"].int == 1)
            #expect(try await peer.all().records.map { $0["key"].string } == ["a"])
        }
    }

    @Test func `R8.43 the answer lists removed and remaining copies, and counts a repeated number once`()
        async throws
    {
        let folder = try Folder()
        try await withHub(in: folder) { hub, peer in
            _ = try await peer.give([weight("a"), weight("b")])
            let (copy, stuck) = (folder.data + "/hub.sqlite.replaced-1", folder.data + "/hub.sqlite.before-v3")
            try Data().write(to: URL(fileURLWithPath: copy))
            // Not even the superuser can unlink a folder.
            try FileManager.default.createDirectory(atPath: stuck, withIntermediateDirectories: false)
            let plan = try await erase(peer, #"{"numbers":[1,1,9,9]}"#, dryRun: true)["result"]
            #expect(plan.fits(#"{"records":1,"unknown":[9],"copies":["\#(stuck)","\#(copy)"]}"#))
            let nothing = try await erase(peer, #"{"numbers":[9]}"#)["result"]
            #expect(nothing.fits(#"{"records":0,"copies":[]}"#))
            #expect(FileManager.default.fileExists(atPath: copy), "nothing was erased")
            let done = try await erase(peer, #"{"numbers":[1,1]}"#)["result"]
            #expect(done.fits(#"{"records":1,"copies":["\#(copy)"],"left":[{"path":"\#(stuck)"}]}"#))
            #expect(done["left"][0]["reason"].string?.isEmpty == false)
        }
    }

    @Test func `R8.43 backups that may have the records or the name are listed, even from before a restore`()
        async throws
    {
        let folder = try Folder()
        let (path, backup) = (folder.data + "/hub.sqlite", folder.path + "/one.sqlite")
        try await withHub(.household, in: folder) { hub in
            _ = try await hub.client().give([weight("a")])
            _ = try StoreFile(path).backUp(to: backup)
        }
        try await withHub(in: folder) { hub, peer in
            _ = try await peer.give([weight("b")])
            #expect(try await erase(peer, #"{"numbers":[2]}"#, dryRun: true)["result"].fits(#"{"backups":[]}"#))
            let forgotten = try await erase(peer, #"{"forget":"you"}"#)["result"]
            #expect(forgotten.fits(#"{"records":0,"backups":["\#(backup)"]}"#))
        }
        let store = try Store(path: path, now: 1)
        try await store.newEpoch()
        try store.close()
        try await withHub(in: folder) { hub, peer in
            #expect(try await erase(peer, #"{"numbers":[9]}"#)["result"].fits(#"{"records":0,"backups":[]}"#))
            for dryRun in [true, false] {
                let result = try await erase(peer, #"{"numbers":[2]}"#, dryRun: dryRun)["result"]
                #expect(result.fits(#"{"records":1,"backups":["\#(backup)"]}"#))
            }
        }
    }

    @Test func `R8.43 a copy that another program is making is reported and not removed`()
        async throws
    {
        let folder = try Folder()
        try await withHub(in: folder) { hub, peer in
            _ = try await peer.give([weight("a")])
            let draft = try DraftFile(folder.data + "/hub.sqlite.verifying")
            let done = try await erase(peer, #"{"numbers":[1],"keep":true}"#)["result"]
            #expect(done.fits(#"{"records":1,"left":[{"path":"\#(draft.path)"}]}"#))
            #expect(FileManager.default.fileExists(atPath: draft.path))
        }
    }

    @Test func `R6.45 R8.43 a record that cannot be erased is reported with the reason and erased later`()
        async throws
    {
        let folder = try Folder()
        func change(_ sql: String) async throws {
            let store = try Store(path: folder.data + "/hub.sqlite", now: 1)
            try await store.pool.write { db in try db.execute(sql: sql) }
            try store.close()
        }
        try await withHub(in: folder) { hub in _ = try await hub.client().give([weight("needle-a"), weight("b")]) }
        try await change(
            "CREATE TRIGGER t BEFORE UPDATE ON sample WHEN old.number = 1 BEGIN SELECT RAISE(ABORT, 'for a test'); END")
        try await withHub(in: folder) { hub, peer in
            let done = try await erase(peer, #"{"numbers":[1,2]}"#)["result"]
            #expect(done.fits(#"{"records":1,"failed":1}"#))
            #expect(done["faults"][0]["number"].int == 1)
            #expect(done["faults"][0]["reason"].string?.contains("for a test") == true)
            #expect(try await peer.status()["erasure"].fits(#"{"failed":1,"named":0}"#))
            #expect(try await erase(peer, #"{"numbers":[1]}"#)["result"].fits(#"{"records":0,"failed":1}"#))
            #expect(try await peer.all().records.map { $0["key"].string } == ["needle-a"])
        }
        try await change("DROP TRIGGER t")
        try await withHub(in: folder) { hub, peer in
            try await eventually("the record is erased") { try await peer.all().records.isEmpty }
            try await eventually("the status reports no failed or remaining erasure") {
                let erasure = try await peer.status()["erasure"]
                return erasure["failed"].int == nil && erasure["left"].int == nil
            }
        }
    }

    @Test func `R8.43 retractions that sinks have received are not counted as waiting`() async throws {
        try await withHub { hub, peer in
            let sink = try await hub.client("sink")
            try await sink.want()
            _ = try await peer.give([weight("a")])
            try await sink.accept()
            try await hub.sink("sink/all") { $0["delivered"].int == 1 }
            #expect(try await erase(peer, #"{"numbers":[1]}"#)["result"]["named"].int == 1)
            try await sink.accept()
            try await hub.sink("sink/all") { $0["pending"].int == 0 }
            #expect(try await erase(peer, #"{"numbers":[9]}"#)["result"]["named"].int == 0)
        }
    }

    @Test func `R6.40 an unfinished erasure is finished by the next hub process`() async throws {
        let folder = try Folder()
        try await withHub(in: folder) { hub, peer in
            for part in 0..<3 { _ = try await peer.give((0..<400).map { weight("needle-\(part)-\($0)") }) }
        }
        // The state after a hub was killed after its first step.
        let store = try Store(path: folder.data + "/hub.sqlite", now: 1)
        #expect(try await store.beginErasure(of: .matching(RecordQuery()), removingCopies: true) == 1_200)
        #expect(try await store.carryOut(.eraseNext, recordedAt: 2).count == 50)
        try store.close()
        try await withHub(in: folder) { hub, peer in
            try await eventually("nothing is left to erase") { try await peer.status()["erasure"]["left"].int == nil }
            #expect(try await peer.all().records.isEmpty)
        }
        for file in try FileManager.default.contentsOfDirectory(atPath: folder.data) {
            let bytes = FileManager.default.contents(atPath: folder.data + "/" + file) ?? Data()
            #expect(bytes.range(of: Data("needle-".utf8)) == nil, "\(file)")
        }
    }
}
