import Foundation
import Glibc
import HubProcess
import Platform
import Samples
import Testing

@testable import HubStore

/// The backups that the hub knows of, and those of them that may contain erased records.
@Suite struct KnownBackupTests {
    let folder: TemporaryFolder
    let elsewhere: TemporaryFolder
    let store: Store

    init() throws {
        (folder, elsewhere) = (try TemporaryFolder(), try TemporaryFolder())
        store = try folder.open()
    }

    /// The path of a backup with this name, without symbolic links.
    private func place(_ name: String) -> String {
        URL(fileURLWithPath: elsewhere.path).resolvingSymlinksInPath().path + "/\(name).sqlite"
    }

    private func backUp(_ name: String) throws { _ = try StoreFile(folder.store).backUp(to: place(name)) }

    private func holding(_ first: Int64, _ store: Store) throws -> [String] {
        KnownBackup.Search(recordsFrom: first, epoch: store.epoch, hub: store.hubID)
            .found(among: try KnownBackup.all(of: folder.store))
    }

    @Test func `a backup that ends before the records does not contain them, and a removed backup is not listed`()
        async throws
    {
        _ = try await store.put(try sample("a"))
        try backUp("one")
        _ = try await store.put(try sample("b"))
        try backUp("two")
        #expect(try holding(1, store) == [place("one"), place("two")])
        #expect(try holding(2, store) == [place("two")])
        #expect(try holding(3, store) == [])
        try FileManager.default.removeItem(atPath: place("two"))
        #expect(try holding(1, store) == [place("one")])
    }

    @Test func `a backup of another epoch may have a record under any number`() async throws {
        _ = try await store.put(try sample("a"))
        try backUp("one")
        // As after a restore of an older backup: the source sends the records that it lacks again.
        try await store.newEpoch()
        _ = try await store.put(try sample("b"))
        #expect(try holding(2, store) == [place("one")])
    }

    @Test func `a backup is known from its beginning, also if it never finishes`() async throws {
        _ = try await store.put(try sample("a"))
        var known: [String] = []
        _ = try StoreFile(folder.store).backUp(to: place("one")) { _ in
            known = (try? holding(9, store)) ?? []
            return true
        }
        #expect(known == [place("one") + ".part"])
        #expect(try holding(9, store) == [])
        // A killed backup has left its file; a failed one has not.
        try KnownBackup.note(place("two"), of: folder.store)
        try Data().write(to: URL(fileURLWithPath: place("two") + ".part"))
        try KnownBackup.note(place("three"), of: folder.store)
        try backUp("four")
        #expect(try holding(9, store) == [place("two") + ".part"])
        #expect(try KnownBackup.all(of: folder.store).map(\.path) == [place("one"), place("two"), place("four")])
    }

    @Test func `a backup on a medium that is absent is listed, and is known when the medium is back`() async throws {
        _ = try await store.put(try sample("a"))
        try backUp("one")
        let away = elsewhere.path + "-away"
        try FileManager.default.moveItem(atPath: elsewhere.path, toPath: away)
        defer { try? FileManager.default.removeItem(atPath: away) }
        #expect(try holding(1, store) == [place("one")])
        let other = try TemporaryFolder()
        _ = try StoreFile(folder.store).backUp(to: other.path + "/two.sqlite")
        #expect(try holding(1, store).count == 2)
        // Another file system in its place, such as the empty folder of a mount point.
        try FileManager.default.createDirectory(atPath: elsewhere.path, withIntermediateDirectories: false)
        #expect(try holding(1, store).count == 1, "a file missing from a folder on the same device is forgotten")
        let list = try String(contentsOfFile: folder.store + ".backups", encoding: .utf8)
        let lines = list.split(separator: "\n").map { line in
            let parts = line.split(separator: " ", maxSplits: 3)
            return "\(parts[0]) \(parts[1]) 1 \(parts[3])\n"
        }
        try lines.joined().write(toFile: folder.store + ".backups", atomically: true, encoding: .utf8)
        #expect(try holding(1, store).count == 2)
        try FileManager.default.removeItem(atPath: elsewhere.path)
        try FileManager.default.moveItem(atPath: away, toPath: elsewhere.path)
        #expect(try holding(1, store).contains(place("one")))
    }

    @Test func `backups missing from the list are found by summary or content, or listed if they cannot be read`()
        async throws
    {
        _ = try await store.put(try sample("a"))
        /// Its content is as unreadable as an encrypted one.
        func encrypted(_ name: String) throws -> String {
            let path = place(name) + ".age"
            _ = try StoreFile(folder.store).backUp(to: path) { (file) throws(StoreError) in FileSink(file) }
            try Data("age-encryption.org/".utf8).write(to: URL(fileURLWithPath: path))
            return path
        }
        let first = try encrypted("hub-20260101T000000Z")
        try backUp("hub-20260102T000000Z")
        _ = try await store.put(try sample("b"))
        let third = try encrypted("hub-20260103T000000Z")
        // The list has lost all entries but one, and other programs have put files there.
        let list = try String(contentsOfFile: folder.store + ".backups", encoding: .utf8).split(separator: "\n")
        try "\(list[1])\n".write(toFile: folder.store + ".backups", atomically: true, encoding: .utf8)
        let foreign = try TemporaryFolder()
        try foreign.open().close()
        _ = try StoreFile(foreign.store).backUp(to: place("hub-20260104T000000Z"))
        try Data("age-encryption.org/".utf8).write(to: URL(fileURLWithPath: place("hub-20260105T000000Z") + ".age"))
        try Data("holiday".utf8).write(to: URL(fileURLWithPath: place("holiday")))
        #expect(
            try holding(1, store) == [
                place("hub-20260102T000000Z"), first, third, place("hub-20260105T000000Z") + ".age",
            ])
        #expect(try holding(2, store) == [third, place("hub-20260105T000000Z") + ".age"])
    }

    @Test func `a list of an earlier hub is read, and its missing details count as a possible match`() async throws {
        _ = try await store.put(try sample("a"))
        try Data().write(to: URL(fileURLWithPath: place("of old")))
        try "1 \(place("of old"))\n0 \(place("gone"))\n".write(
            toFile: folder.store + ".backups", atomically: true, encoding: .utf8)
        #expect(try holding(9, store) == [place("of old")])
        try backUp("new")
        #expect(try holding(1, store) == [place("of old"), place("new")])
    }

    @Test func `a list that cannot be read is an error and does not count as empty`() async throws {
        try FileManager.default.createDirectory(atPath: folder.store + ".backups", withIntermediateDirectories: false)
        #expect(await failure { _ = try holding(1, store) } != nil)
    }

    @Test func `programs that make backups at the same time note all of them`() async throws {
        _ = try await store.put(try sample("a"))
        let (path, places) = (folder.store, (0..<20).map { place("\($0)") })
        for place in places { try Data().write(to: URL(fileURLWithPath: place + ".part")) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for place in places { group.addTask { try KnownBackup.note(place, of: path) } }
            try await group.waitForAll()
        }
        #expect(try KnownBackup.all(of: folder.store).count == 20)
    }

    @Test func `a record that was erased and sent again may be in a backup under its former number`() async throws {
        _ = try await store.put(try sample("a"), try sample("b"))
        try await store.erase([1])
        #expect(try await store.planErasure(of: .numbers([2])).first == 2)
        _ = try await store.allowAgain([1])
        let again = try #require(try await store.put(try sample("a"))[0].placement).number
        #expect(try await store.planErasure(of: .numbers([again])).first == 1)
        #expect(try await store.planErasure(of: .numbers([99])).first == .max)
    }

    @Test(.enabled(if: geteuid() == 0, "only root can write a file that belongs to another user"))
    func `a backup by the superuser leaves the list owned by the owner of the store`() async throws {
        _ = try await store.put(try sample("a"))
        #expect(chown(folder.store, 65_534, 65_534) == 0)
        try backUp("one")
        var list = stat()
        #expect(stat(folder.store + ".backups", &list) == 0)
        #expect(list.st_uid == 65_534 && list.st_gid == 65_534 && list.st_mode & 0o777 == 0o600)
    }

    @Test(.enabled(if: geteuid() != 0, "root may read everything"))
    func `an unreadable list of another user is an error with the remedy, for erasures and backups`() async throws {
        _ = try await store.put(try sample("a"))
        try backUp("one")
        #expect(chmod(folder.store + ".backups", 0) == 0)
        let errors = [await failure { _ = try holding(1, store) }, await failure { try backUp("two") }]
        #expect(errors.allSatisfy { $0?.message.contains("chown --reference=\(folder.store) ") == true })
        #expect(access(place("two"), F_OK) != 0)
    }

    @Test func `a backup is not begun if it cannot be noted because another program holds the list`() async throws {
        _ = try await store.put(try sample("a"))
        try backUp("one")
        let holder = try Descriptor(folder.path, O_RDONLY | O_DIRECTORY)
        #expect(try holder.lock())
        let path = folder.store
        let error = await failure { try KnownBackup.note(place("two"), of: path, tries: 2) }
        #expect(error?.code == .busy)
        withExtendedLifetime(holder) {}
    }

    @Test func `a removed backup is removed from the list, and others stay`() async throws {
        _ = try await store.put(try sample("a"))
        for name in ["one", "two", "three"] { try backUp(name) }
        try KnownBackup.forget([place("one"), elsewhere.path + "/three.sqlite"], of: folder.store)
        #expect(try KnownBackup.all(of: folder.store).map(\.path) == [place("two")])
    }
}
