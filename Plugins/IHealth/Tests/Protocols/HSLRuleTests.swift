import ScaleStandIns
import Testing

@testable import ScaleProtocols

/// The requirements of HSL/1 on both sides, rule by rule.
struct HSLRuleTests {
    typealias Rig = HSLConnectorTests.Rig

    private static let hs3 = "HS3:020000003001"
    private static let hs5 = "HS5:020000005001"

    /// A HS3 with an open session, and the number of its request.
    private func opened(sdk: String = "sim") throws -> (Rig, Int) {
        var rig = Rig(.hs3)
        rig.meet(Self.hs3, sdk: sdk)
        return (rig, try #require(rig.requests.last?.id))
    }

    private func event(_ name: String, _ ref: Int, _ data: String, n: Int = 1, rid: String? = nil) -> String {
        let named = rid.map { #","rid":"\#($0)""# } ?? ""
        return #"{"t":"evt","n":\#(n),"ref":\#(ref),"dev":"\#(Self.hs3)","ev":"\#(name)"\#(named),"data":\#(data)}"#
    }

    @Test func `after a refusal the rest of the request is ignored, and the request is repeated a minute later`() throws
    {
        var (rig, ref) = try opened()
        rig.say(event("authentication", ref, #"{"code":7}"#))
        rig.say(event("error", ref, #"{"code":111}"#))
        rig.say(event("memoryRecord", ref, #"{"weight":70,"local":"2024-03-15 07:30:05"}"#, rid: "x"))
        rig.say(#"{"t":"res","ref":\#(ref),"status":"failed","error":{"code":111}}"#)
        #expect(rig.errors == [111], "told once")
        #expect(rig.open.isEmpty && rig.acknowledged.isEmpty)
        rig.pass(.seconds(8))
        #expect(rig.requests.count == 2)
        rig.say(#"{"t":"ping","k":9}"#)
        for _ in 0..<4 {
            rig.pass(.seconds(15))
            rig.say(#"{"t":"ping","k":9}"#)
        }
        #expect(rig.requests.last?.operation == .hs3Init && rig.requests.count == 3)
    }

    @Test func `progress never goes back, and is 1 exactly once`() throws {
        var (rig, ref) = try opened()
        rig.say(event("authentication", ref, #"{"code":2}"#))
        rig.say(event("memoryStart", ref, #"{"ok":true}"#))
        rig.say(event("memoryCount", ref, #"{"count":2}"#))
        rig.say(event("memoryRecord", ref, #"{"weight":70,"local":"2024-03-15 07:30:05"}"#, rid: "a"))
        for progress in ["0.5", "0.4", "1.0", "1.0", "0.9"] {
            rig.say(event("memoryProgress", ref, #"{"progress":\#(progress)}"#))
        }
        rig.say(event("memoryFinish", ref, #"{"records":1}"#))
        let progress = rig.events.compactMap { if case .memoryProgress(let done) = $0 { done } else { nil } }
        #expect(progress == progress.sorted())
        #expect(progress.filter { $0 == 1 }.count == 1)
        #expect(rig.warnings.contains { $0.contains("announced 2 records and sent 1") })
    }

    @Test func `an empty memory is information, and more than 200 records are a warning`() throws {
        var (rig, ref) = try opened()
        rig.say(event("authentication", ref, #"{"code":2}"#))
        rig.say(event("memoryStart", ref, #"{"ok":true}"#))
        rig.say(event("memoryCount", ref, #"{"count":0}"#))
        rig.say(event("memoryFinish", ref, #"{"records":0}"#))
        rig.say(event("error", ref, #"{"code":5}"#))
        #expect(rig.errors == [5])
        #expect(rig.events.contains(.deviceError(.noMemory(.hs3))))
        (rig, ref) = try opened()
        rig.say(event("memoryCount", ref, #"{"count":201}"#))
        #expect(rig.events.contains(.memoryCount(200)) && !rig.warnings.isEmpty)
    }

    @Test func `silence is reported by the vendor's number, and the request is repeated`() throws {
        var (rig, ref) = try opened()
        rig.pass(.seconds(10))
        #expect(rig.errors == [7])
        #expect(rig.sent.contains(.cancel(ref: ref)))
        rig.say(#"{"t":"res","ref":\#(ref),"status":"cancelled"}"#)
        rig.pass(.seconds(6))
        #expect(rig.requests.map(\.operation) == [.listDevices, .hs3Init, .hs3Init])
        // If a request cannot even be cancelled, the link is ended.
        rig.pass(.seconds(14))
        #expect(rig.isClosed)
        (rig, ref) = try opened()
        rig.say(event("authentication", ref, #"{"code":2}"#))
        rig.say(event("memoryStart", ref, #"{"ok":true}"#))
        rig.say(event("memoryCount", ref, #"{"count":3}"#))
        rig.say(event("memoryRecord", ref, #"{"weight":70,"local":"2024-03-15 07:30:05"}"#, rid: "a"))
        rig.pass(.seconds(5))
        #expect(rig.errors.isEmpty)
        rig.pass(.seconds(1))
        #expect(rig.errors == [7], "six seconds between records")
    }

    @Test func `a ping is sent after 20 s of silence, and without a pong the scale counts as gone`() throws {
        var (rig, ref) = try opened()
        rig.say(event("authentication", ref, #"{"code":2}"#))
        rig.say(event("memoryFinish", ref, #"{"records":0}"#))
        rig.pass(.seconds(20))
        #expect(rig.sent.last == .ping(1))
        rig.say(#"{"t":"pong","k":1}"#)
        rig.pass(.seconds(29))
        #expect(!rig.isClosed)
        rig.pass(.seconds(1))
        #expect(rig.isClosed)
        #expect(rig.events.last == .disconnected)
    }

    @Test(arguments: [
        #"{"weight":84.2,"#, #"{"Weight":84.2,"#, #"{"value":84.2,"#, #"{"WeightValue":84.2,"#,
        #"{"weight":84.19999695,"#,
    ]) func `a weight and a date have many names`(start: String) throws {
        let dates = [
            #""local":"2024-03-15 19:06:30"}"#, #""date":"2024-03-15T19:06:30+01:00"}"#,
            #""date":"2024-03-15T19:06:30.250-05:00"}"#, #""date":"2024-03-15 19:06:30"}"#,
            #""measurement_date":"2024-03-15T19:06:30+00:00"}"#, #""MDate":1710529590,"TimeZone":"+0100"}"#,
            #""date":"2024-03-15T18:06:30Z","local":"2024-03-15 19:06:30"}"#,
        ]
        for date in dates {
            var (rig, ref) = try opened()
            rig.say(event("memoryRecord", ref, start + date, rid: "a"))
            let reading = try #require(rig.open.first?.readings.first, "\(date)")
            #expect(reading.tenthsOfKilogram == 842)
            #expect(reading.time == WallTime("2024-03-15 19:06:30"), "\(date)")
            #expect(rig.warnings == [])
        }
    }

    @Test func `a record that can never be kept is acknowledged, even if it has no rid`() throws {
        var (rig, ref) = try opened()
        rig.say(event("memoryRecord", ref, #"{"weight":200,"local":"2024-03-15 07:30:05"}"#))
        let scale = try #require(HSLDeviceID(.hs3, "020000003001"))
        #expect(rig.open.isEmpty)
        #expect(rig.acknowledged == [scale.rid(.memoryRecord, WallTime("2024-03-15 07:30:05"), tenths: 2000)])
    }

    @Test func `a date is not guessed if it does not say of which wall clock it is`() throws {
        var (rig, ref) = try opened()
        rig.say(event("memoryRecord", ref, #"{"weight":70,"date":"2024-03-15T18:06:30Z"}"#, rid: "a"))
        #expect(rig.open.first?.readings.first?.time == nil)
        let told = WallTime("2024-03-15 18:06:30")?.secondsSince2000
        #expect(rig.open.first?.readings.first?.instant == told, "the instant is not a guess")
        (rig, ref) = try opened()
        let unreadable = #"{"date":"yesterday","weight":70}"#
        rig.say(event("memoryRecord", ref, unreadable, rid: "a"))
        let reading = try #require(rig.open.first?.readings.first)
        #expect(reading.time == nil && reading.instant == nil)
        #expect(String(decoding: reading.raw, as: UTF8.self).contains("yesterday"), "kept whole")
        #expect(rig.warnings.contains { $0.contains("no readable date") })
        (rig, ref) = try opened()
        rig.say(event("stableWeight", ref, #"{"weight":70}"#, rid: "b"))
        #expect(rig.open.first?.readings.first?.time == rig.now.wall, "a weight of this moment has the host's time")
    }

    @Test func `the names of later libraries are read as the same composition`() throws {
        let names = [
            #""weightFatValue":47.7,"waterValue":45.3,"muscleValue":41.3,"skeletonValue":2.2,"VFatLevelValue":8,"DCIValue":2502"#,
            #""fat":47.7,"water":45.3,"muscle":41.3,"skeleton":2.2,"fatelevel":8,"DCI":2502"#,
            #""FatValue":47.7,"WaterValue":45.3,"MuscaleValue":41.3,"BoneValue":2.2,"VFR":8,"DCI":2502"#,
            #""FatValue":47.7,"WaterValue":45.3,"MuscleValue":41.3,"BoneValue":2.2,"VisceraFatLevel":8.0,"DCI":2502"#,
        ]
        for members in names {
            var rig = Rig(.hs5)
            rig.meet(Self.hs5)
            rig.say(
                #"{"t":"evt","n":1,"dev":"\#(Self.hs5)","ev":"bodyComposition","rid":"r","data":{"weight":84.2,"local":"2024-03-15 19:06:30","serialNub":11,\#(members)}}"#
            )
            let reading = try #require(rig.open.first?.readings.first)
            #expect(reading.composition == SDKStage.body && reading.user == 11)
        }
    }

    @Test func `items of historyData are records, each acknowledged by its own rid`() throws {
        var (rig, ref) = try opened()
        let items = #"[{"weight":70.1,"local":"2024-03-14 07:30:05"},{"weight":70.2,"local":"2024-03-15 07:30:05"}]"#
        rig.say(event("historyData", ref, items))
        #expect(rig.open.flatMap(\.readings).map(\.tenthsOfKilogram) == [701, 702])
        let id = try #require(HSLDeviceID(Self.hs3))
        let times = [WallTime("2024-03-14 07:30:05"), WallTime("2024-03-15 07:30:05")]
        #expect(
            rig.acknowledged == [
                id.rid(.memoryRecord, times[0], tenths: 701), id.rid(.memoryRecord, times[1], tenths: 702),
            ])
        // The value was computed elsewhere by the recipe of the notes.
        #expect(
            id.rid(.memoryRecord, WallTime("2024-03-15 07:30:05"), tenths: 723) == "1ef0d9691082dbb80518d10cec559ccb")
    }

    @Test(arguments: [(13, 7), (600, 7), (14, 7), (700, 7), (4, 4), (111, 111), (400, nil), (500, nil), (99, 99)])
    func `the different error numbers of the Android library are converted`(code: Int, expected: Int?) throws {
        var (rig, ref) = try opened(sdk: "android")
        rig.say(event("error", ref, #"{"code":\#(code)}"#))
        #expect(rig.errors == (expected.map { [$0] } ?? []))
        if code == 99 { #expect(rig.events.last == .deviceError(.undocumented(99, raw: nil, of: .hs3))) }
        (rig, ref) = try opened(sdk: "ios")
        rig.say(event("error", ref, #"{"code":400}"#))
        #expect(rig.errors == [111], "400 is what later libraries say for 111")
    }

    @Test func `a scale that disappears during a request is first reported as an error, and only once`() throws {
        var (rig, ref) = try opened()
        rig.say(event("error", ref, #"{"code":6}"#))
        rig.say(#"{"t":"res","ref":\#(ref),"status":"failed","error":{"code":6}}"#)
        rig.say(#"{"t":"evt","n":2,"dev":"\#(Self.hs3)","ev":"deviceDisconnected","data":{}}"#)
        #expect(rig.errors.first == 6)
        #expect(rig.events.last == .disconnected)
    }

    @Test func `automatic connection is only requested of firmware 1.0.2 and later`() throws {
        for (firmware, isAsked) in [
            ("1.0.1", false), ("1.0.2", true), ("1.1", true), ("0.9.9", false), ("2.0.0", true),
        ] {
            var rig = Rig(.hs3)
            rig.meet(Self.hs3, firmware: firmware)
            let ref = try #require(rig.requests.last?.id)
            rig.say(event("authentication", ref, #"{"code":2}"#))
            rig.say(event("memoryFinish", ref, #"{"records":0}"#))
            rig.give(.command(.autoConnect(false)))
            rig.say(#"{"t":"res","ref":\#(ref),"status":"cancelled"}"#)
            #expect((rig.requests.last?.operation == .hs3AutoConnectOff) == isAsked, "\(firmware)")
            #expect(rig.events.contains(.commandResult(false)) != isAsked, "\(firmware)")
            let reasons = rig.events.compactMap { if case .commandRefused(let reason) = $0 { reason } else { nil } }
            #expect(reasons.contains { $0.contains("1.0.2 or later, and this one has \(firmware)") } != isAsked)
        }
    }

    @Test func `scales behind one link are distinguished, and only the requested one is served`() throws {
        var session = HSLSession(settings: .init(model: .hs3), seed: Array(repeating: 0, count: 32))
        let wall = try #require(WallTime(2026, 1, 2))
        let now = ScaleMoment(uptime: .zero, wall: wall)
        _ = session.handle(.linkOpened, at: now)
        func say(_ line: String) -> [ScaleAction] {
            session.handle(.received(Array((line + "\n").utf8)), at: now)
        }
        _ = say(#"{"t":"hello","v":1,"role":"device","impl":"t","nonce":"\#(HSLConnectorTests.nonce)"}"#)
        let both = ["HS3:020000003001", "HS3:020000003002", "HS4:020000004001"]
        let list = both.map { #"{"dev":"\#($0)"}"# }.joined(separator: ",")
        let asked = say(#"{"t":"res","ref":1,"status":"done","devices":[\#(list)]}"#)
        let requests = asked.compactMap { action -> HSLDeviceID? in
            guard case .send(let bytes) = action, case .request(let request)? = try? HSLMessage(line: bytes.dropLast())
            else { return nil }
            return request.device
        }
        #expect(requests.map(\.description).sorted() == Array(both.prefix(2)))
        let told = say(
            #"{"t":"evt","n":1,"dev":"\#(both[1])","ev":"stableWeight","rid":"r","data":{"weight":70}}"#)
        #expect(told.contains { if case .deliver = $0 { true } else { false } })
        let scale = (asked + told).last { if case .of = $0 { true } else { false } }
        #expect(scale == .of("020000003002"))

        var rig = Rig(.hs3, deviceId: "020000003002")
        rig.meet(both[0])
        #expect(rig.requests.count == 1, "another scale is left alone")
        #expect(rig.warnings.contains { $0.contains(both[0]) })
        rig.say(#"{"t":"evt","n":1,"dev":"\#(both[1])","ev":"deviceConnected","data":{}}"#)
        #expect(rig.requests.last?.device?.description == both[1])
        #expect(rig.dialogue.deviceID == "020000003002")
    }

    @Test func `users of a HS5 follow the rules of positions`() throws {
        var stage = try SDKStage(.hs5)
        stage.connect()
        func profile(_ serial: UInt32) throws -> HS5Profile {
            try #require(HS5Profile(serial: serial, age: 40, height: 180, isAthlete: false, isMale: true))
        }
        stage.give(host: .command(.createUser(try profile(33), at: HS5Position(0))))
        #expect(stage.events.contains(.deviceError(.userExists)) && stage.events.contains(.userResult(false)))
        for serial in 100..<118 { stage.give(host: .command(.createUser(try profile(UInt32(serial)), at: nil))) }
        #expect(stage.device.scales[0].users.allSatisfy { $0 != nil })
        stage.give(host: .command(.createUser(try profile(500), at: nil)))
        #expect(stage.events.contains(.deviceError(.noPlace)))
        #expect(stage.requests.filter { $0.operation == .hs5CreateUser }.count == 18)
        stage.give(host: .command(.modifyUser(try profile(999))))
        stage.give(host: .command(.deleteUser(serial: 999)))
        #expect(stage.requests.allSatisfy { $0.operation != .hs5ModifyUser && $0.operation != .hs5DeleteUser })
        #expect(HS5Position(20) == nil && HS5Position(-1) == nil)
    }

    @Test(arguments: [(0, 4), (9, 4), (10, 8), (11, 8)]) func `the trial without a network lasts ten days`(
        days: Int, code: Int
    ) throws {
        for model in ScaleModel.allCases {
            var profile = HSLDevice.Profile()
            profile.account = .offline(since: try #require(SDKStage.wall.adding(seconds: -86_400 * days)))
            var stage = try SDKStage(model, profile: profile)
            stage.connect()
            let expected = try #require(UserAuthentication(code: model == .hs5 ? 8 : code))
            #expect(stage.events.contains(.authentication(expected)), "\(model) after \(days) days")
            #expect(stage.kept.isEmpty == !expected.allowsMeasuring(on: model))
        }
    }

    @Test func `a weight and its composition are one delivery, and the weight alone is one after shoes`() throws {
        var rig = Rig(.hs5) { $0.measures = 11 }
        rig.meet(Self.hs5)
        func evt(_ name: String, _ data: String, rid: String? = nil) -> String {
            let ref = rig.requests.last?.id ?? 0
            let named = rid.map { #","rid":"\#($0)""# } ?? ""
            return #"{"t":"evt","n":1,"ref":\#(ref),"dev":"\#(Self.hs5)","ev":"\#(name)"\#(named),"data":\#(data)}"#
        }
        rig.say(evt("authentication", #"{"code":2}"#))
        rig.say(evt("userList", #"{"users":[{"serialNumber":11,"position":0}]}"#))
        rig.say(#"{"t":"res","ref":2,"status":"done"}"#)
        rig.say(#"{"t":"res","ref":3,"status":"done"}"#)
        #expect(rig.requests.last?.operation == .hs5Measure && rig.dialogue.isMeasuring)
        let time = #""local":"2024-03-15 19:06:30""#
        rig.say(evt("stableWeight", #"{"weight":84.2,\#(time)}"#, rid: "w"))
        #expect(rig.open.isEmpty && rig.acknowledged.isEmpty)
        rig.say(evt("bodyComposition", #"{"weight":84.2,"fat":47.7,\#(time)}"#, rid: "c"))
        #expect(rig.open.count == 1 && rig.acknowledged == ["w", "c"])
        rig.say(#"{"t":"res","ref":4,"status":"done"}"#)
        rig.say(evt("authentication", #"{"code":2}"#))
        rig.say(evt("userList", #"{"users":[{"serialNumber":11,"position":0}]}"#))
        rig.say(#"{"t":"res","ref":5,"status":"done"}"#)
        rig.say(#"{"t":"res","ref":6,"status":"done"}"#)
        rig.say(evt("stableWeight", #"{"weight":84.1,\#(time)}"#, rid: "v"))
        #expect(rig.open.count == 1)
        rig.say(#"{"t":"res","ref":7,"status":"done"}"#)
        #expect(rig.open.count == 2 && rig.acknowledged.last == "v")
    }
}
