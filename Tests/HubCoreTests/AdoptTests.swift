import HubSettings
import HubWire
import Testing

@testable import HubCore

/// Programs that log in with the name of an instance in `hub.conf`.
@Suite struct AdoptTests {
    @Test
    func `R4.21 a program that is not its instance's is refused with both names, and the right one is accepted`()
        async throws
    {
        var setting = try Setting.withTokens(["scale"])
        setting.manifests["scale"] = Manifest(name: "kitchen-scale", summary: "s", version: "1", writes: ["weight"])
        try await withHub(setting) { hub in
            let token = try await hub.token(of: "scale")
            let log = Peer.Options(user: "scale", password: token)
            let (owner, plugin) = (
                try await hub.peer(), try await Peer.dealer(hub.hub.endpoints.pluginDoor, log)
            )
            // At the owner's door no program may run as an instance that the hub has started (R4.26).
            for (peer, mode) in [(owner, "check"), (plugin, "run")] {
                let refused = try await peer.ask(
                    "HELLO",
                    #"{"protocol":[1],"instance":"scale","plugin":"thief","version":"1","mode":"\#(mode)"}"#)
                #expect(refused.code == "instance" && refused.body["closed"].truth == true, "\(refused)")
                let reason = try #require(refused.body["reason"].string)
                #expect(reason.contains("kitchen-scale") && reason.contains("thief"))
                try await peer.hello("scale", plugin: "kitchen-scale", mode: mode)
            }
            // A name that is not in `hub.conf` is free.
            _ = try await hub.client("kitchen-script")
        }
    }
}
