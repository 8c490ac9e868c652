import Foundation
import ZeroMQ

/// Questions at the owner's door, as any program in any language would ask them: JSON over a DEALER, blocking, for one thread.
final class Door {
    private let context: Context
    private let socket: Socket
    private let patience: Duration
    private var lastID = 0

    /// No answer in time, or none that was asked for: the hub is dead, stopped or starting.
    struct Silence: Error {}

    /// - Parameter patience: for each answer.
    init(_ endpoint: String, patience: Duration) throws {
        self.patience = patience
        context = try Context()
        socket = try Socket(.dealer, in: context)
        try socket.set(.linger, to: .zero)
        try socket.connect(endpoint)
        try send("HELLO", #"{"protocol":[1],"instance":"torture","plugin":"torture","version":"1","mode":"once"}"#)
        _ = try receive("WELCOME")
    }

    deinit { try? send("BYE", "{}") }

    /// The answer to a QUERY.
    func ask(_ members: String) throws -> Data {
        lastID += 1
        try send("QUERY", "{\"id\":\(lastID),\(members)}")
        return try receive("RESULT")
    }

    /// The member `name` of an answer to a QUERY.
    func ask<Value: Decodable>(_ members: String, _ name: String, as type: Value.Type = Value.self) throws -> Value {
        let answer = try JSONDecoder().decode([String: Lenient<Value>].self, from: try ask(members))
        guard let value = answer[name]?.value else { throw Silence() }
        return value
    }

    /// A member that is of the asked type, or is not looked at.
    private struct Lenient<Value: Decodable>: Decodable {
        let value: Value?
        init(from decoder: any Decoder) throws { value = try? Value(from: decoder) }
    }

    private func send(_ verb: String, _ body: String) throws {
        var frames = Multipart()
        frames.append(verb)
        frames.append(body)
        guard try socket.sendMultipart(&frames) == .sent else { throw Silence() }
    }

    private func receive(_ verb: String) throws -> Data {
        let end = ContinuousClock.now + patience
        var frames = Multipart()
        while ContinuousClock.now < end {
            guard try socket.wait(for: .readable, upTo: end - .now).contains(.readable),
                case .complete = try socket.receiveMultipart(into: &frames)
            else { continue }
            if frames.text(of: 0) == "PING" { try send("PONG", frames.text(of: 1) ?? "{}") }
            if frames.text(of: 0) == verb { return Data(frames.bytes(of: 1)) }
            if frames.text(of: 0) == "ERROR" { throw Silence() }
        }
        throw Silence()
    }
}

/// What the hub says of itself: the part of `status` that the judge looks at.
struct StatusSample: Decodable, Sendable {
    var epoch: String
    var head: Int64
    var accounts: [Account]
    var sinks: [Sink]

    struct Account: Decodable, Sendable {
        var instance: String
        var received, stored, versions, retractions, duplicates, rejected: Int64
    }

    struct Sink: Decodable, Sendable {
        var name: String
        var wanted, delivered, pending, retrying, refused, superseded, skipped: Int64
        /// Up to where everything is settled.
        var cursor: String
    }
}

/// The story of a record, as `trace` tells it.
struct Story: Decodable, Sendable {
    var number, seq: Int64
    var versions: [Version]
    var deliveries: [Delivery]

    struct Version: Decodable, Sendable {
        var record: Record
    }

    struct Record: Decodable, Sendable {
        struct Source: Decodable, Sendable {
            var device: String?
        }
        var kind, type, key: String
        var source: Source
        var value: Double?
        var reason: String?
        var seq: Int64
    }

    struct Delivery: Decodable, Sendable {
        var sink, state: String
        var seq: Int64
        var reason: String?
    }
}
