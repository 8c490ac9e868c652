import DoorPeer
import Foundation
import HubClient
import HubProcess
import HubWire
import Testing
import ZeroMQ

@testable import HubCommand

/// Connections without a key to the port of a hub with a low limit on open files.
@Suite struct SilentConnectionTests {
    @Test
    func
        `R2.6 at a limit of 1,024 files, connections without a key are closed, and those with a key stay and can connect`()
        async throws
    {
        let port = try FreePort.next()
        let plugin = "remote = true\nkind = \"scale\"\ngrants = { read = [\"weight\"], write = [\"weight\"] }\n"
        let hub = try await TestHub(
            "tcp = \"tcp://127.0.0.1:\(port)\"\n[person.me]\n[plugin.bedroom]\n\(plugin)[plugin.hall]\n\(plugin)",
            under: ["prlimit", "--nofile=1024:1024"])
        func key(_ instance: String) async throws -> KeyFile {
            let made = try await hub.succeed(["keys", "new", instance, "--json"])
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
        // The greeting that libzmq sends to everyone, then the end of the stream.
        _ = try silent[0].takeAll()
        // In the session from before.
        try bedroom.give([CareTests.weights(2...2)[0]])
        try bedroom.areStored()
        let hall = try peer(second)
        try hall.give([CareTests.weights(3...3)[0]])
        try hall.areStored()
        _ = silent
    }
}
