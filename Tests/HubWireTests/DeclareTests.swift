import HubWire
import PluginKit
import Samples
import Testing

/// Types that a client declares at run time.
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

    @Test func `R4.27 a later declaration sends a new HELLO, and unanswered batches are sent again after it`()
        throws
    {
        var client = DialogueClientTests.open()
        _ = try client.submit(DialogueClientTests.batch(), at: 0)
        let greeting = client.declare([Self.glow], at: 1)
        #expect(declared(greeting) == [["x.acme.glow"]])
        #expect(client.addedTypes == [])
        // Answers of the previous session are ignored.
        let opened = client.receive(.welcome(.sample(session: "t")), at: 2)
        #expect(opened.verbs == [.samples])
        #expect(client.addedTypes == [Self.glow])
        #expect(client.declare([Self.glow], at: 3) == [], "the hub has it")
        // The types are declared in every later session, too.
        let again = client.receive(.error(WireError(.helloFirst, "no session")), at: 4)
        #expect(declared(again) == [["x.acme.glow"]])
    }

    @Test(arguments: [.field, .limit] as [WireError.Code])
    func `R4.27 after the hub refuses new types, HELLO omits them and keeps the earlier ones`(
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
        // A hub that was replaced by another may refuse the earlier types, too.
        _ = client.receive(.error(WireError(.helloFirst, "no session")), at: 6)
        #expect(declared(client.receive(.error(error), at: 7)) == [[]])
    }

    @Test func `R4.27 a second refusal of a repeated HELLO does not remove accepted types`() {
        var client = DialogueClientTests.open()
        _ = client.declare([Self.glow], at: 1)
        _ = client.receive(.welcome(.sample(session: "t")), at: 2)
        _ = client.declare([Self.hum], at: 3)
        // The hub is slow, so the same HELLO is sent again, and both are refused.
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

    @Test func `R4.27 a client whose first set of types is refused twice continues without them`() {
        var client = DialogueClientTests.open()
        _ = client.declare([Self.glow], at: 1)
        _ = client.tick(at: 3_000)
        let error = WireError(.field, "HELLO.declares: declared otherwise", closed: true)
        #expect(declared(client.receive(.error(error), at: 3_001)) == [[]])
        #expect(client.receive(.error(error), at: 3_002).isEmpty)
        #expect(client.state == .greeting)
    }

    @Test func `R4.27 a session refused for lack of room does not count as a refusal of its types`() {
        var client = DialogueClientTests.open()
        _ = client.declare([Self.glow], at: 1)
        _ = client.receive(.welcome(.sample()), at: 2)
        _ = client.receive(.error(WireError(.helloFirst, "no session")), at: 3)
        let error = WireError(.limit, "HELLO: the hub has 256 sessions, which is its limit", closed: true)
        #expect(!client.receive(.error(error), at: 4).contains(.undeclared(error)))
        #expect(client.addedTypes == [Self.glow])
    }

    @Test func `R4.27 types declared before the start are in the first HELLO`() {
        var client = ClientMachine(hello: DialogueClientTests.hello)
        #expect(client.declare([Self.glow], at: 0) == [])
        #expect(declared(client.start(at: 0)) == [["x.acme.glow"]])
    }
}
