import Foundation
import HubProcess
import Samples
import Testing

@testable import HubStore

/// A restore killed during the exchange loses no record of either store.
@Suite struct ExchangeTests {
    enum Cut: CaseIterable { case noteUnfinished, noted, logMoved, secondNamed, exchanged }

    /// A store whose latest record is only in its log, as after a kill of the hub.
    private func killedStore() async throws -> TemporaryFolder {
        let (living, folder) = (try TemporaryFolder(), try TemporaryFolder())
        let store = try living.open()
        _ = try await store.put(try sample("a"))
        for suffix in ["", "-wal"] {
            try FileManager.default.copyItem(atPath: living.store + suffix, toPath: folder.store + suffix)
        }
        try store.close()
        return folder
    }

    @Test(arguments: Cut.allCases)
    func `after a crash during the exchange the next open finds the old or the new store, complete`(_ cut: Cut)
        async throws
    {
        let folder = try await killedStore()
        let (store, kept, files) = (folder.store, folder.store + ".replaced-1", FileManager.default)
        let draft = folder.path + "/draft"
        let other = try Store(path: draft, now: 5)
        _ = try await other.put([.sample(try sample("b")), .sample(try sample("c"))])
        try other.close()

        try StoreExchange.begin(store, keeping: kept)
        switch cut {
        case .secondNamed: break
        case .exchanged: #expect(rename(draft, store) == 0)
        case .logMoved: try files.removeItem(atPath: kept)
        case .noted, .noteUnfinished:
            try files.removeItem(atPath: kept)
            try files.moveItem(atPath: kept + "-wal", toPath: store + "-wal")
            if cut == .noteUnfinished {
                let note = try String(contentsOfFile: store + ".exchange", encoding: .utf8)
                // The note may end anywhere, even within the name of the store.
                try note.prefix(while: { $0 != "." }).appending(".sqlite").write(
                    toFile: store + ".exchange", atomically: false, encoding: .utf8)
            }
        }

        let opened = try folder.open()
        #expect(opened.head == (cut == .exchanged ? 2 : 1))
        #expect(try await opened.recordCount() == (cut == .exchanged ? 2 : 1))
        try opened.close()
        let left = try files.contentsOfDirectory(atPath: folder.path).filter {
            $0.contains(".exchange") || $0.contains(".replaced")
        }
        #expect(left.sorted() == (cut == .exchanged ? ["hub.sqlite.replaced-1", "hub.sqlite.replaced-1-wal"] : []))
        if cut == .exchanged {
            // The replaced store is complete with its log.
            let old = try Store(path: kept, now: 9)
            #expect(old.head == 1)
            try old.close()
        }
    }

    @Test func `a note with a name that is not beside the store moves no file`() async throws {
        let folder = try await killedStore()
        var status = stat()
        #expect(stat(folder.store, &status) == 0)
        try "\(status.st_ino) /tmp/elsewhere\n".write(
            toFile: folder.store + ".exchange", atomically: false, encoding: .utf8)
        let opened = try folder.open()
        #expect(opened.head == 1)
    }
}
