import Foundation
import HubSettings
import HubWire
import Testing

@testable import HubCore

@Suite(.timeLimit(.minutes(1))) struct TokenTests {
    private static let setting: Setting = {
        var setting = Setting()
        for name in ["exist", "sami"] { setting.plugins.append(PluginInstance(name: name)) }
        return setting
    }()

    private static let secret = "very-secret-words"
    private static let token =
        #"{"access_token":"\#(secret)","refresh_token":"\#(secret)","expires_at":"2999-01-01T00:00:00Z","token_type":"Bearer"}"#

    private func put(_ peer: Peer, _ token: String = TokenTests.token, expect: Int, id: Int = 1) async throws -> Frames
    {
        try await peer.ask("TOKEN-PUT", #"{"id":\#(id),"account":"me","expect":\#(expect),"token":\#(token)}"#)
    }

    private func ask(_ peer: Peer, _ purpose: String, id: Int = 2, _ more: String = "") async throws -> Frames {
        try await peer.ask("TOKEN", #"{"id":\#(id),"account":"me","for":"\#(purpose)"\#(more)}"#)
    }

    @Test func `R11.1 R11.3 R11.4 a token replaces only the expected version, and is returned unchanged`()
        async throws
    {
        let folder = try Folder()
        try await withHub(Self.setting, in: folder) { hub in
            let peer = try await hub.client("exist")
            #expect(try await ask(peer, "use").body == JSON(#"{"id":2,"version":0}"#))
            #expect(try await put(peer, expect: 0).body == JSON(#"{"id":1,"version":1}"#))
            let conflict = try await put(peer, expect: 0)
            #expect(conflict.code == "field" && conflict.body["ref"].int == 1 && conflict.body["closed"].truth == false)
            #expect(try await ask(peer, "use").body["version"].int == 1)
            for line in hub.log.lines { #expect(!line.contains(Self.secret), "R11.3: \(line)") }
        }
        // The token is on disk, in a separate file.
        try await withHub(Self.setting, in: folder) { hub in
            let peer = try await hub.client("exist")
            let answer = try await ask(peer, "use")
            #expect(answer.text(1).contains(Self.token), "byte for byte")
        }
        let data = URL(filePath: folder.data)
        for name in try FileManager.default.contentsOfDirectory(atPath: data.path) where name.hasPrefix("hub.sqlite") {
            #expect(try Data(contentsOf: data.appending(path: name)).range(of: Data(Self.secret.utf8)) == nil)
        }
        let secrets = data.appending(path: "secrets.db").path
        #expect(try FileManager.default.attributesOfItem(atPath: secrets)[.posixPermissions] as? Int == 0o600)
    }

    @Test func `R11.5 R11.6 one session at a time may refresh, until it puts, releases or disconnects`() async throws {
        try await withHub(Self.setting) { hub in
            let first = try await hub.client("exist", #","mode":"once""#)
            let second = try await hub.client("exist", #","mode":"once""#)
            #expect(try await ask(first, "refresh").body["lease"] == .null, "there is nothing to refresh")
            _ = try await put(first, expect: 0)
            #expect(try await ask(first, "refresh").body.fits(#"{"id":2,"version":1,"lease":60000}"#))
            let held = try await ask(second, "refresh").body
            #expect(held["held"].truth == true && (held["after"].int ?? 0) <= 1_000 && held["token"] == .null)
            #expect(try await ask(second, "use").body["version"].int == 1, "using a token needs no lease")
            _ = try await put(first, expect: 1)
            #expect(try await ask(second, "refresh").body["lease"].int == 60_000)
            #expect(try await ask(first, "refresh").body["held"].truth == true)
            _ = try await ask(second, "release")
            #expect(try await ask(first, "refresh").body["lease"].int == 60_000)
            try await first.hello("exist", mode: "once")
            #expect(try await ask(second, "refresh").body["lease"].int == 60_000)
        }
    }

    @Test func `R11.7 an instance has its own accounts, and an unconfigured one has none`() async throws {
        try await withHub(Self.setting) { hub in
            let exist = try await hub.client("exist")
            _ = try await put(exist, expect: 0)
            #expect(try await ask(try await hub.client("sami"), "use").body == JSON(#"{"id":2,"version":0}"#))
            let stranger = try await ask(try await hub.client("kitchen-script"), "use")
            #expect(stranger.code == "forbidden" && stranger.body["ref"].int == 2)
        }
    }

    @Test func `invalid accounts, tokens and purposes get the error field`() async throws {
        try await withHub(Self.setting) { hub in
            let peer = try await hub.client("exist")
            let long = String(repeating: "a", count: 17_000)
            for (verb, body) in [
                ("TOKEN", #"{"id":1,"account":"","for":"use"}"#), ("TOKEN", #"{"id":1,"account":"a\nb","for":"use"}"#),
                ("TOKEN", #"{"id":1,"account":"a","for":"fun"}"#),
                ("TOKEN", #"{"id":1,"account":"a","for":"release","failure":"odd","reason":"x"}"#),
                ("TOKEN-PUT", #"{"id":1,"account":"a","expect":-1,"token":{}}"#),
                ("TOKEN-PUT", #"{"id":1,"account":"a","expect":0,"token":"text"}"#),
                ("TOKEN-PUT", #"{"id":1,"account":"a","expect":0,"token":{"a":"\#(long)"}}"#),
            ] {
                let answer = try await peer.ask(verb, body)
                #expect(answer.code == "field" && answer.body["ref"].int == 1)
            }
        }
    }

    @Test func `status shows the state of each log-in and the command that repairs it`() async throws {
        try await withHub(Self.setting) { hub in
            let peer = try await hub.client("exist")
            let owner = try await hub.client("owner")
            func state() async throws -> JSON { try await owner.status()["plugins"][0]["tokens"][0] }
            for (reason, told) in [("not logged in", ""), ("the account is closed", " (the account is closed)")] {
                _ = try await ask(peer, "release", ##","failure":"auth","reason":"\##(reason)""##)
                #expect(
                    try await state().fits(
                        ##"{"state":"missing","advice":"not logged in\##(told); hub login exist"}"##))
            }
            _ = try await put(peer, expect: 0)
            let valid = try await state()
            #expect(valid.fits(#"{"account":"me","state":"valid","expires":"2999-01-01T00:00:00Z","refreshed":"*"}"#))
            #expect(valid["advice"] == .null)
            _ = try await ask(peer, "release", #","failure":"network","reason":"no route""#)
            #expect(try await state()["state"].string == "failing")
            _ = try await ask(peer, "release", #","failure":"auth","reason":"invalid_grant""#)
            #expect(
                try await state()["advice"].string == "the service refuses the log-in (invalid_grant); hub login exist")
            _ = try await put(peer, #"{"access_token":"a","expires_at":"2020-01-01T00:00:00Z"}"#, expect: 1)
            #expect(try await state()["state"].string == "expired")
            #expect(!"\(try await owner.status())".contains(Self.secret))
        }
    }

    @Test func `R11.14 a failure of an older token does not affect the newer one`() async throws {
        try await withHub(Self.setting) { hub in
            let peer = try await hub.client("exist")
            let owner = try await hub.client("owner")
            func state(after version: Int, _ failure: String) async throws -> String? {
                let more = #","failure":"\#(failure)","reason":"so","version":\#(version)"#
                _ = try await ask(peer, "release", more)
                return try await owner.status()["plugins"][0]["tokens"][0]["state"].string
            }
            _ = try await put(peer, expect: 0)
            #expect(try await state(after: 0, "auth") == "valid")
            #expect(try await state(after: 1, "network") == "failing")
            _ = try await put(peer, expect: 1)
            #expect(try await state(after: 1, "auth") == "valid")
            #expect(try await state(after: 2, "auth") == "refused")
        }
    }

    @Test func `logout deletes the token, and the plugin's sessions begin again`() async throws {
        try await withHub(Self.setting) { hub in
            let peer = try await hub.client("exist")
            let owner = try await hub.client("owner")
            _ = try await put(peer, expect: 0)
            let dry = try await owner.command("logout", #"{"instance":"exist"}"#, dryRun: true).body["result"]
            #expect(dry == JSON(#"{"instance":"exist","accounts":["me"],"dryRun":true}"#))
            #expect(try await ask(peer, "use").body["version"].int == 1)
            let done = try await owner.command("logout", #"{"instance":"exist"}"#).body["result"]
            #expect(done["accounts"].array.map(\.string) == ["me"])
            #expect(try await peer.next("the end of the session").code == "hello-first")
            try await peer.hello("exist")
            let now = try await ask(peer, "use").body
            #expect(now["token"] == .null && (now["version"].int ?? 0) > 1)
            let wrong = try await owner.command("logout", #"{"instance":"exst"}"#).body
            #expect(wrong["reason"].string?.hasSuffix("did you mean exist?") == true)
        }
    }

    @Test func `an unusable token file does not stop the hub`() async throws {
        let folder = try Folder()
        try await withHub(Self.setting, in: folder) { _ in }
        try Data("this is not a database, and it is longer than a header".utf8).write(
            to: URL(filePath: folder.data + "/secrets.db"))
        try await withHub(Self.setting, in: folder) { hub in
            let peer = try await hub.client("exist")
            #expect(try await ask(peer, "use").code == "store")
            #expect(try await peer.give([weight()]).results == ["stored"])
        }
    }

    @Test func `R11.13 secrets are hidden in all texts of a plugin for people`() async throws {
        try await withHub(Self.setting) { hub in
            let listener = try await hub.listener("device/")
            let peer = try await hub.client("exist")
            _ = try await put(peer, expect: 0)
            let escaped = Self.secret.replacing("-", with: #"\u002d"#)
            await peer.say(
                "EVENT",
                #"{"event":"error","severity":"error","text":"it is \#(Self.secret)","data":{"very":["\#(escaped)",1.50]},"more":"x"}"#
            )
            let event = try await listener.next().text(2)
            #expect(
                event.contains(#""text":"it is <secret>","data":{"very":["<secret>",1.50]},"more":"x""#), "\(event)")
            _ = try await ask(peer, "release", #","failure":"auth","reason":"no \#(Self.secret)""#)
            let plugin = try await hub.client("owner").status()["plugins"][0]
            #expect(plugin["lastError"].string == "it is <secret>")
            #expect(plugin["tokens"][0]["advice"].string?.contains("no <secret>") == true)
        }
    }

    @Test func `R11.13 an account's id is not a secret, but the other members of its token are`() async throws {
        try await withHub(Self.setting) { hub in
            let listener = try await hub.listener("device/")
            let peer = try await hub.client("exist")
            let (id, session) = ("3f2c9a0e5b7d4c308d1e6f1c2a9e5b7d", "b7d4c308d1e6f1c2a9e5b7d3f2c9a0e5")
            let token = #"{"access_token":"\#(Self.secret)","uid":"\#(id)","session":"\#(session)"}"#
            _ = try await put(peer, token, expect: 0)
            await peer.say("EVENT", #"{"event":"error","text":"I am \#(id) with \#(Self.secret), \#(session)"}"#)
            let event = try await listener.next().text(2)
            #expect(event.contains(#""text":"I am \#(id) with <secret>, <secret>""#), "\(event)")
        }
    }
}
