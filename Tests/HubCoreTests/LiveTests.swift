import Foundation
import HubSettings
import HubWire
import Platform
import Testing

@testable import HubCore

/// Live values in such numbers that the hub handles many of them together.
@Suite struct LiveTests {
    private struct Said {
        let topic: String
        /// The beginning of the published body, or empty if the hub writes the body itself.
        let beginning: String
    }

    /// The `n`th message of a session: mostly plain LIVE bodies, and some that take the general path.
    private static func message(_ n: Int, of plugin: String, _ random: inout SeededGenerator) -> (
        verb: String, body: String, Said
    ) {
        let number = ["0", "-7", "72.5", "1e2", "\(n).25"].randomElement(using: &random) ?? "0"
        func live(_ body: String, type: String = "weight", person: String = "-", isPlain: Bool = true) -> (
            String, String, Said
        ) {
            let topic = "live/\(type)/\(person)/\(plugin)/"
            return ("LIVE", body, Said(topic: topic, beginning: isPlain ? String(body.dropLast()) : ""))
        }
        switch Int.random(in: 0..<20, using: &random) {
        case 0: return live(#"{"type": "weight","n":\#(n)}"#, isPlain: false)
        case 1:
            return live(#"{"type":"weight","n":\#(n),"subject":{"name":"anna"}}"#, person: "anna", isPlain: false)
        case 2: return ("EVENT", #"{"event":"tick","n":\#(n)}"#, Said(topic: "device/\(plugin)/tick/", beginning: ""))
        case 3: return live(#"{"type":"heartRate","unit":"count/min","value":\#(number),"n":\#(n)}"#, type: "heartRate")
        case 4: return live(#"{"type":"bodyMass","value":\#(number),"unit":"lb","n":\#(n)}"#)
        case 5:
            let long = String(repeating: "x", count: Int.random(in: 0..<8_000, using: &random))
            return live(#"{"type":"weight","device":"\#(long)","n":\#(n)}"#)
        default: return live(#"{"type":"weight","value":\#(number),"unit":"kg","n":\#(n)}"#)
        }
    }

    @Test
    func `R5.9 each LIVE of a flood is published as if alone, in its session's order, on each allowed feed`()
        async throws
    {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        var setting = try GrantTests.setting([(name: "scales", read: ["weight"], persons: nil)])
        setting.policy.limits.livePerSecond = 1_000_000
        try await withHub(setting) { hub in
            let owner = try await hub.listener("live/", "device/")
            let restricted = try await GrantTests.listener(hub, "scales", ["live/"])
            let plugins = ["a", "b", "c"]
            var sources: [Peer] = []
            for plugin in plugins { sources.append(try await hub.client(plugin, plugin: plugin)) }
            var said: [String: [Said]] = [:]
            for n in 0..<500 {
                for (plugin, source) in zip(plugins, sources) {
                    let (verb, body, what) = Self.message(n, of: plugin, &random)
                    await source.say(verb, body)
                    said[plugin, default: []].append(what)
                }
            }
            /// Checks that `heard` is the session's next message that this listener may receive.
            func expect(_ heard: Frames, _ next: inout [String: Int], where isFit: (Said) -> Bool) throws {
                let plugin = try #require(heard.record["source"].string)
                let all = said[plugin] ?? []
                let n = try #require(all.indices.dropFirst(next[plugin] ?? 0).first { isFit(all[$0]) })
                next[plugin] = n + 1
                #expect(heard.record["n"].int == Int64(n) && heard.topic == all[n].topic, "seed \(seed): \(heard)")
                #expect(heard.all.count == 3 && heard.place == [0, 0] && heard.record["time"].string != nil)
                #expect(heard.text(2).hasPrefix(all[n].beginning), "seed \(seed): \(heard)")
            }
            var next: [String: Int] = [:]
            while next.values.reduce(0, +) < 1_500 {
                let heard = try await owner.next()
                if heard.topic.hasPrefix("device/marker/") { continue }
                try expect(heard, &next) { _ in true }
            }
            let weights = said.values.joined().count { $0.topic.hasPrefix("live/weight/") }
            next = [:]
            var count = 0
            while count < weights {
                let heard = try await restricted.next()
                if heard.topic == "hub/pulse/" { continue }
                try expect(heard, &next) { $0.topic.hasPrefix("live/weight/") }
                count += 1
            }
        }
    }

    @Test(arguments: [
        #"{"type":"wieght","value":1,"unit":"kg"}"#, #"{"type":"steps","value":1,"unit":"count"}"#,
        #"{"type":"weight","value":72.1,"unit":"m"}"#, #"{"type":"weight","value":72.1,"unit":"kgg"}"#,
        #"{"type":"weight","value":72.1}"#, #"{"type":"weight","unit":"m","progress":0.5}"#,
        #"{"type":"sleepAnalysis","value":1,"unit":"count"}"#,
        // These are not plain and take the general path.
        #"{"type": "weight","value":72.1,"unit":"m"}"#, #"{"type":"weight","value":72.1,"unit":"\u006d"}"#,
    ])
    func `R5.8 R5.10 an invalid LIVE is not published or answered, but counted and logged with the reason`(
        _ body: String
    ) async throws {
        let folder = try Folder()
        var setting = Setting()
        setting.plugins = [.init(name: "scale", grants: .init(write: ["weight", "sleepAnalysis"]))]
        try await withHub(setting, in: folder) { hub in
            let listener = try await hub.listener("live/")
            let scale = try await hub.client("scale", plugin: "scale")
            let good = #"{"type":"weight","value":72.1,"unit":"lb"}"#
            // Sends it first and also after a valid one, because the fast path uses the previous message.
            for body in [body, good, body, good] { await scale.say("LIVE", body) }
            #expect(try await scale.ask("PING").verb == "PONG")
            for _ in 0..<2 {
                let heard = try await listener.next()
                #expect(heard.record["unit"].string == "lb" && heard.record["value"].double == 72.1)
            }
            #expect(await listener.nextIfAny(within: .milliseconds(20)) == nil)
            #expect(try await hub.client("owner").status()["dropped"].int == 2)
            #expect(hub.log.lines.contains { $0.contains("a LIVE was dropped") && $0.contains("instance=scale") })
        }
    }
}
