import Foundation

/// The documentation comments of properties in the sources, which describe the members in the schemas.
///
/// It relies on the formatting that all sources have (`make format`).
struct SourceComments {
    /// The summary of each property, by type and name.
    private var summaries: [String: [String: String]] = [:]

    /// - Parameter folder: a folder below Sources.
    init(_ folder: String) throws {
        let place = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../Sources/\(folder)")
            .standardizedFileURL.path
        for name in try FileManager.default.subpathsOfDirectory(atPath: place) where name.hasSuffix(".swift") {
            add(try String(contentsOfFile: "\(place)/\(name)", encoding: .utf8))
        }
    }

    /// The summaries of a type's properties.
    ///
    /// - Parameter type: its name with those of the types around it: `OwnCommands.Restart.Result`.
    subscript(_ type: String) -> [String: String] { summaries[type] ?? [:] }

    private mutating func add(_ text: String) {
        let access: Set<Substring> = ["public", "package", "fileprivate", "private"]
        var types: [(depth: Int, name: String)] = []
        var comment: [String] = []
        for line in text.split(separator: "\n") {
            let depth = line.prefix { $0 == " " }.count
            types.removeAll { $0.depth >= depth }
            var words = line.split(separator: " ").drop { access.contains($0) }
            switch words.popFirst() {
            case "///":
                comment.append(words.joined(separator: " "))
                continue
            case "struct", "enum", "extension":
                types.append((depth, String(words.first?.prefix { $0 != ":" && $0 != "<" } ?? "")))
            case "var", "let":
                let summary = comment.prefix { !$0.isEmpty }.joined(separator: " ").replacing("`", with: "")
                let names = words.joined(separator: " ").prefix { $0 != ":" && $0 != "=" }
                for name in names.split(whereSeparator: { ", ".contains($0) }) where !summary.isEmpty {
                    summaries[types.map(\.name).joined(separator: "."), default: [:]][String(name)] = summary
                }
            default: break
            }
            comment = []
        }
    }
}
