import Testing

@testable import ScaleProtocols

/// The connector's side of HSL/1, line by line.
struct HSLConnectorTests {
    /// A connector, its messages and its requests.
    struct Rig {
        var dialogue: HSLSession
        var uptime = Duration.zero
        var sent: [HSLMessage] = []
        var events: [ScaleEvent] = []
        var open: [ScaleDelivery] = []
        /// The scales of the actions, one after the other.
        var scales: [String] = []
        var isClosed = false
        var keeps = true

        init(_ model: ScaleModel, deviceId: String? = nil, _ change: (inout HSLSession.Settings) -> Void = { _ in }) {
            var settings = HSLSession.Settings(model: model)
            settings.user = HSLUser(userID: "a@example.org", height: 180)
            change(&settings)
            dialogue = HSLSession(settings: settings, deviceId: deviceId, seed: Array(repeating: 7, count: 32))
        }

        var now: ScaleMoment {
            ScaleMoment(uptime: uptime, wall: WallTime(2024, 3, 15, 19, 5, 9) ?? .startOf2000)
        }

        mutating func give(_ input: ScaleInput) {
            for action in dialogue.handle(input, at: now) {
                switch action {
                case .send(let bytes), .search(let bytes):
                    if let message = try? HSLMessage(line: Array(bytes.dropLast())) { sent.append(message) }
                case .deliver(let delivery):
                    open.append(delivery)
                    if keeps { give(.kept(delivery.token)) }
                case .event(let event): events.append(event)
                case .of(let id): scales.append(id)
                case .settle: break
                case .close:
                    isClosed = true
                    give(.linkClosed)
                }
            }
        }

        mutating func say(_ line: String) { give(.received(Array((line + "\n").utf8))) }

        mutating func pass(_ time: Duration) {
            let end = uptime + time
            while let next = dialogue.deadline, next <= end {
                uptime = max(uptime, next)
                give(.tick)
            }
            uptime = end
        }

        /// Connects, greets, and lists this scale.
        mutating func meet(_ device: String, firmware: String = "1.0.2", sdk: String = "sim") {
            give(.linkOpened)
            say(
                #"{"t":"hello","v":1,"role":"device","impl":"t","sdk":"\#(sdk)","nonce":"\#(HSLConnectorTests.nonce)"}"#
            )
            say(#"{"t":"res","ref":1,"status":"done","devices":[{"dev":"\#(device)","firmware":"\#(firmware)"}]}"#)
        }

        var requests: [HSLRequest] { sent.compactMap { if case .request(let request) = $0 { request } else { nil } } }
        var acknowledged: [String] { sent.compactMap { if case .acknowledge(_, let rid) = $0 { rid } else { nil } } }
        var errors: [Int?] { events.compactMap { if case .deviceError(let error) = $0 { error.code } else { nil } } }
        var warnings: [String] {
            events.compactMap { if case .protocolWarning(let warning) = $0 { "\(warning)" } else { nil } }
        }
    }

    static let nonce = String(repeating: "00", count: 16)

    @Test func `the transcript of the notes has one memory, one weighing and three acknowledgements`() throws {
        var rig = Rig(.hs3)
        rig.give(.linkOpened)
        rig.say(
            #"{"t":"hello","v":1,"role":"device","impl":"sim","impl_version":"1","sdk":"sim","models":["HS3"],"nonce":"\#(Self.nonce)"}"#
        )
        let dev = #""dev":"HS3:020000003001""#
        rig.say(
            #"{"t":"evt","n":1,\#(dev),"ev":"deviceConnected","data":{"model":"HS3","deviceId":"020000003001","notification":"HS3ConnectNoti"}}"#
        )
        #expect(rig.requests.map(\.operation) == [.listDevices, .hs3Init])
        let ref = try #require(rig.requests.last?.id)
        rig.say(
            #"{"t":"evt","n":2,"ref":\#(ref),\#(dev),"ev":"authentication","data":{"code":2,"userID":"a@example.org","height":180}}"#
        )
        rig.say(#"{"t":"evt","n":3,"ref":\#(ref),\#(dev),"ev":"memoryStart","data":{"ok":true}}"#)
        rig.say(#"{"t":"evt","n":4,"ref":\#(ref),\#(dev),"ev":"memoryCount","data":{"count":2}}"#)
        #expect(!rig.dialogue.isMeasuring)
        rig.say(
            #"{"t":"evt","n":5,"ref":\#(ref),\#(dev),"ev":"memoryRecord","rid":"a1","data":{"weight":72.3,"date":"2024-03-15T07:30:05+01:00","local":"2024-03-15 07:30:05"}}"#
        )
        rig.say(#"{"t":"evt","n":6,"ref":\#(ref),\#(dev),"ev":"memoryProgress","data":{"progress":0.5}}"#)
        rig.say(
            #"{"t":"evt","n":7,"ref":\#(ref),\#(dev),"ev":"memoryRecord","rid":"a2","data":{"weight":72.6,"date":"2024-03-14T22:01:40+01:00"}}"#
        )
        rig.say(#"{"t":"evt","n":8,"ref":\#(ref),\#(dev),"ev":"memoryProgress","data":{"progress":1.0}}"#)
        rig.say(#"{"t":"evt","n":9,"ref":\#(ref),\#(dev),"ev":"memoryFinish","data":{"records":2}}"#)
        #expect(rig.dialogue.isMeasuring)
        rig.say(
            #"{"t":"evt","n":10,"ref":\#(ref),\#(dev),"ev":"stableWeight","rid":"a3","data":{"weight":72.1,"date":"2024-03-15T19:06:02+01:00"}}"#
        )
        #expect(rig.acknowledged == ["a1", "a2", "a3"])
        let readings = rig.open.flatMap(\.readings)
        #expect(
            readings.map { "\($0.time?.description ?? "-") \($0.tenthsOfKilogram)" }
                == ["2024-03-15 07:30:05 723", "2024-03-14 22:01:40 726", "2024-03-15 19:06:02 721"])
        let wire = try #require(WallTime("2024-03-15 07:30:05").flatMap { HS3Record($0, tenthsOfKilogram: 723) })
        #expect(readings.first?.key == wire.key.bytes, "the same weighing has the same key over the scale's own link")
        #expect(
            rig.events.dropFirst() == [
                .authentication(.loggedIn), .memoryStart(true), .memoryCount(2),
                .memoryRecord(readings[0], isRepeat: false), .memoryProgress(0.5),
                .memoryRecord(readings[1], isRepeat: false), .memoryProgress(1), .memoryFinish(records: 2),
                .stableWeight(readings[2], isRepeat: false),
            ])
    }

    @Test func `nothing is acknowledged before it is kept, and kept records are not delivered twice`() throws {
        var rig = Rig(.hs3)
        rig.keeps = false
        rig.meet("HS3:020000003001")
        let record =
            #"{"t":"evt","n":1,"dev":"HS3:020000003001","ev":"memoryRecord","rid":"a1","data":{"weight":72.3,"local":"2024-03-15 07:30:05"}}"#
        rig.say(record)
        #expect(rig.acknowledged.isEmpty && rig.open.count == 1)
        rig.give(.kept(rig.open[0].token))
        #expect(rig.acknowledged == ["a1"])
        rig.give(.linkClosed)
        rig.meet("HS3:020000003001")
        rig.say(record)
        #expect(rig.open.count == 1)
        #expect(rig.acknowledged == ["a1", "a1"])
    }

    @Test func `a token is proved over both nonces, and after five wrong proofs in a minute all are refused`() throws {
        let token = try #require(HSLToken("correct horse"))
        var rig = Rig(.hs3) { $0.token = token }
        for attempt in 0..<7 {
            rig.isClosed = false
            rig.give(.linkOpened)
            rig.say(
                #"{"t":"hello","v":1,"role":"device","impl":"t","sdk":"sim","nonce":"\#(Self.nonce)"}"#)
            #expect(rig.sent.contains { if case .welcome = $0 { true } else { false } } == false)
            guard case .hello(let hello)? = rig.sent.last else {
                Issue.record("no hello")
                return
            }
            let right = token.proof(connector: hello.nonce, device: Array(repeating: 0, count: 16))
            let proof = attempt < 6 ? String(right.reversed()) : right
            rig.say(#"{"t":"auth","proof":"\#(proof)"}"#)
            #expect(rig.isClosed == (attempt < 6), "attempt \(attempt)")
            if attempt == 5 {
                // The sixth proof is refused even if it is right.
                rig.pass(.seconds(61))
            }
        }
        #expect(rig.sent.contains { if case .welcome = $0 { true } else { false } })
        #expect("\(token)" == "<token of 13 bytes>")
    }

    @Test func `a program that guesses tokens locks no other program out`() throws {
        let token = try #require(HSLToken("correct horse"))
        var rig = Rig(.hs3) { $0.token = token }
        func meet(_ caller: String, _ isRight: Bool) throws {
            (rig.isClosed, rig.sent) = (false, [])
            rig.give(.caller(caller))
            rig.give(.linkOpened)
            rig.say(#"{"t":"hello","v":1,"role":"device","impl":"t","sdk":"sim","nonce":"\#(Self.nonce)"}"#)
            guard case .hello(let hello)? = rig.sent.last else { return #expect(Bool(false), "no hello") }
            let right = token.proof(connector: hello.nonce, device: Array(repeating: 0, count: 16))
            rig.say(#"{"t":"auth","proof":"\#(isRight ? right : String(right.reversed()))"}"#)
            rig.give(.linkClosed)
        }
        func isWelcome() -> Bool { rig.sent.contains { if case .welcome = $0 { true } else { false } } }
        for _ in 0..<5 { try meet("192.0.2.1", false) }
        try meet("192.0.2.1", true)
        #expect(!isWelcome(), "the sixth in a minute is not looked at")
        try meet("192.0.2.2", true)
        #expect(isWelcome())
        rig.pass(.seconds(61))
        try meet("192.0.2.1", true)
        #expect(isWelcome())
        // Beyond a limit, all further addresses are counted as one.
        for number in 0..<300 { try meet("2001:db8::\(number)", false) }
        try meet("2001:db8::ffff", true)
        #expect(!isWelcome())
    }

    @Test func `a line of 65536 bytes is read, and a longer one closes the link`() {
        var rig = Rig(.hs3)
        rig.meet("HS3:020000003001")
        let head = #"{"t":"ping","k":1,"x":""#
        rig.say(head + String(repeating: "x", count: 65_536 - head.utf8.count - 2) + #""}"#)
        #expect(rig.sent.last == .pong(1))
        rig.say(head + String(repeating: "x", count: 65_536 - head.utf8.count - 1) + #""}"#)
        #expect(rig.isClosed)
        #expect(
            rig.sent.contains { if case .error(let complaint) = $0 { complaint.known == .lineTooLong } else { false } })
    }
}
