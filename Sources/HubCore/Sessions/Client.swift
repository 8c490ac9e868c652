import HubSessions
import HubStore
import HubWire
import Samples
import ZeroMQ

/// What the hub keeps of the client of a session, beside the session's state; only on the poll loop.
///
/// A class, because every message looks at it, and its decoder keeps memory that must have one owner.
final class Client {
    let reference: SessionReference
    /// Where it came in.
    let endpoint: Endpoint
    /// As whom it logged in there (``LogIn``); `nil` for the owner.
    let logIn: String?
    let hello: Hello
    let policy: InstancePolicy
    let registry: TypeRegistry
    var decoder: RecordDecoder
    var intake: BatchIntake
    /// Prefixes of the feed of which the session was told that it may not read them.
    var toldInVain: Set<[UInt8]> = []
    static let mostToldInVain = 100
    /// What its LIVE messages have in common.
    var track = LiveTrack()
    /// Questions that are being answered, by their number.
    var questions: [Int64: Task<Void, Never>] = [:]

    init(
        _ reference: SessionReference, _ endpoint: Endpoint, logIn: String?, _ hello: Hello,
        _ policy: InstancePolicy, _ registry: TypeRegistry, _ intake: BatchIntake
    ) {
        (self.reference, self.hello, self.policy, self.registry) = (reference, hello, policy, registry)
        self.intake = intake
        (self.endpoint, self.logIn) = (endpoint, logIn)
        decoder = RecordDecoder(plugin: hello.plugin, registry: registry)
    }

    var session: ClientSession { ClientSession(reference: reference, hello: hello) }
}

/// A session and what its client said of itself, for the parts of the loop that it asks for something.
struct ClientSession: Sendable {
    let reference: SessionReference
    let hello: Hello

    var instance: String { hello.instance }
}
