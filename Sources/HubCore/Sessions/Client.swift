import HubSessions
import HubStore
import HubWire
import Samples
import ZeroMQ

/// What the hub keeps of the client of a session, beside the session's state; only on the poll loop.
///
/// A class, because every message looks at it, and its decoder keeps memory that must have one owner.
final class Client {
    let session: ClientSession
    /// The session's; here too, for every message looks at it.
    let reference: SessionReference
    /// Where it came in.
    let endpoint: Endpoint
    /// As whom it logged in there (``LogIn``); `nil` for the owner.
    let logIn: String?
    var decoder: RecordDecoder
    var intake: BatchIntake
    /// Prefixes of the feed of which the session was told that it may not read them.
    var toldInVain: Set<[UInt8]> = []
    static let mostToldInVain = 100
    /// What its LIVE messages have in common.
    var track = LiveTrack()

    init(_ session: ClientSession, _ endpoint: Endpoint, logIn: String?, _ intake: BatchIntake) {
        (self.session, self.endpoint, self.logIn, self.intake) = (session, endpoint, logIn, intake)
        reference = session.reference
        decoder = RecordDecoder(plugin: session.hello.plugin, registry: session.registry)
    }

    var hello: Hello { session.hello }
    var policy: InstancePolicy { session.policy }
    var registry: TypeRegistry { session.registry }
}

/// What of a session and its client holds as long as the session: all that the parts of the loop need to serve it.
final class ClientSession: Sendable {
    let reference: SessionReference
    let hello: Hello
    let policy: InstancePolicy
    let registry: TypeRegistry
    /// Whether it came in at the owner's endpoint: what it asks and does there is the owner's, whatever its name.
    let isOwners: Bool

    init(
        _ reference: SessionReference, _ hello: Hello, _ policy: InstancePolicy, _ registry: TypeRegistry,
        isOwners: Bool
    ) {
        (self.reference, self.hello, self.policy, self.registry) = (reference, hello, policy, registry)
        self.isOwners = isOwners
    }

    var instance: String { hello.instance }

    /// What a plugin may read that asks or does what is the owner's (R12.13); `nil` for the owner.
    var narrowing: ReadGrant? { isOwners ? nil : ReadGrant(policy, of: instance) }
}
