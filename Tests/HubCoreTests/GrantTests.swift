import Foundation
import HubSettings
import HubWire
import Platform
import Samples
import Testing

@testable import HubCore

/// Runs a hub with running instances that have these grants, and a session of the owner.
func withGrants(
    _ grants: [(name: String, read: [String], persons: [String]?)],
    _ body: (RunningHub, _ owner: Peer) async throws -> Void
) async throws {
    try await withHub(GrantTests.setting(grants), body)
}

/// The types and persons that instances may read, on the feed and at the door.
@Suite struct GrantTests {
    private static let types = ["weight", "bodyFatPercentage", "heartRate", "stepCount"]
    private static let units = [
        "weight": "kg", "bodyFatPercentage": "%", "heartRate": "count/min", "stepCount": "count",
    ]
    private static let persons = ["anna", "anna-b", "me"]

    @Test func `a star grants all types in the manifest, and without a manifest all types`() {
        let manifest = Manifest(name: "p", summary: "", version: "1", reads: ["weight"], writes: ["stepCount"])
        var instance = PluginInstance(name: "p", grants: .init(read: ["*"], write: ["*"]))
        let known = InstancePolicy(instance, manifest).grants
        #expect(known.read.types == ["weight"] && known.write.types == ["stepCount"])
        instance.isRemote = true
        let unknown = InstancePolicy(instance, nil).grants
        #expect(unknown.read.types == ["*"] && unknown.write.types == ["*"])
    }

    /// A setting with running instances that have these grants.
    static func setting(_ grants: [(name: String, read: [String], persons: [String]?)]) throws -> Setting {
        var setting = try Setting.withTokens(grants.map(\.name))
        setting.persons = persons
        for grant in grants {
            // An instance may know the types that it asks for, but not which of them are granted (R8.120).
            setting.manifests[grant.name] = Manifest(
                name: grant.name, summary: "", version: "1", reads: grant.read, writes: ["*"])
        }
        setting.plugins = zip(setting.plugins, grants).map { plugin, grant in
            var plugin = plugin
            plugin.grants.read = grant.read
            plugin.persons = grant.persons.map(PluginInstance.Persons.only) ?? .all
            return plugin
        }
        return setting
    }

    private static func record(_ type: String, _ person: String?, _ key: String) -> String {
        let subject = person.map { #","subject":{"name":"\#($0)"}"# } ?? ""
        // This weight fits no person, so that it is not assigned to one.
        let value = person == nil && type == "weight" ? 500 : 1
        return
            #"{"type":"\#(type)","value":\#(value),"unit":"\#(units[type] ?? "")","start":"2024-03-15T07:30:05Z","key":"\#(key)"\#(subject)}"#
    }

    /// Connects a listener of an instance and waits until the hub has received its subscriptions.
    static func listener(_ hub: RunningHub, _ instance: String, _ prefixes: [String]) async throws -> Peer {
        let options = Peer.Options(user: instance, password: try await hub.token(of: instance))
        let door = try await Peer.dealer(hub.hub.endpoints.pluginDoor, options)
        let feed = try #require(try await door.hello(instance, mode: "once")["feed"].string)
        let listener = try await Peer.listener(feed, prefixes + ["hub/pulse/"], options)
        // Subscriptions of a listener arrive in order, so a pulse shows that all have arrived. Backfill moves the head unpublished.
        let owner = try await hub.client("owner-of-\(instance)")
        repeat {
            _ = try await owner.give([weight("\(UInt64.random(in: 0 ... .max))")], backfill: true)
        } while await listener.nextIfAny(within: .seconds(1)) == nil
        _ = try await owner.ask("BYE")
        _ = try await door.ask("BYE")
        return listener
    }

    /// The topics before the pulse with this head, without pulses.
    private static func topics(_ listener: Peer, untilHead head: Int64) async throws -> [String] {
        var topics: [String] = []
        while true {
            let heard = try await listener.next()
            guard heard.topic == "hub/pulse/" else {
                // Skips the notices about topics that it may not read (R7.10).
                if heard.record["subject"].string != "feed" { topics.append(heard.topic) }
                continue
            }
            if heard.record["head"].int == head { return topics }
        }
    }

    @Test(arguments: 0..<3)
    func `R7.6 exactly the granted and subscribed messages are delivered, for any grants and prefixes`(
        round: Int
    ) async throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        func some(_ names: [String]) -> [String] { names.filter { _ in Bool.random(using: &random) } }
        let grants = (0..<4).map { number in
            let everyone = Int.random(in: 0..<4, using: &random) == 0
            let all = Int.random(in: 0..<4, using: &random) == 0
            return (
                name: "i\(number)", read: all ? ["*"] : some(Self.types), persons: everyone ? nil : some(Self.persons)
            )
        }
        let everything = ["sample", "day", "retraction", "live"].flatMap { kind in
            Self.types.flatMap { type in
                (Self.persons + ["-"]).map { "\(kind)/\(type)/\($0)/kitchen-script/" }
            }
        }
        func prefix() -> String {
            let topic = everything.randomElement(using: &random) ?? ""
            return String(topic.prefix(Int.random(in: 0...topic.count, using: &random)))
        }
        let prefixes = grants.map { _ in
            [prefix(), prefix(), ["hub/", "device/", "sa"].randomElement(using: &random) ?? ""]
        }
        try await withHub(try Self.setting(grants)) { hub in
            var listeners: [Peer] = []
            for (grant, prefixes) in zip(grants, prefixes) {
                listeners.append(try await Self.listener(hub, grant.name, prefixes))
            }
            // All kinds of messages: samples, days, live values, retractions, and samples without a person.
            let source = try await hub.client()
            var published: [(topic: String, type: String, person: String?)] = []
            for number in 0..<60 {
                let type = Self.types.randomElement(using: &random) ?? "weight"
                let person = (Self.persons + [nil]).randomElement(using: &random) ?? nil
                switch Int.random(in: 0..<4, using: &random) {
                case 0:
                    await source.say(
                        "LIVE",
                        #"{"type":"\#(type)","progress":0.5\#(person.map { #","subject":{"name":"\#($0)"}"# } ?? "")}"#)
                    published.append(("live/\(type)/\(person ?? "-")/kitchen-script/", type, person))
                case 1 where person != nil:
                    let (key, name) = ("k\(number)", person ?? "")
                    let gone = #"{"kind":"retraction","key":"\#(key)"}"#
                    #expect(
                        try await source.give([Self.record(type, person, key), gone]).results == ["stored", "stored"])
                    published.append(("sample/\(type)/\(name)/kitchen-script/", type, person))
                    published.append(("retraction/\(type)/\(name)/kitchen-script/", type, person))
                case 2 where person != nil:
                    let date = "2024-0\(number / 28 + 1)-\(number % 28 + 1 < 10 ? "0" : "")\(number % 28 + 1)"
                    let name = person ?? ""
                    let day =
                        #"{"kind":"day","type":"\#(type)","value":1,"unit":"\#(Self.units[type] ?? "")","series":"kitchen-script:mean","date":"\#(date)","method":"m","basis":[],"person":"\#(name)"}"#
                    #expect(try await source.give([day]).results == ["stored"])
                    published.append(("day/\(type)/\(name)/kitchen-script%3Amean/", type, person))
                default:
                    #expect(try await source.give([Self.record(type, person, "k\(number)")]).results == ["stored"])
                    let topic = person.map { "sample/\(type)/\($0)/kitchen-script/" } ?? "hub/inbox/"
                    published.append((topic, type, person))
                }
            }
            await source.say("EVENT", #"{"event":"connected"}"#)
            _ = try await source.give([weight("last")], backfill: true)
            let head = try #require(try await source.status()["head"].int)
            for ((grant, prefixes), listener) in zip(zip(grants, prefixes), listeners) {
                let expected = published.filter { message in
                    let isGranted =
                        (grant.read.contains("*") || grant.read.contains(message.type))
                        && (grant.persons.map { persons in message.person.map(persons.contains) ?? false } ?? true)
                    return isGranted && prefixes.contains { message.topic.hasPrefix($0) }
                }
                let heard = try await Self.topics(listener, untilHead: head)
                #expect(heard == expected.map(\.topic), "seed \(seed), \(grant), \(prefixes)")
            }
        }
    }

    @Test func `a subscription is denied if and only if no granted topic begins with its prefix`() {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        let names = ["anna", "anna-b", "ü"]
        for _ in 0..<2_000 {
            let types = Self.types.filter { _ in Bool.random(using: &random) }
            let persons = names.filter { _ in Bool.random(using: &random) }
            let scope = Grants.Scope(
                types: Int.random(in: 0..<5, using: &random) == 0 ? ["*"] : types,
                persons: Int.random(in: 0..<5, using: &random) == 0 ? ["*"] : persons)
            let grant = ReadGrant(
                InstancePolicy(
                    grants: Grants(read: scope), persons: nil, keepsRaw: false, settings: .emptyObject), of: "scale")
            var topics: [(Topic, AllowedReaders)] = [
                (.pulse, .everyone), (.plugin, .owner), (.notice, .instance("scale")),
                (.device(plugin: "scale", event: "e"), .instance("scale")),
            ]
            for type in Self.types.compactMap({ TypeRegistry.standard.resolve($0)?.id }) {
                topics.append((.inbox, .record(type: type, person: nil, plugin: "scale", end: 0)))
                for person in names + [nil] {
                    let scope = AllowedReaders.record(type: type, person: person, plugin: "scale", end: 0)
                    topics.append((.live(type: type.rawValue, person: person, plugin: "scale"), scope))
                    guard let person else { continue }
                    topics.append((.sample(type: type.rawValue, person: person, plugin: "scale"), scope))
                    topics.append((.day(type: type.rawValue, person: person, series: "mean"), scope))
                    topics.append((.retraction(type: type.rawValue, person: person, place: "scale"), scope))
                }
            }
            let topic = topics.randomElement(using: &random)?.0.text ?? ""
            let prefix = String(topic.prefix(Int.random(in: 0...topic.count, using: &random)))
            let isThere = topics.contains { $0.0.matches(prefix: prefix) && grant.allows($0.1, by: .system) }
            #expect(grant.canMatch(prefix: prefix.utf8) == isThere, "seed \(seed): \"\(prefix)\" \(grant)")
        }
    }

    @Test func `R7.7 a listener gets one error for each session and denied prefix`() async throws {
        try await withGrants([("scale", ["weight"], ["me"])]) { hub, _ in
            let options = Peer.Options(user: "scale", password: try await hub.token(of: "scale"))
            let door = try await Peer.dealer(hub.hub.endpoints.pluginDoor, options)
            let feed = try #require(try await door.hello("scale")["feed"].string)
            let listener = try await Peer.listener(feed, ["sample/heartRate/", "sample/wei"], options)
            let told = try await door.next()
            #expect(told.code == "forbidden" && told.body["closed"].truth == false, "\(told)")
            let reason = try #require(told.body["reason"].string)
            #expect(reason.contains("sample/heartRate/") && reason.contains("weight") && reason.contains("me"))
            // Another listener of the instance with the same prefix gets no second error.
            let other = try await Peer.listener(feed, ["sample/heartRate/", "sample/weight/anna/"], options)
            #expect(try await door.next().body["reason"].string?.contains("sample/weight/anna/") == true)
            #expect(try await door.ask("PING").verb == "PONG")
            // A new session gets the errors again.
            #expect(try await door.ask("BYE").verb == "BYE")
            try await door.hello("scale")
            for topic in ["sample/heartRate/", "sample/weight/anna/"] {
                #expect(try await door.next().body["reason"].string?.contains(topic) == true)
            }
            #expect(try await door.ask("PING").verb == "PONG")
            await listener.close()
            await other.close()
        }
    }

    @Test
    func `R7.10 a listener without a session gets denied prefixes on the feed, in any order of requests`()
        async throws
    {
        try await withGrants([("scale", ["weight"], ["me"])]) { hub, _ in
            let options = Peer.Options(user: "scale", password: try await hub.token(of: "scale"))
            let door = try await Peer.dealer(hub.hub.endpoints.pluginDoor, options)
            let feed = try #require(try await door.hello("scale")["feed"].string)
            let owner = try await hub.listener("hub/notice/")
            for (prefix, isFirst) in [("sample/heartRate/", true), ("sample/weight/anna/", false)] {
                let prefixes = isFirst ? [prefix, "hub/notice/"] : ["hub/notice/", prefix]
                let listener = try await Peer.listener(feed, prefixes, options)
                var text = ""
                while !text.contains(prefix) {
                    let notice = try await listener.next()
                    #expect(notice.topic == "hub/notice/" && notice.place == [0, 0])
                    #expect(notice.record.fits(#"{"level":"warning","subject":"feed","instance":"scale"}"#))
                    text = try #require(notice.record["text"].string)
                }
                #expect(text.contains("asks to read weight") && text.contains("gives it me"), "\(text)")
                await listener.close()
            }
            // The owner does not get these notices.
            #expect(await owner.nextIfAny(within: .milliseconds(20)) == nil)
        }
    }

    @Test func `R2.4 an instance's feed accepts only its own processes`() async throws {
        try await withGrants([("scale", ["*"], nil), ("cloud", ["*"], nil)]) { hub, source in
            let (scale, cloud) = (try await hub.token(of: "scale"), try await hub.token(of: "cloud"))
            let door = try await Peer.dealer(
                hub.hub.endpoints.pluginDoor, Peer.Options(user: "scale", password: scale))
            let feed = try #require(try await door.hello("scale")["feed"].string)
            var thieves: [Peer] = []
            for (user, password) in [("cloud", cloud), ("cloud", scale), ("scale", cloud), (nil, "")] {
                thieves.append(try await Peer.listener(feed, [""], Peer.Options(user: user, password: password)))
            }
            let own = try await Self.listener(hub, "scale", ["sample/"])
            _ = try await source.give([Self.record("weight", "me", "a")])
            #expect(try await own.next().topic == "sample/weight/me/kitchen-script/")
            for thief in thieves { #expect(await thief.nextIfAny(within: .milliseconds(50)) == nil) }
        }
    }

    @Test func `R7.8 only the instance with too many subscriptions is disconnected, and it may reconnect`()
        async throws
    {
        try await withGrants([("loud", ["*"], nil), ("calm", ["*"], nil)]) { hub, source in
            let calm = try await Self.listener(hub, "calm", ["sample/"])
            let loud = try await Self.listener(hub, "loud", ["sample/"])
            let bound = Subscriptions.Bound.instance.prefixes
            var count = 0
            try await eventually("the instance's feed is paused") {
                // A socket drops subscriptions if its peer reads them slowly.
                for _ in 0..<bound / 4 {
                    try await loud.subscribe("sample/x.a.\(count)/")
                    count += 1
                }
                return hub.log.lines.contains {
                    $0.contains("subscribed to") && $0.contains("a feed is paused") && $0.contains("of=loud")
                }
            }
            let before = try #require(try await source.status()["head"].int)
            for number in 0..<5 { _ = try await source.give([Self.record("weight", "me", "a\(number)")]) }
            var heard: [Int64] = []
            while heard.count < 5 {
                let message = try await calm.next()
                if message.topic != "hub/pulse/" { heard.append(message.sequence) }
            }
            #expect(heard == (1...5).map { before + $0 })
            // A well-behaved listener of the same instance is served again.
            await loud.close()
            let again = try await Self.listener(hub, "loud", ["sample/"])
            _ = try await source.give([Self.record("weight", "me", "b")])
            #expect(try await again.next().topic == "sample/weight/me/kitchen-script/")
        }
    }

    @Test func `R6.33 an instance cannot change records of types or persons it may not write, with any key`()
        async throws
    {
        var setting = try Self.setting([("bathroom", ["*"], ["me"])])
        setting.manifests = [:]
        setting.plugins[0].grants.write = ["weight"]
        try await withHub(setting) { hub in
            let other = try await hub.peer()
            try await other.hello("hall", plugin: "scale")
            #expect(
                try await other.give([
                    Self.record("weight", "anna", "a"), Self.record("heartRate", "me", "b"),
                    Self.record("weight", "me", "c"),
                ]).results == ["stored", "stored", "stored"])
            let own = try await hub.plugin("bathroom", plugin: "scale")
            func gone(_ key: String) -> String { #"{"kind":"retraction","key":"\#(key)"}"# }
            let answer = try await own.give([gone("a"), gone("b"), Self.record("weight", "me", "b"), gone("c")])
            #expect(answer.results == ["forbidden", "forbidden", "forbidden", "stored"])
            #expect(answer.text(1).contains("anna") == false)
        }
    }

    @Test func `R7.6 an instance gets only its own devices' events, and no notices for the owner`() async throws {
        try await withGrants([("scale", ["*"], nil)]) { hub, source in
            let listener = try await Self.listener(hub, "scale", ["device/", "hub/plugin/", "hub/notice/"])
            let own = try await hub.plugin("scale")
            await source.say("EVENT", #"{"event":"connected"}"#)
            _ = try await source.ask("PING")
            await own.say("EVENT", #"{"event":"connected"}"#)
            var heard = try await listener.next()
            while heard.record["subject"].string == "feed" { heard = try await listener.next() }  // R7.10: about itself
            #expect(heard.topic == "device/scale/connected/", "\(heard)")
        }
    }
}
