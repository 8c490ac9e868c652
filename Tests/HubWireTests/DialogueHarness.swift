import Foundation
import HubSettings
import HubWire
import Platform
import Samples
import Testing

/// The vectors of Docs/ProtocolVectors.jsonl, one JSON object per line.
enum ProtocolVectors {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    static func all(of kind: String) throws -> [[String: Any]] {
        let text = try String(contentsOf: root.appending(path: "Docs/ProtocolVectors.jsonl"), encoding: .utf8)
        return try text.split(separator: "\n").compactMap { line in
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            return object?["kind"] as? String == kind ? object : nil
        }
    }

    /// The bytes of member `hex`, or else the text of member `name`.
    static func bytes(_ vector: [String: Any], _ name: String) throws -> [UInt8] {
        if let hex = vector["hex"] as? String {
            return try #require([UInt8](hexadecimal: hex))
        }
        return Array(try #require(vector[name] as? String).utf8)
    }
}

extension ClientMessage {
    static func decode(_ verb: String, _ body: String, frameCount: Int = 2) throws(WireError) -> ClientMessage {
        let (verb, body) = (Array(verb.utf8), Array(body.utf8))
        let result: Result<ClientMessage, WireError> = verb.withUnsafeBytes { verb in
            body.withUnsafeBytes { body in
                Result { () throws(WireError) in
                    try ClientMessage.decode(verb: verb, body: body, frameCount: frameCount)
                }
            }
        }
        return try result.get()
    }
}

extension HubMessage {
    static func decode(_ verb: String, _ body: [UInt8]) throws(WireError) -> HubMessage {
        let verb = Array(verb.utf8)
        let result: Result<HubMessage, WireError> = verb.withUnsafeBytes { verb in
            body.withUnsafeBytes { body in
                Result { () throws(WireError) in try HubMessage.decode(verb: verb, body: body) }
            }
        }
        return try result.get()
    }
}

extension RawRecords {
    init(_ records: [String]) {
        self.init()
        for record in records { append(record.utf8) }
    }
}

extension SessionTable {
    /// Receives a message as frames.
    ///
    /// Reads only the envelope of a SAMPLES body, because a hub uses the record codec for it.
    mutating func receive(
        _ frames: [[UInt8]], from peer: RoutingID = [1], endpoint: Endpoint = .owner, at now: Int64 = 0
    ) -> Arrival {
        let body = frames.count > 1 ? frames[1] : []
        let arrival = frames[0].withUnsafeBytes { verb in
            body.withUnsafeBytes {
                receive(verb: verb, body: $0, frameCount: frames.count, from: peer, endpoint: endpoint, at: now)
            }
        }
        if case .full = arrival { return receive(frames, from: peer, endpoint: endpoint, at: now) }
        guard case .samples = arrival else { return arrival }
        do throws(WireError) {
            guard
                case .samples(let envelope) = try ClientMessage.decode("SAMPLES", String(decoding: body, as: UTF8.self))
            else { return arrival }
            return .actions(
                batch(
                    envelope.batch, records: envelope.records.count,
                    bytes: frames.dropFirst().reduce(0) { $0 + $1.count },
                    largestPayload: frames.dropFirst(2).map(\.count).max() ?? 0, from: peer, at: now))
        } catch {
            return .actions(malformed(error, from: peer, at: now))
        }
    }

    mutating func receive(
        _ verb: String, _ body: String, from peer: RoutingID = [1], endpoint: Endpoint = .owner, at now: Int64 = 0
    ) -> Arrival {
        receive([Array(verb.utf8), Array(body.utf8)], from: peer, endpoint: endpoint, at: now)
    }

    /// Opens a session of `instance`, as HELLO and WELCOME do.
    @discardableResult mutating func hello(
        _ instance: String = "kitchen-script", mode: Hello.Mode = .run, from peer: RoutingID = [1],
        endpoint: Endpoint = .owner, at now: Int64 = 0
    ) -> (session: SessionReference, actions: [PeerAction]) {
        open(
            Hello(instance: instance, plugin: "kitchen-script", version: "1.0", mode: mode), from: peer,
            endpoint: endpoint, at: now)
    }
}

extension Arrival {
    /// The ERROR for the peer, if there is one.
    var error: WireError? { actions.lazy.compactMap(\.error).first }

    var actions: [PeerAction] {
        if case .actions(let actions) = self { actions } else { [] }
    }

    /// The HELLO that is handed to the hub, if it is one.
    var hello: Hello? { if case .hello(let hello) = self { hello } else { nil } }

    /// The actions that look for peers which have left, if there is no room.
    var probes: [PeerAction]? { if case .full(let probes) = self { probes } else { nil } }
}

extension PeerAction {
    var error: WireError? {
        if case .reply(.error(let error)) = action { error } else { nil }
    }

    /// The body of the PING for the peer, if it is one.
    var ping: RawJSON? { if case .reply(.ping(let body)) = action { body } else { nil } }
}

extension Welcome {
    /// A person with a complete profile.
    static let anna = PersonEntry(
        name: "anna", zone: "Europe/Berlin", locale: "en_GB", units: ["weight": "st", "bloodGlucose": "mmol/L"],
        profile: PersonProfile(
            uid: "u-1", unit: .stones, slot: 0, height: 168.5, sex: .female, birthDate: LocalDate("1984-05-06"),
            athlete: false))

    static func sample(session: String = "s", credit: Credit = .window) -> Welcome {
        Welcome(
            session: session, hub: "h", epoch: "k7qz2m5a", head: 1_042, instance: "kitchen-script",
            plugin: "kitchen-script", credit: credit, persons: [PersonEntry(name: "me", zone: "Europe/Berlin"), anna],
            time: Timestamp(microseconds: 1_710_484_205_000_000), feed: "ipc:///run/feed",
            serves: Verb.allCases.filter(Verb.fromClient.contains))
    }
}
