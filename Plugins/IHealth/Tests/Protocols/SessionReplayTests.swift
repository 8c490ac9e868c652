import ScaleStandIns
import Testing

@testable import ScaleProtocols

/// Replays the captured sessions: every byte that the host sends must be the captured byte.
struct SessionReplayTests {
    struct Line {
        var isFromHost: Bool
        var delay: Duration
        var bytes: [UInt8]
    }

    static func script(_ name: String) throws -> [Line] {
        try resource("Sessions/\(name).txt").split(separator: "\n").filter { !$0.hasPrefix("#") }.map { line in
            let parts = line.split(separator: " ", maxSplits: 2)
            return Line(
                isFromHost: parts[0] == ">", delay: .milliseconds(try #require(Int(parts[1]))),
                bytes: bytes(String(parts[2])))
        }
    }

    /// Plays the scale's lines at their times.
    ///
    /// A delivery is kept when the script's host has sent its next acknowledgement, because the captured host took
    /// that long.
    static func replay(_ name: String, wall: String, openAfter: Duration) throws -> (
        host: [[UInt8]], kept: [ScaleReading], events: [ScaleEvent]
    ) {
        var settings = HS3Host.Settings()
        settings.timing.openAfter = openAfter
        var host = HS3Host(settings: settings)
        let wall = try #require(WallTime(wall))
        var (uptime, sent): (Duration, [[UInt8]]) = (.zero, [])
        var (open, kept): ([ScaleDelivery], [ScaleReading]) = ([], [])
        var events: [ScaleEvent] = []
        func give(_ input: ScaleInput) {
            for action in host.handle(input, at: ScaleMoment(uptime: uptime, wall: wall)) {
                switch action {
                case .send(let bytes), .search(let bytes): sent.append(bytes)
                case .deliver(let delivery): open.append(delivery)
                case .event(let event): events.append(event)
                case .settle, .of: break
                case .close: Issue.record("the host gave up")
                }
            }
        }
        give(.linkOpened)
        var expected = 0
        for line in try script(name) {
            let next = uptime + line.delay
            while let due = host.deadline, due < next {
                uptime = max(uptime, due)
                give(.tick)
            }
            uptime = next
            if !line.isFromHost {
                give(.received(line.bytes))
                continue
            }
            give(.tick)
            expected += 1
            // The host has done everything that it can do now; if it is still silent, it waits for its spool.
            if sent.count < expected, !open.isEmpty {
                let delivery = open.removeFirst()
                kept += delivery.readings
                give(.kept(delivery.token))
            }
        }
        return (sent, kept, events)
    }

    @Test func `the basic session is answered byte for byte`() throws {
        let result = try SessionReplayTests.replay("hs3-basic", wall: "2018-01-29 07:33:06", openAfter: .zero)
        #expect(result.host == (try SessionReplayTests.script("hs3-basic")).filter(\.isFromHost).map(\.bytes))
        #expect(
            result.kept.map { "\($0.time?.description ?? "-") \($0.tenthsOfKilogram)" } == [
                "2018-01-28 07:30:05 723", "2018-01-27 22:01:40 726", "2018-01-29 07:33:19 762",
            ])
        let memory = Array(result.kept.prefix(2))
        #expect(
            result.events == [
                .clock(try #require(WallTime("2018-01-29 07:33:07")), skewSeconds: 1), .clockSet, .connected(nil),
                .memoryStart(true), .memoryCount(2), .memoryRecord(memory[0], isRepeat: false), .memoryProgress(0.5),
                .memoryRecord(memory[1], isRepeat: false), .memoryProgress(1), .memoryFinish(records: 2),
                .stableWeight(result.kept[2], isRepeat: false),
            ])
    }

    @Test func `a scale that only repeats its weight is served without an error, byte for byte`() throws {
        let result = try SessionReplayTests.replay(
            "hs3-reconnect", wall: "2018-01-29 07:39:30", openAfter: .milliseconds(519))
        #expect(result.host == (try SessionReplayTests.script("hs3-reconnect")).filter(\.isFromHost).map(\.bytes))
        #expect(result.kept.map(\.tenthsOfKilogram) == [905, 771])
        #expect(result.kept.last?.time?.description == "2018-01-29 07:41:15")
        #expect(
            result.events == [
                .connected(nil), .stableWeight(result.kept[0], isRepeat: false),
                .stableWeight(result.kept[1], isRepeat: false),
            ])
    }

    @Test func `the simulated scale sends the frames of the captured opening`() throws {
        var device = HS3Device()
        let wall = try #require(WallTime("2018-01-29 07:33:07"))
        let now = ScaleMoment(uptime: .zero, wall: wall)
        _ = device.handle(.linkOpened, at: now)
        var sent: [[UInt8]] = []
        for line in try SessionReplayTests.script("hs3-basic").prefix(13) where line.isFromHost {
            for case .send(let bytes) in device.handle(.received(line.bytes), at: now) { sent.append(bytes) }
        }
        var captured = try SessionReplayTests.script("hs3-basic").prefix(11).filter { !$0.isFromHost }.map(\.bytes)
        // The memory of this device is empty; the captured one had two records.
        captured[captured.count - 1] = bytes("a0 04 a6 26 02 00 ce")
        #expect(Array(sent.prefix(captured.count)) == captured)
    }
}
