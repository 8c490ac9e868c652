import Testing

@testable import ScaleProtocols

/// The captured sessions with a link that ends at every byte of either side.
///
/// The scripts for HS4 and HS5 each have one weighing of a session without its beginning, so they cannot lead a host alone. ``ScriptTests``
/// compares them with the stand-ins, and `HS4DialogueTests` and `HS5DialogueTests` cut whole sessions with these at every byte. A datagram of a
/// HS5 that is cut anywhere is lost, because its checksum is at its end.
struct ScriptCutTests {
    /// A host on a link that ends early, with its spool and its messages.
    private struct Player {
        var host: HS3Host
        let wall: WallTime
        /// Whether a delivery on its way into the spool is kept although the link has ended; otherwise the spool refuses it.
        var keepsLate = false
        var uptime = Duration.zero
        var sent: [[UInt8]] = []
        var open: [ScaleDelivery] = []
        var kept: [ScaleReading] = []

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
                case .event, .of, .settle, .close: break
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
        mutating func play(_ lines: [SessionReplayTests.Line], until cut: Int = .max) {
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
            give(.linkClosed)
            while !open.isEmpty {
                if keepsLate { keep() } else { give(.notKept(open.removeFirst().token)) }
            }
        }
    }

    @Test(arguments: [
        ("hs3-basic", "2018-01-29 07:33:06", Duration.zero),
        ("hs3-reconnect", "2018-01-29 07:39:30", .milliseconds(519)),
    ])
    func `a captured session that ends at any byte loses nothing that the scale still holds`(
        name: String, wall: String, openAfter: Duration
    ) throws {
        let lines = try SessionReplayTests.script(name)
        var whole = try Player(wall, openAfter: openAfter)
        whole.play(lines)
        let (said, keys) = (whole.sent, whole.kept.map(\.key))
        #expect(!keys.isEmpty && Set(keys).count == keys.count)
        let length = lines.reduce(0) { $0 + $1.bytes.count }
        for cut in 0...length {
            for keepsLate in [false, true] {
                var player = try Player(wall, openAfter: openAfter)
                player.keepsLate = keepsLate
                player.play(lines, until: cut)
                #expect(said.starts(with: player.sent), "\(name), byte \(cut): it says nothing for half a line")
                #expect(keys.starts(with: player.kept.map(\.key)), "\(name), byte \(cut)")
                // The scale begins again and repeats everything that was not acknowledged: at most all of it.
                player.uptime += .seconds(5)
                player.keepsLate = true
                player.play(lines)
                #expect(Set(player.kept.map(\.key)) == Set(keys), "\(name), byte \(cut): something is lost")
                #expect(player.kept.count == keys.count, "\(name), byte \(cut): something is kept twice")
            }
        }
    }
}
