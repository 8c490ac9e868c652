import Glibc
import HubProcess
import Testing

@testable import ZeroMQ

@Suite struct SocketTests {
    @Test func `frames of one message stay together and in order`() throws {
        let context = try Context()
        let server = try Socket(.router, in: context)
        let client = try Socket(.dealer, in: context)
        try server.bind("inproc://pair")
        try client.connect("inproc://pair")
        let outcome = try client.sendTexts("SAMPLES", "{}")
        #expect(outcome == .sent)
        var message = Multipart()
        _ = try server.wait(for: .readable, upTo: patience)
        let received = try server.receiveMultipart(into: &message)
        #expect(received == .complete)
        let texts = [message.text(of: 1), message.text(of: 2)]
        #expect(texts == ["SAMPLES", "{}"])
        message.removeAll()
        let none = try server.receiveMultipart(into: &message)
        #expect(none == .nothing)
    }

    @Test func `binding an endpoint twice is addressInUse for inproc and tcp`() throws {
        let context = try Context()
        let first = try Socket(.router, in: context)
        let second = try Socket(.router, in: context)
        try first.bind("inproc://door")
        let error = #expect(throws: ZeroMQError.self) { try second.bind("inproc://door") }
        #expect(error?.code == .addressInUse && error?.mayRetry == true)
        #expect(error?.description == "zmq_bind inproc://door: Address already in use (addressInUse)")
        let endpoint = try first.bind("tcp://127.0.0.1:*")
        #expect(endpoint.hasPrefix("tcp://127.0.0.1:") && !endpoint.hasSuffix("*"))
        let again = #expect(throws: ZeroMQError.self) { try second.bind(endpoint) }
        #expect(again?.code == .addressInUse)
    }

    @Test func `libzmq lets a second socket take over a bound ipc path without an error`() throws {
        let context = try Context()
        let directory = try TemporaryFolder()
        let first = try Socket(.pull, in: context)
        let second = try Socket(.pull, in: context)
        try first.bind(directory.endpoint("door"))
        try second.bind(directory.endpoint("door"))
    }

    @Test(arguments: [
        ("nonsense", ZeroMQError.Code.invalidArgument), ("carrier-pigeon://loft", .unsupportedTransport),
        ("tcp://127.0.0.1", .invalidArgument), ("tcp://192.0.2.1:5555", .addressNotAvailable),
        ("inproc://a\0b", .invalidArgument), ("ipc:///nonexistent-directory/x", .noSuchEndpoint),
        ("", .invalidArgument),
    ])
    func `an invalid endpoint gives a specific error code`(endpoint: String, code: ZeroMQError.Code) throws {
        let socket = try Socket(.router, in: try Context())
        let error = #expect(throws: ZeroMQError.self) { try socket.bind(endpoint) }
        #expect(error?.code == code)
        #expect(error?.operation == "zmq_bind")
    }

    @Test func `unbind and disconnect fail for endpoints that are not bound or connected`() throws {
        let socket = try Socket(.dealer, in: try Context())
        let endpoint = try socket.bind("tcp://127.0.0.1:*")
        try socket.unbind(endpoint)
        let unbound = #expect(throws: ZeroMQError.self) { try socket.unbind(endpoint) }
        #expect(unbound?.code == .noSuchEndpoint)
        try socket.connect("tcp://127.0.0.1:1")
        try socket.disconnect("tcp://127.0.0.1:1")
        #expect(throws: ZeroMQError.self) { try socket.disconnect("tcp://127.0.0.1:1") }
    }

    @Test func `more sockets than the context allows give tooManySockets`() throws {
        let context = try Context(maxSockets: 1)
        let first = try Socket(.pair, in: context)
        let error = #expect(throws: ZeroMQError.self) { _ = try Socket(.pair, in: context) }
        #expect(error?.code == .tooManySockets)
        first.close()
        #expect(throws: ZeroMQError.self) { try Context(maxSockets: 0) }
        #expect(throws: ZeroMQError.self) { try Context(ioThreads: -1) }
    }

    @Test func `a SUB cannot send, a PUSH cannot receive and a REP answers only when asked`() throws {
        let context = try Context()
        let sub = try Socket(.sub, in: context)
        let wrong = #expect(throws: ZeroMQError.self) { _ = try sub.send(Message("x")) }
        #expect(wrong?.code == .notSupported)
        let push = try Socket(.push, in: context)
        let deaf = #expect(throws: ZeroMQError.self) { _ = try push.receive() == nil }
        #expect(deaf?.code == .notSupported)
        let rep = try Socket(.rep, in: context)
        let early = #expect(throws: ZeroMQError.self) { _ = try rep.send(Message("x")) }
        #expect(early?.code == .wrongState)
    }

    @Test func `messages sent together are received as separate, complete messages in order`() throws {
        let context = try Context()
        let feed = try Socket(.xpub, in: context)
        try feed.bind("inproc://together")
        let listeners = [
            try Listener("a/", "inproc://together", context), try Listener("", "inproc://together", context),
        ]
        for _ in listeners { _ = try feed.next() }
        var messages = Multipart()
        for number in 0..<200 {
            messages.append(number.isMultiple(of: 3) ? "b/" : "a/")
            messages.append("\(number)")
            messages.append([UInt8](repeating: 1, count: number))
        }
        try feed.sendMessages(&messages, framesEach: 3)
        let (isEmpty, bytes) = (messages.isEmpty, messages.byteCount)
        #expect(isEmpty && bytes == 0)
        try feed.sendMessages(&messages, framesEach: 3)  // Sends nothing.
        for (listener, isMeant) in zip(listeners, [{ !$0.isMultiple(of: 3) }, { _ in true }] as [(Int) -> Bool]) {
            for number in 0..<200 where isMeant(number) {
                _ = try listener.socket.wait(for: .readable, upTo: patience)
                var message = Multipart()
                #expect(try listener.socket.receiveMultipart(into: &message) == .complete)
                let (text, size) = (message.text(of: 1), message.bytes(of: 2).count)
                #expect(text == "\(number)" && size == number)
            }
            let more = try listener.socket.receive() != nil
            #expect(!more)
        }
    }

    private final class Listener {
        let socket: Socket

        init(_ topic: String, _ endpoint: String, _ context: Context) throws {
            socket = try Socket(.sub, in: context)
            try socket.subscribe(topic)
            try socket.connect(endpoint)
        }
    }

    @Test func `options read back the values that were set`() throws {
        let socket = try Socket(.router, in: try Context())
        let linger = try socket.get(.linger)
        #expect(linger == .zero)
        try socket.set(.linger, to: .milliseconds(1500))
        try socket.set(.sendHighWaterMark, to: 12)
        try socket.set(.receiveHighWaterMark, to: 0)
        try socket.set(.maxMessageSize, to: 1 << 21)
        try socket.set(.immediate, to: true)
        try socket.set(.ipv6, to: true)
        try socket.set(.tcpKeepalive, to: true)
        try socket.set(.heartbeatInterval, to: .seconds(5))
        #expect(try socket.get(.heartbeatTimeout) == nil)
        try socket.set(.heartbeatTimeout, to: .seconds(9))
        #expect(try socket.get(.heartbeatTimeout) == .seconds(9))
        try socket.set(.heartbeatTTL, to: .seconds(30))
        try socket.set(.reconnectInterval, to: .microseconds(1))
        try socket.set(.reconnectIntervalMax, to: .seconds(60))
        try socket.set(.handshakeInterval, to: .seconds(3))
        try socket.set(.zapDomain, to: "hub")
        try socket.set(.routingID, to: [1, 2])
        #expect(try socket.get(.linger) == .milliseconds(1500))
        #expect(try socket.get(.sendHighWaterMark) == 12)
        #expect(try socket.get(.receiveHighWaterMark) == 0)
        #expect(try socket.get(.maxMessageSize) == 1 << 21)
        #expect(try socket.get(.immediate))
        #expect(try socket.get(.ipv6))
        #expect(try socket.get(.tcpKeepalive) == true)
        #expect(try socket.get(.heartbeatInterval) == .seconds(5))
        #expect(try socket.get(.heartbeatTTL) == .seconds(30))
        #expect(try socket.get(.reconnectInterval) == .milliseconds(1))
        #expect(try socket.get(.reconnectIntervalMax) == .seconds(60))
        #expect(try socket.get(.handshakeInterval) == .seconds(3))
        #expect(try socket.get(.zapDomain) == "hub")
        #expect(try socket.get(.routingID) == [1, 2])
        try socket.set(.maxMessageSize, to: nil)
        try socket.set(.reconnectInterval, to: nil)
        try socket.set(.tcpKeepalive, to: nil)
        #expect(try socket.get(.maxMessageSize) == nil)
        #expect(try socket.get(.reconnectInterval) == nil)
        #expect(try socket.get(.tcpKeepalive) == nil)
    }

    @Test func `a value out of range or an unsuitable option is refused, and the error omits the value`() throws {
        let socket = try Socket(.router, in: try Context())
        #expect(throws: ZeroMQError.self) { try socket.set(.linger, to: .seconds(-1)) }
        #expect(throws: ZeroMQError.self) { try socket.set(.linger, to: .seconds(1 << 40)) }
        #expect(throws: ZeroMQError.self) { try socket.set(.linger, to: .seconds(Int64.max)) }
        #expect(throws: ZeroMQError.self) { try socket.set(.sendHighWaterMark, to: -1) }
        #expect(throws: ZeroMQError.self) { try socket.set(.maxMessageSize, to: -1) }
        #expect(throws: ZeroMQError.self) { try socket.set(.xpubManual, to: true) }
        #expect(throws: ZeroMQError.self) { try socket.get(.routerMandatory) }
        #expect(throws: ZeroMQError.self) { try socket.set(.routingID, to: [0, 1]) }
        #expect(throws: ZeroMQError.self) { try socket.set(.plainUsername, to: "") }
        let secret = String(repeating: "hunter2", count: 40)
        let error = #expect(throws: ZeroMQError.self) { try socket.set(.plainPassword, to: secret) }
        #expect(error.map { "\($0)".contains("plainPassword") && !"\($0)".contains("hunter2") } == true)
    }

    @Test func `an old libzmq is refused, and the error names the version to install`() throws {
        let old = LibraryVersion(major: 4, minor: 2, patch: 5)
        let error = #expect(throws: ZeroMQError.self) { try old.require(LibraryVersion(major: 4, minor: 3, patch: 0)) }
        #expect(error?.code == .unsupportedLibrary)
        #expect(error?.description.contains("libzmq 4.2.5: 4.3.0 or newer is needed") == true)
        #expect(LibraryVersion.installed >= LibraryVersion(major: 4, minor: 3, patch: 0))
    }

    @Test func `a timeout is never shorter than requested`() {
        #expect(Duration.microseconds(1).millisecondsRoundedUp == 1)
        #expect(Duration.milliseconds(7).millisecondsRoundedUp == 7)
        #expect(Duration.zero.millisecondsRoundedUp == 0)
        #expect(Duration.seconds(Int64.max).millisecondsRoundedUp == .max)
    }

    // MARK: - High-water marks and limits

    @Test func `a full queue is a result, the message stays with the sender, and none is lost or duplicated`() throws {
        let context = try Context()
        let push = try Socket(.push, in: context)
        let pull = try Socket(.pull, in: context)
        try push.set(.sendHighWaterMark, to: 5)
        try pull.set(.receiveHighWaterMark, to: 5)
        try pull.bind("inproc://queue")
        try push.connect("inproc://queue")
        var sent = 0
        var message = Message("0")
        while try push.send(&message) == .sent {
            sent += 1
            message = Message("\(sent)")
        }
        #expect(sent == 10)
        let kept = message.text
        #expect(kept == "10")
        var received: [String?] = []
        while let message = try pull.receive() { received.append(message.text) }
        #expect(received == (0..<10).map { "\($0)" })
        _ = try push.wait(for: .writable, upTo: patience)
        let outcome = try push.send(&message)
        #expect(outcome == .sent)
        let empty = message.isEmpty
        #expect(empty)
        let last = try pull.next().text
        #expect(last == "10")
    }

    @Test func `sending without a peer gives wouldBlock and keeps the whole multipart`() throws {
        let socket = try Socket(.dealer, in: try Context())
        var message = Multipart()
        message.append("a")
        message.append("b")
        let outcome = try socket.sendMultipart(&message)
        let texts = [message.text(of: 0), message.text(of: 1)]
        #expect(outcome == .wouldBlock && texts == ["a", "b"])
    }

    @Test func `a message over the frame or byte limit is drained and reported, and the next one is received`() throws {
        let context = try Context()
        let server = try Socket(.router, in: context)
        let client = try Socket(.dealer, in: context)
        try server.bind("inproc://limits")
        try client.connect("inproc://limits")
        var long = Multipart()
        for _ in 0..<1000 { long.append("frame") }
        _ = try client.sendMultipart(&long)
        _ = try client.sendTexts("big", String(repeating: "x", count: 500))
        _ = try client.sendTexts("next")
        var message = Multipart()
        _ = try server.wait(for: .readable, upTo: patience)
        let frames = try server.receiveMultipart(into: &message, maxFrames: 4)
        let (kept, id) = (message.count, message.bytes(of: 0))
        #expect(frames == .overLimit(frames: 1001, bytes: 5005) && kept == 1)
        let bytes = try server.receiveMultipart(into: &message, maxBytes: 100)
        #expect(bytes == .overLimit(frames: 3, bytes: 508))
        let complete = try server.receiveMultipart(into: &message, maxFrames: 4)
        let (text, sameID) = (message.text(of: 1), message.bytes(of: 0) == id)
        #expect(complete == .complete && text == "next" && sameID)
    }

    @Test func `a built message goes to many peers without being consumed`() throws {
        let context = try Context()
        let hub = try Socket(.router, in: context)
        let one = try Socket(.dealer, in: context)
        let two = try Socket(.dealer, in: context)
        try hub.bind("inproc://fan-out")
        var body = Message(String(repeating: "w", count: 4000))
        func exchange(_ client: borrowing Socket) throws {
            try client.connect("inproc://fan-out")
            _ = try client.send(Message("hi"))
            let id = try hub.next()
            _ = try hub.receive()?.count
            _ = try hub.send(id, more: true)
            _ = try hub.send(body.copy())
        }
        try exchange(one)
        try exchange(two)
        let counts = [try one.next().count, try two.next().count, body.count]
        #expect(counts == [4000, 4000, 4000])
    }

    @Test func `readiness reports the operations that would not block`() throws {
        let context = try Context()
        let push = try Socket(.push, in: context)
        let pull = try Socket(.pull, in: context)
        try pull.bind("inproc://ready")
        #expect(try push.readiness == [])
        try push.connect("inproc://ready")
        #expect(try push.readiness == .writable)
        _ = try push.send(Message("x"))
        #expect(try pull.wait(for: .readable, upTo: patience) == .readable)
        #expect(try push.wait(for: .readable, upTo: .milliseconds(1)) == [])
    }
}
