import JSON
import ScaleStandIns
import Testing

@testable import ScaleProtocols

/// Checks each row of the table of the vendor's document with a running session.
struct SDKTableTests {
    struct Row: Sendable, CustomStringConvertible {
        let model: ScaleModel
        let kind, name, value, proof: String
        var description: String { "\(model.rawValue) \(kind) \(name) \(value) \(proof)" }
        var operation: HSLOperation? { HSLOperation(rawValue: value) }
    }

    static let all: [Row] = ((try? resource("sdk.csv")) ?? "").split(separator: "\n").dropFirst().compactMap { line in
        let cells = line.split(separator: ",", maxSplits: 5, omittingEmptySubsequences: false).map(String.init)
        guard cells.count == 6, let model = ScaleModel(rawValue: cells[0]) else { return nil }
        return Row(model: model, kind: cells[1], name: cells[2], value: cells[3], proof: cells[4])
    }

    static func rows(_ kind: String) -> [Row] { all.filter { $0.kind == kind } }

    private static let stories: [HSLOperation: SDKStage] = HSLOperation.allCases.reduce(into: [:]) {
        stories, operation in
        stories[operation] = try? SDKStage.story(of: operation)
    }

    private func story(_ row: Row) throws -> SDKStage {
        let operation = try #require(row.operation, "\(row)")
        return try #require(Self.stories[operation])
    }

    @Test func `the table has every row of the document, and each kind is checked`() {
        let counts = Dictionary(grouping: Self.all, by: \.kind).mapValues(\.count)
        #expect(
            counts == [
                "operation": 15, "parameter": 28, "callback": 43, "key": 28, "authentication": 39, "error": 35,
                "byte": 19, "notice": 6, "unit": 3, "person": 4,
            ])
        #expect(Set(Self.rows("operation").compactMap(\.operation)).count == HSLOperation.allCases.count - 1)
        print("rows of the vendor's document: \(Self.all.count), each walked against a session")
    }

    @Test(arguments: rows("operation")) func `an operation is requested and answered`(row: Row) throws {
        let stage = try story(row)
        #expect(stage.requests.contains { $0.operation == row.operation })
        // The session of the HS3 stays open.
        if row.operation == .hs3Init { return #expect(stage.dialogue.isMeasuring) }
        #expect(row.operation.map { stage.wasDone($0) } == true, "\(row)")
    }

    @Test(arguments: rows("parameter")) func `a parameter is sent with its operation`(row: Row) throws {
        let stage = try story(row)
        let request = try #require(stage.requests.last { $0.operation == row.operation })
        var value: JSONTree? = request.arguments
        for step in row.proof.split(separator: ".") { value = value?[String(step)] }
        #expect(value != nil, "\(row)")
    }

    @Test(arguments: rows("callback")) func `a callback of an operation reaches the upper half`(row: Row) throws {
        guard row.proof != "deviceError" else { return try failure(row) }
        let stage = try story(row)
        #expect(stage.heard.contains(row.proof), "\(row)")
        if row.proof == "authentication" {
            let echo = try #require(stage.told.first { $0.name == "authentication" })
            #expect(echo.data["userID"] != nil && echo.data["clientID"] == nil && echo.data["clientSecret"] == nil)
        }
    }

    /// Plays a bridge that reports that the scale does not answer.
    private func failure(_ row: Row) throws {
        let operation = try #require(row.operation)
        var rig = HSLConnectorTests.Rig(row.model) { $0.measures = 11 }
        rig.meet("\(row.model.rawValue):020000003001")
        func answer(_ event: String) {
            guard let ref = rig.requests.last?.id else { return }
            rig.say(
                #"{"t":"evt","n":1,"ref":\#(ref),"dev":"\#(row.model.rawValue):020000003001","ev":\#(event)}"#)
        }
        func end(_ status: String) {
            guard let ref = rig.requests.last?.id else { return }
            rig.say(#"{"t":"res","ref":\#(ref),"status":"\#(status)"}"#)
        }
        let person = try #require(HS5Profile(serial: 33, age: 40, height: 180, isAthlete: false, isMale: true))
        let there = try #require(HS5Profile(serial: 11, age: 40, height: 180, isAthlete: false, isMale: true))
        let command: ScaleCommand? =
            switch operation {
            case .hs3AutoConnectOff: .autoConnect(false)
            case .hs3AutoConnectOn: .autoConnect(true)
            case .hs5CreateUser: .createUser(person, at: nil)
            case .hs5ModifyUser: .modifyUser(there)
            case .hs5DeleteUser: .deleteUser(serial: 11)
            default: nil
            }
        if let command { rig.give(.command(command)) }
        for _ in 0..<8 where rig.requests.last?.operation != operation {
            switch rig.requests.last?.operation {
            case .hs4Memory: end("done")
            case .hs5OpenUsers:
                answer(#""userList","data":{"users":[{"serialNumber":11,"position":0}]}"#)
                end("done")
            case .hs5Memory: end("done")
            // It waits for records until it can be left.
            case .hs3Init:
                answer(#""memoryFinish","data":{"records":0}"#)
                if let command { rig.give(.command(command)) }
                end("cancelled")
            default: break
            }
        }
        #expect(rig.requests.last?.operation == operation, "\(row)")
        let error = ScaleError.noAnswer(row.model)
        answer(#""error","data":{"code":\#(error.code ?? -1)}"#)
        #expect(rig.events.contains(.deviceError(error)), "\(row)")
    }

    @Test(arguments: rows("key")) func `the value of a key reaches the reading`(row: Row) throws {
        if row.value == "userList" {
            let stage = try #require(Self.stories[.hs5OpenUsers])
            let list = try #require(stage.told.first { $0.name == "userList" })
            #expect(list.data["users"]?.list?.allSatisfy { $0[row.name]?.whole != nil } == true)
            var users: [UInt32?] = Array(repeating: nil, count: 20)
            (users[0], users[3]) = (11, 22)
            return #expect(stage.events.contains(.userList(users)))
        }
        let name = try #require(HSLEventName(rawValue: row.operation == nil ? row.value : "memoryRecord"))
        let operation: HSLOperation =
            row.operation ?? (name == .bodyComposition ? .hs5Measure : name == .cloudRecord ? .hs5Cloud : .hs5Memory)
        let stage = try #require(Self.stories[operation])
        let event = try #require(stage.told.last { $0.name == name.rawValue })
        let member = row.name == "date" ? event.data["local"] : event.data[row.name]
        #expect(member != nil, "\(row)")
        let reading = try #require(stage.kept.last { $0.tenthsOfKilogram == 842 })
        let body = SDKStage.body
        let expected: [String: Int] = [
            "tenthsOfKilogram": 842, "fat": body.fat, "water": body.water, "muscle": body.muscle, "bone": body.bone,
            "visceralFat": body.visceralFat, "dailyCalories": body.dailyCalories,
        ]
        guard row.proof != "time" else {
            return #expect(stage.kept.contains { $0.time == WallTime("2024-03-14 22:01:40") })
        }
        var parts = Mirror(reflecting: reading).children.map { ($0.label, $0.value) }
        if let composition = reading.composition {
            parts += Mirror(reflecting: composition).children.map { ($0.label, $0.value) }
        }
        #expect(parts.first { $0.0 == row.proof }?.1 as? Int == expected[row.proof], "\(row)")
        let scale = ["VFatLevelValue", "DCIValue"].contains(row.name) ? 1.0 : 10
        #expect(member?.decimal.map { Int(($0 * scale).rounded()) } == expected[row.proof], "\(row)")
    }

    @Test(arguments: rows("authentication")) func `the result of the authentication decides whether measuring goes on`(
        row: Row
    ) throws {
        let code = try #require(Int(row.value))
        var rig = HSLConnectorTests.Rig(row.model)
        let device = "\(row.model.rawValue):020000003001"
        rig.meet(device)
        if row.model == .hs4, let ref = rig.requests.last?.id {
            // The memory is refused until a measurement has admitted the person.
            rig.say(#"{"t":"res","ref":\#(ref),"status":"failed","error":{"code":111}}"#)
            #expect(rig.requests.last?.operation == .hs4Measure)
            #expect(rig.errors == [])
        }
        let ref = try #require(rig.requests.last?.id)
        let head = #"{"t":"evt","n":1,"ref":\#(ref),"dev":"\#(device)","ev":"#
        rig.say(head + #""authentication","data":{"code":\#(code)}}"#)
        let result = try #require(UserAuthentication(code: code))
        #expect(rig.events.contains(.authentication(result)))
        if code <= 8 { #expect(result.name == row.name) }
        let next: [ScaleModel: String] = [
            .hs3: #""memoryRecord","rid":"r","data":{"weight":70,"local":"2024-03-14 22:01:40"}}"#,
            .hs4: #""stableWeight","rid":"r","data":{"weight":70,"local":"2024-03-14 22:01:40"}}"#,
            .hs5: #""userList","data":{"users":[]}}"#,
        ]
        rig.say(head + (next[row.model] ?? ""))
        let goesOn = !rig.open.isEmpty || SDKTableTests.names(rig.events).contains("userList")
        #expect(goesOn == (row.proof == "continue"), "\(row)")
        #expect(rig.errors == (row.proof == "continue" ? [] : [111]), "\(row)")
    }

    private static func names(_ events: [ScaleEvent]) -> [String] { events.map(SDKStage.label) }

    @Test(arguments: rows("error")) func `an error is reported with its number, name and class`(row: Row) throws {
        let code = try #require(Int(row.value))
        var rig = HSLConnectorTests.Rig(row.model)
        let device = "\(row.model.rawValue):020000003001"
        rig.meet(device)
        rig.say(#"{"t":"res","ref":2,"status":"done"}"#)
        rig.say(#"{"t":"evt","n":1,"dev":"\#(device)","ev":"deviceError","data":{"code":\#(code)}}"#)
        let found = rig.events.compactMap { if case .deviceError(let error) = $0 { error } else { nil } }
        let error = try #require(found.first)
        #expect((error.code, error.name, error.errorClass.rawValue) == (code, row.name, row.proof), "\(row)")
        #expect(error.sentence.hasPrefix("\(row.model.rawValue): "))
    }

    @Test(arguments: rows("byte")) func `an error byte of the scale is reported by the vendor's number`(row: Row) throws
    {
        let raw = try #require(UInt8(row.value, radix: 16))
        var stage = try SDKStage(row.model)
        stage.connect()
        stage.give(device: .fail(raw))
        let found = stage.events.compactMap { if case .deviceError(let error) = $0 { error } else { nil } }
        let error = try #require(found.last { $0.raw == raw }, "\(row)")
        #expect(error.code.map { "\($0)" } == row.proof, "\(row)")
    }

    @Test(arguments: rows("notice")) func `a scale that appears or disappears is reported`(row: Row) throws {
        var rig = HSLConnectorTests.Rig(row.model)
        let device = "\(row.model.rawValue):020000003001"
        rig.meet(device)
        let data = #"{"model":"\#(row.model.rawValue)","deviceId":"020000003001","notification":"\#(row.name)"}"#
        rig.say(#"{"t":"evt","n":1,"dev":"\#(device)","ev":"\#(row.value)","data":\#(data)}"#)
        #expect(SDKTableTests.names(rig.events).contains(row.proof), "\(row)")
        if row.proof == "disconnected" { #expect(rig.errors == [ScaleError.disconnected(row.model).code]) }
    }

    @Test(arguments: rows("unit")) func `the display unit is sent as its number`(row: Row) throws {
        let unit = try #require(UInt8(row.value).flatMap { ScaleDisplayUnit(rawValue: $0) })
        var stage = try SDKStage(.hs4) { $0.unit = unit }
        stage.connect()
        let request = try #require(stage.requests.last { $0.operation == .hs4Measure })
        #expect(request.arguments["unit"]?.whole == Int(row.value))
    }

    @Test(arguments: rows("person")) func `a property of a user is sent as its number`(row: Row) throws {
        let isOne = row.value == "1"
        var stage = try SDKStage(.hs5)
        stage.connect()
        let profile = try #require(HS5Profile(serial: 33, age: 40, height: 180, isAthlete: isOne, isMale: isOne))
        stage.give(host: .command(.createUser(profile, at: nil)))
        let request = try #require(stage.requests.last { $0.operation == .hs5CreateUser })
        #expect(request.arguments["user"]?[row.proof]?.whole == Int(row.value))
        #expect(stage.device.scales[0].users[1] == 33)
    }
}
