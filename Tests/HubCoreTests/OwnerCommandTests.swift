import Foundation
import HubSettings
import HubWire
import Testing

@testable import HubCore

/// Plugins that are granted commands of the owner (Protocol §12.3).
@Suite struct OwnerCommandTests {
    @Test func `R12.10 each command of the hub has a grant word, and each such word has a command`() {
        let words = OwnerRight.ofCommands.subtracting([.commands]).map(\.rawValue).sorted()
        #expect(words == OwnCommands.all.map { $0.declaration.name }.sorted())
        let questions = QueryRequest.Subject.allCases.filter(\.isOfOwner).map(\.rawValue)
        #expect(
            Set(questions)
                == Set(OwnerRight.allCases).subtracting(OwnerRight.ofCommands).reduce(into: []) {
                    $0.insert($1.rawValue)
                })
    }

    /// Anna's plugin in a household of two, which may read and write only weights.
    private static func setting(_ owner: [String]) throws -> Setting {
        var setting = try OwnerGrantTests.setting(granted: owner) {
            $0.persons = .only(["anna"])
            $0.grants.read = ["weight", "stepCount"]
            $0.grants.write = ["weight"]
        }
        setting.persons = ["anna", "ben"]
        return setting
    }

    private static func outcomes(_ answer: Frames) -> [String] {
        answer.body["result"]["records"].array.compactMap { $0["outcome"].string }
    }

    private static func steps(_ key: String, of person: String, _ more: String = "") -> String {
        #"{"type":"stepCount","value":9,"unit":"count","start":"2024-03-15T01:00:00Z","end":"2024-03-15T02:00:00Z","key":"\#(key)","subject":{"name":"\#(person)"}\#(more)}"#
    }

    private static func subject(_ person: String) -> String { #","subject":{"name":"\#(person)"}"# }

    @Test func `R12.12 R8.10 a command without a grant is refused with its word, and a granted one is carried out`()
        async throws
    {
        let setting = try OwnerGrantTests.setting(granted: ["release", "status"])
        try await withHub(setting) { hub in
            let (web, _) = try await OwnerGrantTests.web(hub)
            for (command, instance, word) in [
                ("stop", "hub", "stop"), ("retract", "hub", "retract"), ("release", "web", "commands"),
            ] {
                let refused = try await web.command(command, instance: instance)
                let reason = refused.body["reason"].string ?? ""
                #expect(refused.code == "forbidden" && refused.body["closed"].truth == false, "\(refused)")
                #expect(reason.contains(#"owner = ["status", "release", "\#(word)"] }"#) || reason.contains(word))
                #expect(reason.contains("[plugin.web] of hub.conf"), "\(reason)")
            }
            let unknown = try await web.command("relase")
            #expect(unknown.verb == "OUTCOME" && unknown.body["code"].string == "command", "\(unknown)")
            #expect(unknown.body["reason"].string?.contains("did you mean release?") == true)
            let wrong = try await web.command("release", #"{"instance":"nobody"}"#)
            #expect(wrong.verb == "OUTCOME" && wrong.body["outcome"].string == "failed", "\(wrong)")
        }
    }

    @Test func `R12.10 a plugin without granted commands gets the same error for known and unknown commands`()
        async throws
    {
        try await withHub(try OwnerGrantTests.setting(granted: ["status"])) { hub in
            let (web, _) = try await OwnerGrantTests.web(hub)
            for command in ["stop", "nothing", String(repeating: "x", count: 5_000)] {
                let refused = try await web.command(command)
                #expect(refused.code == "forbidden" && (refused.body["reason"].string?.count ?? 0) < 400, "\(refused)")
            }
            await web.say("COMMAND", #"{"id":99,"cancel":true}"#)
            #expect(try await web.next().code == "forbidden")
        }
    }

    @Test func `R12.14 commands change and report only records that the plugin may read and write`() async throws {
        try await withHub(try Self.setting(["*"])) { hub in
            let owner = try await hub.client("phone")
            let given = try await owner.give([
                weight("a", 60, Self.subject("anna")), weight("b", 80, Self.subject("ben")),
                Self.steps("s", of: "anna"), weight("c", 61, Self.subject("anna")),
            ])
            #expect(given.results == ["stored", "stored", "stored", "stored"])
            let (web, _) = try await OwnerGrantTests.web(hub)
            for isDry in [true, false] {
                let answer = try await web.command("retract", #"{"numbers":[1,2,3,99]}"#, dryRun: isDry)
                #expect(Self.outcomes(answer) == ["stored", "unknown", "forbidden", "unknown"], "\(answer)")
                let records = answer.body["result"]["records"]
                #expect(
                    records[1]["type"].string == nil && records[1]["person"].string == nil,
                    "the answer has no type or person of ben's record")
                let reasons = [1, 3].compactMap { records[$0]["reason"].string?.filter { !$0.isNumber } }
                #expect(Set(reasons).count == 1, "ben's record is answered like one that does not exist: \(reasons)")
            }
            #expect(Self.outcomes(try await web.command("retract", #"{"numbers":[1],"undo":true}"#)) == ["stored"])
            #expect(
                Self.outcomes(try await web.command("edit", #"{"number":2,"value":70,"unit":"kg"}"#)) == ["unknown"])
            #expect(
                Self.outcomes(try await web.command("edit", #"{"number":3,"value":7,"unit":"count"}"#)) == ["forbidden"]
            )
            for (command, arguments, outcome) in [
                ("edit", #"{"number":3,"value":7,"unit":"count","seq":99}"#, "forbidden"),
                ("retract", #"{"numbers":[2],"seqs":[99]}"#, "unknown"),
                ("retract", #"{"numbers":[4],"seqs":[99]}"#, "changed"),
            ] {
                let answer = try await web.command(command, arguments)
                #expect(Self.outcomes(answer) == [outcome], "\(answer)")
            }
            #expect(Self.outcomes(try await web.command("edit", #"{"number":4,"value":62,"unit":"kg"}"#)) == ["stored"])
            let toBen = try await web.command("assign", #"{"numbers":[4],"to":"ben"}"#)
            #expect(toBen.body["code"].string == "person", "\(toBen)")
            #expect(
                toBen.body["reason"].string?.contains("it has anna") == true,
                "the reason names only persons of the plugin: \(toBen)")
            for word in ["nobody", "guest", "undo"] {
                let answer = try await web.command("assign", #"{"numbers":[4],"\#(word)":true}"#)
                #expect(answer.body["code"].string == "forbidden", "\(answer)")
            }
            #expect(try await web.command("assign", #"{"rules":true}"#).body["code"].string == "forbidden")
            #expect(try await web.command("erase", #"{"numbers":[4]}"#).body["code"].string == "forbidden")
            let entry = #""value":63,"unit":"kg","start":"2024-03-16T07:00:00Z""#
            #expect(
                try await web.command("log", #"{"type":"weight","person":"ben",\#(entry)}"#).body["code"].string
                    == "person")
            let steps = try await web.command(
                "log", #"{"type":"stepCount","value":5,"unit":"count","start":"2024-03-16T07:00:00Z"}"#)
            #expect(steps.body["code"].string == "forbidden", "\(steps)")
            let logged = try await web.command("log", #"{"type":"weight",\#(entry)}"#)
            #expect(Self.outcomes(logged) == ["stored"], "anna is the plugin's only person: \(logged)")
            #expect(logged.body["result"]["records"][0]["last"]["value"].double == 62)
            let values = try await owner.all(#""types":["weight","stepCount"]"#).records
            #expect(Set(values.compactMap { $0["value"].double }) == [60, 80, 9, 62, 63])
        }
    }

    @Test func `R12.14 a group with a record that the plugin may not write stays unchanged`() async throws {
        var setting = try OwnerGrantTests.setting(granted: ["*"]) {
            $0.grants.write = ["*", "!heartRate"]
        }
        setting.persons = ["anna", "ben"]
        try await withHub(setting) { hub in
            let owner = try await hub.client("phone")
            let workout =
                #"{"type":"workout","value":"running","start":"2024-03-15T01:00:00Z","end":"2024-03-15T02:00:00Z","key":"w","group":"run"\#(Self.subject("anna"))}"#
            let heart =
                #"{"type":"heartRate","value":150,"unit":"count/min","start":"2024-03-15T01:30:00Z","key":"h","group":"run"\#(Self.subject("anna"))}"#
            #expect(
                try await owner.give([workout, heart, weight("a", 60, Self.subject("anna"))]).results
                    == ["stored", "stored", "stored"])
            let (web, _) = try await OwnerGrantTests.web(hub)
            let retract = try await web.command("retract", #"{"numbers":[1,3]}"#)
            #expect(Self.outcomes(retract) == ["forbidden", "stored"], "\(retract)")
            // A future version number does not bypass the check of the group.
            let future = try await web.command("retract", #"{"numbers":[1],"seqs":[5]}"#)
            #expect(Self.outcomes(future) == ["forbidden"], "\(future)")
            #expect(
                Self.outcomes(try await web.command("assign", #"{"numbers":[1],"to":"ben"}"#)) == ["forbidden"])
            let edit = try await web.command("edit", #"{"number":1,"start":"2024-03-15T01:10:00Z"}"#)
            #expect(Self.outcomes(edit) == ["stored"], "only members with the same times are changed too: \(edit)")
            #expect(try await owner.all(#""group":"run""#).records.count == 2)
            #expect(try await web.command("erase", #"{"numbers":[1]}"#).body["code"].string == "forbidden")
        }
    }

    @Test func `R12.14 a plugin that may read and write everything has all abilities of the owner`() async throws {
        try await withHub(try OwnerGrantTests.setting(granted: ["*"])) { hub in
            #expect(try await hub.client("phone").give([weight("a"), weight("b")]).results == ["stored", "stored"])
            let (web, _) = try await OwnerGrantTests.web(hub)
            #expect(try await web.command("assign", #"{"rules":true}"#).body["outcome"].string == "done")
            var erased = try await web.command("erase", #"{"numbers":[1]}"#)
            while erased.verb == "PROGRESS" { erased = try await web.next() }
            #expect(erased.body["result"]["records"].int == 1, "\(erased)")
            #expect(Self.outcomes(try await web.command("assign", #"{"numbers":[2],"nobody":true}"#)) == ["stored"])
        }
    }

    @Test func `R12.15 a plugin's commands are logged and published under its name, without arguments`()
        async throws
    {
        try await withHub(try OwnerGrantTests.setting(granted: ["*"])) { hub in
            let owner = try await hub.client("phone")
            #expect(try await owner.give([weight("a")]).results == ["stored"])
            let listener = try await hub.listener("hub/plugin/")
            let (web, _) = try await OwnerGrantTests.web(hub)
            _ = try await web.command("edit", #"{"number":1,"value":77.7,"unit":"kg"}"#)
            _ = try await web.command("retract", #"{"numbers":[99]}"#, dryRun: true)
            _ = try await web.command("release", #"{"instance":"nobody"}"#)
            _ = try await owner.command("retract", #"{"numbers":[1]}"#)
            var told: [String] = []
            while told.count < 2 {
                let body = try await listener.next().record
                guard body["event"].string == "command" else { continue }
                #expect(body["instance"].string == "web")
                told.append(body["text"].string ?? "")
            }
            #expect(told == ["web ran the command edit: done", "web ran the command release: failed (plugin)"])
            let lines = hub.log.lines.filter { $0.contains("plugin") && $0.contains("web") }
            #expect(lines.contains { $0.contains("has changed records by hand") && $0.contains("1") })
            #expect(lines.contains { $0.contains("has ended") && $0.contains("edit") && $0.contains("done") })
            #expect(!hub.log.lines.contains { $0.contains("77.7") })
            #expect(!lines.contains { $0.contains("retract") && $0.contains("dryRun: false") })
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func `R12.10 a plugin may command another and answer its questions, and its commands end with its grant`()
        async throws
    {
        let folder = try Folder()
        var setting = try Setting.withTokens(["web", "cloud"], in: folder)
        setting.manifests["web"] = OwnerGrantTests.manifest([.commands, .apply])
        setting.manifests["cloud"] = Manifest(
            name: "cloud", summary: "", version: "1",
            commands: [CommandDeclaration("login", help: "Logs in."), CommandDeclaration("work", help: "Works.")])
        setting.plugins[0].grants.owner = ["*"]
        var taken = setting
        taken.plugins[0].grants.owner = []
        let later = taken.checked(in: folder)
        let hub = try await RunningHub(
            setting.checked(in: folder), reload: { _ in later }, policy: setting.policy,
            lifePolicy: setting.lifePolicy, in: folder)
        let cloud = try await hub.plugin("cloud")
        let (web, _) = try await OwnerGrantTests.web(hub)
        await web.say("COMMAND", #"{"id":1,"instance":"cloud","command":"login"}"#)
        let asked = try await cloud.next()
        let number = asked.body["id"].int ?? -1
        #expect(asked.verb == "COMMAND" && asked.body["command"].string == "login", "\(asked)")
        await cloud.say("OUTCOME", #"{"id":\#(number),"outcome":"ask","prompt":"code?"}"#)
        #expect(try await web.next().body["prompt"].string == "code?")
        await web.say("COMMAND", #"{"id":1,"answer":"7"}"#)
        #expect(try await cloud.next().body["answer"].string == "7")
        await cloud.say("OUTCOME", #"{"id":\#(number),"outcome":"done","result":{"account":"me"}}"#)
        #expect(try await web.next().body["result"]["account"].string == "me")
        // A command in progress is cancelled when the grant is removed.
        await web.say("COMMAND", #"{"id":2,"instance":"cloud","command":"work"}"#)
        let work = try await cloud.next()
        _ = try await hub.client("owner").command("apply")
        #expect(try await web.next().code == "hello-first")
        let cancelled = try await cloud.next()
        #expect(cancelled.body["cancel"].truth == true && cancelled.body["id"] == work.body["id"], "\(cancelled)")
        try await web.hello("web")
        #expect(try await web.command("work", instance: "cloud").code == "forbidden")
        try await hub.stop()
    }
}
