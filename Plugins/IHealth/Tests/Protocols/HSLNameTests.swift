import Testing

@testable import ScaleProtocols

/// How a weighing of HSL/1 is distinguished from another one, and from a repeat.
struct HSLNameTests {
    typealias Rig = HSLConnectorTests.Rig

    private static let hs3 = "HS3:020000003001"

    private func rig(_ uptime: Duration = .zero) throws -> (Rig, ref: Int) {
        var rig = Rig(.hs3)
        rig.uptime = uptime
        rig.meet(Self.hs3)
        return (rig, try #require(rig.requests.last?.id))
    }

    private func line(_ event: String, _ data: String, n: Int, ref: Int? = nil, rid: String? = nil) -> String {
        let (ref, rid) = (ref.map { #""ref":\#($0),"# } ?? "", rid.map { #""rid":"\#($0)","# } ?? "")
        return #"{"t":"evt","n":\#(n),\#(ref)\#(rid)"dev":"\#(Self.hs3)","ev":"\#(event)","data":\#(data)}"#
    }

    private func shared(_ event: HSLEventName, _ tenths: Int) throws -> String {
        try #require(HSLDeviceID(Self.hs3)).rid(event, nil, tenths: tenths)
    }

    @Test func `a weight without a time is recognised by its rid after a restart of the connector`() throws {
        var (first, _) = try rig()
        let told = line("stableWeight", #"{"weight":72.3}"#, n: 1, rid: "6f1c")
        first.say(told)
        var (second, _) = try rig()
        second.dialogue = HSLSession(settings: second.dialogue.settings, deviceId: nil, seed: [1])
        second.uptime = .seconds(900)
        second.meet(Self.hs3)
        second.say(told)
        let (one, other) = (try #require(first.open.first?.readings[0]), try #require(second.open.first?.readings[0]))
        #expect(one.key == other.key && one.isDatedByHost && one.key.count == 16)
        second.say(line("stableWeight", #"{"weight":72.3}"#, n: 2, rid: "6f1d"))
        #expect(second.open.count == 2 && second.open[1].readings[0].key != one.key)
    }

    @Test(arguments: [true, false]) func `the same weight on another day is another weighing if its rid has no time`(
        isGiven: Bool
    ) throws {
        var (rig, _) = try rig()
        let rid = try shared(.stableWeight, 723)
        for day in 1...3 {
            rig.uptime = .seconds(86_400 * day)
            rig.say(line("stableWeight", #"{"weight":72.3}"#, n: day, rid: isGiven ? rid : nil))
        }
        #expect(rig.open.count == 3 && rig.acknowledged == [rid, rid, rid], "the device can make it so itself")
        #expect(rig.warnings.contains { $0.contains("neither a time nor a rid") })
    }

    @Test func `a repeated line is one weighing, and a bridge that does not count lines loses none`() throws {
        var (rig, ref) = try rig()
        let weight = line("stableWeight", #"{"weight":72.3}"#, n: 2, ref: ref)
        rig.say(line("authentication", #"{"code":2}"#, n: 1, ref: ref))
        rig.say(weight)
        rig.uptime += .seconds(5)
        rig.say(weight)
        #expect(rig.open.count == 1 && rig.acknowledged.count == 2)
        (rig, ref) = try self.rig()
        let uncounted = line("stableWeight", #"{"weight":72.3}"#, n: 1, ref: ref)
        rig.say(line("authentication", #"{"code":2}"#, n: 1, ref: ref))
        for _ in 0..<3 {
            rig.uptime += .seconds(60)
            rig.say(uncounted)
        }
        #expect(rig.open.count == 3)
    }

    @Test func `weighings of one weight that only a UTC date distinguishes are all delivered`() throws {
        var (rig, _) = try rig()
        for (n, day) in [13, 14, 15].enumerated() {
            rig.say(line("memoryRecord", #"{"weight":72.3,"date":"2024-03-\#(day)T06:30:00Z"}"#, n: n + 1))
        }
        #expect(Set(rig.open.map { $0.readings[0].key }).count == 3)
        #expect(rig.acknowledged.count == 3)
    }

    @Test func `weighings without rid and date are distinguished by their members, and by their order`() throws {
        let datas = [
            #"{"weight":72.3,"date":"yesterday"}"#, #"{"weight":72.3,"date":"today"}"#,
            #"{"weight":72.3,"date":"today"}"#,
        ]
        var keys: [[[UInt8]]] = []
        for _ in 0..<2 {
            var (rig, ref) = try rig()
            for (n, data) in datas.enumerated() { rig.say(line("memoryRecord", data, n: n + 1, ref: ref)) }
            // Repeat the last line.
            rig.say(line("memoryRecord", datas[2], n: 3, ref: ref))
            #expect(rig.acknowledged.count == 4)
            keys.append(rig.open.map { $0.readings[0].key })
        }
        #expect(Set(keys[0]).count == 3)
        #expect(keys[0] == keys[1], "told again they are the same")
    }

    @Test func `a weighing with its own rid and without a date is distinct, however similar others are`() throws {
        var (rig, ref) = try rig()
        for (n, rid) in ["a", "b", "a"].enumerated() {
            rig.say(line("memoryRecord", #"{"weight":72.3}"#, n: n + 1, ref: ref, rid: rid))
        }
        #expect(rig.open.count == 2 && rig.acknowledged == ["a", "b", "a"])
        #expect(Set(rig.open.map { $0.readings[0].key }).count == 2)
    }

    @Test func `a weighing that was not kept is not acknowledged by another one with the same rid`() throws {
        var (rig, ref) = try rig()
        rig.keeps = false
        for (n, day) in [13, 14].enumerated() {
            rig.say(line("memoryRecord", #"{"weight":72.3,"date":"2024-03-\#(day)T06:30:00Z"}"#, n: n + 1, ref: ref))
        }
        rig.give(.notKept(rig.open[0].token))
        rig.give(.kept(rig.open[1].token))
        #expect(rig.acknowledged.isEmpty)
        rig.pass(.seconds(31))
        #expect(rig.isClosed, "so that both are sent again")
    }

    @Test(arguments: [1, 3, 5, 30]) func `a late composition belongs to the weight before it`(seconds: Int) throws {
        var rig = Rig(.hs5) { $0.measures = 11 }
        rig.meet("HS5:020000005001")
        func tell(_ name: String, _ data: String, ref: Int?) {
            let ref = ref.map { #""ref":\#($0),"# } ?? ""
            rig.say(#"{"t":"evt","n":1,\#(ref)"dev":"HS5:020000005001","ev":"\#(name)","data":\#(data)}"#)
        }
        tell("authentication", #"{"code":2}"#, ref: 2)
        tell("userList", #"{"users":[{"serialNumber":11,"position":0}]}"#, ref: 2)
        rig.say(#"{"t":"res","ref":2,"status":"done"}"#)
        rig.say(#"{"t":"res","ref":3,"status":"done"}"#)
        let measure = try #require(rig.requests.last { $0.operation == .hs5Measure }?.id)
        tell("unstableWeight", #"{"weight":84.3}"#, ref: measure)
        tell("stableWeight", #"{"weight":84.2}"#, ref: measure)
        for _ in 0..<seconds {
            rig.pass(.seconds(1))
            // The request was given up meanwhile.
            if case .cancel(let ref)? = rig.sent.last { rig.say(#"{"t":"res","ref":\#(ref),"status":"cancelled"}"#) }
            if case .ping(let mark)? = rig.sent.last { rig.say(#"{"t":"pong","k":\#(mark)}"#) }
        }
        tell("bodyComposition", #"{"weight":84.2,"fat":47.7,"local":"2024-03-15 19:05:01"}"#, ref: nil)
        let readings = rig.open.flatMap(\.readings)
        let composed = try #require(readings.last)
        #expect(composed.isComposed && composed.user == 11)
        if readings.count == 2 {
            #expect(composed.shownAs == readings[0].key, "delivered alone, after four seconds of silence")
        } else {
            #expect(readings.count == 1 && composed.shownAs != nil && seconds < 4)
        }
    }
}
