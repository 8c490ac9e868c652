import HubWire
import PluginKit
import Samples
import Testing

/// Types that a client declares while it runs.
@Suite struct DeclareTests {
    private static let glow = TypeDeclaration(id: "x.acme.glow", kind: .other)
    private static let hum = TypeDeclaration(id: "x.acme.hum", kind: .other)

    private func declared(_ actions: [ClientAction]) -> [[String]] {
        actions.compactMap { action in
            guard case .send(let message) = action, message.verb == .hello,
                case .hello(let hello)? = try? ClientMessage.decode(
                    "HELLO", String(decoding: message.body, as: UTF8.self))
            else { return nil }
            return hello.declares.map(\.id)
        }
    }

    @Test func `R4.27 what is declared later is in a new HELLO, and what was not answered is sent again after it`()
        throws
    {
        var client = DialogueClientTests.open()
        _ = try client.submit(DialogueClientTests.batch(), at: 0)
        let greeting = client.declare([Self.glow], at: 1)
        #expect(declared(greeting) == [["x.acme.glow"]])
        #expect(client.addedTypes == [])
        // Answers of the session before mean nothing any more.
        let opened = client.receive(.welcome(.sample(session: "t")), at: 2)
        #expect(opened.verbs == [.samples])
        #expect(client.addedTypes == [Self.glow])
        #expect(client.declare([Self.glow], at: 3) == [], "the hub has it")
        // Also in every later session.
        let again = client.receive(.error(WireError(.helloFirst, "no session")), at: 4)
        #expect(declared(again) == [["x.acme.glow"]])
    }

    @Test(arguments: [.field, .limit] as [WireError.Code])
    func `R4.27 a hub that refuses the types is greeted without them, and those before them stay`(
        _ code: WireError.Code
    ) throws {
        var client = DialogueClientTests.open()
        _ = client.declare([Self.glow], at: 1)
        _ = client.receive(.welcome(.sample()), at: 2)
        _ = client.declare([Self.hum], at: 3)
        let error = WireError(code, "HELLO.declares: declared otherwise", closed: true)
        let refused = client.receive(.error(error), at: 4)
        #expect(refused.contains(.undeclared(error)))
        #expect(declared(refused) == [["x.acme.glow"]])
        _ = client.receive(.welcome(.sample()), at: 5)
        #expect(client.isOpen && client.addedTypes == [Self.glow])
        // A hub that has become another may refuse those, too.
        _ = client.receive(.error(WireError(.helloFirst, "no session")), at: 6)
        #expect(declared(client.receive(.error(error), at: 7)) == [[]])
    }

    @Test func `R4.27 a refusal that comes twice, because HELLO was sent twice, takes away no type that the hub has`() {
        var client = DialogueClientTests.open()
        _ = client.declare([Self.glow], at: 1)
        _ = client.receive(.welcome(.sample(session: "t")), at: 2)
        _ = client.declare([Self.hum], at: 3)
        // The hub is slow: the same HELLO goes out again, and both are refused.
        #expect(declared(client.tick(at: 3_000)) == [["x.acme.glow", "x.acme.hum"]])
        let error = WireError(.field, "HELLO.declares: declared otherwise", closed: true)
        #expect(declared(client.receive(.error(error), at: 3_001)) == [["x.acme.glow"]])
        #expect(client.receive(.error(error), at: 3_002).isEmpty)
        let welcomed = client.receive(.welcome(.sample(session: "u")), at: 3_003)
        if !client.isOpen {
            guard case .send(let ping)? = welcomed.first else {
                Issue.record("\(welcomed)")
                return
            }
            _ = client.receive(.pong(RawJSON(trusted: ping.body)), at: 3_004)
        }
        #expect(client.isOpen && client.addedTypes == [Self.glow])
    }

    @Test func `R4.27 a first set of types that is refused twice leaves a client that goes on without them`() {
        var client = DialogueClientTests.open()
        _ = client.declare([Self.glow], at: 1)
        _ = client.tick(at: 3_000)
        let error = WireError(.field, "HELLO.declares: declared otherwise", closed: true)
        #expect(declared(client.receive(.error(error), at: 3_001)) == [[]])
        #expect(client.receive(.error(error), at: 3_002).isEmpty)
        #expect(client.state == .greeting)
    }

    @Test func `R4.27 a hub that has no room for a session has not refused its types`() {
        var client = DialogueClientTests.open()
        _ = client.declare([Self.glow], at: 1)
        _ = client.receive(.welcome(.sample()), at: 2)
        _ = client.receive(.error(WireError(.helloFirst, "no session")), at: 3)
        let error = WireError(.limit, "HELLO: the hub has 256 sessions, which is its limit", closed: true)
        #expect(!client.receive(.error(error), at: 4).contains(.undeclared(error)))
        #expect(client.addedTypes == [Self.glow])
    }

    @Test func `R4.27 what is declared before the beginning is in the first HELLO`() {
        var client = ClientMachine(hello: DialogueClientTests.hello)
        #expect(client.declare([Self.glow], at: 0) == [])
        #expect(declared(client.start(at: 0)) == [["x.acme.glow"]])
    }
}
