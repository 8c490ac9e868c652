import Foundation
import HubStore
import Testing

@testable import HubCore

/// The search for backups, and disks that do not answer.
@Suite struct BackupLookupTests {
    @Test func `R8.43 a hung disk delays no other disk, and its backups are reported as not checked`()
        async throws
    {
        let folder = try Folder()
        let store = folder.path + "/hub.sqlite"
        func file(_ path: String) throws { try Data().write(to: URL(fileURLWithPath: folder.path + "/" + path)) }
        for name in ["good", "hung"] {
            try FileManager.default.createDirectory(
                atPath: folder.path + "/" + name, withIntermediateDirectories: false)
        }
        // A pipe that is never written to blocks its reader like a hung medium.
        let pipe = folder.path + "/hung/hub-20260101T000000Z.sqlite.age.summary"
        #expect(mkfifo(pipe, 0o600) == 0)
        try file("hung/hub-20260101T000000Z.sqlite.age")
        try file("good/one.sqlite")
        let paths = ["good/one.sqlite", "hung/gone.sqlite", "good/gone.sqlite", "hung/before.sqlite"].map {
            folder.path + "/" + $0
        }
        var device = stat()
        #expect(stat(folder.path, &device) == 0)
        let list = zip(paths, [9, 9, 9, 3]).map { "\($1) epoch001 \(device.st_dev) \($0)\n" }
        try list.joined().write(toFile: store + ".backups", atomically: true, encoding: .utf8)
        let search = KnownBackup.Search(recordsFrom: 5, epoch: "epoch001", hub: "a-hub")
        let found = try await BackupLookup.found(search, of: store, within: .seconds(2))
        #expect(found == BackupLookup.Found(backups: [paths[0], paths[1]], unseen: [paths[1]]))

        // The disk answers again.
        let writer = open(pipe, O_RDWR)
        #expect(writer >= 0)
        close(writer)
        unlink(pipe)
        let then = try await BackupLookup.found(search, of: store, within: .seconds(60))
        #expect(then.unseen == [] && then.backups.first == paths[0])
    }
}
