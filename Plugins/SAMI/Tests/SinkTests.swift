import Foundation
import PluginKit
import PluginTesting
import SAMIExchange
import Testing
import WebFaults

@testable import SAMI

@Suite(.timeLimit(.minutes(1)), .serialized) struct SinkTests {
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
        let own = devices.filter { $0["name"]?.string == "Health hub sami weight" }
        #expect(own.count == 1)
        let page = try scene.get("/messages/last?count=100&sdids=\(own.first?["id"]?.string ?? "")")
        return (page["data"]?.list ?? []).compactMap { $0["data"]?["weight"]?.double }.sorted()
    }

    private func deliver(_ scene: Scene) async throws -> [DeliveryResult] {
        let records = [try weight(80.5, number: 1), try weight(81, number: 2)]
        let delivery = try #require(await scene.hub.deliver(records, to: "weight"))
        return try #require(await scene.hub.report(of: delivery)).results
    }

    @Test func `A weight of the hub is posted once to a device of its own, also when its delivery is repeated`()
        async throws
    {
        let scene = try await Scene(settings: ["post": #"["weight"]"#])
        let run = scene.run()
        _ = await scene.hub.wants("weight")
        // The answers to the question what is there, and to the first post, get lost.
        scene.faults.add([try Fault("cut-after@/messages*2", forms: Exchange.forms)])
        let first = try await deliver(scene)
        #expect(first.count == 2 && !first.contains(.delivered))
        let second = try await deliver(scene)
        #expect(second.first == .delivered, "it was there already")
        let third = try await deliver(scene)
        #expect(third == [.delivered, .delivered])
        #expect(try posted(scene) == [80.5, 81])
        #expect(await scene.hub.held.isEmpty, "nothing goes back to where it came from")
        await scene.end(run)
    }

    @Test func `The subscription names the account, so that the hub gives back nothing of it`() async throws {
        let scene = try await Scene(settings: ["post": #"["weight","pedometer"]"#])
        let run = scene.run()
        let (weight, steps) = (await scene.hub.wants("weight"), await scene.hub.wants("pedometer"))
        #expect(weight?.account == Fixtures.user && steps?.account == Fixtures.user)
        await scene.end(run)
    }
}
