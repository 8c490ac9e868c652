import HubProcess
import Platform
import ScaleStandIns
import Testing

@testable import ScaleProtocols

struct HS5DialogueTests {
    typealias Rig = SessionRig<HS5Host, HS5Device>

    private static let key = ScaleKey((0..<16).map { UInt8($0) })
    private static let body = HS5Record.Composition(
        fat: 231, water: 540, muscle: 412, bone: 31, visceralFat: 7, dailyCalories: 2210)

    private func records(_ count: Int, from day: Int = 0) throws -> [HS5Record] {
        let first = try #require(WallTime(2026, 1, 1, 19, 10, 3))
        return try (0..<count).map { index in
            try #require(
                first.adding(seconds: (day + index) * 86_911).flatMap {
                    HS5Record($0, tenthsOfKilogram: 720 + index % 17, Self.body)
                })
        }
    }

    /// A scale with users 11 and 22 at positions 0 and 3; the measurement of the first one is kept open.
    private func rig(
        memory: Int = 0, key: ScaleKey? = nil, faults: StandInFaults = .init(), measures: UInt32? = 11,
        limit: Int = 200
    ) throws -> Rig {
        var (settings, profile) = (HS5Host.Settings(), HS5Device.Profile())
        profile.memoryLimit = limit
        (settings.key, settings.measures, profile.key) = (key, measures, key)
        let (first, second) = (try #require(HS5Position(0)), try #require(HS5Position(3)))
        return try Rig(
            host: HS5Host(settings: settings),
            device: HS5Device(
                profile: profile, users: [first: 11, second: 22],
                memory: [11: try records(memory), 22: try records(memory, from: 300)], faults: faults))
    }

    @Test(arguments: [0, 1, 15, 16, 20, 21, 200])
    func `the memories of all users arrive completely and once, then weighings with composition`(count: Int) throws {
        var rig = try rig(memory: count, key: Self.key)
        rig.connect(for: .seconds(30))
        let (first, second) = (try records(count), try records(count, from: 300))
        #expect(rig.kept.filter { $0.user == 11 }.map(\.raw) == first.map(\.bytes))
        #expect(rig.kept.filter { $0.user == 22 }.map(\.raw) == second.map(\.bytes))
        #expect(rig.device.memory.values.joined().isEmpty)
        #expect(rig.events.filter { $0 == .memoryProgress(1) }.count == (count == 0 ? 0 : 2))
        rig.give(device: .weigh(StandInWeighing(tenthsOfKilogram: 744, composition: Self.body)), for: .seconds(10))
        let weighing = try #require(rig.kept.last)
        #expect((weighing.tenthsOfKilogram, weighing.user, weighing.composition) == (744, 11, Self.body))
        #expect(rig.events.contains(.unstableWeight(744)) && rig.events.contains(.impedanceWeight(744)))
        #expect(rig.events.contains(.bodyComposition(weighing, isRepeat: false)))
        #expect(rig.device.isIdle)
        #expect(rig.warnings == [])
    }

    @Test func `201 records cause a warning, and all of them are kept`() throws {
        var rig = try rig(memory: 201, limit: 201)
        rig.connect(for: .seconds(30))
        #expect(rig.kept.count == 402)
        #expect(rig.events.filter { $0 == .memoryCount(200) }.count == 2)
        #expect(rig.warnings.contains { $0.contains("announces 201 records") })
    }

    @Test(arguments: [0xA0: 6, 0xE0: 7, 0xE1: 8, 0xE2: 9, 0xE7: 10, 0xE8: 11, 0xE9: 12] as [UInt8: Int])
    func `an error byte is reported as the vendor's error, and the next weighing works`(raw: UInt8, code: Int) throws {
        var rig = try rig()
        rig.connect(for: .seconds(10))
        rig.give(device: .fail(raw), for: .seconds(10))
        #expect(rig.errors.map(\.code).contains(code))
        rig.give(device: .weigh(StandInWeighing(tenthsOfKilogram: 733, composition: Self.body)), for: .seconds(70))
        #expect(rig.kept.map(\.tenthsOfKilogram) == [733])
    }

    @Test func `a weighing with shoes has no composition`() throws {
        var faults = StandInFaults()
        faults.losesComposition = true
        var rig = try rig(faults: faults)
        rig.connect(for: .seconds(10))
        rig.give(device: .weigh(StandInWeighing(tenthsOfKilogram: 744, composition: Self.body)), for: .seconds(10))
        #expect(rig.kept.map(\.tenthsOfKilogram) == [744])
        #expect(rig.kept.first?.composition == nil)
        #expect(rig.device.isIdle)
    }

    @Test func `a weighing of another person waits in the memory for the next round`() throws {
        var rig = try rig()
        rig.connect(for: .seconds(10))
        rig.give(device: .weigh(StandInWeighing(tenthsOfKilogram: 655, composition: Self.body, user: 22)))
        rig.run(for: .seconds(70))
        #expect(rig.kept.map(\.tenthsOfKilogram) == [655])
        #expect(rig.kept.first?.user == 22)
    }

    @Test func `users are created, changed and deleted by command`() throws {
        var rig = try rig()
        rig.connect(for: .seconds(10))
        let profile = try #require(HS5Profile(serial: 33, age: 44, height: 180, isAthlete: false, isMale: true))
        let before = rig.events.count
        rig.give(host: .command(.createUser(profile, at: nil)), for: .seconds(5))
        #expect(rig.device.users[1] == 33)
        rig.give(host: .command(.modifyUser(profile)), for: .seconds(5))
        rig.give(host: .command(.deleteUser(serial: 33)), for: .seconds(5))
        #expect(rig.device.users[1] == nil)
        let results = rig.events[before...].compactMap { if case .userResult(let done) = $0 { done } else { nil } }
        #expect(results == [true, true, true])
        rig.give(host: .command(.deleteUser(serial: 99)), for: .seconds(5))
        #expect(rig.events.contains(.userResult(false)))
    }

    @Test func `an occupied position is error 5, a full scale error 15, and no command is sent`() throws {
        var rig = try rig()
        rig.connect(for: .seconds(10))
        let profile = try #require(HS5Profile(serial: 33, age: 44, height: 180, isAthlete: false, isMale: true))
        rig.give(host: .command(.createUser(profile, at: HS5Position(3))), for: .seconds(5))
        #expect(rig.errors.contains(.userExists) && ScaleError.userExists.code == 5)
        for serial in 40..<58 {
            let other = try #require(
                HS5Profile(serial: UInt32(serial), age: 44, height: 180, isAthlete: false, isMale: true))
            rig.give(host: .command(.createUser(other, at: nil)), for: .seconds(5))
        }
        #expect(rig.device.users.allSatisfy { $0 != nil })
        rig.give(host: .command(.createUser(profile, at: nil)), for: .seconds(5))
        #expect(rig.errors.contains(.noPlace) && ScaleError.noPlace.code == 15)
        #expect(rig.events.last { if case .userResult = $0 { true } else { false } } == .userResult(false))
    }

    @Test func `a link that ends at any datagram loses nothing that the scale still holds`() throws {
        var whole = try rig(memory: 17, key: Self.key)
        play(&whole)
        for cut in stride(from: 0, to: whole.carried, by: 7) {
            var rig = try rig(memory: 17, key: Self.key)
            rig.bytesUntilCut = cut
            play(&rig)
            rig.disconnect()
            rig.connect(for: .seconds(140))
            let all = try records(17) + records(17, from: 300)
            for record in all {
                #expect(rig.kept.contains { $0.raw == record.bytes }, "cut at \(cut)")
            }
            #expect(rig.kept.contains { $0.tenthsOfKilogram == 911 }, "cut at \(cut)")
            #expect(rig.device.memory.values.joined().isEmpty, "cut at \(cut)")
        }
    }

    private func play(_ rig: inout Rig) {
        rig.connect(for: .seconds(20))
        rig.give(device: .weigh(StandInWeighing(tenthsOfKilogram: 911, composition: Self.body)), for: .seconds(15))
    }

    @Test(arguments: Thoroughness.seeds(150))
    func `whatever is lost on the way, all weighings are kept in the end`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var faults = StandInFaults()
        if random.chance(40) { faults.deafEvery = Int.random(in: 3...6, using: &random) }
        if random.chance(40) { faults.loseEvery = Int.random(in: 3...6, using: &random) }
        if random.chance(30) { faults.badChecksumEvery = Int.random(in: 3...6, using: &random) }
        if random.chance(30) { faults.repeatEvery = Int.random(in: 1...3, using: &random) }
        if random.chance(30) { faults.powerOffAfterPackets = Int.random(in: 0...3, using: &random) }
        if random.chance(20) { faults.busy = 2 }
        let count = Int.random(in: 0...40, using: &random)
        var rig = try rig(memory: count, key: random.chance(50) ? Self.key : nil, faults: faults)
        for _ in 0..<40 where rig.device.memory.values.contains(where: { !$0.isEmpty }) || !rig.isLinked {
            if !rig.isLinked { rig.connect() }
            rig.run(for: .seconds(40))
        }
        let all = try records(count) + records(count, from: 300)
        for record in all {
            #expect(rig.kept.filter { $0.raw == record.bytes }.count == 1, "seed \(seed)")
        }
    }

    @Test func `a refused log-in, a silent scale and a busy one are reported by the vendor's numbers`() throws {
        var faults = StandInFaults()
        faults.ignoresLogIn = true
        var rig = try rig(key: Self.key, faults: faults)
        rig.connect(for: .seconds(10))
        #expect(rig.errors.map(\.code).contains(0))
        faults = StandInFaults()
        faults.busy = 1
        rig = try self.rig(faults: faults)
        rig.connect(for: .seconds(20))
        #expect(rig.host.isMeasuring)
    }

    /// A message that the scale sends without a question, with its own number.
    private func datagram(_ command: FamilyCommand, _ data: [UInt8], _ sequence: UInt8) throws -> [UInt8] {
        try #require(
            HS5Datagram.bytes(
                from: .scale, command.rawValue, data, sequence: sequence, sender: HS5Device.Profile().id))
    }

    @Test func `two different messages with the same number are both read, and a repeat is not`() throws {
        var rig = try rig()
        rig.connect(for: .seconds(5))
        let record = try #require(HS5Record(rig.now.wall, tenthsOfKilogram: 777, Self.body))
        let composition = try datagram(.composition, record.bytes, 200)
        for bytes in [try datagram(.stableWeight, [3, 9], 200), composition, composition] {
            rig.give(host: .received(bytes))
        }
        rig.run(for: .seconds(1))
        #expect(rig.kept.map(\.composition) == [Self.body])
    }

    @Test
    func `a weight without composition is delivered again with the memory's composition, even in the same second`()
        throws
    {
        var rig = try rig()
        rig.connect(for: .seconds(5))
        let wall = rig.now.wall
        rig.give(host: .received(try datagram(.stableWeight, [3, 9], 200)), for: .seconds(6))
        #expect(rig.kept.map(\.tenthsOfKilogram) == [777] && rig.kept[0].time == wall)
        rig.give(
            device: .store(StandInWeighing(tenthsOfKilogram: 777, composition: Self.body, user: 11), at: wall))
        rig.run(for: .seconds(70))
        #expect(rig.kept.map(\.composition) == [nil, Self.body])
        #expect(rig.kept[0].key == rig.kept[1].key)
    }

    @Test func `a scale that disappears is noticed by its silence and found again`() throws {
        var rig = try rig()
        rig.connect(for: .seconds(10))
        rig.device.faults.deafEvery = 1
        rig.run(for: .seconds(60))
        #expect(rig.errors.contains(.disconnected(.hs5)))
        rig.device.faults.deafEvery = nil
        rig.run(for: .seconds(20))
        #expect(rig.host.isMeasuring)
    }

    @Test(arguments: Thoroughness.seeds(200))
    func `no datagrams disturb the state of the host`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var rig = try rig(memory: 2)
        rig.connect()
        rig.run(for: .seconds(Int.random(in: 0...5, using: &random)))
        for _ in 0..<40 {
            let command = UInt8.random(in: 0...255, using: &random)
            let data = (0..<Int.random(in: 0...90, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random)
            }
            let bytes = HS5Datagram.bytes(
                from: .scale, command, data, sequence: UInt8.random(in: 0...255, using: &random),
                sender: HS5Device.Profile().id)
            rig.give(host: .received(random.chance(80) ? bytes ?? [] : data))
            rig.run(for: .milliseconds(Int.random(in: 0...900, using: &random)))
        }
        rig.disconnect()
        rig.connect(for: .seconds(60))
        #expect(rig.host.isMeasuring, "seed \(seed)")
    }
}
