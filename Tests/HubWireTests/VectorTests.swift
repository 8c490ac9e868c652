import Foundation
import HubWire
import JSON
import Samples
import Testing

/// The byte-exact examples of Docs/ProtocolVectors.jsonl that can be checked without a hub.
@Suite struct VectorTests {
    struct Vector: Decodable, Sendable, CustomTestStringConvertible {
        var id: String
        var kind: String
        var `in`: String?
        var out: String?
        var code: String?
        var suggests: String?
        var text: String?
        var error: Bool?
        var epoch: String?
        var sequence: Int64?
        var needsHub: Bool?

        var testDescription: String { id }
    }

    static let all: [Vector] = {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "../../Docs/ProtocolVectors.jsonl")
        guard let text = try? String(contentsOf: file, encoding: .utf8) else { return [] }
        return text.split(separator: "\n").compactMap { try? JSONDecoder().decode(Vector.self, from: Data($0.utf8)) }
    }()

    private static func of(_ kind: String) -> [Vector] { all.filter { $0.kind == kind && $0.needsHub != true } }

    @Test func `every line of the vectors is read`() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "../../Docs/ProtocolVectors.jsonl")
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
        #expect(VectorTests.all.count == lines.count)
        #expect(lines.count > 200)
    }

    @Test(arguments: of("record"))
    func `a sent record becomes the vector's stored record`(vector: Vector) throws {
        let sent = try #require(vector.in)
        let result = try decode(sent).flatMap { record -> Result<StoredRecord, RecordRejection> in
            do throws(RecordRejection) {
                // The clock of a hub that does not know the time.
                let found = try RecordValidation().findings(of: record, at: 0)
                let me = Person(uid: "6f1c2a9e5b7d4c30", name: "me")
                guard case .sample(let sample) = record else { throw RecordRejection(.kind, "expected a sample") }
                return .success(
                    StoredRecord(
                        record: record, number: 1043, sequence: 1043, assignment: .person(me), type: sample.type,
                        canonical: found.canonical, implausible: found.implausible))
            } catch {
                return .failure(error)
            }
        }
        switch result {
        case .success(let stored):
            #expect(string(encoded(stored)) == vector.out)
            #expect(try decodeStored(encoded(stored)) == stored)
        case .failure(let rejection):
            #expect(rejection.code.rawValue == vector.code)
            if let suggested = vector.suggests { #expect(rejection.reason.contains("\"\(suggested)\"")) }
        }
    }

    @Test(arguments: Sample.partNames)
    func `each part of a sample has a good and a bad vector`(name: String) {
        let vectors = Self.of("record").filter { JSONTree(Array(($0.in ?? "").utf8))?[name] != nil }
        #expect(
            vectors.contains { $0.out != nil }, "Docs/ProtocolVectors.jsonl has no record that is taken with \(name)")
        #expect(
            vectors.contains { $0.code != nil }, "Docs/ProtocolVectors.jsonl has no record that is refused for \(name)")
    }

    @Test(arguments: of("stored"))
    func `canonical bytes round-trip`(vector: Vector) throws {
        let text = try #require(vector.text)
        #expect(string(encoded(try decodeStored(Array(text.utf8)))) == text)
    }

    @Test(arguments: of("number"))
    func `a number is read and printed as in its vector`(vector: Vector) throws {
        let number = try #require(vector.in)
        let text = #"{"type":"weight","value":\#(number),"unit":"kg","start":"2024-03-15T07:30:05Z","key":"k"}"#
        if vector.code == "json" {
            #expect(throws: JSONSyntaxError.self) { try decode(text) }
            return
        }
        switch try decode(text) {
        case .failure(let rejection): #expect(rejection.code.rawValue == vector.code)
        case .success(let record):
            let out = try #require(vector.out)
            #expect(string(encoded(record)).contains("\"value\":\(out),"))
        }
    }

    @Test(arguments: of("time"))
    func `a time is read and printed as in its vector`(vector: Vector) throws {
        let text = try #require(vector.in)
        let record = try decode(#"{"type":"weight","value":1,"unit":"kg","start":"\#(text)","key":"k"}"#)
        switch record {
        case .success(let record):
            let out = try #require(vector.out)
            #expect(string(encoded(record)).contains("\"start\":\"\(out)\""))
        case .failure(let rejection):
            #expect(vector.error == true)
            #expect(rejection.code == .time)
        }
    }

    @Test(arguments: of("cursor"))
    func `a cursor is read as in its vector`(vector: Vector) throws {
        let cursor = Cursor(try #require(vector.in))
        #expect(cursor?.epoch == vector.epoch)
        #expect(cursor?.sequence == vector.sequence)
        #expect((cursor == nil) == (vector.error == true))
    }
}
