import DoorPeer
import Foundation
import HubClient
import HubProcess
import HubSettings
import Testing

@testable import HubCommand

/// `hub permissions`: shows and changes the types that plugins may read and share.
@Suite struct PermissionsCommandTests {
    private static let section = "\n[plugin.probe]  # mine\nexecutable = \"PROGRAM\"\n\n# the end\n"

    /// A hub with a plugin that asks to read all types and to share weights.
    ///
    /// Its process exits, and the test opens its session.
    private static func hub() async throws -> (hub: TestHub, folder: TemporaryFolder) {
        let folder = try TemporaryFolder()
        let path = try folder.writeProbe(
            #"{"name":"probe","summary":"s","version":"1","reads":["*"],"writes":["weight"],"settings":[],"commands":[]}"#
        )
        let hub = try await TestHub("[person.me]\n" + section.replacing("PROGRAM", with: path), in: folder)
        return (hub, folder)
    }

    /// The number of heart rates that the plugin can read.
    private static func found(_ hub: TestHub) throws -> Int {
        struct Record: Decodable { var type: String }
        let peer = try DoorPeer(hub.endpoints.door, instance: "probe", #","mode":"once""#, patience: .seconds(30))
        return try peer.ask(#""want":"records","types":["heartRate"]"#, "records", as: [Record].self).count
    }

    @Test func `denying or allowing a type edits only its entry in hub.conf and takes effect at once`()
        async throws
    {
        let (hub, folder) = try await Self.hub()
        try hub.give([#"{"type":"heartRate","value":60,"unit":"count/min","start":"2026-03-15T07:30:05Z","key":"h"}"#])
        let before = try hub.settings
        #expect(try Self.found(hub) == 1)
        let shown = try await hub.run(["permissions"])
        #expect(
            shown.output == """
                PLUGIN  TYPE        READ     SHARE
                probe   all others  granted  -
                probe   weight      granted  granted

                """, "\(shown.output)")

        let dry = try await hub.run(["permissions", "deny", "probe", "HKQuantityTypeIdentifierHeartRate", "--dry-run"])
        #expect(dry.code == 0 && dry.output.contains("read would be [*, !heartRate]; it was not in the file"), "\(dry)")
        #expect(try hub.settings == before)
        #expect(try Self.found(hub) == 1)

        let denied = try await hub.succeed(["permissions", "deny", "probe", "heartRate"])
        #expect(
            denied.errors.contains("hub permissions allow probe heartRate --read takes it back"), "\(denied.errors)")
        #expect(
            try hub.settings
                == before.replacing(
                    "\n\n# the end", with: "\ngrants = { read = [\"*\", \"!heartRate\"] }\n\n# the end"))
        #expect(try Self.found(hub) == 0)
        try await hub.succeed(["permissions", "deny", "probe", "heartRate"], errors: "it is so already")

        let json = try await hub.run(["permissions", "probe", "--json"])
        #expect(json.output.contains(#"{"read":"denied","type":"heartRate"}"#), "\(json.output)")

        let allowed = try await hub.run(["permissions", "allow", "probe", "heartRate", "--read", "--json"])
        #expect(allowed.code == 0 && allowed.output.contains(#""after":["*"]"#), "\(allowed)")
        #expect(try Self.found(hub) == 1)

        _ = try await hub.run(["permissions", "deny", "probe", "*", "--share"])
        #expect(try hub.settings.contains("grants = { read = [\"*\"], write = [\"!*\"] }"))
        #expect(try await hub.run(["permissions", "probe"]).output.contains("weight      granted  denied"))

        // The type had been undecided and is now granted. Denying it would not restore that, and the command does not
        // claim so.
        try folder.write(hub.settings.replacing("\"!*\"", with: ""))
        _ = try await hub.run(["apply"])
        let shared = try await hub.run(["permissions", "allow", "probe", "weight", "--share"])
        #expect(shared.code == 0 && !shared.errors.contains("takes it back"), "\(shared.errors)")
        #expect(
            shared.errors.contains("does not restore the former list; write that into \(hub.configuration)"),
            "\(shared.errors)")
        #expect(try await hub.stop() == 0)
    }

    @Test func `an impossible change of permissions is refused with the possible ones, and hub.conf stays`()
        async throws
    {
        let (hub, folder) = try await Self.hub()
        let before = try hub.settings
        for (arguments, reason) in [
            (["probe", "bloodPressure"], "name bloodPressureSystolic and bloodPressureDiastolic"),
            (["probe", "food", "--read"], "such as dietaryEnergyConsumed"),
            (["probe", "wieght"], "did you mean weight?"),
            (["probe", "heartRate", "--share"], "probe does not ask to share heartRate"),
            (["prob", "weight"], "did you mean probe?"),
        ] {
            let result = try await hub.run(["permissions", "deny"] + arguments)
            #expect(result.code == 64 && result.errors.contains(reason), "\(arguments): \(result)")
        }
        // The command does not touch a file that a person has left with an error.
        let broken = before + "[person.me2]\nheigth = 1\n"
        try broken.write(toFile: folder.configuration, atomically: true, encoding: .utf8)
        try await hub.expect(["permissions", "deny", "probe", "weight"], .badConfiguration)
        #expect(try hub.settings == broken)
        #expect(try await hub.stop() == 0)
    }
}
