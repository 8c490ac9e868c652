/// A request of libzmq to the authentication handler of its context about a peer that wants to connect.
///
/// ZeroMQ RFC 27, ZAP 1.0. The handler is a REP socket bound to ``endpoint`` *before* any endpoint that logs peers in;
/// it answers each request before it reads the next one. Handshakes wait for it, other sockets do not.
/// ```swift
/// var frames = Multipart()
/// while case .complete = try handler.receiveMultipart(into: &frames), let request = ZAPRequest(frames) {
///     let user = grants.user(request.credentials)
///     _ = try handler.sendMultipart(request.reply(user.map { .allow(userID: $0) } ?? .refuse("unknown token")))
/// }
/// ```
public struct ZAPRequest: Sendable {
    /// The endpoint at which libzmq looks for the handler.
    public static let endpoint = "inproc://zeromq.zap.01"

    /// The credentials of the peer.
    public enum Credentials: Sendable, Hashable {
        /// Nothing: a NULL endpoint with a ``SocketOption/zapDomain``.
        case none
        /// PLAIN; either may be any bytes.
        case plain(username: [UInt8], password: [UInt8])
        /// CURVE: the public key the peer has proved to own.
        case curve(CurveKey)
        /// A mechanism this module does not know.
        case other(mechanism: String)
    }

    /// The answer to a request.
    public enum Verdict: Sendable, Hashable {
        /// Lets the peer in; `userID` becomes the property `User-Id` of all its messages.
        case allow(userID: String)
        /// Rejects the peer for good (status 400).
        ///
        /// The reason stays on this side.
        case refuse(String)
        /// Rejects the peer for now (status 300); it tries again later.
        case later(String)
    }

    /// The id of the request, which the reply repeats.
    public let requestID: [UInt8]
    /// The ``SocketOption/zapDomain`` of the endpoint the peer connected to.
    public let domain: String
    /// The peer's address; for `ipc://` it ends in `:UID:GID:PID` if the system reports the peer's identity (Linux).
    public let address: String
    /// The peer's routing id, if it set one itself.
    public let routingID: [UInt8]
    /// The credentials of the peer.
    public let credentials: Credentials

    /// Parses a request; `nil` if it does not conform to ZAP 1.0.
    ///
    /// Only a program in this process can have sent such a request: stop using the handler then.
    public init?(_ message: borrowing Multipart) {
        guard message.count >= 6, message.text(of: 0) == "1.0", let domain = message.text(of: 2),
            let address = message.text(of: 3), let mechanism = message.text(of: 5)
        else { return nil }
        (self.domain, self.address) = (domain, address)
        requestID = message.bytes(of: 1)
        routingID = message.bytes(of: 4)
        switch (mechanism, message.count) {
        case ("NULL", 6): credentials = .none
        case ("PLAIN", 8): credentials = .plain(username: message.bytes(of: 6), password: message.bytes(of: 7))
        case ("CURVE", 7):
            guard let key = CurveKey(bytes: message.bytes(of: 6)) else { return nil }
            credentials = .curve(key)
        default: credentials = .other(mechanism: mechanism)
        }
    }

    /// The reply to send.
    public func reply(_ verdict: Verdict) -> Multipart {
        let (status, text, userID) =
            switch verdict {
            case .allow(let userID): ("200", "OK", userID)
            case .refuse(let reason): ("400", reason, "")
            case .later(let reason): ("300", reason, "")
            }
        var reply = Multipart()
        reply.append("1.0")
        reply.append(requestID)
        reply.append(status)
        reply.append(text)
        reply.append(userID)
        reply.append([])  // Metadata: none beyond the user id.
        return reply
    }
}
