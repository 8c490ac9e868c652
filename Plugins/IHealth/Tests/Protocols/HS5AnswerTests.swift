import ScaleStandIns
import Testing

@testable import ScaleProtocols

/// Messages of a HS5 that come late, or after a silence.
struct HS5AnswerTests {
    private static let id = HS5Device.Profile().id
    private static let body = HS5Record.Composition(
        fat: 231, water: 540, muscle: 412, bone: 31, visceralFat: 7, dailyCalories: 2210)

    /// A host without a scale, and its messages.
    struct Rig {
        var host: HS5Host
        var uptime = Duration.zero
        var sent: [FamilyMessage] = []
        var events: [ScaleEvent] = []
        var kept: [ScaleReading] = []

        init() {
            var settings = HS5Host.Settings()
            settings.measures = 11
            host = HS5Host(settings: settings)
        }

        var now: ScaleMoment {
            let start = WallTime(2026, 11, 20, 7, 30, 0) ?? .startOf2000
            return ScaleMoment(
                uptime: uptime, wall: start.adding(seconds: Int(uptime.components.seconds)) ?? start)
        }

        mutating func give(_ input: ScaleInput) {
            for action in host.handle(input, at: now) {
                switch action {
                case .send(let bytes), .search(let bytes):
                    if let datagram = HS5Datagram(bytes) { sent.append(datagram.message) }
                case .deliver(let delivery):
                    kept += delivery.readings
                    give(.kept(delivery.token))
                case .event(let event): events.append(event)
                case .settle, .of, .close: break
                }
            }
        }

        mutating func pass(_ time: Duration) {
            let end = uptime + time
            while let next = host.deadline, next <= end {
                uptime = max(uptime, next)
                give(.tick)
            }
            uptime = end
        }

        mutating func say(
            _ command: FamilyCommand, _ data: [UInt8], _ sequence: UInt8, isAnswer: Bool = false
        ) throws {
            let bytes = HS5Datagram.bytes(
                from: .scale, command.rawValue, data, sequence: sequence, isAnswer: isAnswer,
                sender: HS5AnswerTests.id)
            give(.received(try #require(bytes)))
        }

        /// Lets time pass, with a scale that answers and whose memory is empty.
        mutating func passServed(_ time: Duration) throws {
            let end = uptime + time
            while let next = host.deadline, next <= end {
                uptime = max(uptime, next)
                give(.tick)
                while let bytes = host.request?.frames.first, let asked = HS5Datagram(bytes)?.message {
                    switch FamilyCommand(rawValue: asked.command) {
                    case .users: try say(.users, HS5ScaleMessage.listData([11, 22]), asked.sequence &+ 1)
                    case .openMemory: try say(.openMemory, [2], asked.sequence &+ 1)
                    case .memorySummary: try say(.memorySummary, [0, 0], asked.sequence &+ 1)
                    case .end: try say(.end, [], asked.sequence &+ 1)
                    default: try say(.measure, [], asked.sequence &+ 1, isAnswer: true)
                    }
                }
                try say(.identity, HS5Device.Profile().identity.bytes, 1)
            }
            uptime = end
        }

        /// Answers the last question.
        mutating func answer(_ command: FamilyCommand, _ data: [UInt8]) throws {
            let last = try #require(sent.last)
            #expect(last.command == command.rawValue)
            try say(command, data, last.sequence &+ 1)
        }

        var late: Int {
            events.count { if case .protocolWarning(.lateAnswer) = $0 { true } else { false } }
        }
        /// The number of questions with this command.
        func asked(_ command: FamilyCommand) -> Int { sent.count { $0.command == command.rawValue } }
    }

    private func record(_ second: Int, _ tenths: Int = 700) throws -> HS5Record {
        let time = try #require(WallTime(2026, 11, 19, 7, 30, second))
        return try #require(HS5Record(time, tenthsOfKilogram: tenths, Self.body))
    }

    private func packet(_ records: [HS5Record], more: Bool) -> [UInt8] {
        [0, 0, UInt8(records.count), more ? 1 : 0] + records.flatMap(\.bytes)
    }

    /// A host whose scale has two users, 11 and 22; it has asked for the first one's memory.
    private func opened() throws -> Rig {
        var rig = Rig()
        rig.give(.linkOpened)
        try rig.say(.identity, HS5Device.Profile().identity.bytes, 1)
        try rig.answer(.users, HS5ScaleMessage.listData([11, 22]))
        return rig
    }

    @Test func `a late repeat of a packet is not taken for the next one, which would be lost`() throws {
        var rig = try opened()
        try rig.answer(.openMemory, [2])
        try rig.answer(.memorySummary, [0, 2])
        let first = packet([try record(1)], more: true)
        let number = try #require(rig.sent.last).sequence &+ 1
        try rig.answer(.memoryRecords, first)
        #expect(rig.asked(.memoryRecords) == 2)
        // Another message in between, so that the packet is no repeat of the previous message.
        try rig.say(.unstableWeight, [3, 9], 99)
        try rig.say(.memoryRecords, first, number)
        #expect(rig.asked(.memoryRecords) == 2, "the scale would forget the second packet")
        #expect(rig.late == 1)
        let second = packet([try record(2)], more: false)
        let request = try #require(rig.sent.last { $0.command == FamilyCommand.memoryRecords.rawValue })
        try rig.say(.memoryRecords, second, request.sequence &+ 1)
        #expect(rig.kept.count == 2)
    }

    @Test func `a packet of one user is never given to the next`() throws {
        var rig = try opened()
        try rig.answer(.openMemory, [2])
        try rig.answer(.memorySummary, [0, 1])
        let packet = packet([try record(1)], more: false)
        let number = try #require(rig.sent.last).sequence &+ 1
        try rig.answer(.memoryRecords, packet)
        try rig.answer(.end, [])
        try rig.answer(.openMemory, [2])
        try rig.answer(.memorySummary, [0, 1])
        try rig.say(.memoryRecords, packet, number)
        #expect(rig.kept.map(\.user) == [11] && rig.late == 1)
        let own = [try record(2)]
        try rig.answer(.memoryRecords, self.packet(own, more: false))
        #expect(rig.kept.map(\.user) == [11, 22])
    }

    @Test func `an answer to another question is ignored, and the question is asked again`() throws {
        var rig = try opened()
        let asked = try #require(rig.sent.last)
        try rig.say(.openMemory, [1], asked.sequence &+ 7)
        #expect(rig.late == 1 && rig.sent.last == asked && rig.events.contains(.memoryStart(false)) == false)
        rig.pass(.milliseconds(600))
        #expect(rig.sent.last == asked && rig.asked(.openMemory) == 2)
        try rig.answer(.openMemory, [2])
        #expect(rig.asked(.memorySummary) == 1)
    }

    @Test func `the end of a weighing is not the end of a memory`() throws {
        var rig = try opened()
        try rig.answer(.openMemory, [2])
        try rig.answer(.memorySummary, [0, 0])
        #expect(rig.asked(.end) == 1)
        try rig.say(.end, [], 77)
        #expect(rig.asked(.openMemory) == 1, "the memory of the next user is not asked for")
        let end = try #require(rig.sent.last { $0.command == FamilyCommand.end.rawValue })
        try rig.say(.end, [], end.sequence &+ 1)
        #expect(rig.asked(.openMemory) == 2)
        rig.pass(.seconds(1))
        #expect(rig.sent.contains { $0.command == FamilyCommand.end.rawValue && $0.isAnswer }, "and it is confirmed")
    }

    /// A host whose measurement of user 11 is open.
    private func measuring() throws -> Rig {
        var rig = try opened()
        for _ in 0..<2 {
            try rig.answer(.openMemory, [2])
            try rig.answer(.memorySummary, [0, 0])
            try rig.answer(.end, [])
        }
        #expect(rig.asked(.measure) == 1)
        return rig
    }

    @Test(arguments: [0, 1, 3, 4, 5, 9, 30, 300], [true, false])
    func `a composition belongs to the weight before it, however long the scale was silent`(
        seconds: Int, hasImpedance: Bool
    ) throws {
        var rig = try measuring()
        try rig.say(.unstableWeight, [3, 9], 100)
        try rig.say(.stableWeight, [3, 9], 101)
        if hasImpedance { try rig.say(.impedanceWeight, [3, 9], 102) }
        try rig.passServed(.seconds(seconds))
        let record = try #require(HS5Record(rig.now.wall, tenthsOfKilogram: 777, Self.body))
        try rig.say(.composition, record.bytes, 103)
        let composed = try #require(rig.kept.last)
        #expect(composed.composition == Self.body)
        if seconds < 4 {
            #expect(rig.kept.count == 1 && composed.shownAs == nil)
        } else {
            #expect(rig.kept.count == 2 && composed.shownAs == rig.kept[0].key)
        }
    }

    @Test func `a person who steps on after the silence has a new weighing`() throws {
        var rig = try measuring()
        try rig.say(.stableWeight, [3, 9], 101)
        try rig.passServed(.seconds(10))
        try rig.say(.unstableWeight, [3, 9], 110)
        try rig.say(.stableWeight, [3, 9], 111)
        let record = try #require(HS5Record(rig.now.wall, tenthsOfKilogram: 777, Self.body))
        try rig.say(.composition, record.bytes, 112)
        #expect(rig.kept.count == 2 && rig.kept[1].shownAs == nil)
    }

    @Test func `a stable weight that the scale repeats is not a new weighing`() throws {
        var rig = try measuring()
        try rig.say(.stableWeight, [3, 9], 101)
        try rig.passServed(.seconds(5))
        #expect(rig.kept.count == 1)
        try rig.say(.impedanceWeight, [3, 9], 102)
        try rig.say(.stableWeight, [3, 9], 101)
        try rig.passServed(.seconds(10))
        #expect(rig.kept.count == 1)
    }

    @Test func `a stable weight is kept even if an error follows`() throws {
        var rig = try measuring()
        try rig.say(.stableWeight, [3, 9], 101)
        try rig.say(.error, [0xE7], 102)
        #expect(rig.kept.map(\.tenthsOfKilogram) == [777])
        #expect(rig.events.contains { if case .deviceError = $0 { true } else { false } })
    }
}
