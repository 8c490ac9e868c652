import HubWire
import Testing

@testable import HubCore

/// A hub that waits for its `hub.conf` (Protocol §8.2.2).
@Suite struct SetupTests {
    /// Notes the commands that reach it.
    private actor Service: SetupService {
        nonisolated let file = "/nonexistent/hub.conf"
        private(set) var commands: [String] = []

        func carryOut(_ command: OwnCommands.Setup, isDryRun: Bool) throws -> SetupState {
            commands.append("\(command.action) \(command.step ?? "") \(isDryRun)")
            guard command.step != "nowhere" else { throw OwnCommandFailure("command", "there is no step nowhere") }
            return SetupState(
                file: file, dryRun: isDryRun, steps: [SetupState.Step("household", done: false)], step: "household",
                questions: [SetupQuestion("zone", title: "Time zone", help: "The zone.")])
        }
    }

    @Test func `R8.200 only the page may set the hub up, and only while there is no hub.conf`() async throws {
        let service = Service()
        var setting = try OwnerGrantTests.setting(granted: ["*"])
        setting.setup = service
        try await withHub(setting) { hub in
            let (web, welcome) = try await OwnerGrantTests.web(hub)
            #expect(welcome["grants"]["owner"] == JSON(#"["setup"]"#))
            let state = try await web.command("setup", #"{"step":"household"}"#, dryRun: true)
            #expect(state.body["result"]["file"].string == service.file, "\(state)")
            #expect(state.body["result"]["questions"][0]["name"].string == "zone")
            let wrong = try await web.command("setup", #"{"action":"answer","step":"nowhere","answers":["a=b"]}"#)
            #expect(wrong.body["code"].string == "command", "\(wrong)")
            #expect(wrong.body["reason"].string == "there is no step nowhere")
            #expect(await service.commands == ["look household true", "answer nowhere false"])
            #expect(try await web.query("", want: "status").code == "forbidden")
            #expect(try await web.command("configure", #"{"hub":true}"#).code == "forbidden")
            let owner = try await hub.client("phone").command("setup")
            #expect(owner.body["code"].string == "forbidden", "\(owner)")
            #expect(owner.body["reason"].string?.contains("hub setup asks") == true)
            #expect(await service.commands.count == 2)
        }
        try await withHub(try OwnerGrantTests.setting(granted: ["*"])) { hub in
            let (web, welcome) = try await OwnerGrantTests.web(hub)
            #expect(!welcome["grants"]["owner"].array.contains { $0.string == "setup" })
            let refused = try await web.command("setup")
            #expect(refused.code == "forbidden", "\(refused)")
            #expect(refused.body["reason"].string?.contains("while there is no hub.conf") == true)
            let owner = try await hub.client("phone").command("setup")
            #expect(owner.body["code"].string == "configured", "\(owner)")
        }
    }

    @Test func `R8.201 a hub without hub.conf takes no records, and its clients keep them`() async throws {
        var setting = Setting()
        setting.setup = Service()
        try await withHub(setting) { hub, peer async throws in
            let refused = try await peer.give([weight("a")])
            #expect(refused.code == "store" && refused.body["closed"].truth == false, "\(refused)")
            #expect(refused.body["ref"].int == 1 && refused.body["credit"]["records"].int == 1, "\(refused)")
            #expect(refused.body["reason"].string?.contains("hub web prints a link") == true)
            let log = #"{"type":"weight","value":70,"unit":"kg"}"#
            for (command, arguments) in [("log", log), ("retract", #"{"numbers":[1]}"#), ("apply", "{}")] {
                let answer = try await peer.command(command, arguments)
                #expect(answer.body["code"].string == "setup", "\(answer)")
                #expect(
                    answer.body["reason"].string?.hasPrefix("\(command): there is no /nonexistent/hub.conf") == true)
            }
            let status = try await peer.status()
            #expect(status["setup"].string == "/nonexistent/hub.conf" && status["records"].int == 0, "\(status)")
            let stop = try await peer.command("stop", dryRun: true)
            #expect(stop.body["outcome"].string == "done", "\(stop)")
        }
    }

    @Test func `a manifest cannot ask for the right to set the hub up, and hub.conf cannot grant it`() {
        #expect(!OwnerGrantTests.manifest([.status]).faults.contains { $0.hasPrefix("owner") })
        #expect(OwnerGrantTests.manifest([.setup]).faults.contains { $0.hasPrefix("owner[0]: expected one of") })
        #expect(OwnerRight.granted(of: ["setup", "status"], by: ["*", "setup"]) == ["status"])
    }
}
