import FoundationEssentials
import ScaleProtocols
import ScaleStandIns
import Testing

@testable import ScaleSimulation

/// The input that people type, and the errors for wrong input.
struct ScaleInputTests {
    @Test func `documented commands are parsed`() throws {
        let time = WallTime("2026-11-20T07:30")
        #expect(try SimulatorCommand(line: "step on 72.4") == .stepOn(tenthsOfKilogram: 724, at: nil))
        #expect(try SimulatorCommand(line: " step  on 72 2026-11-20T07:30") == .stepOn(tenthsOfKilogram: 720, at: time))
        #expect(
            try SimulatorCommand(line: "store 73.1 2026-11-20T07:30")
                == time.map { .store(tenthsOfKilogram: 731, at: $0) })
        #expect(try SimulatorCommand(line: "fail Er7") == .fail(0xE7))
        #expect(try SimulatorCommand(line: "fail 0x55") == .fail(0x55))
        #expect(try SimulatorCommand(line: "clock +46s") == .clock(seconds: 46))
        #expect(try SimulatorCommand(line: "clock -1h") == .clock(seconds: -3600))
        #expect(try SimulatorCommand(line: "fault none") == .noFaults)
        #expect(try SimulatorCommand(line: "") == nil)
        // Every line of the help is a valid command.
        for line in SimulatorCommand.help.split(separator: "\n") {
            #expect(throws: Never.self) { try SimulatorCommand(line: String(line.prefix(31))) }
        }
    }

    @Test(arguments: [
        ("weigh 72", "'weigh 72' is not a command"), ("step on 72.44", "weight '72.44'"),
        ("step on 1000", "weight '1000'"),
        ("step on -1", "weight '-1'"), ("store 73 yesterday", "date 'yesterday'"),
        ("store 73 1999-01-01T00:00", "2000 to 2063"),
        ("fail Er3", "error 'Er3'"), ("clock soon", "duration 'soon'"), ("fault lost", "there is none of that name"),
        ("fault cut", "expected cut=n"), ("fault count=256", "one byte"), ("fault deaf=x", "expected deaf=n"),
    ])
    func `the error for a wrong command names the fault`(line: String, part: String) {
        let error = #expect(throws: SimulatorError.self) { try SimulatorCommand(line: line) }
        #expect(error?.description.contains(part) == true, "\(error?.description ?? "no error")")
    }

    @Test(arguments: [
        "127.0.0.1:80", "tcp://", "tcp://:80", "tcp://host", "tcp://host:99999", "tcp://host:-1", "unix://relative",
        "unix:///" + String(repeating: "x", count: 108), "",
    ])
    func `a wrong address is refused`(text: String) {
        #expect(throws: SimulatorError.self) { try LinkAddress(text) }
    }

    @Test func `a clock is the system's or starts at an instant and runs at a rate`() throws {
        let fast = try SimulationClock("2026-01-01T00:00:00Z@1000000")
        #expect(fast.wall.year >= 2025)
        for wrong in [
            "", "2026-01-01@1", "2026-01-01T00:00:00@1", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z@0", "x@1",
        ] {
            #expect(throws: SimulatorError.self) { try SimulationClock(wrong) }
        }
        let east = try SimulationClock("2026-06-01T12:00:00+02:00@1").wall.secondsSince2000
        let universal = try SimulationClock("2026-06-01T10:00:00Z@1").wall.secondsSince2000
        #expect(abs(east - universal) <= 1)
    }

    @Test func `a device id is twelve hex digits`() throws {
        #expect(try ScaleSimulator.Options.deviceId("02:00:00:00:3a:01") == "020000003A01")
        for wrong in ["", "0200000030", "02000000300g", "0200000030011"] {
            #expect(throws: SimulatorError.self) { try ScaleSimulator.Options.deviceId(wrong) }
        }
    }

    @Test func `a script describes a scale and its day`() throws {
        let json = """
            {"deviceId": "020000003001", "clockSkewSeconds": 46,
             "memory": [{"kg": 72.3, "at": "2026-11-19T07:30:05"}],
             "events": [{"after": "5s", "error": "Er7"}, {"after": "300ms", "kg": 72.1, "at": "2026-11-20T07:30"}],
             "faults": ["bad-checksum=3", "hangup=9"]}
            """
        let script = try SimulatorScript(json: Data(json.utf8), file: "day.json")
        #expect(script.deviceId == "020000003001")
        let time = try #require(WallTime("2026-11-19T07:30:05"))
        #expect(script.weighings == [StandInWeighing(tenthsOfKilogram: 723, time: time)])
        #expect(
            script.events == [
                PlannedCommand(
                    after: .milliseconds(300), command: .stepOn(tenthsOfKilogram: 721, at: WallTime("2026-11-20T07:30"))
                ),
                PlannedCommand(after: .seconds(5), command: .fail(0xE7)),
            ])
        var options = ScaleSimulator.Options(link: .pty, device: HS3Device())
        for fault in script.faults { options.add(try FaultOption(fault)) }
        #expect(options.device.faults.badChecksumEvery == 3)
        #expect(options.hangUpAfter == 9)
    }

    @Test(arguments: [
        (#"{"memry": []}"#, "unknown member 'memry'"),
        (#"{"memory": [{"kg": 72.33, "at": "2026-11-19"}]}"#, "kg 72.33"),
        (#"{"memory": [{"kg": 72.3}]}"#, "has no at"), (#"{"events": [{"after": "1s"}]}"#, "either kg or error"),
        (#"{"events": [{"after": "1s", "kg": 1, "error": "Lo"}]}"#, "either kg or error"), ("{", "day.json"),
        (#"{"events": [{"after": "1s", "since": "noon", "kg": 1}]}"#, "expected session or memory"),
        (#"{"memory": [{"kg": "72", "at": "2026-11-19"}]}"#, "memory.[0].kg"), (#"{"faults": ["x"]}"#, "fault 'x'"),
    ])
    func `the error for a wrong script names the fault and its place`(json: String, part: String) {
        let error = #expect(throws: SimulatorError.self) {
            try SimulatorScript(json: Data(json.utf8), file: "day.json")
        }
        #expect(error?.description.contains(part) == true, "\(error?.description ?? "no error")")
        #expect(error?.description.hasPrefix("day.json: ") == true)
        #expect(error?.kind == .script)
    }

    @Test func `invented weighings are plausible, one a morning, and equal for equal seeds`() throws {
        let now = try #require(WallTime("2026-11-20 07:10:00"))
        var (one, same, other) = (WeighingSeries(seed: 7), WeighingSeries(seed: 7), WeighingSeries(seed: 8))
        let mornings = one.mornings(400, before: now)
        #expect(mornings.map(\.tenthsOfKilogram) == same.mornings(400, before: now).map(\.tenthsOfKilogram))
        #expect(mornings.map(\.tenthsOfKilogram) != other.mornings(400, before: now).map(\.tenthsOfKilogram))
        #expect(mornings.count == 400)
        for (earlier, later) in zip(mornings, mornings.dropFirst()) {
            #expect(abs(earlier.tenthsOfKilogram - later.tenthsOfKilogram) <= 12)
            #expect(later.time.secondsSince2000 / 86400 - earlier.time.secondsSince2000 / 86400 == 1)
        }
        #expect(mornings.allSatisfy { (550...950).contains($0.tenthsOfKilogram) && (6...8).contains($0.time.hour) })
        #expect(mornings.last?.time.description.hasPrefix("2026-11-19") == true, "not in the future")
    }

    @Test func `events are one JSON object each`() throws {
        let events: [SimulatorEvent] = [
            .listening("tcp://127.0.0.1:1", deviceId: "020000003001"), .connected, .wire(.scale, [0xA0, 3]),
            .unreachable("a \"b\"\n\\"),
            .scale(.fault("x")), .done,
        ]
        for event in events {
            let object = try JSONDecoder().decode([String: String].self, from: Data(event.json.utf8))
            #expect(object == Dictionary(uniqueKeysWithValues: event.members.map { ($0.name, $0.value) }))
            #expect(!event.json.contains("\n"))
        }
        #expect(SimulatorEvent.listening("tcp://127.0.0.1:1", deviceId: "020000003001").text == "tcp://127.0.0.1:1")
    }
}
