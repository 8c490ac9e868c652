import HubProcess
import Platform
import ScaleStandIns
import Testing

@testable import ScaleProtocols

/// Host and scale, joined by a virtual link.
struct HS3DialogueTests {
    typealias Rig = SessionRig<HS3Host, HS3Device>

    static func settings() -> HS3Host.Settings {
        var settings = HS3Host.Settings()
        settings.timing.openAfter = .milliseconds(100)
        return settings
    }

    static func rig(
        _ count: Int, profile: HS3Device.Profile = .init(), _ faults: (inout StandInFaults) -> Void = { _ in }
    )
        throws -> Rig
    {
        var set = StandInFaults()
        faults(&set)
        let device = HS3Device(profile: profile, memory: try weighings(count), faults: set)
        return try Rig(host: HS3Host(settings: settings()), device: device)
    }

    static func progress(_ rig: Rig) -> [Double] {
        rig.events.compactMap { if case .memoryProgress(let done) = $0 { done } else { nil } }
    }

    /// Connects repeatedly until the whole memory is at the host, like a driver that redials.
    static func complete(_ rig: inout Rig, connections: Int = 6) {
        for _ in 0..<connections where !rig.keptKeys.isSuperset(of: rig.device.memory) {
            rig.connect(for: .seconds(120))
            rig.disconnect()
        }
    }

    @Test(arguments: [0, 1, 20, 21, 199, 200]) func `a whole memory arrives newest first with rising progress`(
        count: Int
    ) throws {
        var rig = try HS3DialogueTests.rig(count)
        rig.connect(for: .seconds(30))
        #expect(rig.kept.map(\.key) == rig.device.memory.reversed().map(\.bytes))
        let progress = HS3DialogueTests.progress(rig)
        #expect(progress == progress.sorted() && Set(progress).count == count)
        #expect(progress.filter { $0 == 1 }.count == (count == 0 ? 0 : 1))
        #expect(rig.events.contains(.memoryFinish(records: count)))
        #expect(!rig.events.contains { if case .protocolWarning = $0 { true } else { false } })
        let frames = rig.deviceEvents.contains(.transferStarted(count))
        #expect(frames == (count > 0))
    }

    @Test func `201 records cause a warning, and all of them are kept`() throws {
        var profile = HS3Device.Profile()
        profile.memoryLimit = 201
        var rig = try HS3DialogueTests.rig(201, profile: profile)
        rig.connect(for: .seconds(30))
        #expect(rig.keptKeys.count == 201)
        #expect(rig.events.contains(.protocolWarning(.memoryCountAboveLimit(201))))
        #expect(HS3DialogueTests.progress(rig).last == 1)
        #expect(rig.events.contains(.memoryFinish(records: 201)))
    }

    @Test func `a wrong clock is reported and set`() throws {
        var profile = HS3Device.Profile()
        profile.skewSeconds = 46
        var rig = try HS3DialogueTests.rig(0, profile: profile)
        rig.connect(for: .seconds(5))
        #expect(rig.events.contains { if case .clock(_, skewSeconds: 46) = $0 { true } else { false } })
        #expect(rig.device.clock(at: rig.now) == rig.now.wall)
    }

    @Test func `the counter of the scale continues across connections and wraps`() throws {
        var profile = HS3Device.Profile()
        profile.firstSequence = 0xFE
        var rig = try HS3DialogueTests.rig(3, profile: profile)
        for tenths in [731, 732, 733] {
            rig.connect(for: .seconds(5))
            rig.give(device: .weigh(StandInWeighing(tenthsOfKilogram: tenths)), for: .seconds(5))
            rig.disconnect()
            rig.run(for: .seconds(5))
        }
        #expect(rig.kept.suffix(1).map(\.tenthsOfKilogram) == [733])
        #expect(rig.keptKeys == Set(rig.device.memory))
        #expect(rig.kept.count == 6, "a kept record is not delivered again")
    }

    @Test func `a weighing above the capacity is an error and no weight`() throws {
        var rig = try HS3DialogueTests.rig(0)
        rig.connect(for: .seconds(5))
        rig.give(device: .weigh(StandInWeighing(tenthsOfKilogram: 1501)), for: .seconds(5))
        #expect(rig.kept.isEmpty)
        #expect(rig.events.contains(.deviceError(.sent(0xE2, by: .hs3))))
    }

    @Test(arguments: [UInt8(0xA0), 0xE2, 0xE4, 0xE7, 0x01, 0x07, 0x55]) func `an error byte reaches the host`(
        raw: UInt8
    ) throws {
        var rig = try HS3DialogueTests.rig(0)
        rig.connect(for: .seconds(5))
        rig.give(device: .fail(raw), for: .seconds(5))
        #expect(rig.events.last == .deviceError(.sent(raw, by: .hs3)))
    }

    @Test func `a full spool leaves everything with the scale`() throws {
        var rig = try HS3DialogueTests.rig(5)
        rig.keepAfter = nil
        rig.connect(for: .seconds(60))
        #expect(rig.kept.isEmpty)
        #expect(!rig.sentByHost.contains { $0[3] == 0xFF && $0[4] == 4 }, "the memory frame 3 is never acknowledged")
        rig.keepAfter = .zero
        rig.run(for: .seconds(60))
        #expect(rig.keptKeys == Set(rig.device.memory))
    }

    /// Each fault, and the sign of it that the host must notice.
    static let faults: [(String, @Sendable (inout StandInFaults) -> Void)] = [
        ("bad checksum", { $0.badChecksumEvery = 2 }),
        ("lost acknowledgement", { $0.loseAcknowledgementEvery = 2 }),
        ("repeat", { $0.repeatEvery = 1 }),
        ("deaf", { $0.deafEvery = 3 }),
        ("cut", { $0.cutAt = 4 }),
        ("garbage", { $0.garbage = 9 }),
        ("single bytes", { $0.pieces = 1 }),
        ("joined", { $0.pieces = 500 }),
        ("power off", { $0.powerOffAfterRecords = 25 }),
        ("early weight", { $0.weighOnLink = 744 }),
        (
            "all",
            {
                $0.badChecksumEvery = 5; $0.loseAcknowledgementEvery = 3; $0.repeatEvery = 4; $0.cutAt = 7
                $0.garbage = 5; $0.pieces = 3; $0.powerOffAfterRecords = 11; $0.weighOnLink = 744; $0.deafEvery = 13
            }
        ),
    ]

    @Test(arguments: 0..<faults.count) func `no fault loses or doubles a weighing`(fault: Int) throws {
        var rig = try HS3DialogueTests.rig(45, HS3DialogueTests.faults[fault].1)
        rig.connect(for: .seconds(120))
        rig.give(device: .weigh(StandInWeighing(tenthsOfKilogram: 733)), for: .seconds(60))
        rig.disconnect()
        HS3DialogueTests.complete(&rig)
        let name = HS3DialogueTests.faults[fault].0
        #expect(rig.keptKeys == Set(rig.device.memory), "\(name)")
        #expect(rig.kept.count == rig.keptKeys.count, "\(name): delivered twice")
    }

    @Test func `records spoilt on the wire are dropped or flagged, and come sound later`() throws {
        var rig = try HS3DialogueTests.rig(9) {
            $0.badDigitEvery = 4
            $0.zeroDateEvery = 5
        }
        rig.connect(for: .seconds(10))
        #expect(rig.kept.count == 7)
        #expect(rig.kept.filter { $0.time == nil }.count == 1)
        #expect(rig.events.contains(.memoryFinish(records: 7)))
        rig.disconnect()
        rig.device.faults = .init()
        HS3DialogueTests.complete(&rig)
        #expect(rig.keptKeys.isSuperset(of: rig.device.memory))
    }

    @Test func `power off during a transfer is error 6, and the records before it are kept`() throws {
        var rig = try HS3DialogueTests.rig(45) { $0.powerOffAfterRecords = 25 }
        rig.connect(for: .seconds(10))
        #expect(rig.kept.count == 20)
        #expect(rig.events.suffix(2) == [.deviceError(.disconnected(.hs3)), .disconnected])
        HS3DialogueTests.complete(&rig)
        #expect(rig.kept.count == 45)
        #expect(HS3DialogueTests.progress(rig).filter { $0 == 1 }.count == 1)
    }

    @Test func `a scale that receives nothing causes error 7`() throws {
        var rig = try HS3DialogueTests.rig(3) { $0.deafEvery = 1 }
        rig.connect(for: .seconds(30))
        #expect(rig.events == [.deviceError(.noAnswer(.hs3)), .disconnected])
    }

    @Test func `a link cut at any byte loses nothing that the scale still holds`() throws {
        var length = 0
        repeat {
            var rig = try HS3DialogueTests.rig(23)
            rig.bytesUntilCut = length
            rig.connect(for: .seconds(4))
            rig.give(device: .weigh(StandInWeighing(tenthsOfKilogram: 733)), for: .seconds(4))
            let wasCut = !rig.isLinked
            rig.bytesUntilCut = nil
            rig.disconnect()
            HS3DialogueTests.complete(&rig)
            #expect(rig.keptKeys == Set(rig.device.memory), "cut after \(length) bytes")
            #expect(rig.kept.count == 24, "cut after \(length) bytes")
            if !wasCut { break }
            length += 1
        } while length < 2000
        #expect((300..<2000).contains(length), "the cuts walked over the whole session")
    }

    @Test(arguments: Thoroughness.seeds(120))
    func `under random faults every weighing arrives exactly once`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        func maybe(_ range: ClosedRange<Int>) -> Int? {
            random.chance(40) ? Int.random(in: range, using: &random) : nil
        }
        var faults = StandInFaults()
        (faults.badChecksumEvery, faults.loseAcknowledgementEvery) = (maybe(2...6), maybe(2...6))
        (faults.repeatEvery, faults.deafEvery, faults.cutAt) = (maybe(1...5), maybe(3...9), maybe(0...30))
        (faults.garbage, faults.pieces) = (maybe(1...12) ?? 0, maybe(1...40))
        (faults.powerOffAfterRecords, faults.weighOnLink) = (maybe(0...40), maybe(500...1500))
        let device = HS3Device(memory: try weighings(.random(in: 0...60, using: &random)), faults: faults, seed: seed)
        var rig = try Rig(host: HS3Host(settings: HS3DialogueTests.settings()), device: device)
        for round in 0..<8 {
            rig.bytesUntilCut = random.chance(60) ? Int.random(in: 0...700, using: &random) : nil
            let isBusy = seed % 2 == 1
            rig.keepAfter =
                !isBusy ? .zero : random.chance(20) ? nil : .milliseconds(.random(in: 0...2000, using: &random))
            if !rig.isLinked { rig.connect() }
            rig.run(for: .milliseconds(.random(in: 0...9000, using: &random)))
            if random.chance(70) { rig.give(device: .weigh(StandInWeighing(tenthsOfKilogram: 600 + round))) }
            rig.run(for: .milliseconds(.random(in: 0...9000, using: &random)))
            if random.chance(50) { rig.disconnect() }
        }
        rig.disconnect()
        (rig.keepAfter, rig.bytesUntilCut, rig.device.faults) = (.zero, nil, .init())
        rig.run(for: .seconds(5))
        HS3DialogueTests.complete(&rig)
        #expect(rig.keptKeys == Set(rig.device.memory), "seed \(seed)")
        // A spool that answers only after the link has ended may get the same key again; a spool that answers at
        // once does not.
        if seed % 2 == 0 { #expect(rig.kept.count == rig.keptKeys.count, "seed \(seed): delivered twice") }
    }

    @Test(arguments: Thoroughness.seeds(60))
    func `no bytes make the scale trap`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var device = HS3Device(memory: try weighings(25), seed: seed)
        let wall = try #require(WallTime("2026-11-20 07:30"))
        var uptime = Duration.zero
        for _ in 0..<300 {
            uptime += .milliseconds(.random(in: 0...2000, using: &random))
            let input: StandInInput
            switch Int.random(in: 0..<8, using: &random) {
            case 0: input = .linkOpened
            case 1: input = .received((0..<40).map { _ in .random(in: 0...255, using: &random) })
            case 2: input = .tick
            case 3: input = .weigh(StandInWeighing(tenthsOfKilogram: .random(in: -5...20000, using: &random)))
            case 4:
                input =
                    [.restart, .linkClosed, .fail(7), .moveClock(seconds: .max)].randomElement(using: &random) ?? .tick
            default:
                let command = HS3Command.allCases.randomElement(using: &random) ?? .open
                let data = (0..<Int.random(in: 0...7, using: &random)).map { _ in
                    UInt8.random(in: 0...40, using: &random)
                }
                input = .received(
                    HS3Frame(checked: .host, command.rawValue, .random(in: 0...5, using: &random), data).bytes)
            }
            for case .send(let bytes) in device.handle(input, at: ScaleMoment(uptime: uptime, wall: wall)) {
                #expect(bytes.count <= 258)
            }
        }
        #expect(device.memory.count <= 200)
    }
}
