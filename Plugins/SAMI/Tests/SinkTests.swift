import Foundation
import JSON
import PluginKit
import PluginTesting
import SAMIExchange
import Testing
import WebFaults

@testable import SAMI

@Suite(.timeLimit(.minutes(3)), .serialized) struct SinkTests {
    private func weight(_ value: Double, number: Int64) throws -> StoredRecord {
        let sample = try Sample(
            source: Source(plugin: "ihealth-hs3", device: "004D321A2B3C"), key: #require(RecordKey("key-\(number)")),
            type: .weight, value: .quantity(value, unit: "kg"),
            start: Timestamp(microseconds: 1_767_000_000_000_000 + number * 1_000_000))
        return StoredRecord(
            record: .sample(sample), number: number, sequence: number,
            assignment: .person(Person(uid: "6f1c2a9e5b7d4c30", name: "me")), type: .weight)
    }

    /// The weights at the device that the plugin has registered.
    private func posted(_ scene: Scene) throws -> [Double] {
        let devices = try scene.get("/users/\(Fixtures.user)/devices")["data"]?["devices"]?.list ?? []
        let own = devices.filter { $0["name"]?.text == "Health hub sami weight" }
        #expect(own.count == 1)
        let page = try scene.get("/messages/last?count=100&sdids=\(own.first?["id"]?.text ?? "")")
        return (page["data"]?.list ?? []).compactMap { $0["data"]?["weight"]?.lenientDouble }.sorted()
    }

    private func deliver(_ scene: Scene) async throws -> [DeliveryResult] {
        try await deliver([try weight(80.5, number: 1), try weight(81, number: 2)], scene)
    }

    private func deliver(_ records: [StoredRecord], _ scene: Scene) async throws -> [DeliveryResult] {
        let delivery = try #require(await scene.hub.deliver(records, to: "weight"))
        return try #require(await scene.hub.report(of: delivery)).results
    }

    private func isDelivered(_ result: DeliveryResult) -> Bool {
        if case .delivered = result { true } else { false }
    }

    /// Starts the plugin and waits for its second session.
    ///
    /// It declares the fields of its devices' manifests, which begins a new session; an earlier delivery would be lost.
    private func start(_ scene: Scene) async -> PluginRun {
        let run = scene.run()
        await scene.hub.wait { $0.hellos.count >= 2 && $0.wants["weight"] != nil }
        return run
    }

    /// Delivers until everything is delivered, as a hub does.
    private func deliverAll(_ records: [StoredRecord], _ scene: Scene) async throws {
        var left = records
        while !left.isEmpty {
            let results = try await deliver(left, scene)
            left = zip(left, results).filter { !isDelivered($0.1) }.map(\.0)
        }
    }

    @Test
    func `A weight of the hub is posted once to a registered device, even if its delivery is repeated`() async throws {
        let scene = try await Scene(settings: ["post": #"["weight"]"#, "post_by": #""rest""#])
        let run = await start(scene)
        // The answers to the look-up of posted values and to the first post are lost.
        scene.faults.add([try Fault("cut-after@/messages*2", forms: Exchange.forms)])
        let first = try await deliver(scene)
        #expect(first.count == 2 && !first.contains(.delivered))
        let second = try await deliver(scene)
        #expect(second.first == .delivered, "it was there already")
        let third = try await deliver(scene)
        #expect(third == [.delivered, .delivered])
        #expect(try posted(scene) == [80.5, 81])
        #expect(await scene.hub.held.isEmpty, "nothing is posted back to its source")
        await scene.end(run)
    }

    @Test func `The subscription names the account, so that the hub does not deliver its records back`() async throws {
        let scene = try await Scene(settings: ["post": #"["weight","pedometer"]"#])
        let run = scene.run()
        let (weight, steps) = (await scene.hub.wants("weight"), await scene.hub.wants("pedometer"))
        #expect(weight?.account == Fixtures.user && steps?.account == Fixtures.user)
        await scene.end(run)
    }

    @Test func `Each message by WebSocket is acknowledged with the exchange's id and posted once`() async throws {
        let scene = try await Scene(settings: ["post": #"["weight"]"#])
        let run = await start(scene)
        let records = try (1...80).map { try weight(70 + Double($0) / 10, number: $0) }
        let first = try await deliver(records, scene)
        #expect(first.allSatisfy { if case .delivered(receipt: _?) = $0 { true } else { false } })
        #expect(try await deliver(records, scene).allSatisfy(isDelivered), "it is there already")
        #expect(try posted(scene) == (1...80).map { 70 + Double($0) / 10 })
        #expect(await scene.hub.events.isEmpty)
        await scene.end(run)
    }

    @Test func `A socket cut between message and answer loses and doubles nothing`() async throws {
        let scene = try await Scene(settings: ["post": #"["weight"]"#])
        // An unanswered message may be sent again after a minute, which is a tenth of a second here.
        await scene.hurry(600)
        let run = await start(scene)
        let records = try (1...60).map { try weight(70 + Double($0) / 10, number: $0) }
        // Cut before and after the exchange has stored it, and at registrations too.
        scene.faults.add([
            try Fault("cut-after@websocket%7", forms: Exchange.forms),
            try Fault("cut-before@websocket%7", forms: Exchange.forms),
        ])
        try await deliverAll(records, scene)
        #expect(try posted(scene) == (1...60).map { 70 + Double($0) / 10 })
        await scene.end(run)
    }

    @Test func `An unanswered message is not sent again before the exchange must show it`() async throws {
        let scene = try await Scene(settings: ["post": #"["weight"]"#]) {
            // Stored, but not shown for a while.
            ($0.hasRateLimits, $0.deliveryDelay) = (false, 400)
        }
        // A message that is not shown after a minute is missing; the minute is a second here.
        await scene.hurry(60)
        let run = await start(scene)
        scene.faults.add([try Fault("cut-after@websocket%10", forms: Exchange.forms)])
        var left = try (1...40).map { try weight(70 + Double($0) / 10, number: $0) }
        var waits = 0
        while !left.isEmpty {
            let results = try await deliver(left, scene)
            waits += results.count {
                if case .retry(_, let reason?) = $0 { reason.contains("may show it yet") } else { false }
            }
            left = zip(left, results).filter { !isDelivered($0.1) }.map(\.0)
        }
        #expect(waits > 0)
        // All messages are shown now.
        scene.clock.move(seconds: 1)
        #expect(try posted(scene) == (1...40).map { 70 + Double($0) / 10 })
        await scene.end(run)
    }

    @Test func `Without a WebSocket posts go by REST, and hub status shows that until it is back`() async throws {
        let scene = try await Scene(settings: ["post": #"["weight"]"#])
        await scene.hurry(600)
        let run = await start(scene)
        scene.faults.add([try Fault("status=503@websocket", forms: Exchange.forms)])
        #expect(try await deliver(scene).allSatisfy(isDelivered))
        let told = await scene.trouble("posts go by REST")
        #expect(told.contains("status 503") && told.contains("setting websocket"))
        #expect(try posted(scene) == [80.5, 81])
        scene.faults.replace([])
        var number: Int64 = 2
        while await scene.hub.events.last?.isResolved != true {
            number += 1
            try await deliverAll([try weight(82, number: number)], scene)
        }
        await scene.end(run)
    }

    @Test func `Posts beyond the limit of the exchange wait for it, and none is lost`() async throws {
        // Reads count towards the limit too, and a starting plugin makes nearly thirty.
        let scene = try await Scene(settings: ["post": #"["weight"]"#]) { $0.limits = (45, 100_000) }
        // The test decides when the exchange's minute ends.
        try scene.clock.set("\(HubClock.system.time.text)@0")
        let run = await start(scene)
        let records = try (1...100).map { try weight(70 + Double($0) / 10, number: $0) }
        for delivered in [45, 90] {
            let results = try await deliver(records, scene)
            #expect(results.count(where: isDelivered) == delivered)
            for case .retry(let after, let reason?) in results {
                #expect(reason.contains("limit") && (1_000...60_000).contains(after), "\(after)")
            }
            scene.clock.move(seconds: 61)
        }
        try await deliverAll(records, scene)
        #expect(try posted(scene).count == 100)
        await scene.end(run)
    }

    @Test func `A record that the exchange never accepts is refused and does not block others`() async throws {
        let scene = try await Scene(settings: ["post": #"["weight"]"#]) {
            ($0.hasRateLimits, $0.futureGrace) = (false, 0)
        }
        let run = await start(scene)
        // A weight dated in ten years: later.
        let results = try await deliver([try weight(80, number: 400_000_000), try weight(81, number: 1)], scene)
        guard case .retry(_, let reason?) = results[0] else { return #expect(Bool(false), "\(results)") }
        #expect(reason.contains("ahead") && isDelivered(results[1]))
        await scene.end(run)
    }
}
