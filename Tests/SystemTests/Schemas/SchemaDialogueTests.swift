import DoorPeer
import Foundation
import HubProcess
import JSON
import Testing
import ZeroMQ

private typealias Question = SchemaJudge.Question

/// Records the messages of both sides, as questions to the schemas.
private final class Transcript {
    private(set) var questions: [Question] = []

    func note(_ isOwn: Bool, _ verb: String, _ body: String) { ask("\(isOwn ? "client" : "hub")/\(verb).json", body) }

    func ask(_ schema: String, _ text: String) {
        questions.append(Question(name: "\(schema) \(text.prefix(200))", schema: schema, text: text, closed: true))
    }
}

/// The messages between a real hub and its peers are valid and have only members that the schemas list.
@Suite struct SchemaDialogueTests {
    @Test(.enabled(if: Need.jsonschema.isMet, "\(Need.jsonschema.reason)"))
    func `every kind of message that a hub sends is valid by the schemas`() async throws {
        let host = try HubHost(
            plugins:
                "[plugin.lines]\nkind = \"json-lines\"\npath = \"lines\"\n[plugin.away]\nkind = \"away\"\nremote = true\n"
        )
        let hub = try await host.start()
        let door = "ipc://\(host.folder.path)/run/door"
        let transcript = Transcript()
        func peer(_ instance: String, plugin: String? = nil, _ members: String = "") throws -> DoorPeer {
            try DoorPeer(door, instance: instance, plugin: plugin, members, patience: .seconds(20)) {
                transcript.note($0, $1, $2)
            }
        }
        // Sockets must stay on their thread, so all of them are closed before the next `await`.
        do {
            let feed = try Listener("ipc://\(host.folder.path)/run/feed")
            let source = try peer(
                "kitchen",
                #","declares":[{"id":"x.kitchen.spice","kind":"quantity","unit":"count","aggregation":"cumulative"}]"#)
            // The pulse, sent after a record and every 30 s, shows that the hub knows the listener.
            try source.give([#"{"type":"weight","value":70,"unit":"kg","start":"2024-03-14T07:30:05Z","key":"first"}"#])
            _ = try source.receive("STORED")
            try feed.hear(until: ["hub/pulse/"], transcript)
            try give(source)
            try ask(source)
            try command(source, transcript)
            try deliver(try peer("sink"))
            try token(try peer("lines", plugin: "json-lines", #","mode":"once""#))
            try feed.hear(until: ["hub/pulse/", "live/", "device/", "sample/", "day/", "retraction/"], transcript)
        }
        _ = await hub.stop()

        let verdicts = try await SchemaJudge.verdicts(on: transcript.questions)
        for verdict in verdicts { #expect(verdict.isValid, "\(verdict.question.name): \(verdict.faults.prefix(3))") }
        let heard = Set(transcript.questions.map { $0.schema })
        let expected = [
            "WELCOME", "STORED", "RESULT", "PROGRESS", "OUTCOME", "WANT", "DELIVER", "TOKEN", "PONG", "ERROR",
        ].map { "hub/\($0).json" }
        #expect(heard.isSuperset(of: expected), "\(Set(expected).subtracting(heard))")
    }

    private func give(_ peer: DoorPeer) throws {
        let start = #""start":"2024-03-15T07:30:05+01:00""#
        try peer.give([
            #"{"type":"weight","value":159.4,"unit":"lb",\#(start),"key":"a","source":{"device":"d1"},"colour":"red"}"#,
            #"{"type":"sleepAnalysis","raw":3,\#(start),"end":"2024-03-15T08:30:05+01:00","key":"b","metadata":{"a":1}}"#,
            #"{"type":"weight","value":450,"unit":"kg",\#(start),"key":"c"}"#,
            #"{"type":"wieght","value":1,"unit":"kg",\#(start),"key":"d"}"#,
            #"{"kind":"day","type":"weight","value":72,"unit":"kg","series":"kitchen:mean","date":"2024-03-15","method":"mean","basis":["a"],"person":"me"}"#,
            #"{"type":"stepCount","value":100,"unit":"count",\#(start),"end":"2024-03-15T08:30:05+01:00","key":"e","provenance":{"kind":"derived","formula":"f","version":"1","basis":[1]}}"#,
            #"{"type":"workout","value":"running",\#(start),"end":"2024-03-15T08:30:05+01:00","key":"w","workout":{"duration":60,"events":[{"type":"lap",\#(start)}]}}"#,
        ])
        _ = try peer.receive("STORED")
        try peer.give([#"{"kind":"retraction","key":"c","reason":"wrong"}"#])
        _ = try peer.receive("STORED")
        try peer.send("LIVE", #"{"type":"weight","value":72,"unit":"kg","device":"d1","subject":{"slot":1}}"#)
        try peer.send("EVENT", #"{"event":"battery","device":"d1","severity":"warning","data":{"percent":15}}"#)
        try peer.send("EVENT", #"{"event":"error","device":"d1","severity":"error","code":7,"text":"stuck"}"#)
        try peer.send("PING", #"{"n":1}"#)
        _ = try peer.receive("PONG")
    }

    private func ask(_ peer: DoorPeer) throws {
        for want in ["status", "plugins", "persons", "accounts", "sources"] { _ = try peer.ask(#""want":"\#(want)""#) }
        _ = try peer.ask(#""want":"trace","number":1"#)
        #expect(throws: DoorPeer.Silence.self) { try peer.ask(#""want":"logs","instance":"nobody""#) }
        _ = try peer.ask(#""want":"records","limit":2"#)
        _ = try peer.ask(#""want":"records","nobody":true,"guest":false"#)
        let kinds = #""kinds":["quantity","day","retraction"]"#
        _ = try peer.ask(#""want":"records",\#(kinds)"#)
        _ = try peer.ask(
            #""want":"records","where":{"and":[{"type":["weight"]},{"not":{"userEntered":true}},{"quantity":{">":1,"unit":"kg"}}]}"#
        )
        _ = try peer.ask(#""want":"statistics","types":["weight"],"figures":["average","mostRecent","bySource"]"#)
        _ = try peer.ask(#""want":"statistics","types":["stepCount"],"interval":{"unit":"day","zone":"Europe/Berlin"}"#)
        #expect(throws: DoorPeer.Silence.self) { try peer.ask(#""want":"records","since":"aaaaaaaa-3""#) }
    }

    /// Runs each of the hub's own commands, as a rehearsal if the command supports it.
    private func command(_ peer: DoorPeer, _ transcript: Transcript) throws {
        let commands = [
            ("log", #"{"type":"weight","value":80,"unit":"kg"}"#, false),
            ("edit", #"{"number":1,"value":71,"unit":"kg"}"#, false),
            ("retract", #"{"numbers":[6,99]}"#, true), ("assign", #"{"numbers":[1],"nobody":true}"#, true),
            ("assign", #"{"numbers":[1],"guest":true}"#, true), ("assign", #"{"numbers":[1],"undo":true}"#, true),
            ("assign", #"{"rules":true}"#, true), ("erase", #"{"numbers":[1,99]}"#, true),
            ("erase", #"{"numbers":[5]}"#, false), ("retention", "{}", true), ("apply", "{}", true),
            ("logout", #"{"instance":"lines"}"#, true), ("reload-keys", "{}", false),
            ("release", #"{"instance":"lines"}"#, false),
            ("configure", #"{"instance":"lines","enabled":false,"set":["path=\"other\""]}"#, true),
            ("configure", #"{"instance":"lines","set":["path=\"more\""],"unset":["rotate"]}"#, false),
            ("configure", #"{"person":"me","set":["unit=\"kg\""]}"#, true), ("configure", #"{"hub":true}"#, true),
            ("fly", "{}", false), ("stop", "{}", true),
        ]
        for (index, (name, args, isDryRun)) in commands.enumerated() {
            try peer.send(
                "COMMAND",
                #"{"id":\#(100 + index),"instance":"hub","command":"\#(name)","args":\#(args),"dryRun":\#(isDryRun)}"#)
            let outcome = JSONTree(Array(try peer.receive("OUTCOME")))
            if name != "fly" { transcript.ask("commands/\(name).json#/$defs/args", args) }
            guard let result = outcome?["result"] else { continue }
            transcript.ask("commands/\(name).json#/$defs/result", result.json)
        }
        let known = Set(transcript.questions.map(\.schema))
        for name in [
            "log", "edit", "retract", "assign", "erase", "retention", "apply", "logout", "reload-keys", "configure",
            "stop",
        ] {
            #expect(known.contains("commands/\(name).json#/$defs/result"), "\(name) gave no result")
        }
    }

    private func deliver(_ peer: DoorPeer) throws {
        try peer.send(
            "WANT",
            #"{"want":"files","types":["weight"],"start":"beginning","takes":{"filled":false},"credit":{"records":1,"bytes":131072}}"#
        )
        _ = try peer.receive("WANT")
        for result in [#"{"result":"delivered","receipt":"r1"}"#, #"{"result":"retry","after":1000,"reason":"away"}"#] {
            let delivery = JSONTree(Array(try peer.receive("DELIVER")))?["delivery"]?.integer ?? 0
            try peer.send(
                "DONE",
                #"{"want":"files","delivery":\#(delivery),"results":[\#(result)],"credit":{"records":1,"bytes":131072}}"#
            )
        }
        _ = try peer.ask(#""want":"trace","number":1"#)
        _ = try peer.ask(#""want":"status""#)
    }

    private func token(_ peer: DoorPeer) throws {
        let messages = [
            ("TOKEN", #"{"id":1,"account":"me","for":"use"}"#),
            (
                "TOKEN-PUT",
                #"{"id":2,"account":"me","expect":0,"token":{"access_token":"a","expires_at":"2024-03-15T08:00:00Z"}}"#
            ),
            ("TOKEN", #"{"id":3,"account":"me","for":"refresh"}"#),
            ("TOKEN", #"{"id":4,"account":"me","for":"refresh"}"#),
            ("TOKEN", #"{"id":5,"account":"me","for":"release","failure":"auth","reason":"denied"}"#),
        ]
        for (verb, body) in messages {
            try peer.send(verb, body)
            _ = try peer.receive("TOKEN")
        }
        _ = try peer.ask(#""want":"status""#)
    }
}

/// Subscribes to everything on a feed.
private final class Listener {
    private let context: Context
    private let socket: Socket

    init(_ endpoint: String) throws {
        context = try Context()
        socket = try Socket(.sub, in: context)
        try socket.set(.linger, to: .zero)
        try socket.subscribe("")
        try socket.connect(endpoint)
    }

    /// Reads until a message has arrived on each of these topics.
    func hear(until prefixes: [String], _ transcript: Transcript) throws {
        var missing = Set(prefixes)
        let end = ContinuousClock.now + .seconds(40)
        var frames = Multipart()
        while !missing.isEmpty, ContinuousClock.now < end {
            guard try socket.wait(for: .readable, upTo: end - .now).contains(.readable),
                case .complete = try socket.receiveMultipart(into: &frames), let topic = frames.text(of: 0),
                let place = frames.text(of: 1), let body = frames.text(of: 2)
            else { continue }
            transcript.ask("feed.json#/$defs/topic", #""\#(topic)""#)
            transcript.ask("feed.json#/$defs/place", #""\#(place)""#)
            let kind = topic.prefix { $0 != "/" }
            let name = ["live": "live", "device": "event"][kind] ?? String(topic.split(separator: "/")[1])
            let isRecord = ["sample", "day", "retraction"].contains(kind) || topic == "hub/inbox/"
            transcript.ask(isRecord ? "record.json" : "feed.json#/$defs/\(name)", body)
            missing = missing.filter { !topic.hasPrefix($0) }
        }
        #expect(missing.isEmpty, "no message was received on these topics")
    }
}
