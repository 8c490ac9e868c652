import JSON
import Testing

@testable import ScaleProtocols

/// Commands over HSL/1, and several scales behind one link, line by line.
struct HSLCommandTests {
    typealias Rig = HSLConnectorTests.Rig

    private static let hs3 = "HS3:020000003001"
    private static let first = "HS4:020000004001"
    private static let second = "HS4:020000004002"

    private func event(_ device: String, _ name: String, _ ref: Int, _ data: String, n: Int = 1) -> String {
        #"{"t":"evt","n":\#(n),"ref":\#(ref),"dev":"\#(device)","ev":"\#(name)","data":\#(data)}"#
    }

    /// A HS3 in the middle of a memory transfer, and the number of its request.
    private func transferring() throws -> (Rig, Int) {
        var rig = Rig(.hs3)
        rig.meet(Self.hs3)
        let ref = try #require(rig.requests.last?.id)
        rig.say(event(Self.hs3, "authentication", ref, #"{"code":2}"#))
        rig.say(event(Self.hs3, "memoryStart", ref, #"{"ok":true}"#))
        rig.say(event(Self.hs3, "memoryCount", ref, #"{"count":1}"#))
        return (rig, ref)
    }

    private func results(_ rig: Rig) -> [Bool] {
        rig.events.compactMap { if case .commandResult(let isDone) = $0 { isDone } else { nil } }
    }

    private var cancels: (Rig) -> [Int] {
        { rig in rig.sent.compactMap { if case .cancel(let ref) = $0 { ref } else { nil } } }
    }

    /// Plays the rest of a transfer, and the bridge's answers to the command that waited for it.
    private func finish(_ rig: inout Rig, _ ref: Int, _ operation: HSLOperation) throws {
        rig.say(event(Self.hs3, "memoryFinish", ref, #"{"records":0}"#))
        #expect(cancels(rig).last == ref, "the open request makes room")
        rig.say(#"{"t":"res","ref":\#(ref),"status":"cancelled"}"#)
        let command = try #require(rig.requests.last)
        #expect(command.operation == operation)
        rig.say(event(Self.hs3, "result", command.id, #"{"ok":true}"#))
        rig.say(#"{"t":"res","ref":\#(command.id),"status":"done"}"#)
    }

    @Test func `a command during a memory transfer is carried out after it, and so is the next one`() throws {
        var (rig, ref) = try transferring()
        rig.give(.command(.autoConnect(false)))
        #expect(cancels(rig).isEmpty, "a transfer is not broken off")
        try finish(&rig, ref, .hs3AutoConnectOff)
        #expect(results(rig) == [true])
        // The next command comes at once, while the memory is being requested again.
        let again = try #require(rig.requests.last)
        #expect(again.operation == .hs3Init)
        rig.give(.command(.autoConnect(true)))
        rig.say(event(Self.hs3, "authentication", again.id, #"{"code":2}"#))
        rig.say(event(Self.hs3, "memoryStart", again.id, #"{"ok":true}"#))
        rig.say(event(Self.hs3, "memoryCount", again.id, #"{"count":0}"#))
        try finish(&rig, again.id, .hs3AutoConnectOn)
        #expect(results(rig) == [true, true])
        #expect(rig.requests.last?.operation == .hs3Init, "weighings are awaited again")
    }

    @Test func `a waiting command can be withdrawn, and one that the bridge has cannot`() throws {
        var (rig, ref) = try transferring()
        rig.give(.command(.autoConnect(false)))
        rig.give(.withdraw())
        #expect(results(rig) == [false])
        rig.say(event(Self.hs3, "memoryFinish", ref, #"{"records":0}"#))
        #expect(cancels(rig).isEmpty && rig.requests.last?.id == ref, "it is not carried out later")
        rig.give(.withdraw())
        #expect(results(rig) == [false], "there is nothing to take back")
        rig.give(.command(.autoConnect(false)))
        rig.say(#"{"t":"res","ref":\#(ref),"status":"cancelled"}"#)
        let command = try #require(rig.requests.last)
        rig.give(.withdraw())
        rig.say(event(Self.hs3, "result", command.id, #"{"ok":true}"#))
        rig.say(#"{"t":"res","ref":\#(command.id),"status":"done"}"#)
        #expect(results(rig) == [false, true])
    }

    private func units(_ rig: Rig) -> [Int?] {
        rig.requests.filter { $0.operation == .hs4Measure }.map { $0.arguments["unit"]?.whole }
    }

    @Test func `a unit that changes while a measurement is opened is displayed at once by the next one`() throws {
        var rig = Rig(.hs4)
        rig.meet(Self.first)
        let memory = try #require(rig.requests.last)
        rig.say(#"{"t":"res","ref":\#(memory.id),"status":"done"}"#)
        let measurement = try #require(rig.requests.last)
        #expect(measurement.operation == .hs4Measure && units(rig) == [1])
        rig.give(.command(.display(.pounds)))
        #expect(cancels(rig).isEmpty, "a measurement that has not begun is not cancelled")
        rig.say(event(Self.first, "authentication", measurement.id, #"{"code":2}"#))
        #expect(cancels(rig) == [measurement.id])
        rig.say(#"{"t":"res","ref":\#(measurement.id),"status":"cancelled"}"#)
        #expect(units(rig) == [1, 2])
        let second = try #require(rig.requests.last)
        rig.say(event(Self.first, "authentication", second.id, #"{"code":2}"#, n: 2))
        #expect(cancels(rig) == [measurement.id], "it has the unit")
    }

    @Test func `the display unit is known before a scale connects, and sent with each measurement`() throws {
        var rig = Rig(.hs4)
        rig.give(.command(.display(.pounds)))
        rig.meet(Self.first)
        // The memory is requested first, and refused because no person was admitted yet.
        let memory = try #require(rig.requests.last)
        rig.say(#"{"t":"res","ref":\#(memory.id),"status":"failed","error":{"code":111}}"#)
        #expect(units(rig) == [2])
    }

    @Test func `all scales behind a link are served, and a command names its scale`() throws {
        var rig = Rig(.hs3)
        rig.meet(Self.hs3)
        rig.say(
            #"{"t":"evt","n":1,"dev":"HS3:020000003002","ev":"deviceConnected","data":{"model":"HS3","firmware":"1.0.2"}}"#
        )
        let asked = rig.requests.filter { $0.operation == .hs3Init }
        #expect(asked.map { $0.device?.deviceId } == ["020000003001", "020000003002"])
        #expect(rig.scales == ["020000003001", "020000003002"] && rig.warnings.isEmpty, "\(rig.warnings)")
        for request in asked {
            let device = try #require(request.device)
            rig.say(event("\(device)", "authentication", request.id, #"{"code":2}"#, n: 2))
            rig.say(event("\(device)", "memoryFinish", request.id, #"{"records":0}"#, n: 3))
        }
        #expect(rig.dialogue.isMeasuring)
        rig.give(.command(.autoConnect(false)))
        #expect(results(rig) == [false], "it is not said which")
        rig.give(.command(.autoConnect(false), of: "020000003002"))
        #expect(cancels(rig) == [asked[1].id])
    }

    @Test func `with the id of one scale, another scale behind the link is left alone`() throws {
        var rig = Rig(.hs3, deviceId: "020000003002")
        rig.meet(Self.hs3)
        #expect(!rig.requests.contains { $0.operation == .hs3Init })
        #expect(rig.warnings.contains { $0.contains("HS3:020000003001") && $0.contains("device_id") })
    }

    @Test func `requests that need a person include the height, and on a HS5 that of the user`() throws {
        var rig = Rig(.hs5) { $0.measures = 22 }
        rig.give(.heights(anyone: nil, bySerial: [:]))
        rig.meet("HS5:020000005001")
        let open = try #require(rig.requests.last)
        #expect(open.operation == .hs5OpenUsers && open.arguments["user"]?["height"] == nil)
        rig.say(
            event(
                "HS5:020000005001", "userList", open.id,
                #"{"users":[{"serialNumber":11,"position":0},{"serialNumber":22,"position":3}]}"#))
        rig.give(.heights(anyone: nil, bySerial: [11: 168, 22: 183], of: "020000005001"))
        rig.say(#"{"t":"res","ref":\#(open.id),"status":"done"}"#)
        for _ in 0..<2 {
            let memory = try #require(rig.requests.last)
            #expect(memory.operation == .hs5Memory)
            rig.say(#"{"t":"res","ref":\#(memory.id),"status":"done"}"#)
        }
        let measure = try #require(rig.requests.last)
        #expect(measure.operation == .hs5Measure && measure.arguments["user"]?["height"]?.whole == 183)
        var plain = Rig(.hs4)
        plain.give(.heights(anyone: 172, bySerial: [:]))
        plain.meet(Self.first)
        plain.say(#"{"t":"res","ref":\#(try #require(plain.requests.last).id),"status":"failed","error":{"code":111}}"#)
        #expect(plain.requests.last?.operation == .hs4Measure)
        #expect(plain.requests.last?.arguments["user"]?["height"]?.whole == 172)
    }
}
