import Glibc
import HubWire
import Logging
import ZeroMQ

/// Admits connections: libzmq asks it at the door and at the feeds (ZAP 1.0), before it reads anything from a connection.
///
/// A part of the door.
@DoorActor
final class ConnectionAuthenticator {
    /// The launch tokens of the running processes.
    var tokens = LaunchTokens()
    private let door: Door
    private var socket: Socket?

    init(of door: Door) { self.door = door }

    func open(in context: Context) throws(ZeroMQError) {
        let socket = try Socket(.rep, in: context)
        try socket.bind(ZAPRequest.endpoint)
        door.loop.watch(socket) { [weak self] _ in self?.answer() }
        self.socket = consume socket
    }

    func close() { socket = nil }

    private func answer() {
        do throws(ZeroMQError) {
            var question = Multipart()
            while case .complete? = try socket?.receiveMultipart(into: &question) {
                // Only libzmq itself asks here; a REP socket that does not answer would get no further question.
                guard let request = ZAPRequest(question) else {
                    door.logger.error("the gate received a request other than ZAP 1.0")
                    _ = try socket?.send(Message())
                    continue
                }
                let verdict = verdict(on: request)
                if case .refuse(let reason) = verdict { noteRefusal(of: request, because: reason) }
                _ = try socket?.sendMultipart(request.reply(verdict))
            }
        } catch {
            door.logger.error("the gate has failed", metadata: ["error": "\(error)"])
        }
    }

    // MARK: - Judging

    private func verdict(on request: ZAPRequest) -> ZAPRequest.Verdict {
        if request.domain == LaunchTokens.ownerDomain { return ownerVerdict(on: request) }
        return switch request.credentials {
        case .curve(let key): verdict(onKey: key, domain: request.domain)
        case .none:
            door.network.setting?.isInsecure == true
                ? .allow(userID: PeerUserID.anyone) : .refuse("a log-in is needed")
        default: tokens.verdict(on: request.credentials, domain: request.domain)
        }
    }

    /// The verdict on a connection to the owner's endpoints.
    ///
    /// They are open to all processes of the owner except those that the hub has started. On a kernel without a separate root for plugins,
    /// file permissions do not keep plugins away from these endpoints.
    private func ownerVerdict(on request: ZAPRequest) -> ZAPRequest.Verdict {
        // libzmq gives `localhost:UID:GID:PID` of a Unix socket's peer; 0 means a process of another container, which is not a plugin.
        guard let peer = request.address.split(separator: ":").last.flatMap({ pid_t($0) }), peer > 0,
            peer != getpid(), ProcessTree.parent(of: getpid()) != nil
        else { return .allow(userID: "") }
        guard ProcessTree.parent(of: peer) != nil else {
            return .refuse("its process has ended, or /proc does not show it to the hub (hidepid, ProtectProc)")
        }
        return ProcessTree.isBelow(peer, getpid()) ? .refuse("a plugin at the owner's endpoint") : .allow(userID: "")
    }

    /// The verdict on a network log-in, which has proved that it holds its key.
    private func verdict(onKey key: CurveKey, domain: String) -> ZAPRequest.Verdict {
        guard let instance = door.network.instances[key.z85] else { return .refuse("no such key") }
        guard door.facts.instances[instance]?.remote != nil else {
            return .refuse("hub.conf does not expect this instance")
        }
        guard domain == LaunchTokens.doorDomain || domain == LaunchTokens.feedDomain(of: instance) else {
            return .refuse("the feed of another instance")
        }
        return .allow(userID: PeerUserID.text(ofKey: key.z85))
    }

    private func noteRefusal(of request: ZAPRequest, because reason: String) {
        if case .plain(let name, _) = request.credentials, let instance = String(validating: name, as: UTF8.self),
            tokens.isAdmitted(instance)
        {
            // Otherwise a plugin's author would only read, half a minute later, that the plugin did not greet.
            door.plugins.counters.logInRefused(
                instance,
                "its log-in at HUB_DOOR was refused (\(reason)): the password is the launch token, the first line of its stdin without the line's end"
            )
        } else if request.domain == LaunchTokens.ownerDomain {
            door.logOfSessions(
                .warning, "the owner's endpoint: a connection was refused",
                ["process": "\(request.address)", "reason": "\(reason)"])
        } else if !request.address.isEmpty {
            door.logOfSessions(
                .notice, "the network: a log-in was refused",
                ["address": "\(request.address)", "reason": "\(reason)"])
        }
    }

    // MARK: - Log-ins

    /// The endpoint of a message; `nil` if its log-in is no longer valid.
    func endpoint(of logIn: String?) -> Endpoint? {
        guard let logIn, !logIn.isEmpty else { return .owner }
        if logIn == PeerUserID.anyone { return .remote(user: nil) }
        guard let key = PeerUserID.key(in: logIn) else { return .plugin(user: logIn) }
        guard let instance = door.network.instances[key], door.facts.instances[instance]?.remote != nil else {
            return nil
        }
        return .remote(user: instance)
    }

    /// The name that libzmq gives to log-ins at this endpoint.
    func logIn(of endpoint: Endpoint) -> String? {
        switch endpoint {
        case .owner: nil
        case .plugin(let user): user
        case .remote(let user): user.flatMap { door.network.key(of: $0) }.map(PeerUserID.text) ?? PeerUserID.anyone
        }
    }
}
