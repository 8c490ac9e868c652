import HubProcess
import Testing
import ZeroMQ

/// Behaviour of libzmq that the hub's protocol relies on, partly undocumented: a changed library fails here first.
@Suite struct LibraryFactsTests {
    /// Runs a ZAP handler on its own thread that accepts each client with the password.
    private func withHandler<R>(_ context: Context, _ body: () throws -> R) throws -> R {
        let ready = try Socket(.pull, in: context)
        try ready.bind("inproc://handler-ready")
        let thread = TestThread {
            do {
                let handler = try Socket(.rep, in: context)
                try handler.bind(ZAPRequest.endpoint)
                let signal = try Socket(.push, in: context)
                try signal.connect("inproc://handler-ready")
                _ = try signal.send(Message("ready"))
                var frames = Multipart()
                while true {
                    _ = try handler.wait(for: .readable, upTo: nil)
                    guard case .complete = try handler.receiveMultipart(into: &frames), let request = ZAPRequest(frames)
                    else { continue }
                    let reply: Multipart
                    if request.domain == "hub", case .plain(let name, Array("token".utf8)) = request.credentials {
                        reply = request.reply(.allow(userID: String(decoding: name, as: UTF8.self)))
                    } else if case .curve(let key) = request.credentials {
                        reply = request.reply(.allow(userID: key.z85))
                    } else {
                        reply = request.reply(.refuse("unknown"))
                    }
                    _ = try handler.sendMultipart(reply)
                }
            } catch {
                if (error as? ZeroMQError)?.code != .contextTerminated { Issue.record(error) }
            }
        }
        defer {
            context.shutdown()
            thread.join()
        }
        _ = try ready.next().count
        return try body()
    }

    private func logIn(_ socket: borrowing Socket, _ name: String, _ password: String) throws {
        try socket.set(.plainUsername, to: name)
        try socket.set(.plainPassword, to: password)
    }

    @Test func `a second peer with the same routing id is silently ignored`() throws {
        let context = try Context()
        let directory = try TemporaryFolder()
        let router = try Socket(.router, in: context)
        try router.bind(directory.endpoint("door"))
        let first = try Socket(.dealer, in: context)
        let second = try Socket(.dealer, in: context)
        try first.set(.routingID, to: Array("same".utf8))
        try second.set(.routingID, to: Array("same".utf8))
        try first.connect(directory.endpoint("door"))
        _ = try first.send(Message("one"))
        #expect(try router.nextTexts() == ["same", "one"])
        let events = try second.monitor()
        try second.connect(directory.endpoint("door"))
        #expect(try second.send(Message("two")) == .sent)
        _ = try events.next { $0 == .handshakeSucceeded }
        _ = try first.send(Message("three"))
        #expect(try router.nextTexts() == ["same", "three"])
        #expect(try second.send(Message("four")) == .sent)
        _ = try first.send(Message("five"))
        #expect(try router.nextTexts() == ["same", "five"])
        #expect(try router.readiness == .writable)
    }

    @Test func `one ROUTER serves an open and a PLAIN endpoint, and User-Id tells them apart`() throws {
        let context = try Context()
        let directory = try TemporaryFolder()
        try withHandler(context) {
            let door = try Socket(.router, in: context)
            try door.bind(directory.endpoint("owner"))
            try door.set(.zapDomain, to: "hub")
            try door.set(.plainServer, to: true)
            try door.bind(directory.endpoint("plugin"))
            let owner = try Socket(.dealer, in: context)
            try owner.connect(directory.endpoint("owner"))
            _ = try owner.send(Message("owner"))
            let plugin = try Socket(.dealer, in: context)
            try logIn(plugin, "ihealth-hs3", "token")
            try plugin.connect(directory.endpoint("plugin"))
            _ = try plugin.send(Message("plugin"))
            var users: [String: String?] = [:]
            var message = Multipart()
            while users.count < 2 {
                _ = try door.wait(for: .readable, upTo: patience)
                guard case .complete = try door.receiveMultipart(into: &message) else { throw Socket.Missing() }
                users[message.text(of: 1) ?? ""] = message.property("User-Id")
            }
            #expect(users == ["owner": nil, "plugin": "ihealth-hs3"])
        }
    }

    @Test func `with a wrong password nothing is delivered, and both ends get an event`() throws {
        let context = try Context()
        let directory = try TemporaryFolder()
        try withHandler(context) {
            let door = try Socket(.router, in: context)
            let events = try door.monitor()
            try door.set(.zapDomain, to: "hub")
            try door.set(.plainServer, to: true)
            try door.bind(directory.endpoint("plugin"))
            let plugin = try Socket(.dealer, in: context)
            let told = try plugin.monitor()
            try logIn(plugin, "ihealth-hs3", "guess")
            try plugin.connect(directory.endpoint("plugin"))
            _ = try plugin.send(Message("let me in"))
            let seen = try events.next { if case .handshakeRefused = $0 { true } else { false } }
            #expect(seen == .handshakeRefused(status: 400))
            let answer = try told.next { if case .handshakeRefused = $0 { true } else { false } }
            #expect(answer == .handshakeRefused(status: 400))
            #expect(try door.receive() == nil)
        }
    }

    @Test func `a peer without a log-in is refused at a PLAIN endpoint, and both ends get an event`() throws {
        let context = try Context()
        let directory = try TemporaryFolder()
        try withHandler(context) {
            let door = try Socket(.router, in: context)
            let events = try door.monitor()
            try door.set(.plainServer, to: true)
            try door.bind(directory.endpoint("plugin"))
            let stranger = try Socket(.dealer, in: context)
            let told = try stranger.monitor()
            try stranger.connect(directory.endpoint("plugin"))
            _ = try stranger.send(Message("let me in"))
            #expect(try events.next { $0 == .handshakeMismatched } == .handshakeMismatched)
            #expect(try told.next { $0 == .handshakeMismatched } == .handshakeMismatched)
            #expect(try door.receive() == nil)
        }
    }

    @Test func `an endpoint's greeting names its log-in mechanism`() throws {
        let context = try Context()
        let directory = try TemporaryFolder()
        func kind(_ endpoint: String) throws -> String? {
            var greeting = try PeerGreeting(of: endpoint, in: context)
            while try greeting.socket.wait(for: .readable, upTo: .seconds(10)) == .readable {
                if let kind = try greeting.receive() { return kind }
            }
            return nil
        }
        try withHandler(context) {
            for transport in [directory.endpoint("plugin"), "tcp://127.0.0.1:*"] {
                let open = try Socket(.router, in: context)
                #expect(try kind(open.bind(transport)) == "NULL")
                let plain = try Socket(.router, in: context)
                try plain.set(.plainServer, to: true)
                #expect(try kind(plain.bind(transport)) == "PLAIN")
                let curve = try Socket(.router, in: context)
                try curve.set(.curveServer, to: true)
                try curve.set(.curveSecretKey, to: CurveKeyPair.generate().secretKey)
                #expect(try kind(curve.bind(transport)) == "CURVE")
            }
        }
    }

    @Test func `CURVE peers are identified by their key`() throws {
        let context = try Context()
        try withHandler(context) {
            let (server, client) = (try CurveKeyPair.generate(), try CurveKeyPair.generate())
            let door = try Socket(.router, in: context)
            try door.set(.curveServer, to: true)
            try door.set(.curveSecretKey, to: server.secretKey)
            let endpoint = try door.bind("tcp://127.0.0.1:*")
            let peer = try Socket(.dealer, in: context)
            try peer.set(.curveServerKey, to: server.publicKey)
            try peer.set(.curvePublicKey, to: client.publicKey)
            try peer.set(.curveSecretKey, to: client.secretKey)
            #expect(try peer.get(.curveServerKey) == server.publicKey)
            try peer.connect(endpoint)
            _ = try peer.send(Message("sealed"))
            _ = try door.next().count
            let body = try door.next()
            let (user, text) = (body.property("User-Id"), body.text)
            #expect(user == client.publicKey.z85)
            #expect(text == "sealed")
        }
    }

    @Test func `a manual XPUB replaces a subscription by narrower ones and knows its subscriber`() throws {
        let context = try Context()
        let directory = try TemporaryFolder()
        try withHandler(context) {
            let feed = try Socket(.xpub, in: context)
            try feed.set(.xpubManual, to: true)
            try feed.bind(directory.endpoint("owner"))
            try feed.set(.zapDomain, to: "hub")
            try feed.set(.plainServer, to: true)
            try feed.bind(directory.endpoint("plugin"))
            let narrow = try Socket(.sub, in: context)
            try logIn(narrow, "exist", "token")
            try narrow.connect(directory.endpoint("plugin"))
            try narrow.subscribe("sample/")
            let asked = try feed.next()
            let (user, request) = (asked.property("User-Id"), asked.bytes)
            #expect(user == "exist")
            #expect(request == [1] + Array("sample/".utf8))
            try feed.subscribe("sample/weight/")
            try feed.subscribe("sample/stepCount/")
            let owner = try Socket(.sub, in: context)
            try owner.connect(directory.endpoint("owner"))
            try owner.subscribe("sample/")
            let open = try feed.next()
            let unnamed = open.property("User-Id")
            #expect(unnamed == nil)
            try feed.subscribe("sample/")
            for topic in ["sample/heartRate/", "sample/weight/", "sample/stepCount/"] {
                _ = try feed.send(Message(topic))
            }
            #expect(try owner.nextTexts() == ["sample/heartRate/"])
            #expect(try owner.nextTexts() == ["sample/weight/"])
            #expect(try narrow.nextTexts() == ["sample/weight/"])
            #expect(try narrow.nextTexts() == ["sample/stepCount/"])
        }
    }

    /// Shows why the hub does not rely on manual mode and gives each instance its own socket instead.
    @Test(.enabled(if: LibraryVersion.installed <= LibraryVersion(major: 4, minor: 3, patch: 4)))
    func `after a message that is not a subscription, a manual XPUB assigns subscriptions to the wrong peer`() throws {
        let context = try Context()
        let feed = try Socket(.xpub, in: context)
        try feed.set(.xpubManual, to: true)
        try feed.bind("inproc://feed")
        let loud = try Socket(.xsub, in: context)
        let owner = try Socket(.xsub, in: context)
        let other = try Socket(.xsub, in: context)
        try loud.connect("inproc://feed")
        try owner.connect("inproc://feed")
        try other.connect("inproc://feed")
        _ = try loud.send(Message("noise"))
        _ = try owner.send(Message([1] + Array("secret/".utf8)))
        _ = try other.send(Message([1] + Array("mine/".utf8)))
        let first = try feed.next().text
        #expect(first == "noise")
        let second = try feed.next().text
        #expect(second == "\u{1}secret/")
        try feed.subscribe("secret/")
        _ = try feed.send(Message("secret/weight"))
        #expect(try other.nextTexts() == ["secret/weight"])
        #expect(try owner.receive()?.count == nil)
    }

    @Test func `a mandatory ROUTER reports an unknown peer and a full queue, and keeps the message`() throws {
        let context = try Context()
        let router = try Socket(.router, in: context)
        try router.set(.routerMandatory, to: true)
        try router.set(.sendHighWaterMark, to: 3)
        try router.bind("inproc://door")
        let unknown = try router.sendTexts("nobody", "x")
        #expect(unknown == .unroutable)
        let peer = try Socket(.dealer, in: context)
        try peer.set(.routingID, to: Array("peer".utf8))
        try peer.set(.receiveHighWaterMark, to: 3)
        try peer.connect("inproc://door")
        _ = try peer.send(Message("hello"))
        #expect(try router.nextTexts() == ["peer", "hello"])
        var sent = 0
        var message = Multipart()
        while true {
            message.append("peer")
            message.append("\(sent)")
            guard try router.sendMultipart(&message) == .sent else { break }
            sent += 1
        }
        let kept = (0..<message.count).map { message.text(of: $0) }
        #expect(sent == 6)
        #expect(kept == ["peer", "6"])
        for number in 0..<sent { #expect(try peer.nextTexts() == ["\(number)"]) }
    }

    @Test func `a frame over maxMessageSize ends the connection without an answer`() throws {
        let context = try Context()
        let directory = try TemporaryFolder()
        let door = try Socket(.router, in: context)
        let events = try door.monitor()
        try door.set(.maxMessageSize, to: 1000)
        try door.bind(directory.endpoint("door"))
        let peer = try Socket(.dealer, in: context)
        try peer.set(.reconnectInterval, to: nil)
        try peer.connect(directory.endpoint("door"))
        _ = try peer.send(Message([UInt8](repeating: 1, count: 1000)))
        _ = try peer.send(Message([UInt8](repeating: 1, count: 1001)))
        _ = try door.next().count
        #expect(try door.receive()?.count == 1000)
        _ = try events.next { $0 == .disconnected }
        #expect(try door.receive() == nil)
        #expect(try peer.receive() == nil)
    }

    @Test func `a large frame is received completely`() throws {
        let context = try Context()
        let directory = try TemporaryFolder()
        let pull = try Socket(.pull, in: context)
        try pull.bind(directory.endpoint("large"))
        let push = try Socket(.push, in: context)
        try push.connect(directory.endpoint("large"))
        let bytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
        _ = try push.send(Message(bytes))
        let received = try pull.next().bytes
        #expect(received == bytes)
    }

    @Test func `an ipc path of 107 bytes is bound and one of 108 is refused`() throws {
        let directory = try TemporaryFolder()
        let socket = try Socket(.router, in: try Context())
        let room = 107 - directory.path.utf8.count - 1
        try socket.bind(directory.endpoint(String(repeating: "x", count: room)))
        let error = #expect(throws: ZeroMQError.self) {
            try socket.bind(directory.endpoint(String(repeating: "x", count: room + 1)))
        }
        #expect(error?.code == .endpointTooLong)
    }

    @Test(arguments: ["inproc", "ipc"])
    func `no part of an unfinished message is delivered, even if its sender disconnects`(transport: String) throws {
        let context = try Context()
        let directory = try TemporaryFolder()
        let endpoint = transport == "ipc" ? directory.endpoint("door") : "inproc://door"
        let pull = try Socket(.pull, in: context)
        try pull.bind(endpoint)
        do {
            let sender = try Socket(.push, in: context)
            try sender.connect(endpoint)
            _ = try sender.send(Message("whole"))
            #expect(try sender.send(Message("half"), more: true) == .sent)
            #expect(try pull.nextTexts() == ["whole"])
            #expect(try pull.readiness == [])
        }
        let other = try Socket(.push, in: context)
        try other.connect(endpoint)
        _ = try other.send(Message("after"))
        #expect(try pull.nextTexts() == ["after"])
    }
}
