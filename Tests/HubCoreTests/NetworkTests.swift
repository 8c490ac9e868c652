import Foundation
import HubProcess
import HubSettings
import HubWire
import Samples
import Testing
import ZeroMQ

@testable import HubCore

/// Plugins on other machines, with and without keys.
@Suite(.serialized) struct NetworkTests {
    /// A hub with the remote instances `bedroom` (reads and writes my weight) and `laptop` (reads all, has a feed).
    private static func setting(isInsecure: Bool = false) throws -> Setting {
        var setting = Setting.household
        setting.tcp = TCPEndpoint(address: "127.0.0.1", port: try FreePort.next())
        setting.isInsecure = isInsecure
        var bedroom = PluginInstance(
            name: "bedroom", kind: "scale", persons: .only(["me"]), grants: .init(read: ["weight"], write: ["weight"]))
        bedroom.isRemote = true
        var laptop = PluginInstance(name: "laptop", grants: .init(read: ["*"]))
        (laptop.isRemote, laptop.feedPort) = (true, try FreePort.next())
        setting.plugins = [bedroom, laptop]
        setting.folder = try Folder()
        return setting
    }

    private static func key(_ instance: String, of setting: Setting, replacing: Bool = false) throws -> Peer.Key {
        let ring = KeyRing(data: try #require(setting.folder).data)
        let pair = try #require(try ring.add(instance, replacing: replacing, at: HubClock.system.time))
        return Peer.Key(hub: try ring.hubKeys().publicKey, pair: pair)
    }

    private static func peer(_ setting: Setting, _ key: Peer.Key?) async throws -> Peer {
        try await Peer.dealer(try #require(setting.tcp?.description), Peer.Options(key: key))
    }

    private static func feed(_ setting: Setting) throws -> String {
        let port = try #require(setting.plugins[1].feedPort)
        return "tcp://127.0.0.1:\(port)"
    }

    private static let hello = [
        Array("HELLO".utf8), Array(#"{"protocol":[1],"instance":"bedroom","plugin":"scale","version":"1"}"#.utf8),
    ]

    @Test func `R2.5 R4.23 a key identifies exactly one instance, which has its own grants`()
        async throws
    {
        let setting = try Self.setting()
        let key = try Self.key("bedroom", of: setting)
        try await withHub(setting) { hub in
            let bedroom = try await Self.peer(setting, key)
            for name in ["laptop", "stranger", "hub-status"] {
                let forged = try await bedroom.ask(
                    "HELLO", #"{"protocol":[1],"instance":"\#(name)","plugin":"scale","version":"1"}"#)
                #expect(forged.code == "forbidden" && forged.body["closed"].truth == true, "\(forged)")
            }
            let other = try await bedroom.ask(
                "HELLO", #"{"protocol":[1],"instance":"bedroom","plugin":"ihealth-hs3","version":"1"}"#)
            #expect(other.code == "instance", "\(other)")
            let welcome = try await bedroom.hello("bedroom", plugin: "scale")
            #expect(
                welcome["grants"]
                    == JSON(
                        #"{"read":{"types":["*"],"persons":["me"]},"write":{"types":["weight"],"persons":["me"]}}"#
                    ))
            #expect(welcome["feed"].string == "")
            let heart =
                #"{"type":"heartRate","value":60,"unit":"count/min","start":"2024-03-15T07:30:05Z","key":"h"}"#
            #expect(try await bedroom.give([weight("a"), heart]).results == ["stored", "forbidden"])
            // R8.6 R8.10: queries and commands that only the owner may use.
            for want in ["status", "plugins", "persons", "accounts"] {
                #expect(try await bedroom.query("", want: want).code == "forbidden")
            }
            #expect(try await bedroom.command("stop").code == "forbidden")
            #expect(try await bedroom.command("reload-keys").code == "forbidden")
            let owner = try await hub.client("owner")
            _ = try await owner.give([weight("yours", 60, #","subject":{"name":"you"}"#)])
            #expect(try await bedroom.all().records.count == 1)
            let plugin = try await owner.status()["plugins"][0]
            #expect(plugin.fits(#"{"name":"bedroom","remote":true,"alive":true,"state":"running"}"#), "\(plugin)")
            let session = try await owner.status()["sessions"].array.first { $0["instance"].string == "bedroom" }
            #expect(session?["endpoint"].string == "remote")
            #expect(try await owner.status()["plugins"][1]["advice"].string?.contains("hub keys new laptop") == true)
        }
    }

    @Test func `R2.5 R7.6 a remote instance listens on its own port with its own key, within its grants`()
        async throws
    {
        var setting = try Self.setting()
        setting.plugins[1].persons = .only(["me"])
        let (laptop, bedroom) = (try Self.key("laptop", of: setting), try Self.key("bedroom", of: setting))
        try await withHub(setting) { hub in
            let door = try await Self.peer(setting, laptop)
            #expect(try await door.hello("laptop")["feed"].string == (try Self.feed(setting)))
            let listener = try await Peer.listener(try Self.feed(setting), [""], Peer.Options(key: laptop))
            var thieves: [Peer] = []
            for options in [Peer.Options(), Peer.Options(key: bedroom), Peer.Options(user: "laptop", password: "x")] {
                thieves.append(try await Peer.listener(try Self.feed(setting), [""], options))
            }
            let owner = try await hub.client("owner")
            var heard: Frames?
            var number = 0
            while heard == nil {
                number += 1
                _ = try await owner.give([
                    weight("y\(number)", 60, #","subject":{"name":"you"}"#),
                    weight("m\(number)", 60, #","subject":{"name":"me"}"#),
                ])
                repeat {
                    heard = await listener.nextIfAny(within: .milliseconds(100))
                } while heard?.topic == "hub/pulse/"
            }
            #expect(heard?.topic == "sample/weight/me/owner/")
            for thief in thieves { #expect(await thief.nextIfAny(within: .milliseconds(50)) == nil) }
        }
    }

    @Test func `R4.26 at the owner's door no program can replace an instance with a key`()
        async throws
    {
        let setting = try Self.setting()
        let key = try Self.key("bedroom", of: setting)
        try await withHub(setting) { hub in
            let bedroom = try await Self.peer(setting, key)
            try await bedroom.hello("bedroom", plugin: "scale")
            let other = try await hub.peer()
            let refused = try await other.ask(
                String(decoding: Self.hello[0], as: UTF8.self), String(decoding: Self.hello[1], as: UTF8.self))
            #expect(refused.code == "forbidden" && refused.body["closed"].truth == true, "\(refused)")
            #expect(try await bedroom.give([weight("a")]).results == ["stored"])
        }
    }

    /// Opens at most half of the descriptors of a process, because beyond that the hub closes the network for a while (§12.2).
    @Test func `R2.6 silent connections do not block a client with a key`() async throws {
        let setting = try Self.setting()
        let key = try Self.key("bedroom", of: setting)
        try await withHub(setting) { hub in
            // Both ends of each connection are in this process.
            let room = (ProcessDescriptors.limit ?? 1_024) / 2 - (ProcessDescriptors.lowestFree ?? 0) - 100
            let count = min(3_000, room / 2)
            let port = try #require(setting.tcp?.port)
            let idle = try (0..<count).map { _ in try RawConnection(port) }
            let bedroom = try await Self.peer(setting, key)
            try await bedroom.hello("bedroom", plugin: "scale")
            #expect(try await bedroom.give([weight("a")]).results == ["stored"])
            #expect(!hub.log.lines.contains { $0.contains("the network is closed") })
            withExtendedLifetime(idle) {}
        }
    }

    @Test func `R2.6 only unauthenticated connections can be ended, the longest silent first`()
        async throws
    {
        let setting = try Self.setting()
        let key = try Self.key("bedroom", of: setting)
        try await withHub(setting) { hub in
            let port = try #require(setting.tcp?.port)
            let bedroom = try await Self.peer(setting, key)
            try await bedroom.hello("bedroom", plugin: "scale")
            let older = try (0..<20).map { _ in try RawConnection(port) }
            // A greeting alone does not authenticate.
            for connection in older { connection.send([0xFF] + [UInt8](repeating: 0, count: 8) + [0x7F, 3, 1]) }
            // The hub's greeting shows that it has accepted the connections.
            for connection in older { #expect(try connection.take(10).count == 10) }
            func end(_ count: Int) -> Int {
                SilentConnections.end(
                    on: [UInt16(port)], proof: SilentConnections.bytesOfProof(isInsecure: false), count: count)
            }
            #expect(end(15) == 15)
            #expect(end(100) == 5)
            for connection in older {
                #expect(try connection.take(4_096).count < 4_096, "the older connection was closed")
            }
            #expect(try await bedroom.give([weight("a")]).results == ["stored"])
            #expect(try await hub.client("owner").status()["sessions"].array.count == 2)
        }
    }

    @Test func `R2.6 without a valid key nothing can be sent, received or done over the network`() async throws {
        let setting = try Self.setting()
        let key = try Self.key("bedroom", of: setting)
        try await withHub(setting) { hub in
            let unknown = Peer.Key(hub: key.hub, pair: try CurveKeyPair.generate())
            let wrongHub = Peer.Key(hub: try CurveKeyPair.generate().publicKey, pair: key.pair)
            var strangers: [Peer] = []
            for options in [
                Peer.Options(), Peer.Options(user: "bedroom", password: "x"), Peer.Options(key: unknown),
                Peer.Options(key: wrongHub),
            ] {
                let stranger = try await Peer.dealer(try #require(setting.tcp?.description), options)
                await stranger.send(Self.hello, isCertain: false)
                strangers.append(stranger)
            }
            let bedroom = try await Self.peer(setting, key)
            try await bedroom.hello("bedroom", plugin: "scale")
            #expect(try await bedroom.give([weight("a")]).results == ["stored"])
            for stranger in strangers { #expect(await stranger.nextIfAny(within: .milliseconds(100)) == nil) }
            let owner = try await hub.client("owner")
            #expect(try await owner.status()["sessions"].array.count == 2)
            #expect(hub.log.lines.contains { $0.contains("no such key") && $0.contains("127.0.0.1") })
            // Keys are never logged, not even public ones.
            let secret = key.pair.secretKey.z85
            #expect(!hub.log.lines.contains { $0.contains(secret) || $0.contains(key.pair.publicKey.z85) })
        }
    }

    @Test
    func `R4.24 revoking a key ends its sessions, listeners and connections at once, and no others`()
        async throws
    {
        let setting = try Self.setting()
        let folder = try #require(setting.folder)
        let (stolen, good) = (try Self.key("laptop", of: setting), try Self.key("bedroom", of: setting))
        try await withHub(setting) { hub in
            let owner = try await hub.client("owner")
            let thief = try await Self.peer(setting, stolen)
            try await thief.hello("laptop")
            let ear = try await Peer.listener(try Self.feed(setting), [""], Peer.Options(key: stolen))
            let bedroom = try await Self.peer(setting, good)
            try await bedroom.hello("bedroom", plugin: "scale")
            var number = 0
            func giveUntilHeard(_ listener: Peer) async throws {
                repeat {
                    number += 1
                    _ = try await owner.give([weight("k\(number)", 70, #","subject":{"name":"me"}"#)])
                } while await listener.nextIfAny(within: .milliseconds(100)) == nil
            }
            try await giveUntilHeard(ear)

            #expect(try KeyRing(data: folder.data).remove("laptop"))
            let outcome = try await owner.command("reload-keys")
            #expect(outcome.body["result"] == JSON(#"{"keys":1,"revoked":["laptop"]}"#), "\(outcome)")
            let farewell = try await thief.next()
            #expect(farewell.code == "forbidden" && farewell.body["closed"].truth == true, "\(farewell)")
            // Until its connection ends it gets this error, and then nothing.
            await thief.say("HELLO", #"{"protocol":[1],"instance":"laptop","plugin":"laptop","version":"1"}"#)
            while let answer = await thief.nextIfAny(within: .milliseconds(500)) {
                #expect(answer.code == "forbidden", "\(answer)")
                await thief.say("QUERY", #"{"id":1,"want":"records"}"#)
            }
            while await ear.nextIfAny(within: .zero) != nil {}
            for round in 0..<5 { _ = try await owner.give([weight("after\(round)", 70, #","subject":{"name":"me"}"#)]) }
            #expect(await ear.nextIfAny(within: .milliseconds(200)) == nil)
            // The other instances reconnect automatically.
            try await eventually("bedroom has connected again") {
                await bedroom.send(Self.hello, isCertain: false)
                while let answer = await bedroom.nextIfAny(within: .milliseconds(200)) {
                    if answer.verb == "WELCOME" { return true }
                }
                return false
            }
            #expect(try await bedroom.give([weight("z")]).results == ["stored"])
            // A new key for the same instance works, and the old one stays invalid.
            let fresh = try Self.key("laptop", of: setting)
            #expect(try await owner.command("reload-keys").body["result"]["keys"].int == 2)
            let again = try await Peer.listener(try Self.feed(setting), ["sample/"], Peer.Options(key: fresh))
            try await giveUntilHeard(again)
            #expect(await ear.nextIfAny(within: .milliseconds(100)) == nil)
        }
    }

    @Test func `a replaced key is invalid, and a damaged or missing hub key is reported`() async throws {
        let setting = try Self.setting()
        let folder = try #require(setting.folder)
        let old = try Self.key("bedroom", of: setting)
        #expect(try KeyRing(data: folder.data).add("bedroom", replacing: false, at: HubClock.system.time) == nil)
        let new = try Self.key("bedroom", of: setting, replacing: true)
        for (path, mode) in [("keys", 0o700), ("keys/hub.json", 0o600), ("keys/instances/bedroom.json", 0o600)] {
            let attributes = try FileManager.default.attributesOfItem(atPath: "\(folder.data)/\(path)")
            #expect(attributes[.posixPermissions] as? Int == mode, "\(path)")
        }
        #expect(
            !(try String(contentsOfFile: "\(folder.data)/keys/instances/bedroom.json", encoding: .utf8))
                .contains(new.pair.secretKey.z85))
        try await withHub(setting) { _ in
            let late = try await Self.peer(setting, old)
            await late.send(Self.hello, isCertain: false)
            let bedroom = try await Self.peer(setting, new)
            try await bedroom.hello("bedroom", plugin: "scale")
            #expect(await late.nextIfAny(within: .milliseconds(100)) == nil)
        }
        try Data("{}".utf8).write(to: URL(filePath: "\(folder.data)/keys/hub.json"))
        try await withHub(setting) { hub in
            let owner = try await hub.client("owner")
            let fault = try await owner.status()["endpoints"]["tcpFault"].string
            #expect(fault?.contains("keys/hub.json is damaged") == true, "\(fault ?? "")")
            #expect(try await owner.give([weight("a")]).results == ["stored"])
        }
    }

    @Test func `R2.7 in insecure mode any local program may be any remote instance, but no other one`() async throws {
        var setting = try Self.setting(isInsecure: true)
        let folder = try #require(setting.folder)
        setting.plugins.append(PluginInstance(name: "local"))
        try await withHub(setting) { hub in
            let peer = try await Self.peer(setting, nil)
            for name in ["local", "stranger"] {
                let refused = try await peer.ask(
                    "HELLO", #"{"protocol":[1],"instance":"\#(name)","plugin":"scale","version":"1"}"#)
                #expect(refused.code == "instance", "\(refused)")
            }
            try await peer.hello("bedroom", plugin: "scale")
            #expect(try await peer.give([weight("a")]).results == ["stored"])
            #expect(try await peer.query("", want: "status").code == "forbidden")
            #expect(try await peer.command("stop").code == "forbidden")
            let listener = try await Peer.listener(try Self.feed(setting), ["sample/"])
            var heard: Frames?
            var number = 0
            while heard == nil {
                number += 1
                _ = try await peer.give([weight("k\(number)")])
                heard = await listener.nextIfAny(within: .milliseconds(100))
            }
            #expect(heard?.topic == "sample/weight/me/scale/")
            #expect(!FileManager.default.fileExists(atPath: folder.data + "/keys"))
        }
    }

    @Test func `R4.25 one key may use at most a sixteenth of all sessions`() async throws {
        var setting = try Self.setting()
        setting.policy.limits.sessions = 32
        let key = try Self.key("bedroom", of: setting)
        try await withHub(setting) { hub in
            var peers: [Peer] = []
            for _ in 0..<2 {
                let peer = try await Self.peer(setting, key)
                try await peer.hello("bedroom", plugin: "scale", mode: "once")
                peers.append(peer)
            }
            let third = try await Self.peer(setting, key)
            let refused = try await third.ask(
                "HELLO", #"{"protocol":[1],"instance":"bedroom","plugin":"scale","version":"1","mode":"check"}"#)
            #expect(refused.code == "limit", "\(refused)")
            _ = try await hub.client("owner")
            for peer in peers { await peer.close() }
        }
    }

    @Test func `a port in use is reported in the status, and opened when it becomes free`() async throws {
        let setting = try Self.setting()
        let key = try Self.key("bedroom", of: setting)
        let endpoint = try #require(setting.tcp?.description)
        // As another program might occupy it.
        let occupied = try Loopback.listen(UInt16(try #require(setting.tcp?.port))).descriptor
        try await withHub(setting) { hub in
            let owner = try await hub.client("owner")
            #expect(try await owner.give([weight("a")]).results == ["stored"])
            try await eventually("the status reports the fault of the endpoint") {
                try await owner.status()["endpoints"]["tcpFault"].string?.contains(endpoint) == true
            }
            close(occupied)
            let bedroom = try await Self.peer(setting, key)
            try await bedroom.hello("bedroom", plugin: "scale")
            #expect(try await owner.status()["endpoints"]["tcpFault"] == .null)
        }
    }
}
