public import Foundation
import ZeroMQ

/// A peer at the hub's door, like a program in any language: it sends JSON over a DEALER, blocks, and serves one thread.
public final class DoorPeer {
    private let context: Context
    private let socket: Socket
    private let patience: Duration
    private var lastID = 0
    private let onMessage: ((_ isOwn: Bool, _ verb: String, _ body: String) -> Void)?

    /// No answer came in time, or the hub sent an ERROR instead; without an answer the hub is dead, stopped or starting.
    public struct Silence: Error, CustomStringConvertible {
        /// The body of the ERROR; `nil` if no answer came.
        public let error: String?
        public var description: String { error.map { "ERROR \($0)" } ?? "no answer" }
    }

    /// The body of WELCOME.
    public private(set) var welcome = Data()

    /// Sends HELLO and waits for WELCOME.
    ///
    /// - Parameters:
    ///   - plugin: the program that it claims to be; `nil`: the instance's name.
    ///   - key: the hub's key and the peer's own pair, as in a key file; `nil` at a door of the machine.
    ///   - members: more members of HELLO, such as `,"mode":"once"`.
    ///   - patience: the maximum wait for each answer.
    ///   - holding: the maximum number of messages that wait on this side; `nil`: libzmq's default.
    ///   - onMessage: is called with each message of both sides, including HELLO.
    public init(
        _ endpoint: String, instance: String, plugin: String? = nil,
        key: (hub: String, public: String, secret: String)? = nil, _ members: String = "", patience: Duration,
        holding: Int? = nil,
        onMessage: ((_ isOwn: Bool, _ verb: String, _ body: String) -> Void)? = nil
    ) throws {
        (self.patience, self.onMessage) = (patience, onMessage)
        context = try Context()
        socket = try Socket(.dealer, in: context)
        try socket.set(.linger, to: .zero)
        if let holding { try socket.set(.receiveHighWaterMark, to: holding) }
        if let key {
            guard let hub = CurveKey(z85: key.hub), let ours = CurveKey(z85: key.public),
                let secret = CurveSecretKey(z85: key.secret)
            else { throw Silence(error: "a key is not Z85") }
            try socket.set(.curveServerKey, to: hub)
            try socket.set(.curvePublicKey, to: ours)
            try socket.set(.curveSecretKey, to: secret)
        }
        try socket.connect(endpoint)
        let plugin = plugin ?? instance
        try send("HELLO", #"{"protocol":[1],"instance":"\#(instance)","plugin":"\#(plugin)","version":"1"\#(members)}"#)
        welcome = try receive("WELCOME")
    }

    deinit { try? send("BYE", "{}") }

    /// Sends a QUERY and returns its answer.
    public func ask(_ members: String) throws -> Data {
        lastID += 1
        try send("QUERY", "{\"id\":\(lastID),\(members)}")
        return try receive("RESULT")
    }

    /// Sends a QUERY and returns the member `name` of its answer.
    public func ask<Value: Decodable>(
        _ members: String, _ name: String, as type: Value.Type = Value.self
    ) throws -> Value {
        let answer = try JSONDecoder().decode([String: Lenient<Value>].self, from: try ask(members))
        guard let value = answer[name]?.value else { throw Silence(error: nil) }
        return value
    }

    /// A member that is decoded if it has the requested type, and is ignored otherwise.
    private struct Lenient<Value: Decodable>: Decodable {
        let value: Value?
        init(from decoder: any Decoder) throws { value = try? Value(from: decoder) }
    }

    /// Sends records as one batch, which the hub answers with STORED.
    public func give(_ records: [String]) throws {
        lastID += 1
        try send("SAMPLES", #"{"batch":\#(lastID),"records":[\#(records.joined(separator: ","))]}"#)
    }

    /// Gives a message to libzmq; if its queue is full, waits up to `patience`.
    public func send(_ verb: String, _ body: String) throws {
        onMessage?(true, verb, body)
        var frames = Multipart()
        frames.append(verb)
        frames.append(body)
        let end = ContinuousClock.now + patience
        while try socket.sendMultipart(&frames) != .sent {
            guard ContinuousClock.now < end else { throw Silence(error: nil) }
            _ = try socket.wait(for: .writable, upTo: end - .now)
        }
    }

    /// Waits for a message with this verb; answers PINGs meanwhile, and drops other messages.
    public func receive(_ verb: String) throws -> Data {
        let end = ContinuousClock.now + patience
        var frames = Multipart()
        while ContinuousClock.now < end {
            guard try socket.wait(for: .readable, upTo: end - .now).contains(.readable),
                case .complete = try socket.receiveMultipart(into: &frames)
            else { continue }
            if let onMessage, let verb = frames.text(of: 0), let body = frames.text(of: 1) {
                onMessage(false, verb, body)
            }
            if frames.text(of: 0) == "PING" { try send("PONG", frames.text(of: 1) ?? "{}") }
            if frames.text(of: 0) == verb { return Data(frames.bytes(of: 1)) }
            if frames.text(of: 0) == "ERROR" { throw Silence(error: frames.text(of: 1)) }
        }
        throw Silence(error: nil)
    }
}
