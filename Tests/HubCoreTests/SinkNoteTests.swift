import HubSettings
import HubWire
import Testing

@testable import HubCore

/// The notes of `hub status` for sinks that get nothing, with the command that helps.
@Suite struct SinkNoteTests {
    private func note(_ setting: Setting, _ folder: Folder) async throws -> String? {
        try await withHub(setting, in: folder) { try await $0.sink("cloud/all")["note"].string }
    }

    @Test
    func `the note of a sink names a failed log-in, a disabled, faulty or missing plugin, and the remedy`()
        async throws
    {
        let folder = try Folder()
        var setting = Setting()
        setting.plugins = [PluginInstance(name: "cloud")]
        try await withHub(setting, in: folder) { hub, source in
            _ = try await source.give([weight("a")])
            let sink = try await hub.client("cloud")
            try await sink.want()
            await sink.done(
                try await sink.delivery(),
                [#"{"result":"auth","reason":"the service refuses the token; run hub login cloud"}"#])
            let paused = try await hub.sink("cloud/all") { $0["note"].string?.contains("log-in") == true }
            let said = try #require(paused["note"].string)
            // The command is named once, although both the plugin and the hub suggest it.
            #expect(said.split(separator: "hub login cloud", omittingEmptySubsequences: false).count == 2, "\(said)")
        }
        setting.plugins = [PluginInstance(name: "cloud", enabled: false)]
        #expect(
            try await note(setting, folder)
                == "[plugin.cloud] of hub.conf has enabled = false, 1 record waits: set it to true and hub apply if it is wanted again; hub forget-sink cloud/all drops it"
        )
        setting.plugins = []
        setting.refused = ["cloud"]
        #expect(
            try await note(setting, folder)
                == "[plugin.cloud] of hub.conf has errors, 1 record waits: hub check lists them; hub forget-sink cloud/all drops it"
        )
        setting.refused = []
        #expect(
            try await note(setting, folder)
                == "no [plugin.cloud] of hub.conf asks for it any more, 1 record waits: hub forget-sink cloud/all drops it"
        )
    }
}
