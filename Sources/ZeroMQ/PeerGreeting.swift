/// The kind of log-in that an endpoint asks for, read from its greeting (ZMTP 3.1, RFC 37).
///
/// libzmq tells both ends when their kinds differ, unless the peer closes before it has sent its own greeting; under load that
/// can happen at every attempt. This asks by a connection of its own, which sends the half of a greeting that a peer waits
/// for and not the kind, so that the peer always answers.
///
/// On one thread, as the ``Socket`` it holds.
public struct PeerGreeting: ~Copyable {
    /// Becomes readable when ``receive()`` has something to do.
    public let socket: Socket
    private var answer: [UInt8] = []
    private var hasAsked = false

    /// The signature and the version: what a peer must have read before it says its kind.
    private static let half: [UInt8] = [0xFF, 0, 0, 0, 0, 0, 0, 0, 0, 0x7F, 3]
    /// Where the kind stands: twenty bytes of ASCII, filled with zeros.
    private static let mechanism = 12..<32

    /// Connects once; where there is no peer, no answer ever comes.
    public init(of endpoint: String, in context: Context) throws(ZeroMQError) {
        let socket = try Socket(.stream, in: context)
        try socket.set(.reconnectInterval, to: nil)
        try socket.connect(endpoint)
        self.socket = consume socket
    }

    /// Takes what has come.
    ///
    /// - Returns: `NULL` (none), `PLAIN`, `CURVE` or another name; nil while it is not known.
    public mutating func receive() throws(ZeroMQError) -> String? {
        var frames = Multipart()
        while case .complete = try socket.receiveMultipart(into: &frames), frames.count == 2 {
            if !hasAsked {
                hasAsked = true
                var half = Multipart()
                half.append(frames.bytes(of: 0))
                half.append(Self.half)
                _ = try socket.sendMultipart(half)
            }
            answer += frames.bytes(of: 1)
            guard answer.count < Self.mechanism.upperBound else {
                return String(decoding: answer[Self.mechanism].prefix { $0 != 0 }, as: UTF8.self)
            }
        }
        return nil
    }
}
