import DoorPeer
import Foundation
import HubClient
import HubProcess
import HubWire
import Testing
import ZeroMQ

@testable import HubCommand

/// Strangers at the port of a hub that may open few files.
@Suite struct SilentConnectionTests {
    @Test func `R2.6 at a limit of 1,024 files those who prove nothing go, and who has a key stays and comes in`()
        async throws
    {
        let port = try FreePort.next()
        let plugin = "remote = true\nkind = \"scale\"\ngrants = { read = [\"weight\"], write = [\"weight\"] }\n"
        let hub = try await TestHub(
            "tcp = \"tcp://127.0.0.1:\(port)\"\n[person.me]\n[plugin.bedroom]\n\(plugin)[plugin.hall]\n\(plugin)",
            under: ["prlimit", "--nofile=1024:1024"])
        func key(_ instance: String) async throws -> KeyFile {
            let made = try await hub.run(["keys", "new", instance, "--json"])
            #expect(made.code == 0, "\(made.errors)")
            return try JSON.decode(KeyFile.self, from: made.output.utf8)
        }
        func peer(_ key: KeyFile) throws -> DoorPeer {
            try DoorPeer(
                key.door, instance: key.instance, plugin: "scale", key: (key.serverKey, key.publicKey, key.secretKey),
                patience: .seconds(10))
        }
        let (first, second) = (try await key("bedroom"), try await key("hall"))
        let bedroom = try peer(first)
        try bedroom.give([CareTests.weights(1...1)[0]])
        try bedroom.areStored()

        // Half of the limit is 512.
        let silent = try (0..<600).map { _ in try RawConnection(port) }
        // What libzmq says to everybody, and then the end.
        _ = try silent[0].takeAll()
        // In the session that it had.
        try bedroom.give([CareTests.weights(2...2)[0]])
        try bedroom.areStored()
        let hall = try peer(second)
        try hall.give([CareTests.weights(3...3)[0]])
        try hall.areStored()
        _ = silent
    }
}
