import Foundation
import PluginKit
import PluginTesting
import ScaleBench
import ScaleSimulation
import ScaleStandIns
import Testing

@testable import IHealthHS3
@testable import ScaleProtocols

/// Complete sessions: simulated scale, real link, plugin, spool, hub.
@Suite(.timeLimit(.minutes(1)))
struct HS3SessionTests {
    @Test(arguments: [false, true]) func `memory and weighings arrive once, as the right records`(
        overTerminal: Bool
    ) async throws {
        let bench = try await ScaleBench()
        let memory = HS3Scale.memory(200)
        let scale = try HS3Scale(memory: memory, link: overTerminal ? .pty : nil)
        let run = try await bench.run(scale.link)
        await bench.hub.records(200)
        for tenths in [721, 722, 723] { scale.step(on: tenths) }
        await bench.hub.records(203)
        #expect(await bench.end(run) == .done)
        #expect(scale.acknowledged == scale.weighed)
        let expected = try (memory.reversed() + scale.weighed).map { try HS3Bench.record($0) }
        #expect(await bench.hub.held.map(\.text) == expected)
        #expect(await bench.hub.duplicates == 0)
        #expect(await bench.hub.violations == [])
    }

    @Test(arguments: [
        "bad-checksum", "bad-checksum=3", "lose-ack", "lose-ack=3", "repeat", "repeat=3", "deaf", "cut=5", "cut=60",
        "hangup=60", "garbage", "garbage=300", "pieces", "pieces=7", "power-off=25", "early-weight",
    ])
    func `a fault of the link or the scale loses nothing and doubles nothing`(fault: String) async throws {
        let bench = try await ScaleBench()
        let memory = HS3Scale.memory(45)
        let scale = try HS3Scale(memory: memory, faults: [fault])
        let run = try await bench.run(scale.link)
        let expected = Set(memory.map(\.description))
        await bench.hub.wait { $0.held.count >= expected.count }
        scale.step(on: 731)
        let weighings = fault == "early-weight" ? 2 : 1
        await bench.hub.wait { _ in scale.weighed.count == weighings && scale.acknowledged.count == weighings }
        await bench.hub.records(expected.count + scale.weighed.count)
        #expect(await bench.end(run) == .done)
        let keys = await bench.keys
        #expect(Set(keys) == expected.union(scale.weighed.map(\.description)))
        #expect(keys.count == Set(keys).count)
        #expect(await bench.hub.duplicates == 0)
    }

    /// The scale sends about 280 bytes in a session with 25 records; each run cuts at another byte.
    @Test(arguments: Array(stride(from: 1, to: 300, by: 13))) func `a session cut at any byte is resumed`(
        byte: Int
    ) async throws {
        let bench = try await ScaleBench()
        let memory = HS3Scale.memory(25)
        let scale = try HS3Scale(memory: memory, faults: ["hangup=\(byte)"])
        let run = try await bench.run(scale.link)
        await bench.hub.records(25)
        #expect(await bench.end(run) == .done)
        #expect(Set(await bench.hub.held.map(\.text)) == Set(try memory.map { try HS3Bench.record($0) }))
        #expect(await bench.hub.duplicates == 0)
    }

    @Test func `a second session stores only new weighings`() async throws {
        let bench = try await ScaleBench()
        let scale = try HS3Scale(memory: HS3Scale.memory(30))
        let first = try await bench.run(scale.link)
        await bench.hub.records(30)
        #expect(await bench.end(first) == .done)
        // The scale sends the weighing as a separate frame now, and from its memory in every later session.
        let second = try await bench.run(scale.link)
        _ = await bench.events("memory-end", 2)
        scale.step(on: 744)
        await bench.hub.records(31)
        #expect(await bench.end(second) == .done)
        let third = try await bench.run(scale.link)
        _ = await bench.events("memory-end", 3)
        #expect(await bench.end(third) == .done)
        #expect(await bench.hub.held.count == 31)
        #expect(await bench.hub.duplicates == 0)
    }

    @Test func `weighings with a wrong clock are marked, and a later session does not change the mark`() async throws {
        let bench = try await ScaleBench()
        let memory = HS3Scale.memory(3)
        let wrong = try HS3Scale(memory: memory, skew: -3600)
        let first = try await bench.run(wrong.link)
        await bench.hub.records(3)
        wrong.step(on: 731)
        await bench.hub.records(4)
        #expect(await bench.end(first) == .done)
        let before = await bench.hub.held.map(\.text)
        // The clock was set before this weighing, so its time is right.
        #expect(
            before == (try memory.reversed().map { try HS3Bench.record($0, isClockSuspect: true) })
                + [try HS3Bench.record(try #require(wrong.weighed.first))])
        #expect(await bench.events("clock").first?.severity == .warning)
        await wrong.stop()

        let right = try HS3Scale(memory: memory)
        let second = try await bench.run(right.link)
        _ = await bench.events("memory-end", 2)
        #expect(await bench.end(second) == .done)
        #expect(await bench.hub.held.map(\.text) == before)
        #expect(await bench.hub.duplicates == 0)
    }

    @Test func `a changed zone corrects stored weighings in place and keeps their marks`() async throws {
        let bench = try await ScaleBench()
        let memory = HS3Scale.memory(3)
        let scale = try HS3Scale(memory: memory, skew: -3600)
        let first = try await bench.run(scale.link)
        await bench.hub.records(3)
        #expect(await bench.end(first) == .done)
        await scale.stop()
        // The clock is right in the new zone, so a new check would give another mark.
        let again = try HS3Scale(memory: memory, skew: 8 * 3600)
        let second = try await bench.run(again.link, ",\"zone\":\"Asia/Tokyo\"")
        await bench.hub.wait { hub in hub.held.allSatisfy { $0.text.contains("Asia/Tokyo") } }
        #expect(await bench.end(second) == .done)
        let texts = await bench.hub.held.map(\.text)
        #expect(texts.count == 3)
        #expect(texts.allSatisfy { $0.contains("+09:00\"") && $0.contains("\"clockSuspect\":true") })
    }

    @Test func `a weighing without a date becomes no record and is reported once`() async throws {
        let bench = try await ScaleBench()
        let scale = try HS3Scale(memory: HS3Scale.memory(20), faults: ["zero-date=10"])
        for round in 1...2 {
            let run = try await bench.run(scale.link)
            _ = await bench.events("memory-end", round)
            #expect(await bench.end(run) == .done)
        }
        let undated = await bench.events("undated")
        #expect(undated.count == 2)
        #expect(
            undated.allSatisfy {
                $0.severity == .warning && $0.data?.text.wholeMatch(of: /\{"raw":"[0-9a-f]{12}"\}/) != nil
            })
        #expect(undated.allSatisfy { $0.text?.contains("no readable date") == true })
        await bench.hub.records(18)
        #expect(await bench.hub.held.count == 18)
    }

    @Test func `errors are reported with their class, and resolved when the scale works again`() async throws {
        let bench = try await ScaleBench()
        let scale = try HS3Scale()
        let run = try await bench.run(scale.link, ",\"errors\":[\"55=1\"]")
        _ = await bench.events("memory-end")
        scale.simulator.submit(.fail(0xE7))
        scale.simulator.submit(.fail(0x55))
        scale.simulator.submit(.fail(0x56))
        scale.step(on: 731)
        await bench.hub.records(1)
        let errors = await bench.events("error", 6)
        #expect(errors.map(\.isResolved) == [true, false, false, false, false, true])
        #expect(errors.map(\.code) == [nil, 5, 4, 1, nil, nil])
        #expect(errors.map(\.severity) == [.info, .info, .warning, .error, .warning, .info])
        #expect(errors[3].text == "HS3: the battery is low; replace it (Lo)")
        #expect(errors[3].device == HS3Scale.device)
        #expect(errors[4].data?.text == #"{"name":"unknown","class":"unknown","raw":86}"#)
        scale.simulator.submit(.disconnect)
        _ = await bench.events("connected", 2)
        #expect(await bench.events("disconnected").count == 1)
        #expect(await bench.events("error", 7).first { $0.code == 6 }?.severity == .info)
        #expect(await bench.end(run) == .done)
    }

    @Test func `progress of the memory rises to one`() async throws {
        let bench = try await ScaleBench()
        let scale = try HS3Scale(memory: HS3Scale.memory(100))
        let run = try await bench.run(scale.link)
        await bench.hub.wait { $0.lives.last?.progress == 1 }
        let progress = await bench.hub.lives.compactMap(\.progress)
        #expect(progress == progress.sorted() && progress.count <= 11)
        #expect(await bench.hub.lives.allSatisfy { $0.device == HS3Scale.device && $0.value == nil })
        #expect(await bench.end(run) == .done)
    }

    @Test func `with a full spool the scale gets no acknowledgement until there is room`() async throws {
        let place = try TestPlace()
        let scale = try HS3Scale(memory: HS3Scale.memory(5))
        let settings = try ScaleModel.hs3.settings(
            "link = \"\(scale.link)\"\ndevice_id = \"\(HS3Scale.device)\"\nzone = \"Europe/Berlin\"")
        var limits = PluginState.Limits()
        limits.records = 8
        let run = PluginRun(HS3Bench.plugin(), at: place, settings: settings, limits: limits)
        while !scale.events.contains(.scale(.transferFinished)) { try await Task.sleep(for: .milliseconds(5)) }
        for tenths in 731..<737 { scale.step(on: tenths) }
        while scale.acknowledged.count < 3 { try await Task.sleep(for: .milliseconds(5)) }
        // The scale repeats the fourth; the plugin has received it at least twice by then.
        let sent = scale.events.count
        while scale.events.dropFirst(sent).filter(\.isSent).count < 3 { try await Task.sleep(for: .milliseconds(5)) }
        #expect(scale.acknowledged.count == 3)

        let hub = try FakeHub(door: place.door, context: place.context)
        try await hub.start()
        await hub.records(11)
        await hub.wait { _ in scale.acknowledged.count == 6 }
        run.stop()
        #expect(await run.end() == .done)
        #expect(await hub.held.count == 11)
        #expect(await hub.duplicates == 0)
    }

    @Test func `once transfers the memory and ends`() async throws {
        let bench = try await ScaleBench()
        let scale = try HS3Scale(memory: HS3Scale.memory(30))
        let run = try await bench.run(scale.link, mode: .once)
        #expect(await run.end() == .done)
        #expect(await bench.hub.held.count == 30)
    }
}

extension SimulatorEvent {
    fileprivate var isSent: Bool { if case .wire(.scale, _) = self { true } else { false } }
}
