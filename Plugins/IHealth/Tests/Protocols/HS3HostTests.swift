import HubProcess
import Platform
import Testing

@testable import ScaleProtocols

/// The host with hand-made frames; its actions are compared completely.
struct HS3HostTests {
    let wall: WallTime
    var host: HS3Host
    var uptime = Duration.zero

    init() throws {
        wall = try #require(WallTime("2026-11-20 07:30:00"))
        var settings = HS3Host.Settings()
        settings.timing.openAfter = .zero
        host = HS3Host(settings: settings)
    }

    mutating func give(_ input: ScaleInput, after delay: Duration = .zero) -> [ScaleAction] {
        uptime += delay
        return host.handle(input, at: ScaleMoment(uptime: uptime, wall: wall))
    }

    mutating func hear(_ command: HS3Command, _ sequence: UInt8, _ data: [UInt8] = []) -> [ScaleAction] {
        give(.received(HS3Frame(checked: .scale, command.rawValue, sequence, data).bytes))
    }

    static func frame(_ command: HS3Command, _ sequence: UInt8, _ data: [UInt8] = []) -> ScaleAction {
        .send(HS3Frame(checked: .host, command.rawValue, sequence, data).bytes)
    }

    /// Answers up to the question for the memory; `count` is the number of records that the scale announces.
    mutating func open(count: UInt8) -> [ScaleAction] {
        _ = give(.linkOpened)
        _ = hear(.acknowledge, 1)
        _ = hear(.clock, 0, [0x26, 0x11, 0x20, 0x07, 0x30, 0x46])
        _ = hear(.idBlock, 1, Array(repeating: 0xFF, count: 16))
        _ = hear(.acknowledge, 4)
        _ = hear(.acknowledge, 5)
        return hear(.memoryCount, 2, [count])
    }

    func token(_ actions: [ScaleAction]) -> ScaleToken? {
        for case .deliver(let delivery) in actions { return delivery.token }
        return nil
    }

    static func weight(_ day: Int) throws -> [UInt8] {
        let time = try #require(WallTime(2026, 11, day, 7, 1, 2))
        return try #require(HS3Record(time, tenthsOfKilogram: 731)).bytes
    }

    @Test mutating func `nothing is acknowledged before it is kept`() throws {
        _ = open(count: 0)
        let arrival = hear(.weight, 3, try HS3HostTests.weight(20))
        let token = try #require(self.token(arrival))
        #expect(arrival.count == 1)
        #expect(hear(.weight, 3, try HS3HostTests.weight(20)) == [], "the repeat of a frame that is being kept")
        let answer = give(.kept(token))
        #expect(answer.first == HS3HostTests.frame(.acknowledge, 4))
        #expect(answer.count == 2)
        #expect(give(.kept(token)) == [], "a token is answered once")
    }

    @Test mutating func `a reading that could not be kept is delivered again when the scale repeats it`() throws {
        _ = open(count: 0)
        let first = try #require(self.token(hear(.weight, 3, try HS3HostTests.weight(20))))
        #expect(give(.notKept(first)) == [])
        let second = try #require(self.token(hear(.weight, 3, try HS3HostTests.weight(20))))
        #expect(second != first)
        #expect(give(.kept(second)).first == HS3HostTests.frame(.acknowledge, 4))
    }

    @Test mutating func `a repeated weight that was kept is acknowledged again and not delivered`() throws {
        _ = open(count: 0)
        let kept = try #require(self.token(hear(.weight, 3, try HS3HostTests.weight(20))))
        _ = give(.kept(kept))
        #expect(hear(.weight, 3, try HS3HostTests.weight(20)) == [HS3HostTests.frame(.acknowledge, 4)])
        let underNewNumber = hear(.weight, 9, try HS3HostTests.weight(20))
        #expect(underNewNumber.first == HS3HostTests.frame(.acknowledge, 10))
        #expect(token(underNewNumber) == nil)
    }

    @Test mutating func `a weight in any state is delivered and acknowledged`() throws {
        _ = give(.linkOpened)
        let inputs: [(HS3Command, UInt8, [UInt8])] = [
            (.acknowledge, 1, []), (.clock, 0, [0x26, 0x11, 0x20, 0x07, 0x30, 0x46]), (.idBlock, 1, [0xFF]),
            (.acknowledge, 4, []), (.acknowledge, 5, []), (.memoryCount, 2, [1]), (.acknowledge, 5, []),
        ]
        for (day, input) in inputs.enumerated() {
            let number = UInt8(0x40 + day)
            let token = try #require(
                token(hear(.weight, number, try HS3HostTests.weight(1 + day))), "before \(input.0)")
            #expect(give(.kept(token)).first == HS3HostTests.frame(.acknowledge, number + 1))
            _ = hear(input.0, input.1, input.2)
        }
        #expect(host.phase != .offline)
    }

    @Test mutating func `an unanswered command is repeated after 800 ms and then every 300 ms, three times`() {
        _ = open(count: 2)
        let question = HS3HostTests.frame(.startMemory, 5, [0, 0, 0])
        #expect(give(.tick, after: .milliseconds(799)) == [])
        #expect(give(.tick, after: .milliseconds(1)) == [question])
        #expect(give(.tick, after: .milliseconds(299)) == [])
        #expect(give(.tick, after: .milliseconds(1)) == [question])
        #expect(give(.tick, after: .milliseconds(300)) == [question])
        #expect(
            give(.tick, after: .milliseconds(300)) == [
                .event(.memoryStart(false)), .event(.deviceError(.noAnswer(.hs3))), .close,
            ])
        #expect(give(.linkClosed) == [.event(.disconnected)])
    }

    @Test mutating func `a scale that answers nothing and weighs nothing is given up after six seconds`() {
        let open = HS3HostTests.frame(.open, 1)
        #expect(give(.linkOpened) == [open])
        var repeats = 0
        while let due = host.deadline, due < .seconds(6) { repeats += give(.tick, after: due - uptime).count }
        #expect(repeats == 3)
        #expect(host.deadline == .seconds(6))
        #expect(give(.tick, after: .seconds(6) - uptime) == [.event(.deviceError(.noAnswer(.hs3))), .close])
    }

    @Test mutating func `a transfer that stops for six seconds is given up, but not while the spool is busy`() throws {
        _ = open(count: 2)
        _ = hear(.acknowledge, 5)
        let records = try weighings(2)
        let token = try #require(self.token(hear(.memory, 3, records[1].bytes + [1])))
        #expect(host.deadline == nil)
        _ = give(.kept(token), after: .seconds(60))
        #expect(host.deadline == .seconds(66))
        #expect(give(.tick, after: .seconds(6)) == [.event(.deviceError(.noAnswer(.hs3))), .close])
    }

    @Test mutating func `an empty memory is information and ends the transfer at once`() {
        #expect(
            open(count: 0) == [
                HS3HostTests.frame(.acknowledge, 3), .event(.memoryCount(0)), .event(.memoryFinish(records: 0)),
                .event(.deviceError(.noMemory(.hs3))),
            ])
        #expect(host.isMeasuring)
        #expect(host.deadline == nil)
    }

    @Test mutating func `a count above 200 counts as 200 with a warning`() {
        let actions = open(count: 201)
        #expect(actions.contains(.event(.protocolWarning(.memoryCountAboveLimit(201)))))
        #expect(hear(.acknowledge, 5).contains(.event(.memoryCount(200))))
    }

    @Test mutating func `a record with a digit above nine is dropped, and the rest of its frame is used`() throws {
        _ = open(count: 2)
        _ = hear(.acknowledge, 5)
        let records = try weighings(2)
        var data = records[1].bytes + [1] + records[0].bytes + [0]
        data[4] = 0xA7
        let actions = hear(.memory, 3, data)
        #expect(actions.first == .event(.protocolWarning(.badWeightDigits(command: 0x21, sequence: 3))))
        let token = try #require(self.token(actions))
        let end = give(.kept(token))
        #expect(end.contains(.event(.memoryProgress(0.5))) && end.contains(.event(.memoryProgress(1))))
        #expect(end.last == .event(.memoryFinish(records: 1)))
    }

    @Test mutating func `a weighing without a date is delivered with its bytes`() throws {
        _ = open(count: 0)
        var data = try HS3HostTests.weight(20)
        (data[0], data[1]) = (data[0] & 0xFC, data[1] & 1)
        let actions = hear(.weight, 3, data)
        guard case .deliver(let delivery) = try #require(actions.first) else {
            Issue.record("not delivered")
            return
        }
        #expect(delivery.readings.map(\.time) == [nil])
        #expect(delivery.readings.map(\.key) == [data])
    }

    @Test mutating func `a weight beyond 150 kg is the error of an overloaded scale`() throws {
        _ = open(count: 0)
        let heavy = try #require(HS3Record(wall, tenthsOfKilogram: 1501)).bytes
        #expect(
            hear(.weight, 3, heavy) == [
                .event(.deviceError(.overCapacity(.hs3))), HS3HostTests.frame(.acknowledge, 4),
            ])
    }

    @Test mutating func `errors and frames without meaning are acknowledged`() {
        _ = open(count: 0)
        #expect(
            hear(.error, 3, [0xE7]) == [
                HS3HostTests.frame(.acknowledge, 4), .event(.deviceError(.sent(0xE7, by: .hs3))),
            ])
        let unknown = HS3Frame(checked: .scale, 0x30, 4, []).bytes
        #expect(give(.received(unknown)) == [HS3HostTests.frame(.acknowledge, 5)])
        #expect(
            hear(.weight, 5, [1, 2]) == [
                HS3HostTests.frame(.acknowledge, 6),
                .event(.protocolWarning(.malformed(command: 0x28, sequence: 5))),
            ])
    }

    @Test mutating func `a lost link is error 6 and then disconnected; one ended here is not an error`() {
        _ = open(count: 0)
        #expect(give(.linkClosed) == [.event(.deviceError(.disconnected(.hs3))), .event(.disconnected)])
        #expect(give(.linkClosed) == [])
        _ = open(count: 0)
        #expect(give(.stop) == [.close])
        #expect(give(.stop) == [])
        #expect(give(.linkClosed) == [.event(.disconnected)])
    }

    @Test mutating func `a kept answer after the loss of the link prevents a second delivery`() throws {
        _ = open(count: 0)
        let token = try #require(self.token(hear(.weight, 3, try HS3HostTests.weight(20))))
        _ = give(.linkClosed)
        #expect(give(.kept(token)) == [])
        _ = give(.linkOpened)
        let again = hear(.weight, 3, try HS3HostTests.weight(20))
        #expect(again.first == HS3HostTests.frame(.acknowledge, 4))
        #expect(self.token(again) == nil)
    }

    @Test mutating func `a host with a date outside the scale's range does not set its clock`() throws {
        let late = try #require(WallTime("2071-01-01"))
        _ = host.handle(.linkOpened, at: ScaleMoment(uptime: .zero, wall: late))
        let idBlock = HS3Frame(checked: .scale, HS3Command.idBlock.rawValue, 0, [0xFF]).bytes
        let actions = host.handle(.received(idBlock), at: ScaleMoment(uptime: .zero, wall: late))
        #expect(actions.contains(.event(.protocolWarning(.clockOutOfRange))))
        #expect(actions.contains { if case .send(let bytes) = $0 { bytes[3] == 0x25 } else { false } })
    }

    @Test mutating func `a scale that floods the host is not acknowledged and costs bounded memory`() throws {
        _ = open(count: 0)
        var (delivered, refused) = (0, 0)
        for number in 0..<5000 {
            let time = try #require(wall.adding(seconds: number))
            let data = try #require(HS3Record(time, tenthsOfKilogram: 700)).bytes
            for action in hear(.weight, UInt8(truncatingIfNeeded: number), data) {
                switch action {
                case .deliver: delivered += 1
                case .event(.protocolWarning(.tooManyUnanswered)): refused += 1
                default: Issue.record("\(action)")
                }
            }
        }
        #expect(delivered == 32)
        #expect(refused == 5000 - 32)
        #expect(host.recentFrames.count <= HS3Host.recentFrameLimit)
    }

    @Test(arguments: Thoroughness.seeds(150))
    mutating func `no bytes and no order of inputs crash the host`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var tokens: [ScaleToken] = []
        for _ in 0..<300 {
            let input: ScaleInput
            switch Int.random(in: 0..<12, using: &random) {
            case 0: input = .linkOpened
            case 1: input = [.linkClosed, .stop].randomElement(using: &random) ?? .stop
            case 2: input = .tick
            case 3: input = tokens.popLast().map { .kept($0) } ?? .tick
            case 4: input = tokens.popLast().map { .notKept($0) } ?? .tick
            case 5: input = .received((0..<50).map { _ in .random(in: 0...255, using: &random) })
            default:
                let command = HS3Command.allCases.randomElement(using: &random) ?? .clock
                let data = (0..<([0, 1, 6, 7, 14, 16].randomElement(using: &random) ?? 0)).map { _ in
                    UInt8.random(in: 0...(Bool.random(using: &random) ? 255 : 9), using: &random)
                }
                let number = UInt8.random(in: 0...8, using: &random)
                input = .received(HS3Frame(checked: .scale, command.rawValue, number, data).bytes)
            }
            for action in give(input, after: .milliseconds(.random(in: 0...900, using: &random))) {
                if case .deliver(let delivery) = action { tokens.append(delivery.token) }
                if case .send(let bytes) = action { #expect(bytes.first == 0xB0) }
            }
        }
        #expect(Array(host.deliveries.current).count <= 32)
    }
}
