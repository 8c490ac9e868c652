import HubSettings
import HubWire
import Samples
import Testing

@Suite struct DialogueVectorTests {
    /// Vectors that need a hub: its epoch, its page marks, its types and persons, and its pending requests to plugins.
    static let needAHub: Set<String> = [
        "M35", "M36", "M48", "M49", "M61", "M62", "M64", "M66", "M67", "W6", "W7", "W14",
    ]

    @Test
    func `R3.1 R3.2 R3.3 R3.4 R3.8 R4.1 R4.9 R4.10 R8.3 R8.36 each malformed message of the vectors gets its code`()
        throws
    {
        var passed = 0
        for vector in try ProtocolVectors.all(of: "message") {
            let id = try #require(vector["id"] as? String)
            guard !Self.needAHub.contains(id) else { continue }
            var frames: [[UInt8]] = []
            if let texts = vector["frames"] as? [String] {
                frames = texts.map { Array($0.utf8) }
            } else {
                frames = [
                    Array(try #require(vector["verb"] as? String).utf8), try ProtocolVectors.bytes(vector, "body"),
                ]
            }
            var table = SessionTable()
            if vector["session"] as? Bool == true { table.hello() }
            let arrival = table.receiveAsTheyAre(frames)
            let code = try #require(vector["code"] as? String)
            #expect(arrival.error?.code.rawValue == code, "\(id): \(arrival)")
            if arrival.error?.code.rawValue == code { passed += 1 }
        }
        #expect(passed == 67)
    }

    @Test func `R7.1 each topic of the vectors is built, read or refused`() throws {
        let vectors = try ProtocolVectors.all(of: "topic")
        for vector in vectors {
            if let segments = vector["segments"] as? [String] {
                let topic = try #require(Topic(segments: segments))
                #expect(topic.text == vector["out"] as? String)
                #expect(Topic(topic.text)?.segments == segments)
            } else {
                #expect(Topic(try #require(vector["in"] as? String)) == nil, "\(vector)")
            }
        }
        #expect(vectors.count == 11)
    }

    @Test func `R7.2 R7.9 each place of the vectors is read or refused`() throws {
        let vectors = try ProtocolVectors.all(of: "place")
        for vector in vectors {
            let text = try #require(vector["in"] as? String)
            let place = FeedPosition(text)
            #expect(place?.sequence == (vector["sequence"] as? Int).map(Int64.init), "\(vector)")
            #expect(place?.previous == (vector["previous"] as? Int).map(Int64.init), "\(vector)")
            #expect(place?.epoch == vector["epoch"] as? String, "\(vector)")
            if let place { #expect(place.description == text) }
        }
        #expect(vectors.count == 13)
    }

    @Test func `R8.3 each cursor of the vectors is read or refused`() throws {
        let vectors = try ProtocolVectors.all(of: "cursor")
        for vector in vectors {
            let text = try #require(vector["in"] as? String)
            let cursor = Cursor(text)
            #expect(cursor?.epoch == vector["epoch"] as? String, "\(vector)")
            #expect(cursor?.sequence == (vector["sequence"] as? Int).map(Int64.init), "\(vector)")
            if let cursor { #expect(cursor.description == text) }
        }
        #expect(vectors.count == 9)
    }

    @Test func `R4.60 the vectors' grants give for each type whether writing is granted, denied or undetermined`()
        throws
    {
        let vectors = try ProtocolVectors.all(of: "grants")
        let welcome = Welcome(
            session: "s", hub: "h", epoch: "k7qz2m5a", head: 0, instance: "kitchen-script", plugin: "kitchen-script",
            time: Timestamp(microseconds: 0), feed: "ipc://feed", serves: [.hello])
        let usual = #"{"read":{"types":["*"],"persons":["*"]},"write":{"types":["*"],"persons":["*"]}}"#
        let body = String(decoding: HubMessage.welcome(welcome).body, as: UTF8.self)
        for vector in vectors {
            let text = try #require(vector["in"] as? String)
            let changed = Array(body.replacing(usual, with: text).utf8)
            #expect(text == usual || changed != Array(body.utf8))
            let message = try Array("WELCOME".utf8).withUnsafeBytes { verb in
                try changed.withUnsafeBytes { try HubMessage.decode(verb: verb, body: $0) }
            }
            guard case .welcome(let read) = message else { throw WireError(.verb, "\(message)") }
            for (type, state) in try #require(vector["write"] as? [String: String]) {
                #expect(read.grants.write.status(of: type).rawValue == state, "\(vector)")
            }
            #expect(String(decoding: HubMessage.welcome(read).body, as: UTF8.self).contains(text), "\(vector)")
        }
        #expect(vectors.count == 4)
    }

    @Test func `R6.9 R6.10 each time of the vectors is normalised or refused`() throws {
        let vectors = try ProtocolVectors.all(of: "time")
        for vector in vectors {
            let text = try #require(vector["in"] as? String)
            #expect((try? Timestamp(parsing: text))?.text == vector["out"] as? String, "\(vector)")
        }
        #expect(vectors.count == 20)
    }
}

extension SessionTable {
    /// Passes the body to the reader unchanged, because the bytes of a vector may be invalid UTF-8.
    fileprivate mutating func receiveAsTheyAre(_ frames: [[UInt8]]) -> Arrival {
        let body = frames.count > 1 ? frames[1] : []
        let arrival = frames[0].withUnsafeBytes { verb in
            body.withUnsafeBytes {
                receive(verb: verb, body: $0, frameCount: frames.count, from: [1], endpoint: .owner, at: 0)
            }
        }
        guard case .samples = arrival else { return arrival }
        do throws(WireError) {
            let result: Result<ClientMessage, WireError> = body.withUnsafeBytes { body in
                Result { () throws(WireError) in try ClientMessage(verb: .samples, body: body) }
            }
            _ = try result.get()
            return arrival
        } catch {
            return .actions(malformed(error, from: [1], at: 0))
        }
    }
}
