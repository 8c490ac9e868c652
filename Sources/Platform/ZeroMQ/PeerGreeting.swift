/// Reads the kind of log-in that an endpoint requires from its greeting (ZMTP 3.1, RFC 37).
///
/// If the kinds differ, libzmq reports that to both ends, unless the peer closes the connection before it has sent its own greeting. Under load
/// that can happen at every attempt. This type opens a separate connection and sends the first half of a greeting, without the kind. A peer
/// that has received this half always answers.
///
/// Use it on one thread only, like the ``Socket`` that it holds.
public struct PeerGreeting: ~Copyable {
    /// Becomes readable when ``receive()`` has something to do.
    public let socket: Socket
    private var answer: [UInt8] = []
    private var hasAsked = false

    /// The signature and the version, which a peer must receive before it sends its kind.
    private static let half: [UInt8] = [0xFF, 0, 0, 0, 0, 0, 0, 0, 0, 0x7F, 3]
    /// The position of the kind: twenty bytes of ASCII, padded with zeros.
    private static let mechanism = 12..<32

    /// Connects once; if there is no peer, no answer arrives.
    public init(of endpoint: String, in context: Context) throws(ZeroMQError) {
        let socket = try Socket(.stream, in: context)
        try socket.set(.reconnectInterval, to: nil)
        try socket.connect(endpoint)
        self.socket = consume socket
    }

    /// Reads the received bytes.
    ///
    /// - Returns: `NULL` (none), `PLAIN`, `CURVE` or another name; `nil` until it is known.
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
