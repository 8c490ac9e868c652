import HubSettings
import HubWire
import Testing

@testable import HubCore

@Suite(.timeLimit(.minutes(1))) struct RelayTests {
    /// A hub with a plugin `kitchen` that has the command `refresh`, and whose program the test plays.
    private static let setting: Setting = {
        var setting = Setting()
        for (name, enabled) in [("kitchen", true), ("cellar", true), ("attic", false)] {
            setting.plugins.append(PluginInstance(name: name, enabled: enabled, kind: "scale"))
        }
        setting.manifests["kitchen"] = Manifest(
            name: "scale", summary: "A scale.", version: "1", reads: ["*"], writes: ["*"],
            commands: [
                CommandDeclaration(
                    "refresh", help: "Asks again.",
                    arguments: [
                        SettingDeclaration("days", .integer(Bounds(1, 30)), help: "How many.", default: .integer(7)),
                        SettingDeclaration("account", .string(), help: "Whose."),
                    ], canDryRun: true),
                CommandDeclaration("login", help: "Logs in."),
            ])
        return setting
    }()

    private func withRelay(_ body: (RunningHub, _ owner: Peer, _ plugin: Peer) async throws -> Void) async throws {
        try await withHub(Self.setting) { hub in
            let plugin = try await hub.client("kitchen", plugin: "scale")
            try await body(hub, try await hub.client("owner"), plugin)
        }
    }

    @Test func `R8.11 a command reaches the plugin with its defaults, and progress and outcome come back`() async throws
    {
        try await withRelay { _, owner, plugin in
            await owner.say(
                "COMMAND",
                #"{"id":40,"instance":"kitchen","command":"refresh","args":{"account":"a"},"deadline":60000}"#)
            let asked = try await plugin.next("a command").body
            #expect(asked.fits(#"{"id":1,"command":"refresh","args":{"days":7,"account":"a"},"deadline":60000}"#))
            await plugin.say("PROGRESS", #"{"id":1,"done":3,"total":7,"text":"Monday"}"#)
            let progress = try await owner.next("progress")
            #expect(progress.verb == "PROGRESS" && progress.body.fits(#"{"id":40,"done":3,"total":7}"#))
            let ask =
                #""outcome":"ask","url":"https://a.example","prompt":"code?","redirect":"http://127.0.0.1:1/","secret":true"#
            await plugin.say("OUTCOME", "{\"id\":1,\(ask)}")
            #expect(try await owner.next("ask").body == JSON("{\"id\":40,\(ask)}"))
            await owner.say("COMMAND", #"{"id":40,"answer":"4711"}"#)
            #expect(try await plugin.next("an answer").body.fits(#"{"id":1,"answer":"4711"}"#))
            await plugin.say("OUTCOME", #"{"id":1,"outcome":"done","result":{"records":12}}"#)
            let done = try await owner.next("the outcome").body
            #expect(done.fits(#"{"id":40,"outcome":"done","result":{"records":12}}"#))
            #expect(try await owner.ask("COMMAND", #"{"id":40,"cancel":true}"#).code == "field")
            #expect(try await plugin.ask("OUTCOME", #"{"id":1,"outcome":"done"}"#).code == "field")
        }
    }

    @Test func `R8.8 R8.9 commands and arguments that the manifest does not declare never reach the plugin`()
        async throws
    {
        try await withRelay { _, owner, plugin in
            func refusal(_ command: String, _ args: String = "{}", dryRun: Bool = false, of name: String = "kitchen")
                async throws -> String
            {
                let body = try await owner.command(command, args, dryRun: dryRun, instance: name).body
                #expect(body["outcome"].string == "failed")
                return "\(body["code"].string ?? "?"): \(body["reason"].string ?? "?")"
            }
            #expect(try await refusal("refesh").hasSuffix(#"kitchen has no command "refesh"; did you mean refresh?"#))
            #expect(
                try await refusal("refresh", #"{"day":1,"days":31}"#)
                    == "command: COMMAND.args: day: no such argument; did you mean days?; days: expected a whole number from 1 to 30"
            )
            #expect(try await refusal("login", dryRun: true).hasPrefix("command: COMMAND.dryRun"))
            #expect(
                try await refusal("refresh", of: "kitchn")
                    == "command: COMMAND.instance: hub.conf has no [plugin.kitchn]; did you mean kitchen?")
            #expect(try await refusal("refresh", of: "attic").hasPrefix("absent: "))
            #expect(try await refusal("refresh", of: "cellar").hasPrefix("absent: "))
            #expect(await plugin.nextIfAny(within: .milliseconds(20)) == nil)
            _ = try await plugin.ask("BYE")
            #expect(
                try await refusal("refresh")
                    == "absent: kitchen does not run now; hub status says why, and what to do")
        }
    }

    @Test func `R8.12 a plugin that does not answer in time is cancelled`() async throws {
        try await withRelay { _, owner, plugin in
            await owner.say("COMMAND", #"{"id":1,"instance":"kitchen","command":"refresh","deadline":30}"#)
            _ = try await plugin.next("a command")
            #expect(try await plugin.next("the cancel").body.fits(#"{"id":1,"cancel":true}"#))
            #expect(try await owner.next("the outcome").body["code"].string == "deadline")
            await plugin.say("OUTCOME", #"{"id":1,"outcome":"cancelled"}"#)
            _ = try await plugin.ask("PING")
            #expect(await owner.nextIfAny(within: .milliseconds(20)) == nil)
        }
    }

    @Test func `R8.13 R8.14 when one side disconnects, the other is notified`() async throws {
        try await withRelay { hub, owner, plugin in
            await owner.say("COMMAND", #"{"id":1,"instance":"kitchen","command":"refresh"}"#)
            _ = try await plugin.next("a command")
            let successor = try await hub.client("kitchen", plugin: "scale")
            #expect(try await owner.next("the outcome").body["code"].string == "lost")

            await owner.say("COMMAND", #"{"id":2,"instance":"kitchen","command":"refresh"}"#)
            _ = try await successor.next("a command")
            try await owner.hello("owner")
            #expect(try await successor.next("the cancel").body.fits(#"{"id":2,"cancel":true}"#))
        }
    }

    @Test func `R8.15 an unreadable outcome gets an error without ref, because the number is the hub's`()
        async throws
    {
        try await withRelay { _, owner, plugin in
            await owner.say("COMMAND", #"{"id":1,"instance":"kitchen","command":"refresh"}"#)
            _ = try await plugin.next("a command")
            let error = try await plugin.ask("OUTCOME", #"{"id":1,"outcome":"maybe"}"#)
            #expect(error.code == "field" && error.body["ref"].int == nil)
            #expect(try await owner.ask("COMMAND", #"{"id":1,"answer":"x"}"#).code == "field")
        }
    }
}
