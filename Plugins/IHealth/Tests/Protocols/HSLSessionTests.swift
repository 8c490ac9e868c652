import Foundation
import HubProcess
import Platform
import ScaleStandIns
import Testing

@testable import ScaleProtocols

/// Both ends of HSL/1, joined by a link that can end anywhere.
struct HSLSessionTests {
    typealias Rig = SessionRig<HSLSession, HSLDevice>

    static let body = HS5Record.Composition(
        fat: 231, water: 540, muscle: 412, bone: 31, visceralFat: 7, dailyCalories: 2210)

    static func device(_ model: ScaleModel, _ last: String = "1") throws -> HSLDevice.Scale {
        var scale = HSLDevice.Scale(try #require(HSLDeviceID(model, "02000000300" + last)))
        if model == .hs5 { (scale.users[0], scale.users[3]) = (11, 22) }
        return scale
    }

    static func memory(_ model: ScaleModel, _ count: Int) throws -> [HSLDevice.Weighing] {
        let first = try #require(WallTime(2024, 1, 1, 19, 10, 3))
        return try (0..<count).map { index in
            HSLDevice.Weighing(
                try #require(first.adding(seconds: index * 86_911)), tenthsOfKilogram: 720 + index % 17,
                composition: model == .hs5 ? body : nil, user: model == .hs5 ? (index % 2 == 0 ? 11 : 22) : nil)
        }
    }

    static func rig(
        _ model: ScaleModel, memory count: Int = 0, faults: StandInFaults = .init(),
        profile: HSLDevice.Profile = .init(), token: HSLToken? = nil,
        scale change: (inout HSLDevice.Scale) -> Void = { _ in }
    ) throws -> Rig {
        var settings = HSLSession.Settings(model: model)
        settings.user = HSLUser(userID: "a@example.org", height: 180, clientID: "id", clientSecret: "secret")
        (settings.measures, settings.token) = (11, token)
        var (scale, profile) = (try device(model), profile)
        change(&scale)
        profile.token = token
        return try Rig(
            host: HSLSession(settings: settings, seed: Array(repeating: 3, count: 32)),
            device: HSLDevice(scale, memory: try memory(model, count), profile: profile, faults: faults))
    }

    /// The number of weighings of this memory that the host has not kept.
    private func missing(_ memory: [HSLDevice.Weighing], in kept: [ScaleReading]) -> Int {
        memory.count { weighing in
            !kept.contains {
                $0.time == weighing.time && $0.tenthsOfKilogram == weighing.tenthsOfKilogram
                    && $0.user == weighing.user && $0.composition == weighing.composition
            }
        }
    }

    @Test(arguments: ScaleModel.allCases, [0, 1, 2, 20, 21, 200])
    func `the memory arrives completely and once, then live weighings`(model: ScaleModel, count: Int) throws {
        var rig = try Self.rig(model, memory: count, token: HSLToken("secret"))
        rig.connect(for: .seconds(20))
        let memory = try Self.memory(model, count)
        #expect(rig.kept.count == count)
        #expect(missing(memory, in: rig.kept) == 0)
        #expect(rig.host.isMeasuring)
        let progress = rig.events.compactMap { if case .memoryProgress(let done) = $0 { done } else { nil } }
        let transfers = model == .hs5 ? min(count, 2) : min(count, 1)
        #expect(progress.filter { $0 == 1 }.count == transfers)
        if model != .hs5 { #expect(progress == progress.sorted()) }
        rig.give(device: .weigh(StandInWeighing(tenthsOfKilogram: 734, composition: Self.body)), for: .seconds(5))
        rig.give(device: .weigh(StandInWeighing(tenthsOfKilogram: 801, composition: Self.body)), for: .seconds(5))
        let live = rig.kept.dropFirst(count)
        #expect(live.map(\.tenthsOfKilogram) == [734, 801])
        #expect(live.allSatisfy { $0.composition == (model == .hs5 ? Self.body : nil) })
        #expect(rig.device.isIdle)
        #expect(rig.warnings == [])
    }

    @Test(arguments: ScaleModel.allCases)
    func `a link that ends at any byte loses nothing that the scale still holds`(model: ScaleModel) throws {
        var whole = try Self.rig(model, memory: 3, token: HSLToken("secret"))
        play(&whole)
        #expect(whole.carried > 2000)
        #expect(whole.warnings == [])
        let memory = try Self.memory(model, 3)
        func isWhole(_ rig: Rig) -> Bool {
            missing(memory, in: rig.kept) == 0 && rig.kept.contains { $0.tenthsOfKilogram == 911 } && rig.device.isIdle
                && (model == .hs3 || rig.device.scales[0].memory.isEmpty)
        }
        // Every byte takes a minute and a half; every seventh one hits each position of a line in some line.
        let step = Thoroughness.isWhole ? 7 : 47
        for cut in stride(from: 0, to: whole.carried, by: step) {
            var rig = try Self.rig(model, memory: 3, token: HSLToken("secret"))
            rig.bytesUntilCut = cut
            play(&rig)
            rig.disconnect()
            rig.connect()
            // Some cuts are watched for longer than necessary, because nothing more may come.
            rig.run(for: .seconds(80), until: { cut % 9 != 0 && isWhole($0) })
            #expect(isWhole(rig), "cut at \(cut)")
            // A weighing that came twice has the same key.
            let keys = Set(rig.kept.filter { $0.tenthsOfKilogram == 911 }.map(\.key))
            #expect(keys.count == 1, "cut at \(cut)")
        }
    }

    private func play(_ rig: inout Rig) {
        rig.connect(for: .seconds(5))
        rig.give(device: .weigh(StandInWeighing(tenthsOfKilogram: 911, composition: Self.body)), for: .seconds(5))
    }

    @Test(arguments: Thoroughness.seeds(60))
    func `whatever goes wrong on the way, all weighings are kept in the end`(seed: UInt64)
        throws
    {
        var random = SeededGenerator(seed: seed)
        let model = try #require(ScaleModel.allCases.randomElement(using: &random))
        var faults = StandInFaults()
        let isDeaf = random.chance(30)
        if random.chance(30) { faults.repeatEvery = Int.random(in: 1...3, using: &random) }
        if random.chance(30) { faults.badLineEvery = Int.random(in: 2...5, using: &random) }
        if random.chance(30) { faults.pieces = Int.random(in: 40...90, using: &random) }
        if random.chance(30) { faults.powerOffAfterRecords = Int.random(in: 1...8, using: &random) }
        if random.chance(20) { faults.overlongLine = true }
        if random.chance(20) { faults.busy = 2 }
        let count = Int.random(in: 0...40, using: &random)
        var rig = try Self.rig(model, memory: count, faults: faults)
        let memory = try Self.memory(model, count)
        for _ in 0..<60 where missing(memory, in: rig.kept) > 0 || !rig.host.isMeasuring {
            // A different number each time, because otherwise the same line would never be received.
            rig.device.faults.deafEvery = isDeaf ? Int.random(in: 4...9, using: &random) : nil
            if !rig.isLinked { rig.connect() }
            rig.run(for: .seconds(30))
            if rig.host.isMeasuring, missing(memory, in: rig.kept) > 0 { rig.disconnect() }
        }
        #expect(missing(memory, in: rig.kept) == 0, "seed \(seed)")
        #expect(Set(rig.kept.map(\.key)).count == count, "seed \(seed)")
    }

    @Test(arguments: ScaleModel.allCases) func `a weighing that could not be kept comes again, and none comes twice`(
        model: ScaleModel
    ) throws {
        var rig = try Self.rig(model, memory: 2)
        rig.keepAfter = nil
        rig.connect(for: .seconds(10))
        #expect(rig.kept.isEmpty && rig.device.scales[0].memory.count == 2)
        rig.keepAfter = .milliseconds(1)
        rig.run(for: .seconds(30))
        #expect(!rig.isLinked, "the link is made again, so that the device repeats")
        rig.connect(for: .seconds(70))
        #expect(rig.kept.count == 2)
    }

    @Test(arguments: Thoroughness.seeds(80))
    func `no lines disturb the state of the connector`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let model = try #require(ScaleModel.allCases.randomElement(using: &random))
        var rig = try Self.rig(model, memory: 2)
        rig.connect()
        rig.run(for: .milliseconds(Int.random(in: 0...2000, using: &random)))
        let words = HSLEventName.allCases.map(\.rawValue) + ["historyData", "nonsense"]
        for _ in 0..<40 where rig.isLinked {
            let reference = Int.random(in: 0...6, using: &random)
            let word = try #require(words.randomElement(using: &random))
            let number = try #require(["0", "1", "2", "5", "8", "72.3", "999", "-1"].randomElement(using: &random))
            let data = [
                #"{"code":\#(number),"weight":\#(number),"count":\#(number),"progress":\#(number),"ok":false}"#, "[]",
                "null", #"{"users":[{"serialNumber":\#(number),"position":3}]}"#, #"{"weight":71,"date":"x"}"#,
            ].randomElement(using: &random)
            let line =
                [
                    #"{"t":"evt","n":\#(reference),"ref":\#(reference),"dev":"\#(model.rawValue):020000003001","ev":"\#(word)","rid":"\#(number)","data":\#(data ?? "")}"#,
                    #"{"t":"res","ref":\#(reference),"status":"done"}"#,
                    #"{"t":"res","ref":\#(reference),"status":"failed","error":{"code":\#(number)}}"#,
                    #"{"t":"error","code":"busy","text":"","ref":\#(reference)}"#, "{", #"{"t":"pong","k":1}"#,
                ].randomElement(using: &random) ?? ""
            rig.give(host: .received(Array((line + "\n").utf8)))
            rig.run(for: .milliseconds(Int.random(in: 0...900, using: &random)))
        }
        rig.disconnect()
        rig.connect(for: .seconds(130))
        #expect(rig.host.isMeasuring, "seed \(seed)")
        #expect(missing(try Self.memory(model, 2), in: rig.kept) == 0, "seed \(seed)")
    }
}
