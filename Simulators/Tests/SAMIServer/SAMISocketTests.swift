import Synchronization
import Testing
import WebFaults
import WebSocketClient

@testable import SAMIExchange

@Suite(.timeLimit(.minutes(1))) struct SAMISocketTests {
    @Test func `A message posted on a device's socket is acknowledged and reaches a live socket`() async throws {
        let bench = try SAMIBench()
        let token = try bench.token()
        try await bench.serving { port in
            try await bench.socket(port, "/live", [("Authorization", "bearer \(token)"), ("uid", Fixtures.user)]) {
                live in
                try await bench.socket(port, "/websocket", [("ack", "true")]) { device in
                    var (heard, answers) = (live.texts.makeAsyncIterator(), device.texts.makeAsyncIterator())
                    try await device.send(registration(token, cid: 7))
                    let registered = try await answers.next()
                    #expect(registered == #"{"data":{"message":"OK","code":"200","cid":"7"}}"#)
                    #expect(bench.exchange.sockets.isConnected(Fixtures.scale))
                    try await device.send(
                        #"{"sdid":"\#(Fixtures.scale)","type":"message","ts":\#(SAMIBench.start),"data":{"weight":81.4},"cid":"2"}"#
                    )
                    let answer = try tree(try await answers.next())
                    let message = try tree(try await heard.next())
                    #expect(answer["data"]?["cid"] == "2")
                    #expect(message["mid"] == answer["data"]?["mid"])
                    #expect(message["data"] == ["weight": .number("81.4")] && message["type"] == nil)
                }
            }
        }
    }

    @Test func `A device's socket reports errors in SAMI's words`() async throws {
        let bench = try SAMIBench()
        let token = try bench.token()
        try await bench.serving { port in
            try await bench.socket(port, "/websocket", [("ack", "true")]) { device in
                var answers = device.texts.makeAsyncIterator()
                for (frame, code, message) in [
                    ("no json", 400, "Bad Request"),
                    (#"{"type":"register"}"#, 400, "Missing sdid value"),
                    (registration("nobody"), 401, "Please provide a valid authorization header"),
                    (#"{"sdid":"\#(Fixtures.scale)","data":{}}"#, 401, "Device not registered"),
                    (#"{"sdid":"\#(Fixtures.scale)","ts":-1,"data":{}}"#, 400, "Invalid ts value"),
                    (#"{"sdid":"x","ts":9999999999999,"data":{}}"#, 400, "Invalid ts value (in future)"),
                    (#"{"type":"action","data":{}}"#, 400, "Missing ddid value"),
                ] {
                    try await device.send(frame)
                    let answer = try tree(try await answers.next())
                    #expect(answer["error"]?["code"] == JSONTree(code) && answer["error"]?["message"]?.text == message)
                }
                try await device.send(registration(token))
                _ = try await answers.next()
                try await device.send(registration(token))
                let second = try await answers.next()
                #expect(second?.contains(#""code":409"#) == true)
            }
        }
    }

    @Test func `Only the connection that does not read is cut`() throws {
        let bench = try SAMIBench()
        let (sockets, caller) = (bench.exchange.sockets, try bench.exchange.caller("bearer \(try bench.token())"))
        let cuts = Mutex<[Int]>([])
        func open() -> (number: Int, frames: AsyncStream<SocketRegistry.Frame>) {
            let opened = sockets.open(.messages(LiveFilter(caller: caller, uid: nil, devices: [], types: [])))
            sockets.opened(opened.number) { cuts.withLock { $0.append(opened.number) } }
            return opened
        }
        let deaf = open()
        let message = MessageRow(
            mid: "m", sdid: Fixtures.scale, sdtid: Fixtures.withings, uid: Fixtures.user, ts: 0, cts: 0, mv: 1,
            data: "{}", raw: "{}", visibleOn: 0)
        for _ in 0..<10_000 { sockets.pass(message) }
        let other = open()
        #expect(cuts.withLock { $0 }.isEmpty)
        sockets.pass(message)
        #expect(cuts.withLock { $0 } == [deaf.number])
        #expect(sockets.close(deaf.number).isEmpty && sockets.close(other.number).isEmpty && sockets.count == 0)
    }

    @Test func `The handshake refuses unauthorized listeners`() async throws {
        let bench = try SAMIBench()
        try await bench.serving { port in
            await #expect(throws: WebSocketError.self) {
                try await bench.socket(port, "/live", [("Authorization", "bearer nobody")]) { _ in }
            }
            do {
                try await bench.socket(port, "/live", [("uid", Fixtures.user)]) { _ in }
            } catch let error as WebSocketError {
                #expect(error.code == .refused(401))
            }
        }
    }

    @Test func `An action reaches the socket of its destination`() async throws {
        let bench = try SAMIBench()
        let token = try bench.token()
        try await bench.serving { port in
            try await bench.socket(port, "/websocket", [("ack", "true")]) { device in
                var answers = device.texts.makeAsyncIterator()
                try await device.send(registration(token))
                _ = try await answers.next()
                _ = try bench.call(
                    "POST", "/messages", token: token,
                    json: [
                        "type": "action", "ddid": .text(Fixtures.scale),
                        "data": ["actions": [["name": "setOn", "parameters": [:]]]],
                    ])
                let frame = try tree(try await answers.next())
                #expect(frame["type"] == "action" && frame["ddid"]?.text == Fixtures.scale)
            }
        }
    }

    @Test func `A device that does not register in time gets an error and is disconnected`() async throws {
        let bench = try SAMIBench { $0.registrationSeconds = 0.05 }
        try await bench.serving { port in
            try await bench.socket(port, "/websocket", [("ack", "true")]) { device in
                var answers = device.texts.makeAsyncIterator()
                let (told, end) = (try await answers.next(), try await answers.next())
                #expect(told?.contains("Registration timeout") == true)
                #expect(end == nil)
            }
        }
    }

    @Test func `Pings arrive, a client notices a silent server, and sockets can be cut`() async throws {
        let bench = try SAMIBench { $0.pingSeconds = 0.05 }
        let token = try bench.token()
        try await bench.serving { port in
            let query = [(name: "Authorization", value: "bearer \(token)"), (name: "uid", value: Fixtures.user)]
            try await bench.socket(port, "/live", query) { live in
                var heard = live.texts.makeAsyncIterator()
                let ping = try await heard.next()
                #expect(ping == #"{"type":"ping"}"#)
                _ = try bench.exchange.control(WebRequest("DELETE", "/control/sockets"))
                while try await heard.next() != nil {}
            }
            bench.faults.add([try Fault("silent", forms: Exchange.forms)])
            do {
                try await bench.socket(port, "/live", query, silence: .milliseconds(200)) { live in
                    for try await _ in live.texts {}
                    Issue.record("it should have been noticed")
                }
            } catch let error as WebSocketError { #expect(error.code == .silent) }
        }
    }
}
