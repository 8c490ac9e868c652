import Foundation
import PluginKit
import PluginTesting
import ScaleBench
import ScaleProtocols
import Synchronization
import Testing

@testable import IHealthHS4

/// Speaks HSL/1 line by line, as a bridge on a phone does.
private final class PhoneBridge: Sendable {
    let link: String
    private let runner: LinkRunner
    private let heard = Heard()

    /// - Parameters:
    ///   - authentication: the vendor's number for the result of the person's verification.
    ///   - port: the port of the plugin to connect to; nil to wait for a connection.
    init(authentication: Int, dialling port: UInt16? = nil) throws {
        let own = Ports.next()
        link = port.map { "hsl-accept://127.0.0.1:\($0)" } ?? "hsl://127.0.0.1:\(own)"
        let place = port.map { "tcp://127.0.0.1:\($0)" } ?? "tcp-accept://127.0.0.1:\(own)"
        let runner = try LinkRunner(try ScaleLink(place), pause: .milliseconds(5))
        self.runner = runner
        let heard = heard
        Task {
            var (rest, number, hasWeighed) = ("", 0, false)
            func say(_ line: String) { runner.send(Array((line + "\n").utf8)) }
            func tell(_ event: String, _ data: String, ref: Int? = nil, rid: String? = nil) {
                number += 1
                let ref = ref.map { "\"ref\":\($0)," } ?? ""
                let rid = rid.map { "\"rid\":\"\($0)\"," } ?? ""
                say(
                    "{\"t\":\"evt\",\"n\":\(number),\(ref)\(rid)\"dev\":\"HS4:020000004001\",\"ev\":\"\(event)\",\"data\":\(data)}"
                )
            }
            while let event = await runner.next() {
                switch event {
                case .opened:
                    (rest, number) = ("", 0)
                    say(
                        #"{"t":"hello","v":1,"role":"device","impl":"bridge","impl_version":"1","sdk":"ios","models":["HS4"],"nonce":"00112233445566778899aabbccddeeff"}"#
                    )
                case .received(let bytes):
                    rest += String(decoding: bytes, as: UTF8.self)
                    while let end = rest.firstIndex(of: "\n") {
                        let line = String(rest[..<end])
                        rest = String(rest[rest.index(after: end)...])
                        heard.lines.withLock { $0.append(line) }
                        guard let id = line.firstMatch(of: /"id":(\d+)/).flatMap({ Int($0.1) }) else { continue }
                        if line.contains("devices.list") {
                            say(
                                "{\"t\":\"res\",\"ref\":\(id),\"status\":\"done\",\"devices\":[{\"dev\":\"HS4:020000004001\","
                                    + "\"model\":\"HS4\",\"deviceId\":\"020000004001\",\"firmware\":\"1.0.1\",\"name\":\"Body Scale\"}]}"
                            )
                        } else if line.contains("hs4.measure") {
                            tell("authentication", "{\"code\":\(authentication),\"name\":\"x\"}", ref: id)
                            guard authentication <= 4 else {
                                tell("error", #"{"model":"HS4","code":111,"name":"HS4UserInvalidate"}"#, ref: id)
                                say("{\"t\":\"res\",\"ref\":\(id),\"status\":\"failed\"}")
                                continue
                            }
                            guard !hasWeighed else { continue }
                            hasWeighed = true
                            tell("unstableWeight", #"{"weight":72.4}"#, ref: id)
                            tell(
                                "stableWeight", #"{"weight":72.3,"date":"2026-11-20T13:00:05+01:00"}"#, ref: id,
                                rid: "a1")
                            say("{\"t\":\"res\",\"ref\":\(id),\"status\":\"done\"}")
                        } else if line.contains("hs4.memory"), authentication > 4 {
                            tell("error", #"{"model":"HS4","code":111,"name":"HS4UserInvalidate"}"#, ref: id)
                            say("{\"t\":\"res\",\"ref\":\(id),\"status\":\"failed\"}")
                        } else if line.contains("hs4.memory") {
                            tell("memoryStart", #"{"ok":true}"#, ref: id)
                            tell("memoryCount", #"{"count":5}"#, ref: id)
                            for (rid, weight, date) in [
                                ("b1", "72.6", #""local":"2026-11-19 07:30:05""#),
                                ("b2", "72.5", #""local":"2026-11-20 08:00:01""#),
                                ("b3", "72.4", #""local":"0001-01-01 00:00:00""#),
                                ("b4", "72.2", #""date":"9999-12-31T23:59:59-12:00""#),
                                ("b5", "72.1", #""date":"2026-11-18T06:30:00Z""#),
                            ] {
                                tell("memoryRecord", "{\"weight\":\(weight),\(date)}", ref: id, rid: rid)
                            }
                            tell("memoryFinish", #"{"records":5}"#, ref: id)
                            say("{\"t\":\"res\",\"ref\":\(id),\"status\":\"done\"}")
                        }
                    }
                case .alarm, .closed, .unreachable, .contested, .remark: break
                }
            }
        }
    }

    /// Every line from the connector.
    var said: [String] { heard.lines.withLock { $0 } }

    private final class Heard: Sendable { let lines = Mutex<[String]>([]) }

    deinit { runner.stop() }
}

@Suite(.timeLimit(.minutes(1)))
struct HS4BridgeTests {
    @Test func `weighings arrive through a bridge once each, and are acknowledged when they are stored`() async throws {
        let bench = try await ScaleBench()
        let bridge = try PhoneBridge(authentication: 2)
        let run = await bench.run(HS4Bench.plugin(), try HS4Bench.settings(bridge.link, auth: "bridge"))
        await bench.hub.records(4)
        while !["a1", "b1", "b2", "b3", "b4", "b5"].allSatisfy({ rid in
            bridge.said.contains { $0.contains("\"ack\"") && $0.contains(rid) }
        }) {
            try await Task.sleep(for: .milliseconds(5))
        }
        #expect(await bench.end(run) == .done)
        let samples = await bench.samples
        #expect(
            Set(samples.map(\.value)) == [
                .quantity(72.3, unit: "kg"), .quantity(72.5, unit: "kg"), .quantity(72.6, unit: "kg"),
                .quantity(72.1, unit: "kg"),
            ])
        #expect(samples.allSatisfy { $0.source.device == "020000004001" })
        #expect(samples.count == 4)
        let told = try #require(samples.first { $0.value == .quantity(72.1, unit: "kg") })
        #expect(told.start.text == "2026-11-18T07:30:00+01:00" && told.metadata == nil, "a date in UTC is an instant")
        // A weighing that cannot become a record is reported and kept.
        #expect(await bench.events("undated", 2).count == 2)
        let state = try PluginState(directory: bench.place.state)
        let kept = try await state.text("undated-020000004001") ?? ""
        #expect(kept.split(separator: "\n").count == 2)
        try state.close()
        #expect(await bench.hub.lives.contains { $0.value == 72.4 })
        #expect(await bench.events("authentication").first?.code == 2)
    }

    @Test func `a bridge can connect while others hold connections`() async throws {
        let bench = try await ScaleBench()
        let port = Ports.next()
        let silent = try (0..<20).map { _ in
            try LinkRunner(try ScaleLink("tcp://127.0.0.1:\(port)"), pause: .milliseconds(5))
        }
        let run = await bench.run(
            HS4Bench.plugin(), try HS4Bench.settings("hsl-accept://127.0.0.1:\(port)", auth: "bridge"))
        for runner in silent { while let event = await runner.next(), event != .opened {} }
        let bridge = try PhoneBridge(authentication: 2, dialling: port)
        defer { withExtendedLifetime(bridge) {} }
        await bench.hub.records(4)
        #expect(await bench.end(run) == .done)
        #expect(await bench.samples.count == 4)
        for runner in silent { runner.stop() }
    }

    @Test(arguments: 5...8) func `a person whom the bridge refuses cannot measure, which is error 111`(
        code: Int
    ) async throws {
        let bench = try await ScaleBench()
        let bridge = try PhoneBridge(authentication: code)
        let run = await bench.run(HS4Bench.plugin(), try HS4Bench.settings(bridge.link, auth: "bridge"))
        await bench.hub.wait { hub in hub.events.contains { $0.event == "error" && $0.code == 111 } }
        #expect(await bench.events("authentication").first?.code == Int64(code))
        #expect(await bench.end(run) == .done)
        #expect(await bench.samples.isEmpty)
    }
}
