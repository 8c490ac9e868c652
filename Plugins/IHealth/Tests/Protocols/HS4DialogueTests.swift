import HubProcess
import Platform
import ScaleStandIns
import Testing

@testable import ScaleProtocols

struct HS4DialogueTests {
    typealias Rig = SessionRig<HS4Host, HS4Device>
    typealias Link = HS4Host.Settings.Link

    private static let links = Link.allCases
    private static let key = ScaleKey((0..<16).map { UInt8($0) })

    private func records(_ count: Int) throws -> [HS4Record] {
        let first = try #require(WallTime(2026, 1, 1, 19, 10, 3))
        return try (0..<count).map { day in
            try #require(
                first.adding(seconds: day * 86_911).flatMap {
                    HS4Record($0, tenthsOfKilogram: 720 + day % 17, more: 1)
                })
        }
    }

    private func rig(
        _ link: Link, memory: Int = 0, key: ScaleKey? = nil, faults: StandInFaults = .init(), tail: Bool = true,
        limit: Int = 200
    ) throws -> Rig {
        var (settings, profile) = (HS4Host.Settings(), HS4Device.Profile())
        profile.memoryLimit = limit
        (settings.link, settings.key) = (link, key)
        (profile.link, profile.key, profile.tailHoldsRecord) = (link, key, tail)
        return try Rig(
            host: HS4Host(settings: settings),
            device: HS4Device(profile: profile, memory: try records(memory), faults: faults))
    }

    @Test(arguments: links, [0, 1, 2, 20, 21, 200])
    func `the memory arrives completely and once, then live weights`(link: Link, count: Int) throws {
        var rig = try rig(link, memory: count, key: Self.key)
        rig.connect(for: .seconds(60))
        let expected = try records(count).map(\.key)
        #expect(rig.kept.map(\.key) == expected)
        #expect(rig.host.isMeasuring)
        #expect(rig.device.memory.isEmpty)
        let progress = rig.events.compactMap { if case .memoryProgress(let done) = $0 { done } else { nil } }
        #expect(progress == progress.sorted())
        #expect(progress.filter { $0 == 1 }.count == (count == 0 ? 0 : 1))
        #expect(rig.errors == (count == 0 ? [.noMemory(.hs4)] : []))
        rig.give(device: .weigh(StandInWeighing(tenthsOfKilogram: 734)), for: .seconds(10))
        rig.give(device: .weigh(StandInWeighing(tenthsOfKilogram: 801)), for: .seconds(10))
        #expect(rig.kept.suffix(2).map(\.tenthsOfKilogram) == [734, 801])
        #expect(rig.events.contains(.unstableWeight(660)))
        #expect(rig.warnings == [])
        #expect(rig.device.isIdle && rig.device.memory.isEmpty)
    }

    @Test(arguments: links) func `201 records cause a warning, and all of them are kept`(link: Link) throws {
        var rig = try rig(link, memory: 201, limit: 201)
        rig.connect(for: .seconds(60))
        #expect(rig.kept.count == 201 && rig.events.contains(.memoryCount(200)))
        #expect(rig.warnings.contains { $0.contains("announces 201 records") })
    }

    @Test(arguments: links) func `with a scale whose last reply has no record, no record is lost`(link: Link) throws {
        var rig = try rig(link, memory: 5, tail: false)
        rig.connect(for: .seconds(60))
        let expected = try records(5).map(\.key)
        #expect(rig.kept.map(\.key) == expected)
    }

    @Test(arguments: links) func `a link that ends at any byte loses nothing that the scale still holds`(link: Link)
        throws
    {
        var whole = try rig(link, memory: 3, key: Self.key)
        play(&whole)
        let length = whole.carried
        #expect(length > 200)
        for cut in 0..<length {
            var rig = try rig(link, memory: 3, key: Self.key)
            rig.bytesUntilCut = cut
            play(&rig)
            let time = rig.now.wall
            rig.disconnect()
            rig.connect(for: .seconds(60))
            for record in try records(3) { #expect(rig.kept.contains { $0.key == record.key }, "cut at \(cut)") }
            let weighings = rig.kept.filter { $0.tenthsOfKilogram == 742 }
            #expect((1...2).contains(weighings.count), "cut at \(cut): \(weighings.count) of one weighing")
            #expect(weighings.allSatisfy { abs(($0.time?.secondsSince2000 ?? 0) - time.secondsSince2000) < 70 })
            #expect(rig.device.memory.isEmpty, "cut at \(cut)")
        }
    }

    private func play(_ rig: inout Rig) {
        rig.connect(for: .seconds(30))
        rig.give(device: .weigh(StandInWeighing(tenthsOfKilogram: 742)), for: .seconds(20))
    }

    @Test func `a record that cannot be kept is not acknowledged, and comes again`() throws {
        var rig = try rig(.lowEnergy, memory: 2)
        rig.keepAfter = nil
        rig.connect(for: .seconds(3))
        #expect(rig.kept.isEmpty)
        #expect(rig.device.memory.count == 2)
        rig.keepAfter = .milliseconds(1)
        rig.run(for: .seconds(30))
        let expected = try records(2).map(\.key)
        #expect(rig.kept.map(\.key) == expected)
    }

    @Test(arguments: Thoroughness.seeds(200))
    func `whatever goes wrong, all weighings are kept in the end`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var faults = StandInFaults()
        if random.chance(30) { faults.deafEvery = Int.random(in: 2...5, using: &random) }
        if random.chance(30) { faults.badChecksumEvery = Int.random(in: 2...5, using: &random) }
        if random.chance(30) { faults.repeatEvery = Int.random(in: 1...4, using: &random) }
        if random.chance(30) { faults.losePieceEvery = Int.random(in: 2...5, using: &random) }
        if random.chance(30) { faults.shuffleEvery = Int.random(in: 1...3, using: &random) }
        if random.chance(30) { faults.garbage = Int.random(in: 1...30, using: &random) }
        if random.chance(30) { faults.pieces = Int.random(in: 1...9, using: &random) }
        if random.chance(30) { faults.powerOffAfterRecords = Int.random(in: 1...6, using: &random) }
        let count = Int.random(in: 0...8, using: &random)
        var rig = try rig(.lowEnergy, memory: count, key: random.chance(50) ? Self.key : nil, faults: faults)
        for _ in 0..<40 where !rig.host.isMeasuring || !rig.device.isIdle || !rig.isLinked {
            if !rig.isLinked { rig.connect() }
            rig.run(for: .seconds(20))
        }
        for record in try records(count) {
            #expect(rig.kept.contains { $0.key == record.key }, "seed \(seed)")
        }
        #expect(rig.kept.count == Set(rig.kept.map(\.key)).count, "seed \(seed): doubled on sound acknowledgements")
    }

    @Test func `a log-in is completed, restarted on request, and refused with error 5`() throws {
        var faults = StandInFaults()
        faults.logInAgain = 2
        var rig = try rig(.lowEnergy, memory: 1, key: Self.key, faults: faults)
        rig.connect(for: .seconds(30))
        #expect(rig.kept.count == 1)

        faults = StandInFaults()
        faults.refusesLogIn = true
        rig = try self.rig(.lowEnergy, memory: 1, key: Self.key, faults: faults)
        rig.connect(for: .seconds(30))
        #expect(rig.errors == [.refused(.hs4)])
        #expect(rig.errors.first?.code == 5)
        #expect(!rig.isLinked && rig.kept.isEmpty)
    }

    @Test func `a scale that is silent during the log-in causes error 11`() throws {
        var faults = StandInFaults()
        faults.ignoresLogIn = true
        var rig = try rig(.lowEnergy, key: Self.key, faults: faults)
        rig.connect(for: .seconds(30))
        #expect(rig.errors == [.noAnswer(.hs4)])
        #expect(rig.errors.first?.code == 11)
    }

    @Test(arguments: [0xA0: 1, 0xE0: 2, 0xE1: 3, 0xE2: 4, 0xE4: 5, 0xE7: 6, 0xE8: 7, 0xE9: 8] as [UInt8: Int])
    func `an error byte is reported as the vendor's error, and the next weighing works`(raw: UInt8, code: Int) throws {
        var rig = try rig(.lowEnergy)
        rig.connect(for: .seconds(20))
        rig.give(device: .fail(raw), for: .seconds(10))
        #expect(rig.errors.last?.code == code)
        #expect(rig.errors.last?.raw == raw)
        rig.give(device: .weigh(StandInWeighing(tenthsOfKilogram: 700)), for: .seconds(10))
        #expect(rig.kept.map(\.tenthsOfKilogram) == [700])
    }

    @Test func `more than 180 kg is error 3 and no weight`() throws {
        var rig = try rig(.lowEnergy)
        rig.connect(for: .seconds(20))
        rig.give(device: .weigh(StandInWeighing(tenthsOfKilogram: 1801)), for: .seconds(10))
        #expect(rig.errors.last?.code == 3)
        #expect(rig.kept.isEmpty)
    }

    @Test func `a scale that refuses to measure is asked again`() throws {
        var faults = StandInFaults()
        faults.refusesMeasurement = true
        var rig = try rig(.lowEnergy, faults: faults)
        rig.connect(for: .seconds(5))
        #expect(rig.errors.contains(.noAnswer(.hs4)))
        rig.device.faults.refusesMeasurement = false
        rig.run(for: .seconds(10))
        rig.give(device: .weigh(StandInWeighing(tenthsOfKilogram: 700)), for: .seconds(10))
        #expect(rig.kept.count == 1)
    }

    @Test(arguments: Thoroughness.seeds(300))
    func `no bytes disturb the state of the host`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var rig = try rig(random.chance(50) ? .lowEnergy : .serialPort, memory: 2)
        rig.connect()
        rig.run(for: .seconds(Int.random(in: 0...5, using: &random)))
        for _ in 0..<40 {
            let noise = (0..<Int.random(in: 1...60, using: &random)).map { _ -> UInt8 in
                random.chance(30)
                    ? [0xA0, 0xA6, 0x36, 0x42, 0x00, 0xF0].randomElement(using: &random) ?? 0
                    : UInt8.random(in: 0...255, using: &random)
            }
            rig.give(host: .received(noise))
            rig.run(for: .milliseconds(Int.random(in: 0...900, using: &random)))
        }
        rig.disconnect()
        rig.connect(for: .seconds(60))
        #expect(rig.host.isMeasuring, "seed \(seed)")
    }
}
