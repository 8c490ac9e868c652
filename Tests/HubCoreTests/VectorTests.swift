import Foundation
import Platform
import Testing

/// Checks the byte-exact examples of Docs/ProtocolVectors.jsonl against a hub.
@Suite struct VectorTests {
    struct Vector: Decodable, Sendable {
        var id: String
        var kind: String
        var `in`: String?
        var out: String?
        var code: String?
        var suggests: String?
        var verb: String?
        var body: String?
        var hex: String?
        var frames: [String]?
        var session: Bool?
        var steps: [[String]]?

        var bytes: [UInt8] {
            guard let hex else { return Array((body ?? "").utf8) }
            return [UInt8](hexadecimal: hex) ?? []
        }
    }

    static func of(_ kind: String) throws -> [Vector] {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "../../Docs/ProtocolVectors.jsonl")
        return try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map {
            try JSONDecoder().decode(Vector.self, from: Data($0.utf8))
        }.filter { $0.kind == kind }
    }

    /// The bytes of the only record of a page, with this hub's numbers replaced by those of the vectors.
    static func canonical(_ page: Frames) -> String {
        let text = page.text(1)
        guard let start = text.range(of: "\"records\":[")?.upperBound,
            let end = text.range(of: "],\"cursor\"", options: .backwards)?.lowerBound
        else { return text }
        return String(text[start..<end])
            .replacing(/"personId":"[^"]*"/, with: #""personId":"6f1c2a9e5b7d4c30""#)
            .replacing(/"number":\d+,"seq":\d+}$/, with: #""number":1043,"seq":1043}"#)
    }

    @Test
    func
        `R6.7 R6.8 R6.9 R6.12 R6.15 R6.17 R6.19 R6.20 each record of the vectors that is wrong is rejected by its code`()
        async throws
    {
        let vectors = try Self.of("record").filter { $0.code != nil }
        let passed = try await withHub { hub, peer in
            var passed = 0
            for vector in vectors {
                let answer = try await peer.give([try #require(vector.in)])
                #expect(answer.results == [vector.code], "\(vector.id): \(answer)")
                let reason = answer.body["results"][0]["reason"].string ?? ""
                #expect(!reason.isEmpty, "\(vector.id)")
                if let suggested = vector.suggests { #expect(reason.contains(suggested), "\(vector.id): \(reason)") }
                if answer.results == [vector.code] { passed += 1 }
            }
            #expect(try await peer.status()["head"].int == 0)
            return passed
        }
        print("record vectors rejected as specified: \(passed) of \(vectors.count)")
        #expect(passed == vectors.count && passed > 50)
    }

    @Test func `R6.10 R6.11 R6.13 R6.14 R6.18 each valid record of the vectors comes back byte for byte`()
        async throws
    {
        let vectors = try Self.of("record").filter { $0.out != nil }
        var passed = 0
        for vector in vectors {
            try await withHub { hub, peer in
                let listener = try await hub.listener("sample/")
                let answer = try await peer.give([try #require(vector.in)])
                #expect(answer.results == ["stored"], "\(vector.id): \(answer)")
                let page = try await peer.query("")
                #expect(Self.canonical(page) == vector.out, "\(vector.id)")
                // The feed carries the same bytes as the answer to a question.
                let published = try await listener.next()
                #expect(page.text(1).contains("[\(published.text(2))]"), "\(vector.id): \(published)")
                if Self.canonical(page) == vector.out { passed += 1 }
            }
        }
        print("record vectors stored as specified: \(passed) of \(vectors.count)")
        #expect(passed == vectors.count && passed > 20)
    }

    @Test func `R3.6 R8.3 each message of the vectors gets its answer, and another session is not affected`()
        async throws
    {
        let vectors = try Self.of("message")
        let passed = try await withHub { hub in
            let bystander = try await hub.client("bystander")
            var passed = 0
            for vector in vectors {
                let peer = vector.session == true ? try await hub.client() : try await hub.peer()
                await peer.send(
                    vector.frames?.map { Array($0.utf8) } ?? [Array((vector.verb ?? "").utf8), vector.bytes])
                let answer = try await peer.next()
                #expect(answer.code == vector.code, "\(vector.id): \(answer)")
                if answer.code == vector.code { passed += 1 }
                // What did not close the session left it as it was.
                let after = try await peer.ask("PING", #"{"a":1}"#)
                #expect((after.verb == "PONG") == (answer.body["closed"].truth == false), "\(vector.id): \(after)")
                #expect(try await bystander.ask("PING", #"{"b":2}"#).verb == "PONG")
                await peer.close()
            }
            return passed
        }
        print("message vectors: \(passed) of \(vectors.count)")
        #expect(passed == vectors.count && passed == 79)
    }

    @Test
    func `R4.2 R5.2 R5.3 R5.4 R6.1 R6.2 R6.3 R6.5 R6.6 R8.8 R8.9 R8.11 each dialogue of the vectors is followed`()
        async throws
    {
        let vectors = try Self.of("dialogue")
        var passed = 0
        for vector in vectors {
            try await withHub { hub in
                let peer = try await hub.peer()
                var isAsItSays = true
                for step in vector.steps ?? [] {
                    if step[0] == ">" {
                        await peer.say(step[1], step[2])
                    } else {
                        let answer = try await peer.next()
                        let fits = answer.verb == step[1] && answer.body.fits(JSON(step[2]))
                        #expect(fits, "\(vector.id): expected \(step[1]) \(step[2]), found \(answer)")
                        isAsItSays = isAsItSays && fits
                    }
                }
                if isAsItSays { passed += 1 }
            }
        }
        print("dialogue vectors: \(passed) of \(vectors.count)")
        #expect(passed == vectors.count && passed == 12)
    }
}
