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

    /// A host on a link that may end early, with its spool and its messages.
    private struct Player {
        var host: HS3Host
        let wall: WallTime
        /// Whether a delivery on its way into the spool is kept although the link has ended; otherwise the spool refuses it.
        var keepsLate = false
        var uptime = Duration.zero
        var sent: [[UInt8]] = []
        var open: [ScaleDelivery] = []
        var kept: [ScaleReading] = []
        var events: [ScaleEvent] = []
        var hasGivenUp = false

        init(_ wall: String, openAfter: Duration) throws {
            var settings = HS3Host.Settings()
            settings.timing.openAfter = openAfter
            host = HS3Host(settings: settings)
            self.wall = try #require(WallTime(wall))
        }

        mutating func give(_ input: ScaleInput) {
            for action in host.handle(input, at: ScaleMoment(uptime: uptime, wall: wall)) {
                switch action {
                case .send(let bytes), .search(let bytes): sent.append(bytes)
                case .deliver(let delivery): open.append(delivery)
                case .event(let event): events.append(event)
                case .of, .settle: break
                case .close: hasGivenUp = true
                }
            }
        }

        mutating func keep() {
            guard !open.isEmpty else { return }
            let delivery = open.removeFirst()
            kept += delivery.readings
            give(.kept(delivery.token))
        }

        /// Plays the scale's lines at their times, up to this byte of both sides together.
        ///
        /// A delivery is kept when the script's host has sent its next acknowledgement, because the captured host took that long.
        mutating func play(_ lines: [Line], until cut: Int = .max) {
            var (expected, left) = (sent.count, cut)
            give(.linkOpened)
            for line in lines where left > 0 {
                let next = uptime + line.delay
                while let due = host.deadline, due < next {
                    uptime = max(uptime, due)
                    give(.tick)
                }
                uptime = next
                if line.isFromHost {
                    give(.tick)
                    expected += 1
                    // The host has done everything that it can do now; if it is still silent, it waits for its spool.
                    while sent.count < expected, !open.isEmpty { keep() }
                } else {
                    give(.received(Array(line.bytes.prefix(left))))
                }
                left -= line.bytes.count
            }
        }

        mutating func end() {
            give(.linkClosed)
            while !open.isEmpty {
                if keepsLate { keep() } else { give(.notKept(open.removeFirst().token)) }
            }
        }
    }

    /// Plays a whole session and checks that the host sends exactly the captured bytes.
    private static func replay(_ name: String, wall: String, openAfter: Duration) throws -> Player {
        let lines = try script(name)
        var player = try Player(wall, openAfter: openAfter)
        player.play(lines)
        #expect(player.sent == lines.filter(\.isFromHost).map(\.bytes))
        #expect(!player.hasGivenUp)
        return player
    }

    @Test func `the basic session is answered byte for byte`() throws {
        let result = try Self.replay("hs3-basic", wall: "2018-01-29 07:33:06", openAfter: .zero)
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
        let result = try Self.replay(
            "hs3-reconnect", wall: "2018-01-29 07:39:30", openAfter: .milliseconds(519))
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
        for line in try Self.script("hs3-basic").prefix(13) where line.isFromHost {
            for case .send(let bytes) in device.handle(.received(line.bytes), at: now) { sent.append(bytes) }
        }
        var captured = try Self.script("hs3-basic").prefix(11).filter { !$0.isFromHost }.map(\.bytes)
        // The memory of this device is empty; the captured one had two records.
        captured[captured.count - 1] = bytes("a0 04 a6 26 02 00 ce")
        #expect(Array(sent.prefix(captured.count)) == captured)
    }

    /// The scripts for HS4 and HS5 each have one weighing of a session without its beginning, so they cannot lead a host alone.
    ///
    /// ``ScriptTests`` compares them with the stand-ins, and `HS4DialogueTests` and `HS5DialogueTests` cut whole sessions with these at every
    /// byte. A datagram of a HS5 that is cut anywhere is lost, because its checksum is at its end.
    @Test(arguments: [
        ("hs3-basic", "2018-01-29 07:33:06", Duration.zero),
        ("hs3-reconnect", "2018-01-29 07:39:30", .milliseconds(519)),
    ])
    func `a captured session that ends at any byte loses nothing that the scale still holds`(
        name: String, wall: String, openAfter: Duration
    ) throws {
        let lines = try Self.script(name)
        var whole = try Player(wall, openAfter: openAfter)
        whole.play(lines)
        whole.end()
        let (said, keys) = (whole.sent, whole.kept.map(\.key))
        #expect(!keys.isEmpty && Set(keys).count == keys.count)
        let length = lines.reduce(0) { $0 + $1.bytes.count }
        for cut in 0...length {
            for keepsLate in [false, true] {
                var player = try Player(wall, openAfter: openAfter)
                player.keepsLate = keepsLate
                player.play(lines, until: cut)
                player.end()
                #expect(said.starts(with: player.sent), "\(name), byte \(cut): it says nothing for half a line")
                #expect(keys.starts(with: player.kept.map(\.key)), "\(name), byte \(cut)")
                // The scale begins again and repeats everything that was not acknowledged: at most all of it.
                player.uptime += .seconds(5)
                player.keepsLate = true
                player.play(lines)
                player.end()
                #expect(Set(player.kept.map(\.key)) == Set(keys), "\(name), byte \(cut): something is lost")
                #expect(player.kept.count == keys.count, "\(name), byte \(cut): something is kept twice")
            }
        }
    }
}
