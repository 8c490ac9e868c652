import HubStore
import HubWire
import Samples
import ZeroMQ

/// The hub's data about the client of a session, in addition to the session's state; only on the poll loop.
///
/// A class, because every message accesses it, and its decoder keeps memory that must have one owner.
final class Client {
    let session: ClientSession
    /// The reference of the session; kept here too, because every message uses it.
    let reference: SessionReference
    /// The endpoint through which it came.
    let endpoint: Endpoint
    /// The name of its log-in there (``PeerUserID``); `nil` for the owner.
    let logIn: String?
    var decoder: RecordDecoder
    var intake: BatchIntake
    /// Prefixes of the feed that the session was notified it may not read.
    var reportedDenials: Set<[UInt8]> = []
    static let maximumReportedDenials = 100
    /// The common state of its LIVE messages.
    var track = LiveSessionState()

    init(_ session: ClientSession, _ endpoint: Endpoint, logIn: String?, _ intake: BatchIntake) {
        (self.session, self.endpoint, self.logIn, self.intake) = (session, endpoint, logIn, intake)
        reference = session.reference
        decoder = RecordDecoder(plugin: session.hello.plugin, registry: session.registry)
    }

    var hello: Hello { session.hello }
    var policy: InstancePolicy { session.policy }
    var registry: TypeRegistry { session.registry }
}

/// The data of a session and its client that holds as long as the session: all that the parts of the loop need to serve it.
final class ClientSession: Sendable {
    let reference: SessionReference
    let hello: Hello
    let policy: InstancePolicy
    let registry: TypeRegistry
    /// Whether it came through the owner's endpoint: its requests there count as the owner's, whatever its name.
    let isOwners: Bool

    init(
        _ reference: SessionReference, _ hello: Hello, _ policy: InstancePolicy, _ registry: TypeRegistry,
        isOwners: Bool
    ) {
        (self.reference, self.hello, self.policy, self.registry) = (reference, hello, policy, registry)
        self.isOwners = isOwners
    }

    var instance: String { hello.instance }

    /// The reading rights of a plugin that uses the owner's requests (R12.13); `nil` for the owner.
    var narrowing: ReadGrant? { isOwners ? nil : ReadGrant(policy, of: instance) }
}
