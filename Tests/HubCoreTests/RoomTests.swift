import Foundation
import HubProcess
import Testing

@testable import HubCore

/// Warnings about low disk space.
@Suite struct RoomTests {
    private static let mega: Int64 = 1_000_000

    private func room(_ free: Int64, of total: Int64 = 100_000, log: Int64 = 0) -> StoreSpace {
        StoreSpace(free: free * RoomTests.mega, total: total * RoomTests.mega, log: log * RoomTests.mega)
    }

    @Test func `the process that prevents truncating the log is named`() {
        var watch = SpaceWatch()
        let room = StoreSpace(free: 1 << 40, total: 1 << 41, log: 600_000_000, readers: ["process 7 (python3)"])
        #expect(watch.look(room, at: "/s")?.text.contains("a long read by process 7 (python3)") == true)
    }

    @Test func `the low-space limit is a fiftieth of the disk, from 200 MB to 2 GB`() {
        #expect(room(0, of: 1_000).floor == 200 * RoomTests.mega)
        #expect(room(0, of: 50_000).floor == 1_000 * RoomTests.mega)
        #expect(room(0, of: 10_000_000).floor == 2_000 * RoomTests.mega)
    }

    @Test func `each change is reported once, and a short-lived file causes no report`() {
        var watch = SpaceWatch()
        #expect(watch.look(room(50_000), at: "/s") == nil)
        #expect(watch.warning("/s") == nil)
        let low = watch.look(room(1_999), at: "/s")
        #expect(
            low?.isGood == false && low?.text.hasPrefix("only 1999 MB are free on the disk of /s: make room") == true)
        #expect(watch.look(room(1_000), at: "/s") == nil)
        #expect(watch.look(room(2_100), at: "/s") == nil)
        #expect(watch.warning("/s")?.hasPrefix("only 2100 MB") == true)
        #expect(watch.look(room(2_501), at: "/s")?.isGood == true)
        #expect(watch.look(room(2_100), at: "/s") == nil)
        let long = watch.look(room(50_000, log: 600), at: "/s")?.text
        // No program is blamed if none is seen to read the log.
        #expect(long?.contains("/s-wal has 600 MB: no other program reads it") == true)
        #expect(watch.look(room(50_000, log: 300), at: "/s") == nil)
        #expect(watch.look(room(50_000, log: 16), at: "/s")?.isGood == true)
    }

    @Test(.enabled(if: Need.mount.isMet, "\(Need.mount.reason)"))
    func `a nearly full disk is in the log, on the feed and in the status until there is space`()
        async throws
    {
        let folder = try Folder()
        let disk = try SmallDisk(at: folder.data, bytes: 1_000_000_000)
        try await withHub(in: folder) { hub, peer in
            let listener = try await hub.listener("hub/notice/")
            try await eventually("the hub has measured the free space") {
                try await peer.status()["store"]["free"].int != nil
            }
            #expect(try await peer.status()["store"]["warning"].string == nil)
            disk.resize(bytes: 100_000_000)
            let warned = try await listener.next()
            #expect(warned.record["level"].string == "warning" && warned.record["subject"].string == "store")
            #expect(warned.record["text"].string?.contains("make room before it is full") == true)
            #expect(try await peer.status()["store"]["warning"].string?.contains("make room") == true)
            #expect(try await peer.status()["store"]["state"].string == "ok")
            disk.resize(bytes: 1_000_000_000)
            #expect(try await listener.next().record["level"].string == "notice")
            #expect(try await peer.status()["store"]["warning"].string == nil)
            #expect(hub.log.lines.count { $0.contains("make room before it is full") } == 1)
        }
        _ = disk
    }
}
