import Foundation
import HubSettings
import HubWire
import Samples
import Testing

@testable import HubCore

extension Peer {
    static let credit = #""credit":{"records":1000,"bytes":1048576}"#

    /// Requests a subscription and returns the hub's answer.
    @discardableResult
    func want(_ name: String = "all", _ start: String = "beginning", _ more: String = "", credit: String = Peer.credit)
        async throws -> Frames
    {
        try await ask("WANT", #"{"want":"\#(name)","start":"\#(start)"\#(more),\#(credit)}"#)
    }

    /// Waits for the next delivery.
    func delivery() async throws -> Frames {
        let frames = try await next("a delivery")
        guard frames.verb == "DELIVER" else { throw Silence(description: "no DELIVER but \(frames)") }
        return frames
    }

    /// Answers a delivery record by record, and returns credit for that number of records.
    func done(_ delivery: Frames, _ results: [String], _ more: String = "") {
        let body = delivery.body
        say(
            "DONE",
            #"{"want":"\#(body["want"].string ?? "")","delivery":\#(body["delivery"].int ?? -1),"results":[\#(results.joined(separator: ","))],"credit":{"records":\#(body["records"].array.count),"bytes":\#(delivery.all[1].count)}\#(more)}"#
        )
    }

    func deliver(_ delivery: Frames) {
        done(delivery, delivery.body["records"].array.map { _ in #"{"result":"delivered"}"# })
    }

    /// Accepts the next delivery and returns it.
    @discardableResult
    func accept() async throws -> Frames {
        let delivery = try await delivery()
        deliver(delivery)
        return delivery
    }

    /// Accepts deliveries until they have this number of records, and returns their keys in order.
    @discardableResult
    func deliver(_ records: Int) async throws -> [String] {
        var keys: [String] = []
        while keys.count < records {
            keys += try await accept().keys
        }
        return keys
    }
}

extension Frames {
    /// The keys of the records of a delivery.
    var keys: [String] { body["records"].array.map { $0["key"].string ?? "?" } }
    var sequences: [Int64] { body["records"].array.map { $0["seq"].int ?? -1 } }
}

extension RunningHub {
    /// The account of a sink in the hub's status.
    func sink(_ name: String) async throws -> JSON {
        let peer = try await client("looker-\(UInt32.random(in: .min ... .max))")
        let status = try await peer.status()
        _ = try await peer.ask("BYE")
        await peer.close()
        return status["sinks"].array.first { $0["name"].string == name } ?? JSON(Array("null".utf8))
    }

    /// Waits until `isSo` returns true for an account, and checks that it balances.
    @discardableResult
    func sink(_ name: String, _ isSo: @escaping (JSON) -> Bool) async throws -> JSON {
        var last = JSON(Array("null".utf8))
        try await eventually("the account of \(name)") {
            last = try await sink(name)
            let parts = ["delivered", "pending", "retrying", "refused", "superseded", "skipped"]
            #expect(last["wanted"].int == parts.reduce(Int64(0)) { $0 + (last[$1].int ?? 0) }, "\(last)")
            return isSo(last)
        }
        return last
    }
}

/// Runs a hub with a source and the subscription `files/all`.
func withSink(
    _ setting: Setting = Setting(), in folder: Folder? = nil, credit: String = Peer.credit,
    _ body: (RunningHub, _ source: Peer, _ sink: Peer) async throws -> Void
) async throws {
    try await withHub(setting, in: folder) { hub, source in
        let sink = try await hub.client("files")
        try await sink.want(credit: credit)
        try await body(hub, source, sink)
    }
}

@Suite(.timeLimit(.minutes(1))) struct SinkTests {
    @Test func `R10.7 R10.8 R10.13 R10.23 all records arrive in order and are counted`() async throws {
        try await withHub { hub, source in
            _ = try await source.give([weight("a"), weight("b")])
            let sink = try await hub.client("files")
            let answer = try await sink.want()
            #expect(answer.verb == "WANT" && answer.body["new"].truth == true && answer.body["pending"].int == 2)
            let first = try await sink.accept()
            #expect(first.keys == ["a", "b"] && first.sequences == [1, 2])
            _ = try await source.give([weight("c")])
            #expect(try await sink.accept().keys == ["c"])
            try await hub.sink("files/all") { $0["delivered"].int == 3 && $0["pending"].int == 0 }
        }
    }

    @Test func `R10.3 R10.19 records without DONE are delivered again to the next session and after a restart`()
        async throws
    {
        let folder = try Folder()
        try await withSink(in: folder) { hub, source, sink in
            _ = try await source.give([weight("a")])
            try await sink.accept()
            _ = try await source.give([weight("b")])
            #expect(try await sink.delivery().keys == ["b"])
            await sink.close()
            let next = try await hub.client("files")
            #expect(try await next.want().body["new"].truth == false)
            #expect(try await next.delivery().keys == ["b"])
        }
        try await withHub(in: folder) { hub in
            let sink = try await hub.client("files")
            let answer = try await sink.want("all", "now")
            #expect(answer.body["new"].truth == false && answer.body["pending"].int == 1)
            #expect(try await sink.accept().keys == ["b"])
            try await hub.sink("files/all") { $0["delivered"].int == 2 }
        }
    }

    @Test func `R10.1 unanswered deliveries never exceed the credit, in records and in bytes`() async throws {
        try await withSink(credit: #""credit":{"records":3,"bytes":131072}"#) { hub, source, sink in
            _ = try await source.give((0..<10).map { weight("k\($0)") })
            var open: [Frames] = []
            while open.reduce(0, { $0 + $1.keys.count }) < 3 { open.append(try await sink.delivery()) }
            #expect(open.flatMap(\.keys) == ["k0", "k1", "k2"])
            #expect(await sink.nextIfAny(within: .milliseconds(100)) == nil)
            let text = String(repeating: "x", count: 16_000)
            _ = try await source.give((0..<20).map { weight("big\($0)", 70, #","metadata":{"text":"\#(text)"}"#) })
            for delivery in open { await sink.deliver(delivery) }
            var keys: [String] = []
            while keys.count < 27 {
                let delivery = try await sink.accept()
                #expect(delivery.all[1].count <= 131_072 && delivery.keys.count <= 3)
                keys += delivery.keys
            }
            #expect(keys == (3..<10).map { "k\($0)" } + (0..<20).map { "big\($0)" })
        }
    }

    @Test func `R10.2 a newer version waits for the answer about the older, and skips versions never sent`()
        async throws
    {
        try await withSink { hub, source, sink in
            _ = try await source.give([weight("a", 70)])
            let first = try await sink.delivery()
            _ = try await source.give([weight("a", 71)])
            _ = try await source.give([weight("a", 72)])
            #expect(await sink.nextIfAny(within: .milliseconds(100)) == nil)
            await sink.deliver(first)
            #expect(try await sink.accept().sequences == [3])
            let account = try await hub.sink("files/all") { $0["delivered"].int == 2 }
            #expect(account["superseded"].int == 1 && account["wanted"].int == 3)
        }
    }

    @Test func `R10.4 a record retracted before its delivery is not delivered, nor is its retraction`()
        async throws
    {
        try await withSink(credit: #""credit":{"records":1,"bytes":131072}"#) { hub, source, sink in
            _ = try await source.give([weight("a"), weight("b")])
            let first = try await sink.delivery()
            #expect(first.keys == ["a"])
            _ = try await source.give([#"{"kind":"retraction","key":"b"}"#])
            await sink.deliver(first)
            try await hub.sink("files/all") { $0["skipped"].int == 1 && $0["superseded"].int == 1 }
            _ = try await source.give([#"{"kind":"retraction","key":"a"}"#])
            let second = try await sink.accept()
            #expect(second.body["records"][0]["kind"].string == "retraction" && second.keys == ["a"])
            try await hub.sink("files/all") { $0["delivered"].int == 2 && $0["wanted"].int == 4 }
        }
    }

    @Test func `R10.5 R10.6 no record is delivered back to its origin, by plugin, origin and account`() async throws {
        try await withHub { hub in
            let own = try await hub.client("cloud-a", plugin: "cloud")
            _ = try await own.give([
                weight("mine", 70, #","source":{"account":"a"}"#), weight("other", 70, #","source":{"account":"b"}"#),
            ])
            let source = try await hub.client()
            _ = try await source.give([
                weight("from-a", 70, #","origin":[{"system":"cloud","account":"a"}]"#),
                weight("from-b", 70, #","origin":[{"system":"cloud","account":"b"}]"#), weight("scale"),
            ])
            let sink = try await hub.client("cloud-sink", plugin: "cloud")
            try await sink.want("all", "beginning", #","account":"a""#)
            #expect(try await sink.deliver(3) == ["other", "from-b", "scale"])
            let account = try await hub.sink("cloud-sink/all") { $0["delivered"].int == 3 }
            #expect(account["skipped"].int == 2 && account["skips"]["it came from there"].int == 2)
        }
    }

    @Test func `R10.9 R10.10 an invalid WANT is refused with the reason`() async throws {
        var setting = Setting.household
        var instance = PluginInstance(name: "narrow")
        instance.persons = .only(["me"])
        setting.plugins = [instance]
        setting.manifests = [
            "narrow": Manifest(name: "narrow", summary: "A test.", version: "1", reads: ["weight", "stepCount"])
        ]
        try await withHub(setting) { hub in
            let sink = try await hub.client("narrow")
            for (want, code) in [
                (#"{"want":"x","start":"now","types":["wieght"],\#(Peer.credit)}"#, "field"),
                (#"{"want":"x","start":"now","types":["heartRate"],\#(Peer.credit)}"#, "forbidden"),
                (#"{"want":"x","start":"now","persons":["he"],\#(Peer.credit)}"#, "field"),
                (#"{"want":"x","start":"now","persons":["you"],\#(Peer.credit)}"#, "field"),
                (#"{"want":"x","start":"aaaaaaaa-3",\#(Peer.credit)}"#, "epoch"),
            ] {
                let answer = try await sink.ask("WANT", want)
                #expect(answer.code == code && answer.body["want"].string == "x", "\(answer)")
                #expect(answer.body["closed"].truth == false)
            }
            #expect(try await sink.want().verb == "WANT")
            let source = try await hub.client()
            _ = try await source.give([
                weight("mine", 70, #","subject":{"name":"me"}"#), weight("yours", 70, #","subject":{"name":"you"}"#),
                #"{"type":"heartRate","value":60,"unit":"count/min","start":"2024-03-15T07:30:05Z","key":"h","subject":{"name":"me"}}"#,
            ])
            #expect(try await sink.accept().keys == ["mine"])
            #expect(await sink.nextIfAny(within: .milliseconds(100)) == nil)
        }
    }

    @Test func `R10.11 an instance has at most 16 subscriptions, until one is forgotten`() async throws {
        try await withHub { hub in
            let sink = try await hub.client("files")
            for number in 0..<16 { #expect(try await sink.want("w\(number)").verb == "WANT") }
            await sink.close()
            let next = try await hub.client("files")
            let refused = try await next.want("w16")
            #expect(refused.code == "limit" && refused.body["closed"].truth == false)
            #expect(refused.body["reason"].string?.contains("hub forget-sink") == true)
            let owner = try await hub.client("owner")
            #expect(try await owner.command("forget-sink", #"{"sink":"files/w3"}"#).body["outcome"].string == "done")
            #expect(try await next.want("w16").verb == "WANT")
        }
    }

    @Test func `R10.12 the session that asked last gets the subscription, and the other is notified`() async throws {
        try await withHub { hub, source in
            let older = try await hub.client("files")
            try await older.want()
            _ = try await source.give([weight("a")])
            let void = try await older.delivery()
            let newer = try await hub.peer()
            try await newer.hello("files", mode: "once")
            #expect(try await newer.want().verb == "WANT")
            let told = try await older.next()
            #expect(told.code == "replaced" && told.body["closed"].truth == false && told.body["want"].string == "all")
            let delivery = try await newer.delivery()
            #expect(delivery.keys == ["a"])
            await older.deliver(void)
            #expect(try await older.next().code == "field")
            await newer.deliver(delivery)
            #expect(try await older.ask("PING").verb == "PONG")
        }
    }

    @Test func `R10.14 DONE for a delivery that is not open, or with a wrong size, changes nothing`() async throws {
        try await withSink { hub, source, sink in
            _ = try await source.give([weight("a"), weight("b")])
            let delivery = try await sink.delivery()
            await sink.done(delivery, [#"{"result":"delivered"}"#])
            let error = try await sink.next()
            #expect(error.code == "field" && error.body["ref"].int == delivery.body["delivery"].int)
            #expect(try await hub.sink("files/all")["delivered"].int == 0)
            await sink.deliver(delivery)
            await sink.deliver(delivery)
            #expect(try await sink.next().code == "field")
            try await hub.sink("files/all") { $0["delivered"].int == 2 }
        }
    }

    @Test func `R10.15 R10.16 a retry comes when it is due and not before, and its shortened reason is kept`()
        async throws
    {
        var setting = Setting()
        setting.clock = .simulated(start: Timestamp(microseconds: 1_700_000_000_000_000), rate: 1_000)
        try await withSink(setting) { hub, source, sink in
            _ = try await source.give([weight("a")])
            let long = String(repeating: "é", count: 2_000)
            let before = ContinuousClock.now
            await sink.done(try await sink.delivery(), [#"{"result":"retry","after":200000,"reason":"\#(long)"}"#])
            let account = try await hub.sink("files/all") { $0["retrying"].int == 1 }
            #expect(account["lastFailureReason"].string?.utf8.count == 1_024)
            let again = try await sink.accept()
            #expect(ContinuousClock.now - before >= .milliseconds(200))
            #expect(again.keys == ["a"] && again.sequences == [1])
            try await hub.sink("files/all") { $0["retrying"].int == 0 && $0["delivered"].int == 1 }
        }
    }

    @Test
    func `R10.16 a repeated WANT retries at once, but another session's first WANT does not`()
        async throws
    {
        try await withSink { hub, source, sink in
            _ = try await source.give([weight("a"), weight("b")])
            let later = #"{"result":"retry","after":3600000,"reason":"not yet"}"#
            var open = 2
            while open > 0 {
                let delivery = try await sink.delivery()
                open -= delivery.keys.count
                await sink.done(delivery, delivery.keys.map { _ in later })
            }
            try await hub.sink("files/all") { $0["retrying"].int == 2 }
            // A new session does not make postponed records come earlier.
            let other = try await hub.client("files")
            try await other.want()
            #expect(await other.nextIfAny(within: .milliseconds(200)) == nil)
            try await other.want()
            try await other.deliver(2)
            let account = try await hub.sink("files/all") { $0["delivered"].int == 2 }
            #expect(account["retrying"].int == 0 && account["well"].truth == true)
        }
    }

    @Test func `R10.17 a pause stops all deliveries of the subscription, and WANT ends it`() async throws {
        try await withSink { hub, source, sink in
            _ = try await source.give([weight("a")])
            await sink.done(
                try await sink.delivery(), [#"{"result":"retry","after":100,"reason":"away"}"#], #","pause":3600000"#)
            _ = try await source.give([weight("b")])
            #expect(await sink.nextIfAny(within: .milliseconds(300)) == nil)
            try await sink.want()
            var keys: Set<String> = []
            while keys.count < 2 { keys.formUnion(try await sink.delivery().keys) }
            #expect(keys == ["a", "b"])
        }
    }

    @Test func `R10.18 after auth nothing is delivered until WANT is repeated, and status names the command`()
        async throws
    {
        let folder = try Folder()
        try await withSink(in: folder) { hub, source, sink in
            _ = try await source.give([weight("a")])
            await sink.done(try await sink.delivery(), [#"{"result":"auth","reason":"the token has expired"}"#])
            _ = try await source.give([weight("b")])
            #expect(await sink.nextIfAny(within: .milliseconds(200)) == nil)
            let status = try await hub.sink("files/all") { $0["retrying"].int == 1 }
            #expect(status["well"].truth == false)
            let note = status["note"].string ?? ""
            #expect(note.contains("the token has expired") && note.contains("hub login files"), "\(note)")
        }
        try await withHub(in: folder) { hub in
            let sink = try await hub.client("files")
            try await sink.want()
            try await sink.deliver(2)
            #expect(try await hub.sink("files/all") { $0["delivered"].int == 2 }["well"].truth == true)
        }
    }

    @Test func `R10.20 a sink that never answers delays neither sources nor another sink`() async throws {
        try await withHub { hub, source in
            let lazy = try await hub.client("lazy")
            try await lazy.want(credit: #""credit":{"records":5,"bytes":131072}"#)
            let quick = try await hub.client("quick")
            try await quick.want()
            var keys: [String] = []
            for round in 0..<20 {
                #expect(try await source.give((0..<50).map { weight("\(round)-\($0)") }).verb == "STORED")
                keys += try await quick.deliver((round + 1) * 50 - keys.count)
            }
            #expect(Set(keys).count == 1_000)
            let account = try await hub.sink("quick/all") { $0["delivered"].int == 1_000 }
            #expect(account["pending"].int == 0)
            #expect(try await hub.sink("lazy/all")["pending"].int == 1_000)
        }
    }

    @Test func `R10.21 in mode once the hub reports when nothing is left, and the waiting records`() async throws {
        try await withHub { hub, source in
            _ = try await source.give([weight("a"), weight("b")])
            let sink = try await hub.peer()
            try await sink.hello("files", mode: "once")
            let opened = try await sink.want()
            #expect(opened.body["caughtUp"].truth == nil && opened.body["pending"].int == 2)
            let delivery = try await sink.delivery()
            await sink.done(
                delivery, [#"{"result":"delivered"}"#, #"{"result":"retry","after":60000000,"reason":"later"}"#])
            let end = try await sink.next()
            #expect(end.verb == "WANT" && end.body["caughtUp"].truth == true && end.body["pending"].int == 1)
            let empty = try await hub.peer()
            try await empty.hello("empty", mode: "once")
            _ = try await empty.want("none", "now")
            #expect(try await empty.next().body["caughtUp"].truth == true)
        }
    }

    @Test func `R10.21 the end of a pass is reported even if the store was unreadable for a while`() async throws {
        let folder = try Folder()
        try await withHub(in: folder) { hub in
            _ = try await hub.client().give([weight("a")])
            let sink = try await hub.peer()
            try await sink.hello("files", mode: "once")
            try await sink.want()
            let delivery = try await sink.delivery()
            let fault = try StoreFault(folder, .sinkStates)
            await sink.done(delivery, [#"{"result":"delivered"}"#])
            do {
                try await eventually(within: .seconds(20), "the hub logs the failure") {
                    hub.log.lines.contains { $0.contains("cannot be read") }
                }
            } catch {
                Issue.record("\(error): \(hub.log.lines.suffix(12))")
            }
            try fault.repair()
            let end = try await sink.next()
            #expect(end.verb == "WANT" && end.body["caughtUp"].truth == true && end.body["pending"].int == 0)
        }
    }

    @Test func `R10.15 R11.13 reasons of a sink are kept without its secrets`() async throws {
        var setting = Setting()
        setting.plugins.append(
            PluginInstance(
                name: "files", settings: ["key": .secret(Secret("opensesame")), "more": .list([.string("plain")])]))
        try await withHub(setting) { hub in
            _ = try await hub.client().give([weight("a")])
            let sink = try await hub.client("files")
            try await sink.want()
            await sink.done(
                try await sink.delivery(), [#"{"result":"retry","after":200000,"reason":"opensesame is plain"}"#])
            let account = try await hub.sink("files/all") { $0["retrying"].int == 1 }
            #expect(account["lastFailureReason"].string == "<secret> is plain")
        }
    }

    @Test func `R10.22 after STOP nothing is delivered, and a DONE still counts`() async throws {
        let folder = try Folder()
        let hub = try await RunningHub(.stoppingSlowly(in: folder), in: folder)
        let source = try await hub.client()
        let sink = try await hub.client("files")
        try await sink.want(credit: #""credit":{"records":1,"bytes":131072}"#)
        _ = try await source.give([weight("a"), weight("b")])
        let delivery = try await sink.delivery()
        await hub.beginStopping()
        #expect(try await sink.next().verb == "STOP")
        await sink.deliver(delivery)
        #expect(try await sink.ask("BYE").verb == "BYE")
        try folder.letSlowPluginEnd()
        try await hub.ended()
        try await withHub(in: folder) { hub in
            let account = try await hub.sink("files/all")
            #expect(account["delivered"].int == 1 && account["pending"].int == 1, "\(account)")
        }
    }

    @Test func `R10.24 a record without a person goes to no sink`() async throws {
        try await withSink(.household) { hub, source, sink in
            _ = try await source.give([weight("nobody"), weight("mine", 70, #","subject":{"name":"me"}"#)])
            #expect(try await sink.accept().keys == ["mine"])
            #expect(try await hub.sink("files/all") { $0["delivered"].int == 1 }["wanted"].int == 1)
        }
    }

    @Test
    func `R10.24 assigned and edited records are delivered, and those leaving the sink's persons as retractions`()
        async throws
    {
        try await withHub(.household) { hub, source in
            let owner = try await hub.client("owner")
            let mine = try await hub.client("mine")
            try await mine.want("all", "beginning", #","persons":["me"]"#)
            let all = try await hub.client("all")
            try await all.want()
            /// Accepts the next delivery of one record and returns its kind, person and sequence.
            ///
            /// Waits until the answer is counted, so that no delivery is open at the next change.
            func next(_ sink: Peer) async throws -> String {
                let delivery = try await sink.accept()
                let name = sink === mine ? "mine/all" : "all/all"
                try await hub.sink(name) { $0["pending"].int == 0 && $0["wanted"].int == $0["delivered"].int }
                #expect(delivery.body["records"].array.count == 1)
                let record = delivery.body["records"][0]
                return "\(record["kind"].string ?? "") \(record["person"].string ?? "") \(record["seq"].int ?? 0)"
            }
            _ = try await source.give([weight("a")])
            _ = try await owner.command("assign", #"{"numbers":[1],"to":"me"}"#)
            #expect(try await next(mine) == "quantity me 3")
            #expect(try await next(all) == "quantity me 3")
            _ = try await owner.command("edit", #"{"number":1,"value":70,"unit":"kg"}"#)
            #expect(try await next(mine) == "quantity me 4")
            #expect(try await next(all) == "quantity me 4")
            _ = try await owner.command("assign", #"{"numbers":[1],"to":"you"}"#)
            #expect(try await next(mine) == "retraction me 6")
            #expect(try await next(all) == "quantity you 6")
            _ = try await owner.command("assign", #"{"numbers":[1],"nobody":true}"#)
            #expect(try await next(all) == "retraction you 8")
            _ = try await owner.command("assign", #"{"numbers":[1],"to":"me"}"#)
            #expect(try await next(mine) == "quantity me 10")
            #expect(try await next(all) == "quantity me 10")
        }
    }

    /// The hub cannot know whether the first retraction was handled.
    ///
    /// A second one is harmless, and a missing one is not.
    @Test
    func `R10.24 a retraction answered after another change is delivered again, and nothing stays pending`()
        async throws
    {
        try await withHub(.household) { hub, source in
            let owner = try await hub.client("owner")
            let sink = try await hub.client("mine")
            try await sink.want("all", "beginning", #","persons":["me"]"#)
            _ = try await source.give([weight("a", 70, #","subject":{"name":"me"}"#)])
            try await sink.accept()
            try await hub.sink("mine/all") { $0["delivered"].int == 1 }
            _ = try await owner.command("assign", #"{"numbers":[1],"to":"you"}"#)
            let departure = try await sink.delivery()
            _ = try await owner.command("assign", #"{"numbers":[1],"nobody":true}"#)
            await sink.deliver(departure)
            let again = try await sink.accept()
            let versions = [departure, again].map { $0.body["records"][0] }
            #expect(versions.map { $0["kind"].string } == ["retraction", "retraction"])
            #expect(versions.map { $0["seq"].int } == [3, 5])
            let account = try await hub.sink("mine/all") { $0["pending"].int == 0 }
            #expect(account["wanted"].int == 3 && account["delivered"].int == 3, "\(account)")
        }
    }

    @Test func `an hourly limit spaces deliveries, and delays no other subscription`() async throws {
        try await withHub { hub, source in
            let sink = try await hub.client("files")
            try await sink.want("slow", "beginning", #","perHour":18000"#)
            let before = ContinuousClock.now
            for round in 0..<3 {
                _ = try await source.give([weight("k\(round)")])
                try await sink.accept()
            }
            #expect(ContinuousClock.now - before >= .milliseconds(400))
        }
    }

    @Test func `replay delivers a sink's records again, and a dry run only counts them`() async throws {
        try await withSink { hub, source, sink in
            _ = try await source.give([weight("a"), weight("b")])
            try await sink.accept()
            try await hub.sink("files/all") { $0["delivered"].int == 2 }
            let owner = try await hub.client("owner")
            func replay(_ arguments: String, dryRun: Bool) async throws -> JSON {
                while true {
                    var answer = try await owner.command("replay", arguments, dryRun: dryRun)
                    while answer.verb == "PROGRESS" { answer = try await owner.next() }
                    return answer.body
                }
            }
            let dry = try await replay(#"{"to":"files"}"#, dryRun: true)
            #expect(dry["result"]["sinks"][0]["records"].int == 2)
            #expect(await sink.nextIfAny(within: .milliseconds(100)) == nil)
            let real = try await replay(
                #"{"to":"files/all","types":["weight"],"from":"2024-03-01T00:00:00Z"}"#, dryRun: false)
            #expect(real["result"]["sinks"][0]["records"].int == 2, "\(real)")
            #expect(try await Set(sink.accept().keys) == ["a", "b"])
            try await hub.sink("files/all") { $0["delivered"].int == 4 && $0["wanted"].int == 4 }
            let unknown = try await replay(#"{"to":"fiels"}"#, dryRun: false)
            #expect(unknown["outcome"].string == "failed")
            #expect(unknown["reason"].string?.contains("did you mean files") == true, "\(unknown)")
        }
    }

    @Test func `the trace of a record shows its state for each sink`() async throws {
        try await withSink { hub, source, sink in
            _ = try await source.give([weight("a"), weight("b")])
            await sink.done(
                try await sink.delivery(),
                [#"{"result":"delivered","receipt":"r-17"}"#, #"{"result":"refused","reason":"too old"}"#])
            try await hub.sink("files/all") { $0["delivered"].int == 1 }
            let first = try await source.query(#""number":1"#, want: "trace").body["trace"]["deliveries"][0]
            #expect(first["sink"].string == "files/all" && first["state"].string == "delivered", "\(first)")
            #expect(first["confirmed"]["receipt"].string == "r-17")
            let second = try await source.query(#""number":2"#, want: "trace").body["trace"]["deliveries"][0]
            #expect(second["state"].string == "refused" && second["reason"].string == "too old")
        }
    }

    @Test func `answers that cannot be stored are kept and counted when the store works again`() async throws {
        let folder = try Folder()
        try await withSink(in: folder) { hub, source, sink in
            _ = try await source.give([weight("a")])
            let delivery = try await sink.delivery()
            let fault = try StoreFault(folder, .sinkAccounts)
            await sink.deliver(delivery)
            try await eventually("the failure is in the log") {
                hub.log.lines.contains { $0.contains("answers of sinks cannot be stored") }
            }
            try fault.repair()
            try await hub.sink("files/all") { $0["delivered"].int == 1 }
        }
    }
}
