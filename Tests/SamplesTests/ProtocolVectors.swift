import Foundation

/// The byte-exact examples of the protocol (Docs/ProtocolVectors.jsonl).
enum ProtocolVectors {
    /// A line of the file, with the members that this module's vectors use.
    struct Vector: Decodable, CustomStringConvertible {
        let id, kind: String
        let `in`, out, epoch: String?
        let sequence: Int64?
        let error: Bool?

        var description: String { "\(id) \(`in` ?? "")" }
    }

    /// The vectors of one kind, in the order of the file.
    static func of(kind: String) throws -> [Vector] {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Docs/ProtocolVectors.jsonl").standardizedFileURL
        return try String(contentsOf: file, encoding: .utf8).split(separator: "\n").compactMap { line in
            let vector = try JSONDecoder().decode(Line.self, from: Data(line.utf8))
            return vector.kind == kind ? try JSONDecoder().decode(Vector.self, from: Data(line.utf8)) : nil
        }
    }

    private struct Line: Decodable { let kind: String? }
}
