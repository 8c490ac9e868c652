import Foundation
import HubClient
import HubProcess
import Testing

@testable import HubCommand

/// The owner's rights that a plugin asks for and is granted, as shown by a real hub that starts its program.
@Suite struct OwnersRightsTests {
    private static let manifest =
        #"{"name":"probe","summary":"s","version":"1","reads":["weight"],"owner":["status","trace","restart"]}"#

    private static func hub() async throws -> (hub: TestHub, folder: TemporaryFolder) {
        let folder = try TemporaryFolder()
        let path = try folder.writeProbe(manifest)
        let hub = try await TestHub("[person.me]\n\n[plugin.probe]\nexecutable = \"\(path)\"\n", in: folder)
        return (hub, folder)
    }

    private static func write(_ grants: String, in hub: TestHub) throws {
        let kept = try hub.settings.split(separator: "\n", omittingEmptySubsequences: false).filter {
            !$0.hasPrefix("grants")
        }
        try hub.folder.write(kept.joined(separator: "\n") + grants + "\n")
    }

    @Test func `permissions allow and deny write the owner's rights of a plugin, and each undoes the other`()
        async throws
    {
        let (hub, _) = try await Self.hub()
        let before = try hub.settings
        let dry = try await hub.run(["permissions", "allow", "probe", "status", "--owner", "--dry-run"])
        #expect(dry.code == 0 && dry.output.contains("owner would be [status]; it was not in the file"), "\(dry)")
        #expect(try hub.settings == before)
        let allowed = try await hub.succeed(["permissions", "allow", "probe", "status", "trace", "--owner"])
        #expect(allowed.errors.contains("hub permissions deny probe status trace --owner takes it back"), "\(allowed)")
        #expect(try hub.settings.contains(#"grants = { owner = ["status", "trace"] }"#))
        #expect(
            try await hub.run(["permissions", "probe"]).output.contains(
                "probe may use the owner's rights status, trace;"))
        try await hub.succeed(["permissions", "allow", "probe", "trace", "--owner"], errors: "it is so already")
        let all = try await hub.run(["permissions", "allow", "probe", "*", "--owner", "--json"])
        #expect(all.output.contains(#""after":["*"],"before":["status","trace"],"key":"owner""#), "\(all.output)")
        let one = try await hub.run(["permissions", "deny", "probe", "trace", "--owner"])
        #expect(one.output.contains("owner is [status, restart]; it was [*]"), "\(one)")
        let none = try await hub.run(["permissions", "deny", "probe", "*", "--owner"])
        #expect(none.code == 0 && none.errors.contains("does not restore the former list"), "\(none)")
        for (arguments, reason) in [
            (["allow", "probe", "stauts", "--owner"], "did you mean status?"),
            (["allow", "probe", "plugins", "--owner"], "it asks for status, trace, restart"),
            (["allow", "probe", "status", "--owner", "--read"], "neither reading nor sharing"),
        ] {
            let wrong = try await hub.run(["permissions"] + arguments)
            #expect(wrong.code == 64 && wrong.errors.contains(reason), "\(wrong)")
        }
        #expect(try await hub.stop() == 0)
    }

    @Test
    func `R12.10 R12.11 permissions, plugins, check and doctor show which rights are asked for, granted and unused`()
        async throws
    {
        let (hub, _) = try await Self.hub()
        let line = #"grants = { owner = ["status", "trace", "restart"] } in [plugin.probe] of hub.conf"#
        try await hub.expect(
            ["permissions", "probe"],
            output: "probe may use no owner's rights; it asks also for status, trace, restart: \(line)")

        try Self.write(#"grants = { owner = ["status", "plugins"] }"#, in: hub)
        let checked = try await hub.run(["check"])
        #expect(checked.code == 0 && checked.output.contains(#"has no effect"#), "\(checked)")
        #expect(checked.output.contains(#""plugins""#) && checked.output.contains("1 warning"), "\(checked.output)")
        try await hub.succeed(["apply"])
        try await hub.expect(
            ["permissions", "probe"],
            output: "probe may use the owner's rights status; it asks also for trace, restart: \(line)")
        try await hub.expect(
            ["plugins", "probe"], output: "owner's  status (asks also for trace, restart; not granted")
        try await hub.expect(["doctor"], output: "plugin probe has the owner's rights: status")

        try Self.write(#"grants = { owner = ["*"] }"#, in: hub)
        #expect(try await hub.run(["check"]).output.contains("warning") == false)
        _ = try await hub.run(["apply"])
        let json = try await hub.run(["permissions", "probe", "--json"])
        #expect(
            json.output.contains(
                #""owner":{"asked":["status","trace","restart"],"granted":["status","trace","restart"]}"#),
            "\(json.output)")
        let all = try await hub.run(["permissions", "probe"])
        #expect(all.output.contains("probe may use the owner's rights status, trace, restart\n"), "\(all.output)")

        try Self.write("remote = true\ngrants = { read = [\"weight\"], owner = [\"*\"] }", in: hub)
        try await hub.expect(["check"], .badConfiguration, output: "that the hub starts on this machine")
        #expect(try await hub.stop() == 0)
    }
}
