import Testing

@testable import ScaleProtocols

/// The callers that wait at an awaited link, and their admission.
struct HSLHandshakesTests {
    static let secret = "correct horse"

    /// The handshakes, their messages to each caller, and the callers that were admitted or dismissed.
    struct Rig {
        var handshakes: HSLHandshakes
        var uptime = Duration.zero
        var sent: [Int: [HSLMessage]] = [:]
        var dismissed: [Int] = []
        var admitted: [Int] = []
        var warnings: [String] = []

        init(token: String? = secret) {
            var settings = HSLSession.Settings(model: .hs4)
            settings.token = token.flatMap { HSLToken($0) }
            handshakes = HSLSession(settings: settings).handshakes(seed: Array(repeating: 7, count: 32))
        }

        mutating func give(_ input: HSLHandshakes.Input) {
            for action in handshakes.handle(input, at: uptime) {
                switch action {
                case .send(let bytes, let guest):
                    if let message = try? HSLMessage(line: Array(bytes.dropLast())) {
                        sent[guest, default: []].append(message)
                    }
                case .dismiss(let guest): dismissed.append(guest)
                case .admit(let guest): admitted.append(guest)
                case .warning(let text): warnings.append(text)
                }
            }
        }

        mutating func say(_ guest: Int, _ line: String) { give(.said(guest, Array((line + "\n").utf8))) }

        mutating func greet(_ guest: Int) {
            say(guest, #"{"t":"hello","v":1,"role":"device","impl":"t","nonce":"\#(HSLConnectorTests.nonce)"}"#)
        }

        /// Connects and sends a right or a wrong proof.
        mutating func prove(_ guest: Int, from address: String = "192.0.2.1", rightly: Bool = true) throws {
            give(.came(guest, from: address))
            greet(guest)
            guard case .hello(let hello)? = sent[guest]?.first, let token = HSLToken(secret) else {
                Issue.record("no hello")
                return
            }
            let right = token.proof(connector: hello.nonce, device: Array(repeating: 0, count: 16))
            say(guest, #"{"t":"auth","proof":"\#(rightly ? right : String(right.reversed()))"}"#)
        }

        mutating func pass(_ time: Duration) {
            let end = uptime + time
            while let next = handshakes.deadline, next <= end {
                uptime = max(uptime, next)
                give(.tick)
            }
            uptime = end
        }

        func heard(_ guest: Int, _ code: HSLProtocolError) -> Bool {
            (sent[guest] ?? []).contains {
                if case .error(let complaint) = $0 { complaint.known == code } else { false }
            }
        }

        func heardBye(_ guest: Int) -> Bool {
            (sent[guest] ?? []).contains { if case .bye = $0 { true } else { false } }
        }
    }

    @Test func `a caller with a right proof is admitted, and its session continues where the greeting ended`() throws {
        var rig = Rig()
        try rig.prove(1)
        #expect(rig.admitted == [1] && rig.dismissed == [])
        rig.say(1, #"{"t":"ping","k":3}"#)
        rig.give(.said(1, Array(#"{"t":"pi"#.utf8)))
        #expect(rig.sent[1]?.last == .pong(3))
        let (entered, again) = (rig.handshakes.enter(1), rig.handshakes.enter(1))
        let greeting = try #require(entered)
        #expect(again == nil && rig.handshakes.deadline == nil)
        var settings = HSLSession.Settings(model: .hs4)
        settings.token = HSLToken(Self.secret)
        var session = HSLSession(settings: settings)
        let moment = ScaleMoment(uptime: .zero, wall: .startOf2000)
        let first = session.handle(.greeted(greeting), at: moment).compactMap { action in
            if case .send(let bytes) = action { try? HSLMessage(line: Array(bytes.dropLast())) } else { nil }
        }
        guard case .welcome = first.first, case .request(let request) = first.last else {
            Issue.record("no welcome")
            return
        }
        #expect(first.count == 2 && request.operation == .listDevices)
        let rest = session.handle(.received(Array("ng\",\"k\":4}\n".utf8)), at: moment)
        #expect(rest == [.send(HSLMessage.pong(4).bytes)], "the line that had begun is not lost")
    }

    @Test func `no program is admitted without a proof, or with another connection's proof`() throws {
        var rig = Rig()
        rig.give(.came(1, from: "192.0.2.1"))
        rig.greet(1)
        let entered = rig.handshakes.enter(1)
        #expect(entered == nil)
        try rig.prove(2, rightly: false)
        #expect(rig.dismissed == [2] && rig.heard(2, .authFailed))
        // The proof of one connection is not valid for another.
        try rig.prove(3)
        guard case .hello(let third)? = rig.sent[3]?.first, case .hello(let first)? = rig.sent[1]?.first else {
            Issue.record("no hello")
            return
        }
        #expect(first.nonce != third.nonce)
        let token = try #require(HSLToken(Self.secret))
        rig.say(
            1,
            #"{"t":"auth","proof":"\#(token.proof(connector: third.nonce, device: Array(repeating: 0, count: 16)))"}"#)
        #expect(rig.dismissed == [2, 1] && rig.admitted == [3])
        #expect(rig.warnings == ["a caller: the link is closed: auth_failed"], "told once a minute")
    }

    @Test func `without a token a hello is enough as a proof`() {
        var rig = Rig(token: nil)
        rig.give(.came(1, from: "127.0.0.1"))
        #expect(rig.admitted == [])
        rig.greet(1)
        #expect(rig.admitted == [1])
    }

    @Test func `a greeting has ten seconds, for any number of callers`() throws {
        var rig = Rig()
        for guest in 1...3 {
            rig.give(.came(guest, from: "192.0.2.\(guest)"))
            rig.pass(.seconds(2))
        }
        rig.greet(2)
        rig.pass(.seconds(5))
        #expect(rig.dismissed == [1] && rig.heard(1, .timeout))
        rig.pass(.seconds(60))
        #expect(rig.dismissed == [1, 2, 3] && rig.handshakes.deadline == nil)
    }

    @Test func `with too many callers, the machine with most of them loses its oldest`() throws {
        var rig = Rig()
        rig.give(.came(1, from: "192.0.2.7"))
        for guest in 2...200 { rig.give(.came(guest, from: "198.51.100.1")) }
        #expect(rig.dismissed == Array(2...185) && rig.heardBye(2))
        rig.greet(1)
        try rig.prove(201, from: "192.0.2.8")
        let entered = rig.handshakes.enter(201)
        #expect(rig.admitted == [201] && entered != nil)
        // A caller with a right proof does not make room for others either.
        try rig.prove(202, from: "198.51.100.1")
        for guest in 203...400 { rig.give(.came(guest, from: "198.51.100.1")) }
        #expect(!rig.dismissed.contains(202) && !rig.dismissed.contains(1))
        #expect(rig.warnings == ["callers: too many wait without a proof"])
    }

    @Test func `a caller that sends too much before its proof is dismissed`() {
        var rig = Rig()
        rig.give(.came(1, from: nil))
        rig.greet(1)
        for _ in 0..<40 { rig.say(1, #"{"t":"ping","k":1,"x":"\#(String(repeating: "x", count: 4000))"}"#) }
        #expect(rig.dismissed == [1] && rig.heardBye(1))
        rig.give(.came(2, from: nil))
        rig.give(.said(2, Array(repeating: 0x20, count: 65_537)))
        #expect(rig.dismissed == [1, 2] && rig.heard(2, .lineTooLong))
    }

    @Test func `wrong proofs are counted over all connections of a machine`() throws {
        var rig = Rig()
        for guest in 1...5 { try rig.prove(guest, rightly: false) }
        try rig.prove(6)
        #expect(rig.admitted == [] && rig.dismissed == Array(1...6))
        try rig.prove(7, from: "192.0.2.2")
        #expect(rig.admitted == [7])
        rig.pass(.seconds(61))
        try rig.prove(8)
        #expect(rig.admitted == [7, 8])
    }

    @Test func `of several callers with a right proof the latest waits, for a limited time`() throws {
        var rig = Rig()
        try rig.prove(1)
        try rig.prove(2)
        #expect(rig.admitted == [1, 2] && rig.dismissed == [1] && rig.heardBye(1))
        rig.pass(.seconds(19))
        #expect(rig.handshakes.deadline != nil)
        rig.pass(.seconds(1))
        #expect(rig.dismissed == [1, 2] && rig.heardBye(2))
        try rig.prove(3)
        rig.give(.declined(3))
        #expect(rig.dismissed == [1, 2, 3] && rig.heardBye(3))
    }
}
