import Foundation
import HubSettings
import HubWire
import Logging
import Testing

@testable import HubCore

/// Starting and stopping a hub.
@Suite struct StopTests {
    @Test func `R4.19 when the hub stops, accepted batches are answered, new ones refused, plugins and peers notified`()
        async throws
    {
        let folder = try Folder()
        let hub = try await RunningHub(.stoppingSlowly(in: folder), in: folder)
        _ = try await hub.told("slow", "up")
        let peer = try await hub.client()
        let hold = try StoreHold(folder)
        await peer.give(unanswered: [weight("accepted")])
        #expect(try await peer.ask("PING").verb == "PONG")
        await hub.beginStopping()
        let stop = try await peer.next()
        #expect(stop.verb == "STOP" && stop.body["deadline"].int ?? 0 > 0, "\(stop)")
        let refused = try await peer.give([weight("late")])
        #expect(
            refused.code == "stopping" && refused.body["ref"].int == 2 && refused.body["closed"].truth == false,
            "\(refused)")
        #expect(refused.body["credit"]["records"].int == 1)
        let newcomer = try await hub.client("newcomer")
        #expect(try await newcomer.give([weight("late")]).code == "stopping")
        try hold.release()
        #expect(try await peer.next().results == ["stored"])
        #expect(try await peer.ask("BYE").verb == "BYE")
        try folder.letSlowPluginEnd()
        try await hub.ended()

        // A remaining socket would mean that the hub was killed.
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.run) == ["lock"])
        try await withHub(in: folder) { hub in
            let peer = try await hub.peer()
            #expect(try await peer.hello()["head"].int == 1)
            #expect(try await peer.give([weight("accepted"), weight("late")]).results == ["duplicate", "stored"])
        }
    }

    @Test func `an answer that was sent reaches its peer even if the hub ends at once`() async throws {
        let folder = try Folder()
        for round in 0..<5 {
            let hub = try await RunningHub(in: folder)
            let peer = try await hub.client()
            let hold = try StoreHold(folder)
            await peer.give(unanswered: (0..<100).map { weight("\(round)-\($0)") })
            #expect(try await peer.ask("PING").verb == "PONG")
            await hub.beginStopping()
            #expect(try await peer.next().verb == "STOP")
            try hold.release()
            #expect(try await peer.next().results.count == 100)
            try await hub.ended()
            await peer.close()
        }
    }

    @Test func `the command stop ends the hub, and its outcome is delivered`() async throws {
        let hub = try await RunningHub()
        let peer = try await hub.client()
        await peer.say("COMMAND", #"{"id":1,"instance":"hub","command":"stop"}"#)
        let heard = [try await peer.next().verb, try await peer.next().verb]
        #expect(Set(heard) == ["OUTCOME", "STOP"])
        try await hub.ended()
    }

    @Test func `a second hub in one run directory is refused with the reason, and the first continues`() async throws {
        let folder = try Folder()
        try await withHub(in: folder) { hub, peer in
            let second = try await RunningHub(in: folder)
            await #expect(throws: HubError.self) { try await second.ended() }
            do {
                try await second.ended()
            } catch {
                let error = try #require(error as? HubError)
                #expect(
                    error.code == .endpoints && error.message.contains(folder.run)
                        && error.message.contains("another hub"))
            }
            #expect(try await peer.give([weight("a")]).results == ["stored"])
            #expect(try await hub.client("later").ask("PING").verb == "PONG")
        }
    }

    @Test func `the store refuses a second hub`() async throws {
        let folder = try Folder()
        try await withHub(in: folder) { hub in
            let checked = Setting().checked(in: folder)
            var configuration = try #require(checked.loaded.configuration)
            configuration.hub.run = folder.path + "/run2"
            var other = checked
            other.loaded.configuration = configuration
            let second = try Hub(other, logger: .init(label: "second"))
            let error = await #expect(throws: HubError.self) { try await second.run() }
            #expect(error?.code == .store)
            _ = hub
        }
    }

    @Test func `R2.3 the run directory has mode 0700, and a hub that cannot set it does not start`() async throws {
        let folder = try Folder()
        try FileManager.default.createDirectory(
            atPath: folder.run, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
        try await withHub(in: folder) { hub in
            for path in [folder.run, folder.data] {
                let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
                #expect(mode == 0o700, "\(path)")
            }
        }
        for spoil in [
            { try FileManager.default.setAttributes([.posixPermissions: 0o1777], ofItemAtPath: folder.run) },
            {
                try FileManager.default.removeItem(atPath: folder.run)
                try Data().write(to: URL(filePath: folder.run))
            },
        ] as [() throws -> Void] {
            try spoil()
            let hub = try await RunningHub(in: folder)
            let error = await #expect(throws: HubError.self) { try await hub.ended() }
            #expect(
                error?.code == .endpoints && error?.message.contains(folder.run) == true, "\(String(describing: error))"
            )
        }
    }

    @Test func `the socket of a dead hub is replaced, and a path that is too long is refused`()
        async throws
    {
        let folder = try Folder()
        try FileManager.default.createDirectory(atPath: folder.run, withIntermediateDirectories: true)
        let descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: "\(folder.run)/door".utf8) }
        let bound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        #expect(bound == 0)
        close(descriptor)
        try await withHub(in: folder) { hub, peer async throws in
            #expect(try await peer.ask("PING").verb == "PONG")
        }
        var configuration = try #require(Setting().checked(in: folder).loaded.configuration)
        configuration.hub.run = folder.path + "/" + String(repeating: "r", count: 90)
        var checked = Setting().checked(in: folder)
        checked.loaded.configuration = configuration
        let hub = try Hub(checked, logger: .init(label: "long"))
        let error = await #expect(throws: HubError.self) { try await hub.run() }
        #expect(error?.code == .endpoints)
        // The resources of the failed hub are free again.
        try await withHub(in: folder) { hub in _ = try await hub.client() }
    }

    @Test func `a hub that uses more than memory_limit exits with the reason`() async throws {
        var setting = Setting()
        setting.memoryLimit = ByteSize(bytes: 1)
        let hub = try await RunningHub(setting)
        let error = await #expect(throws: HubError.self) { try await hub.ended() }
        #expect(error?.code == .memory && error?.message.contains("memory_limit") == true)
    }
}
