import Foundation
import HubProcess
import HubWire
import JSON
import PhonePayloads
import PluginKit
import PluginTesting
import Samples
import Synchronization
import Testing

@testable import HTTPIngest

/// Tests with a real Mosquitto, to which apps publish.
@Suite(
    .timeLimit(.minutes(1)), .serialized,
    .enabled(
        if: FileManager.default.isExecutableFile(atPath: "/usr/sbin/mosquitto"),
        "there is no mosquitto here; .ci/setup test installs it"))
struct BrokerTests {
    /// A broker for one test, without a disk.
    final class Broker: Sendable {
        let folder: TemporaryFolder
        let port: Int
        private let process: Mutex<ChildProcess?>

        init() async throws {
            folder = try TemporaryFolder()
            port = try FreePort.next()
            try folder.write(
                """
                listener \(port) 127.0.0.1
                allow_anonymous true
                persistence true
                persistence_location \(folder.path)/
                user root
                """, to: "mosquitto.conf")
            process = Mutex(nil)
            try await start()
        }

        func start() async throws {
            let child = try ChildProcess("/usr/sbin/mosquitto", ["-v", "-c", "\(folder.path)/mosquitto.conf"])
            _ = await child.errorLines(count: 1) { $0.contains("running") }
            process.withLock { $0 = child }
        }

        /// Stops it orderly, so that it keeps sessions and retained messages.
        func stop() async {
            let child = process.withLock { $0 }
            child?.signal(SIGTERM)
            _ = await child?.waitForExit()
        }

        deinit { process.withLock { $0?.signal(SIGKILL) } }

        /// Publishes one message as an app does; returns when the broker has it.
        func publish(_ topic: String, _ payload: [UInt8], isRetained: Bool = false) async throws {
            let (ready, tell) = AsyncStream<Bool>.makeStream()
            let client = try MQTTClient(
                MQTTClient.Settings(
                    host: "127.0.0.1", port: port, name: "app-\(UInt32.random(in: 0...(.max)))", topics: [],
                    take: { _ in true }, changed: { if case .success = $0 { tell.yield(true) } }))
            try client.start()
            for await _ in ready { break }
            try client.publish(topic, payload, isRetained: isRetained)
            try await onThread { client.stop() }
        }
    }

    private func topics(_ broker: Broker, _ topics: [String]) -> [String: SettingValue] {
        ["mqtt": .string("mqtt://127.0.0.1:\(broker.port)"), "mqtt_topics": .list(topics.map(SettingValue.string))]
    }

    private func history(without: Bool = false) throws -> [UInt8] {
        let lines = try String(decoding: Scene.fixture("openscale-mqtt.jsonl"), as: UTF8.self).split(separator: "\n")
        let text = JSONTree(Array(lines[4].utf8))?["payload"]?.json ?? ""
        return Array(
            (without
                ? text.replacing(
                    ",[1770787800000,80.1,null,null,null,null]", with: ",[1770874200000,80.9,null,null,null,null]")
                : text).utf8)
    }

    @Test func `openScale's list is stored and followed, and records missing from it are retracted`() async throws {
        let broker = try await Broker()
        let scene = try await Scene(settings: topics(broker, ["openScaleSync/#=openscale:kitchen"]))
        // The broker has retained this message from earlier.
        try await broker.publish("openScaleSync/1/measurements/history", try history(), isRetained: true)
        try await scene.run { () async throws in
            await scene.hub.records(4)
            #expect(
                await scene.hub.heldText() == [
                    "bodyFatPercentage 0.185 %", "hc.boneMass 3.2 kg", "weight 80.4 kg", "weight 80.1 kg",
                ])
            // A single message has only minutes, so its time would differ; the list has the full time.
            try await broker.publish(
                "openScaleSync/1/measurements/insert", Array(#"{"date":"2026-02-10T06:31+0100","weight":80.4}"#.utf8))
            try await broker.publish(
                "openScaleSync/1/measurements/history", try history(without: true), isRetained: true)
            await scene.hub.wait { $0.held.count == 5 }
            await scene.hub.wait { hub in hub.held.contains { if case .retraction = $0.record { true } else { false } }
            }
            #expect(await scene.hub.heldText().contains("weight 80.9 kg"))
        }
    }

    @Test func `Messages published while the plugin is away arrive when it is back, and stay until the hub has them`()
        async throws
    {
        let broker = try await Broker()
        let scene = try await Scene(
            settings: topics(broker, ["phones/anna=hae:anna-iphone:me", "scale/#=ble-scale-sync:bath"]))
        try await scene.run { () async throws in
            await connected(scene)
            try await broker.publish("phones/anna", try Scene.fixture("hae-12-hour.json"))
            await scene.hub.records(3)
        }
        try await broker.publish("phones/anna", try Scene.fixture("hae-raw.json"))
        await scene.hub.change { $0.answers = false }
        let before = await scene.hub.batches
        let run = PluginRun(HTTPIngest(), at: scene.place, settings: nil)
        await scene.hub.batches(before + 1)
        // Stop it orderly before the hub answers. If cut off, its client would continue in this process and take the next one's session.
        run.loseHub()
        #expect(await run.end() == .done)
        #expect(await scene.hub.held.count == 3)
        await scene.hub.change { $0.answers = true }
        try await scene.run { () async throws in await scene.hub.records(19) }
        #expect(await scene.hub.held.count == 19)
    }

    @Test func `A reading that the broker retained has no known time and is not taken`() async throws {
        let broker = try await Broker()
        let scene = try await Scene(settings: topics(broker, ["scale/#=ble-scale-sync:bath"]))
        try await broker.publish("scale/body-composition", Array(#"{"weight":70}"#.utf8), isRetained: true)
        try await scene.run { () async throws in
            await connected(scene)
            try await broker.publish("scale/body-composition", Array("no JSON".utf8))
            try await broker.publish("scale/body-composition", Array(#"{"weight":71}"#.utf8))
            await scene.hub.records(1)
            #expect(await scene.hub.heldText() == ["weight 71.0 kg"])
            await scene.hub.wait { $0.events.contains { $0.device == "bath" && !$0.isResolved } }
        }
    }

    @Test
    func `A reading that waited at the broker is not dated now, and a retained one is reported once`() async throws {
        let broker = try await Broker()
        let scene = try await Scene(settings: topics(broker, ["scale/#=ble-scale-sync:bath"]))
        let topic = "scale/body-composition"
        try await scene.run { () async throws in
            await connected(scene)
            try await broker.publish(topic, Array(#"{"weight":71}"#.utf8), isRetained: true)
            await scene.hub.records(1)
        }
        // The reading was taken when it was published, so the broker's copy is no loss.
        try await scene.run { () async throws in
            await connected(scene, times: 2)
            try await broker.publish(topic, Array(#"{"weight":72}"#.utf8), isRetained: true)
            await scene.hub.records(2)
            #expect(!(await scene.hub.events.contains { $0.device == "bath" && !$0.isResolved }))
        }
        for weight in [73, 74] {
            try await broker.publish(topic, Array("{\"weight\":\(weight)}".utf8), isRetained: weight == 74)
        }
        for start in 3...4 {
            try await scene.run { () async throws in
                await connected(scene, times: start)
                await scene.hub.wait { $0.events.contains { $0.device == "bath" && !$0.isResolved } }
                try await broker.publish(topic, Array("{\"weight\":75}".utf8))
                await scene.hub.records(3)
            }
        }
        #expect(await scene.hub.heldText().sorted() == ["weight 71.0 kg", "weight 72.0 kg", "weight 75.0 kg"])
        #expect(await scene.hub.events.count { $0.device == "bath" && !$0.isResolved } == 1)
    }

    @Test func `Readings during the hub's absence keep their arrival times, and none delays the next`() async throws {
        let broker = try await Broker()
        let scene = try await Scene(
            settings: topics(broker, ["scale/#=ble-scale-sync:bath", "phones/anna=hae:anna-iphone:me"])
        ) {
            $0.answers = false
            $0.heartbeat = Scene.quickHeartbeat
        }
        try await scene.run { () async throws in
            await connected(scene, times: 2)
            // This post waits for the hub, and the readings do not wait for it.
            try await broker.publish("phones/anna", try Scene.fixture("hae-12-hour.json"))
            await scene.hub.batches(1)
            for weight in [71, 72] {
                try await broker.publish("scale/x", Array("{\"weight\":\(weight)}".utf8))
                await scene.hub.batches(weight - 69)
            }
            let late = HubClock.system.now()
            await scene.hub.change { $0.answers = true }
            await scene.hub.forgetSessions()
            await scene.hub.records(5)
            let times = await scene.samples().filter { $0.source.account == "ble-scale-sync" }.map(\.start.microseconds)
            #expect(times.count == 2 && times.allSatisfy { $0 <= late })
        }
    }

    @Test func `A message on a person's topic must not name someone else; one on a household's topic may`() async throws
    {
        let broker = try await Broker()
        let scene = try await Scene(
            settings: topics(broker, ["me=plain:phone:me", "house=plain:home", "scale=ble-scale-sync:bath:me"])
        ) { $0.persons.append(.init(name: "ben")) }
        try await scene.run { () async throws in
            // Wait for both connections, because readings without times are published once.
            await connected(scene, times: 2)
            let ben = Array(#"{"weight":70,"start":"2026-02-10T06:31:02Z","subject":{"account":"ben"}}"#.utf8)
            try await broker.publish("me", ben)
            try await broker.publish("scale", Array(#"{"weight":70,"user_name":"ben"}"#.utf8))
            for device in ["phone", "bath"] {
                await scene.hub.wait {
                    $0.events.contains { $0.device == device && $0.text?.contains("names someone else") == true }
                }
            }
            try await broker.publish("house", ben)
            await scene.hub.records(1)
            #expect(await scene.hub.held.count == 1)
        }
    }

    @Test func `A plain record without a time is refused with the reason, and one with a time is taken however late`()
        async throws
    {
        let broker = try await Broker()
        let scene = try await Scene(settings: topics(broker, ["plain=plain:phone:me"]))
        try await scene.run { () async throws in await connected(scene) }
        try await broker.publish("plain", Array(#"{"weight":70}"#.utf8))
        try await broker.publish("plain", Array(#"{"weight":71,"start":"2026-02-10T06:31:02Z"}"#.utf8))
        try await scene.run { () async throws in
            await scene.hub.records(1)
            await scene.hub.wait { $0.events.contains { $0.text?.contains("1 refused") == true } }
        }
        #expect(await scene.hub.heldText() == ["weight 71.0 kg"])
    }

    /// Returns when the plugin has connected this many times.
    private func connected(_ scene: Scene, times: Int = 1) async {
        await scene.hub.wait { $0.events.count { $0.device == "mqtt" && $0.event == "connected" } >= times }
    }

    @Test func `A message that is not acknowledged is delivered again, and an acknowledged one is not`() async throws {
        let broker = try await Broker()
        let (seen, tell) = AsyncStream<String>.makeStream()
        let count = Mutex(0)
        let client = try MQTTClient(
            MQTTClient.Settings(
                host: "127.0.0.1", port: broker.port, name: "reader", topics: ["a/+"],
                take: { message in
                    tell.yield("\(message.topic) \(String(decoding: message.payload, as: UTF8.self))")
                    return count.withLock {
                        $0 += 1; return $0 != 1
                    }
                }, changed: { if case .success = $0 { tell.yield("connected") } }))
        try client.start()
        var iterator = seen.makeAsyncIterator()
        #expect(await iterator.next() == "connected")
        try await broker.publish("a/b", Array("1".utf8))
        #expect(await iterator.next() == "a/b 1")
        // It may arrive before or after the broker has confirmed the subscription of the new connection.
        var rest: [String] = []
        while rest.count < 2, let next = await iterator.next() { rest.append(next) }
        #expect(rest.sorted() == ["a/b 1", "connected"])
        try await broker.publish("a/c", Array("2".utf8))
        #expect(await iterator.next() == "a/c 2")
        try await onThread { client.stop() }
    }

    @Test func `The plugin reconnects to a broker that restarts, and receives the messages it kept`() async throws {
        let broker = try await Broker()
        let scene = try await Scene(settings: topics(broker, ["phones/anna=hae:anna-iphone"]))
        try await scene.run { () async throws in
            // A broker keeps no messages for a client that it has never seen.
            await connected(scene)
            try await broker.publish("phones/anna", try Scene.fixture("hae-12-hour.json"))
            await scene.hub.records(3)
            await broker.stop()
            try await broker.start()
            try await broker.publish("phones/anna", try Scene.fixture("hae-raw.json"))
            await scene.hub.records(19)
        }
    }

    @Test(
        arguments: [
            (
                ["mqtt": .string("mqtt://broker.example:1883"), "mqtt_topics": .list([.string("a=hae:x")])],
                "not encrypted"
            ),
            (["mqtt": .string("mqtt://127.0.0.1:1883")], "mqtt_topics"),
            (["mqtt_topics": .list([.string("a=hae:x")])], "mqtt"),
            (["mqtt": .string("mqtt://127.0.0.1"), "mqtt_topics": .list([.string("a/#/b=hae:x")])], "TOPIC"),
            (["mqtt": .string("mqtt://127.0.0.1"), "mqtt_topics": .list([.string("a=csv:x")])], "TOPIC"),
        ] as [([String: SettingValue], String)])
    func `Wrong or unsafe broker settings are refused`(
        change: [String: SettingValue], words: String
    ) throws {
        let values = Scene.settings(change)
        let failure = #expect(throws: PluginFailure.self) { try IngestSettings(PluginSettings(values)) }
        #expect(failure?.message.contains(words) == true, "\(failure?.message ?? "")")
    }

    @Test(arguments: [
        ("a/b", "a/b", true), ("a/b", "a/+", true), ("a/b/c", "a/#", true), ("a", "a/#", true), ("a/b", "a", false),
        ("$SYS/x", "#", false),
    ]) func `Topics match filters as MQTT specifies`(topic: String, filter: String, isMatch: Bool) {
        #expect(MQTTClient.matches(topic, filter) == isMatch)
    }
}
