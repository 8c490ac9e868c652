import Foundation
import HubWire
import PluginKit
import PluginTesting
import Samples
import Testing
import ZeroMQ

@Suite(.timeLimit(.minutes(1))) struct `A plugin and its hub` {
    @Test func `HELLO contains the manifest's data, and the plugin gets the terms of WELCOME`() async throws {
        let scene = try await Scene {
            $0.settings = RawJSON(#"{"address":"10.0.0.7"}"#) ?? .emptyObject
            $0.clock = "2024-03-01T00:00:00Z@60"
        }
        let source = ScriptedSource { hub in
            let address = try hub.settings.text("address")
            let isMarch = hub.clock.time.text.hasPrefix("2024-03-01T")
            let text = "\(address) \(hub.instance) \(hub.persons.map(\.name)) \(isMarch)"
            await hub.event(try DeviceEvent("seen", text: text))
            await hub.untilStopped()
        }
        let run = PluginRun(source, at: scene.place, instance: "kitchen", settings: nil)
        let events = await scene.hub.events(1)
        #expect(events.first?.text == #"10.0.0.7 kitchen ["me"] true"#)
        let hello = try #require(await scene.hub.hellos.first)
        #expect(hello.instance == "kitchen" && hello.plugin == "scripted" && hello.mode == .run)
        #expect(hello.writes == ["weight"] && hello.version == "1.0")
        try await scene.end(run)
        #expect(await scene.hub.byes == 1)
    }

    @Test func `given records are stored and leave the spool`() async throws {
        let scene = try await Scene()
        let run = scene.run { hub in for number in 0..<20 { try await hub.give([hub.sample(number)]) } }
        await scene.hub.records(20)
        let counters = try await scene.end(run)
        #expect(counters.spooled == 20 && counters.stored == 20)
        #expect(await scene.keys() == (0..<20).map { "key-\($0)" })
    }

    @Test func `records given while the hub is away are delivered when it is back`() async throws {
        let scene = try await Scene(starting: false)
        let isGiven = Gate()
        let run = scene.run { hub in
            try await hub.give(hub.samples(0..<2_500))
            await isGiven.open()
        }
        await isGiven.wait()
        try await scene.hub.start()
        await scene.hub.records(2_500)
        try await scene.end(run)
    }

    @Test func `R4.2 R5.7 after hello-first the plugin sends HELLO and repeats the records that were not stored`()
        async throws
    {
        let scene = try await Scene {
            $0.answers = false
            $0.heartbeat = Heartbeat(interval: 30, timeout: 60_000)
        }
        let run = scene.run { hub in try await hub.give(hub.samples(0..<10)) }
        await scene.hub.batches(1)
        await scene.hub.change { $0.answers = true }
        await scene.hub.forgetSessions()
        await scene.hub.records(10)
        #expect(await scene.hub.hellos.count == 2)
        #expect(await scene.hub.duplicates == 0)
        try await scene.end(run)
    }

    @Test func `R5.7 no record is lost although the hub is killed several times`() async throws {
        let scene = try await Scene { $0.credit = Credit(records: 100, bytes: 100_000) }
        let count = 3_000
        let run = scene.run { hub in
            for first in stride(from: 0, to: count, by: 50) { try await hub.give(hub.samples(first..<first + 50)) }
        }
        for round in 1...5 {
            await scene.hub.records(round * 400)
            await scene.hub.vanish()
            try await scene.hub.start()
        }
        await scene.hub.records(count)
        let counters = try await scene.end(run)
        #expect(Set(await scene.keys()).count == count)
        #expect(counters.stored + counters.duplicate == count)
    }

    @Test func `R4.12 a window of three records is never exceeded`() async throws {
        let scene = try await Scene { $0.credit = Credit(records: 3, bytes: 700) }
        let run = scene.run { hub in try await hub.give(hub.samples(0..<100)) }
        await scene.hub.records(100)
        #expect(await scene.keys() == (0..<100).map { "key-\($0)" })
        try await scene.end(run)
    }

    @Test func `R4.8 R3.7 batches and frames respect the limits of WELCOME`() async throws {
        let scene = try await Scene {
            $0.limits.batchRecords = 7
            $0.limits.frameBytes = 900
            $0.limits.payloadBytes = 900
        }
        let run = scene.run { hub in
            try await hub.give(hub.samples(0..<200))
            _ = try await hub.store(hub.samples(200..<400))
        }
        await scene.hub.records(400)
        #expect(await scene.hub.hellos.count == 1)  // A larger frame would have ended the connection.
        try await scene.end(run)
    }

    @Test func `a hub with smaller limits than the last one gets smaller batches`() async throws {
        let scene = try await Scene { $0.answers = false }
        let run = scene.run { hub in try await hub.give(hub.samples(0..<500)) }
        await scene.hub.batches(1)
        await scene.hub.vanish()
        await scene.hub.change {
            $0.answers = true
            $0.limits.batchRecords = 9
            $0.credit = Credit(records: 9, bytes: 3_000)
        }
        try await scene.hub.start()
        await scene.hub.records(500)
        let counters = try await scene.end(run)
        #expect(counters.refused == 0)
    }

    @Test func `R4.16 the plugin sends PING after a silent interval`() async throws {
        let scene = try await Scene { $0.heartbeat = Heartbeat(interval: 20, timeout: 60_000) }
        let run = scene.run()
        await scene.hub.pings(2)
        #expect(await scene.hub.hellos.count == 1)
        try await scene.end(run)
    }

    @Test func `R4.18 the plugin sends HELLO again after the timeout without a message`() async throws {
        let scene = try await Scene {
            $0.answers = false
            $0.heartbeat = Heartbeat(interval: 20, timeout: 60)
        }
        let run = scene.run()
        await scene.hub.hellos(2)
        await scene.hub.change { $0.answers = true }
        try await scene.end(run)
    }

    @Test func `R4.20 every PING is answered with the same body`() async throws {
        let scene = try await Scene()
        let run = scene.run()
        await scene.hub.hellos(1)
        await scene.hub.send(.ping(RawJSON(#"{"nonce":1}"#) ?? .emptyObject))
        await scene.hub.send(.ping(RawJSON(#"{"nonce":2}"#) ?? .emptyObject))
        await scene.hub.pongs(2)
        try await scene.end(run)
    }

    @Test func `rejected records are kept apart with code and reason, and the others are stored`() async throws {
        let scene = try await Scene {
            $0.rejects = { record in
                guard case .sample(let sample) = record, sample.key.text.hasSuffix("3") else { return nil }
                return (.unit, "expected kg")
            }
        }
        let run = scene.run { hub in try await hub.give(hub.samples(0..<20)) }
        await scene.hub.records(18)
        let counters = try await scene.end(run)
        #expect(counters.stored == 18 && counters.refused == 2)
        let state = try PluginState(directory: scene.place.state)
        let refused = try await state.refused()
        #expect(refused.map(\.code) == ["unit", "unit"] && refused.map(\.reason) == ["expected kg", "expected kg"])
        try state.close()
    }

    @Test func `a batch is sent again after a store error of the hub`() async throws {
        let scene = try await Scene { $0.storeErrors = 3 }
        let run = scene.run { hub in try await hub.give(hub.samples(0..<5)) }
        await scene.hub.records(5)
        try await scene.end(run)
    }

    @Test func `live values and events arrive at the hub`() async throws {
        let scene = try await Scene()
        let run = scene.run(settings: nil) { hub in
            await hub.live(try LiveValue(type: "weight", value: 72.1, unit: "kg"))
            await hub.event(try DeviceEvent("connected", device: "d"))
        }
        #expect(await scene.hub.lives(1).first?.value == 72.1)
        #expect(await scene.hub.events(1).first?.event == "connected")
        try await scene.end(run)
    }

    @Test func `R3.7 records that do not fit into any batch are an error before they reach the spool`() async throws {
        let scene = try await Scene()
        let codes = Received<[GiveError.Code?]>()
        let run = scene.run { hub in
            func code(_ samples: [Sample]) async -> GiveError.Code? {
                do throws(GiveError) { try await hub.give(samples) } catch { return error.code }
                return nil
            }
            let long = try hub.sample(1, group: String(repeating: "g", count: 70_000))
            let many = try (0..<1_001).map { try hub.sample($0, group: "g") }
            await codes.take([await code([]), await code([long]), await code(many), await code(many.dropLast())])
        }
        #expect(await codes.value() == [.invalid, .invalid, .invalid, nil])
        await scene.hub.records(1_000)
        #expect(await scene.hub.batches == 1)
        let counters = try await scene.end(run)
        #expect(counters.spooled == 1_000)
    }

    @Test func `a time outside the range of records is an error and does not crash the program`() async throws {
        let scene = try await Scene()
        let codes = Received<[GiveError.Code?]>()
        let run = scene.run { hub in
            var answers: [GiveError.Code?] = []
            for time in [
                Timestamp(microseconds: Timestamp.range.lowerBound - 1),
                Timestamp(microseconds: Timestamp.range.upperBound + 1), Timestamp(microseconds: .max),
                Timestamp(microseconds: 0, offsetMinutes: 1440),
            ] {
                var (early, late) = (try hub.sample(1), try hub.sample(2))
                (early.start, late.end) = (time, time)
                for sample in [early, late] {
                    do throws(GiveError) { try await hub.give([sample]) } catch {
                        answers.append(error.code)
                    }
                    do throws(GiveError) { _ = try await hub.store([sample]) } catch { answers.append(error.code) }
                }
            }
            await codes.take(answers)
        }
        #expect(await codes.value() == [GiveError.Code?](repeating: .invalid, count: 16))
        try await scene.end(run)
    }

    @Test func `store returns results in the order of its records, and sends groups in one batch`() async throws {
        let scene = try await Scene {
            $0.credit = Credit(records: 2, bytes: 2_000)
            $0.rejects = { record in
                guard case .sample(let sample) = record, sample.key.text == "key-2" else { return nil }
                return (.value, "no")
            }
        }
        let results = Received<[RecordResult]>()
        let run = PluginRun(
            ScriptedSource { hub in
                let samples = try (0..<5).map { try hub.sample($0, group: $0 == 0 || $0 == 3 ? "g" : nil) }
                await results.take(try await hub.store(samples))
            }, at: scene.place)
        let answers = await results.value()
        #expect(await scene.keys() == ["key-0", "key-3", "key-1", "key-4"])
        #expect(
            answers == [
                .stored(number: 1, sequence: 1), .stored(number: 3, sequence: 3), .rejected(.value, reason: "no"),
                .stored(number: 2, sequence: 2), .stored(number: 4, sequence: 4),
            ])
        try await scene.end(run)
    }
}

/// A value that a test waits for.
actor Received<Value: Sendable> {
    private var taken: Value?
    private var waiter: CheckedContinuation<Value, Never>?

    func take(_ value: Value) {
        taken = value
        waiter?.resume(returning: value)
        waiter = nil
    }

    func value() async -> Value {
        if let taken { return taken }
        return await withCheckedContinuation { waiter = $0 }
    }
}
