import Glibc
import HubWire
import Logging
import ZeroMQ

/// Admits connections: libzmq asks it at the door and at the feeds (ZAP 1.0), before it reads anything from a connection.
///
/// A part of the door: used only on its thread, and called without waiting.
final class ConnectionAuthenticator {
    /// The launch tokens of the running processes.
    var tokens = LaunchTokens()
    /// The instances on other machines, with their keys.
    var network: Network
    private let context: Context
    private let logger: Logger
    private var socket: Socket?

    init(in context: Context, _ network: Network, logger: Logger) {
        (self.context, self.network, self.logger) = (context, network, logger)
    }

    /// - Parameter judge: the verdict on a request of libzmq.
    func open(on loop: PollLoop, _ judge: @escaping (ZAPRequest) -> ZAPRequest.Verdict) throws(ZeroMQError) {
        let socket = try Socket(.rep, in: context)
        try socket.bind(ZAPRequest.endpoint)
        loop.watch(socket) { [weak self] _ in self?.answer(judge) }
        self.socket = consume socket
    }

    func close() { socket = nil }

    private func answer(_ judge: (ZAPRequest) -> ZAPRequest.Verdict) {
        do throws(ZeroMQError) {
            var question = Multipart()
            while case .complete? = try socket?.receiveMultipart(into: &question) {
                // Only libzmq itself asks here; a REP socket that does not answer would get no further question.
                guard let request = ZAPRequest(question) else {
                    logger.error("the gate received a request other than ZAP 1.0")
                    _ = try socket?.send(Message())
                    continue
                }
                _ = try socket?.sendMultipart(request.reply(judge(request)))
            }
        } catch {
            logger.error("the gate has failed", metadata: ["error": "\(error)"])
        }
    }

    // MARK: - Judging

    func verdict(on request: ZAPRequest, _ facts: HubContext) -> ZAPRequest.Verdict {
        if request.domain == LaunchTokens.ownerDomain { return ownerVerdict(on: request) }
        return switch request.credentials {
        case .curve(let key): verdict(onKey: key, domain: request.domain, facts)
        case .none:
            network.setting?.isInsecure == true ? .allow(userID: PeerUserID.anyone) : .refuse("a log-in is needed")
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
    private func verdict(onKey key: CurveKey, domain: String, _ facts: HubContext) -> ZAPRequest.Verdict {
        guard let instance = network.instances[key.z85] else { return .refuse("no such key") }
        guard facts.instances[instance]?.remote != nil else { return .refuse("hub.conf does not expect this instance") }
        guard domain == LaunchTokens.doorDomain || domain == LaunchTokens.feedDomain(of: instance) else {
            return .refuse("the feed of another instance")
        }
        return .allow(userID: PeerUserID.text(ofKey: key.z85))
    }

    // MARK: - Log-ins

    /// The endpoint of a message; `nil` if its log-in is no longer valid.
    func endpoint(of logIn: String?, _ facts: HubContext) -> Endpoint? {
        guard let logIn, !logIn.isEmpty else { return .owner }
        if logIn == PeerUserID.anyone { return .remote(user: nil) }
        guard let key = PeerUserID.key(in: logIn) else { return .plugin(user: logIn) }
        guard let instance = network.instances[key], facts.instances[instance]?.remote != nil else { return nil }
        return .remote(user: instance)
    }

    /// The name that libzmq gives to log-ins at this endpoint.
    func logIn(of endpoint: Endpoint) -> String? {
        switch endpoint {
        case .owner: nil
        case .plugin(let user): user
        case .remote(let user): user.flatMap(network.key).map(PeerUserID.text) ?? PeerUserID.anyone
        }
    }
}

extension Door {
    func verdict(on request: ZAPRequest) -> ZAPRequest.Verdict {
        let verdict = gate.verdict(on: request, facts)
        if case .refuse(let reason) = verdict { noteRefusal(of: request, because: reason) }
        return verdict
    }

    private func noteRefusal(of request: ZAPRequest, because reason: String) {
        if case .plain(let name, _) = request.credentials, let instance = String(validating: name, as: UTF8.self),
            gate.tokens.isAdmitted(instance)
        {
            // Otherwise a plugin's author would only read, half a minute later, that the plugin did not greet.
            plugins.counters.logInRefused(
                instance,
                "its log-in at HUB_DOOR was refused (\(reason)): the password is the launch token, the first line of its stdin without the line's end"
            )
        } else if request.domain == LaunchTokens.ownerDomain {
            logOfSessions(
                .warning, "the owner's endpoint: a connection was refused",
                ["process": "\(request.address)", "reason": "\(reason)"])
        } else if !request.address.isEmpty {
            logOfSessions(
                .notice, "the network: a log-in was refused",
                ["address": "\(request.address)", "reason": "\(reason)"])
        }
    }
}
