import Foundation
import HubProcess
import HubSettings
import HubWire
import Testing

@testable import HubCore

/// Plugins that are granted queries of the owner (Protocol §12.3).
@Suite struct OwnerGrantTests {
    static func manifest(_ owner: [OwnerRight], reads: [String] = ["*"]) -> Manifest {
        Manifest(name: "web", summary: "", version: "1", reads: reads, writes: ["*"], owner: owner)
    }

    static func setting(
        asks: [OwnerRight] = OwnerRight.grantable, granted: [String]?, in folder: Folder? = nil,
        _ change: (inout PluginInstance) -> Void = { _ in }
    ) throws -> Setting {
        var setting = try Setting.withTokens(["web"], in: folder)
        setting.plugins[0].grants.owner = granted
        change(&setting.plugins[0])
        setting.manifests["web"] = manifest(asks)
        return setting
    }

    /// Opens a session of the plugin's process.
    static func web(_ hub: RunningHub, mode: String = "run") async throws -> (peer: Peer, welcome: JSON) {
        let options = Peer.Options(user: "web", password: try await hub.token(of: "web"))
        let peer = try await Peer.dealer(hub.hub.endpoints.pluginDoor, options)
        return (peer, try await peer.hello("web", mode: mode))
    }

    private static let questions = ["status", "plugins", "persons", "accounts"]

    @Test func `R12.10 R4.70 a plugin gets the owner's answers that its manifest requests and hub conf grants`()
        async throws
    {
        try await withHub(try Self.setting(granted: ["*"])) { hub in
            let owner = try await hub.client("phone")
            #expect(try await owner.give([weight("a")]).results == ["stored"])
            let (web, welcome) = try await Self.web(hub)
            let all = OwnerRight.grantable.map(\.rawValue)
            #expect(welcome["grants"]["owner"].array.compactMap(\.string) == all)
            for want in ["plugins", "persons", "accounts"] {
                let (told, known) = (try await web.query("", want: want), try await owner.query("", want: want))
                #expect(told.body[want] == known.body[want] && told.verb == "RESULT", "\(want): \(told)")
            }
            let status = try await web.status()
            #expect(status["records"].int == 1 && status["persons"].array.count == 1, "\(status)")
            let plugin = try await web.query("", want: "plugins").body["plugins"][0]
            #expect(plugin["grants"]["owner"].array.count == all.count && plugin["granted"]["owner"] == JSON(#"["*"]"#))
            let story = try await web.query(#""number":1"#, want: "trace").body["trace"]
            #expect(story == (try await owner.query(#""number":1"#, want: "trace").body["trace"]))
            #expect(story["versions"].array.count == 1)
        }
    }

    @Test(arguments: [nil, [], ["plugins"]] as [[String]?])
    func `R12.10 R12.12 a query without a grant is refused with the word and the line that grants it`(
        granted: [String]?
    ) async throws {
        try await withHub(try Self.setting(granted: granted)) { hub in
            let (web, welcome) = try await Self.web(hub)
            #expect(welcome["grants"]["owner"].array.compactMap(\.string) == granted ?? [])
            for want in Self.questions {
                let answer = try await web.query("", want: want)
                if granted?.contains(want) == true {
                    #expect(answer.verb == "RESULT")
                    continue
                }
                let line = ((granted ?? []) + [want]).map { "\"\($0)\"" }.joined(separator: ", ")
                let reason = answer.body["reason"].string ?? ""
                #expect(answer.code == "forbidden" && answer.body["closed"].truth == false, "\(answer)")
                #expect(reason.contains("\"\(want)\" is the owner's"), "\(reason)")
                #expect(reason.contains("grants = { owner = [\(line)] } in [plugin.web] of hub.conf"), "\(reason)")
            }
        }
    }

    @Test func `R12.10 rights that the manifest does not request are not granted, whatever hub conf says`() async throws
    {
        let setting = try Self.setting(asks: [.accounts], granted: ["*", "status"])
        try await withHub(setting) { hub in
            let (web, welcome) = try await Self.web(hub)
            #expect(welcome["grants"]["owner"] == JSON(#"["accounts"]"#))
            #expect(try await web.query("", want: "status").code == "forbidden")
            #expect(try await web.query("", want: "accounts").verb == "RESULT")
        }
    }

    @Test func `R12.11 a plugin over the network gets no owner rights`() async throws {
        var setting = try Self.setting(granted: ["*"]) { $0.isRemote = true }
        setting.tcp = TCPEndpoint(address: "127.0.0.1", port: try FreePort.next())
        setting.isInsecure = true
        try await withHub(setting) { hub in
            let web = try await Peer.dealer(setting.tcp?.description ?? "")
            let welcome = try await web.hello("web")
            #expect(welcome["grants"]["owner"] == JSON("null") || welcome["grants"]["owner"].array.isEmpty)
            for want in Self.questions {
                let answer = try await web.query("", want: want)
                #expect(answer.code == "forbidden", "\(answer)")
                #expect(answer.body["reason"].string?.contains("starts on its own machine") == true, "\(answer)")
            }
        }
    }

    @Test func `R12.13 the answers have only persons and types that the plugin may read`() async throws {
        var setting = try Self.setting(granted: ["*"]) {
            $0.persons = .only(["anna"])
            $0.grants.read = ["weight"]
        }
        (setting.persons, setting.manifests["web"]) = ([], Self.manifest(OwnerRight.grantable))
        var (anna, ben) = (PersonSection(name: "anna"), PersonSection(name: "ben"))
        (anna.sex, ben.sex) = (.female, .male)
        setting.people = [anna, ben]
        try await withHub(setting) { hub in
            let owner = try await hub.client("phone")
            let heart =
                #"{"type":"heartRate","value":60,"unit":"count/min","start":"2024-03-15T07:30:05Z","key":"h","subject":{"name":"anna"}}"#
            let given = try await owner.give([
                weight("a", 60, #","subject":{"name":"anna"}"#), weight("b", 80, #","subject":{"name":"ben"}"#), heart,
                weight("c", 61, #","subject":{"name":"ben"}"#),
            ])
            #expect(given.results == ["stored", "stored", "stored", "stored"])
            // The last record was ben's and is assigned to anna.
            #expect(try await owner.command("assign", #"{"numbers":[4],"to":"anna"}"#).body["outcome"].string == "done")
            let (web, _) = try await Self.web(hub)
            #expect(try await web.status()["persons"].array.compactMap { $0["name"].string } == ["anna"])
            let persons = try await web.query("", want: "persons").body["persons"]
            #expect(persons.array.compactMap { $0["name"].string } == ["anna"])
            #expect(persons[0]["characteristics"] == JSON("{}"), "the plugin may not read biologicalSex: \(persons)")
            #expect(try await web.query(#""number":1"#, want: "trace").body["trace"]["number"].int == 1)
            let unknown = try await web.query(#""number":99"#, want: "trace")
            for number in [2, 3] {
                let refused = try await web.query(#""number":\#(number)"#, want: "trace")
                let reason = refused.body["reason"].string?.replacing("record \(number)", with: "record 99")
                #expect(refused.code == "query" && reason == unknown.body["reason"].string, "\(refused)")
            }
            let moved = try await web.query(#""number":4"#, want: "trace").body["trace"]
            let whose = moved["versions"].array.compactMap { $0["record"]["person"].string }
            #expect(whose == ["anna"], "the answer omits the version from when the record was ben's: \(moved)")
            let whole = try await owner.query(#""number":4"#, want: "trace").body["trace"]
            #expect(whole["versions"].array.count > 1)
        }
    }

    @Test(arguments: ["run", "check"])
    func `R4.70 R4.22 a right is removed at once from sessions of every mode, and the process continues`(
        mode: String
    ) async throws {
        let folder = try Folder()
        let setting = try Self.setting(granted: ["status"], in: folder)
        let taken = try Self.setting(granted: nil, in: folder)
        let hub = try await RunningHub(
            setting.checked(in: folder), reload: { _ in taken.checked(in: folder) }, policy: setting.policy,
            lifePolicy: setting.lifePolicy, in: folder)
        let owner = try await hub.client("owner")
        let (web, _) = try await Self.web(hub, mode: mode)
        #expect(try await web.query("", want: "status").verb == "RESULT")
        let token = try await hub.token(of: "web")
        let applied = try await owner.command("apply").body["result"]
        #expect(applied["instances"].array.compactMap { $0["action"].string } == ["greet"], "\(applied)")
        let told = try await web.next()
        #expect(told.code == "hello-first" && told.body["closed"].truth == true, "\(told)")
        #expect(try await web.query("", want: "status").code == "hello-first")
        let welcome = try await web.hello("web", mode: mode)
        #expect(welcome["grants"]["owner"].array.isEmpty)
        #expect(try await web.query("", want: "status").code == "forbidden")
        #expect(try await hub.token(of: "web") == token, "the process continues with the same token")
        try await hub.stop()
    }
}
