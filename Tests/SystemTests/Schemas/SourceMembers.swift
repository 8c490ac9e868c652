import Foundation

/// Finds the members that the code knows in the sources: the names that readers and writers use, and coding keys.
///
/// It relies on the formatting that all sources have (`make format`).
struct SourceMembers {
    private struct Block {
        /// The words after the colon of the declaration or extension.
        var protocols: [String]
        var lines: [Substring]
    }

    /// The declarations and extensions of types, by the name used there.
    private var blocks: [String: [Block]] = [:]

    /// - Parameters:
    ///   - path: a file or a folder below Sources.
    ///   - excluded: folders in it whose files are not read.
    init(_ path: String, except excluded: [String] = []) throws {
        let place = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../Sources/\(path)")
            .standardizedFileURL.path
        let names = path.hasSuffix(".swift") ? [""] : try FileManager.default.subpathsOfDirectory(atPath: place)
        for name in names
        where name.isEmpty || name.hasSuffix(".swift") && !excluded.contains(where: { name.hasPrefix("\($0)/") }) {
            add(try String(contentsOfFile: name.isEmpty ? place : "\(place)/\(name)", encoding: .utf8))
        }
    }

    private mutating func add(_ text: String) {
        let lines = text.split(separator: "\n")
        for (index, line) in lines.enumerated() where line.utf8.last == UInt8(ascii: "{") {
            let words = line.split(separator: " ")
            guard let word = words.firstIndex(where: { ["struct", "enum", "extension"].contains($0) }),
                word + 1 < words.count, words[..<word].allSatisfy({ $0.allSatisfy(\.isLetter) })
            else { continue }
            let depth = Self.depth(of: line)
            let rest = lines[(index + 1)...]
            let end = rest.firstIndex { $0.utf8.count == depth + 1 && Self.depth(of: $0) == depth } ?? index
            let name = words[word + 1].split(separator: ":")[0]
            let protocols = words[(word + 2)...].dropLast().map { $0.trimmingCharacters(in: [","]) }
            blocks[String(name), default: []].append(
                Block(protocols: protocols, lines: Array(lines[(index + 1)..<end])))
        }
    }

    private static func depth(of line: Substring) -> Int { line.utf8.prefix { $0 == UInt8(ascii: " ") }.count }

    /// The indentation of a block's statements.
    private static func depth(ofAll block: [Substring]) -> Int { block.map(depth).min() ?? 0 }

    /// The types that are declared or extended with one of these protocols.
    func types(conformingTo protocols: [String]) -> Set<String> {
        Set(blocks.filter { $0.value.contains { !Set($0.protocols).isDisjoint(with: protocols) } }.keys)
    }

    private func lines(of type: String) -> [[Substring]] { blocks[type]?.map(\.lines) ?? [] }

    /// The names that the readers and writers of `type` mention: the first argument of each call, if it is a literal.
    func mentioned(by type: String) -> Set<String> {
        var names: Set<String> = []
        for line in lines(of: type).joined() where line.contains("(\"") {
            for match in line.matches(of: /\("([A-Za-z]+)"[,)]/) { names.insert(String(match.1)) }
        }
        return names
    }

    /// The coding keys of a type: those it declares, else its stored properties.
    func keys(of type: String) -> Set<String> {
        let blocks = lines(of: type)
        var keys: Set<String> = []
        for block in blocks {
            let depth = Self.depth(ofAll: block)
            let start = block.firstIndex { line in
                Self.depth(of: line) == depth && (line.contains("enum CodingKeys:") || line.contains("enum Key:"))
            }
            guard let start else { continue }
            let end = block[start...].firstIndex { $0.hasSuffix("}") } ?? start
            keys.formUnion(Self.cases(of: block[start...end]))
        }
        return keys.isEmpty ? Set(blocks.flatMap(Self.properties)) : keys
    }

    /// The raw values of an enumeration's cases.
    func cases(of type: String) -> Set<String> { Set(lines(of: type).flatMap { Self.cases(of: $0[...]) }) }

    private static func cases(of block: ArraySlice<Substring>) -> [String] {
        let text = block.filter { !$0.contains("//") }.joined(separator: " ").replacing("}", with: "")
        return text.split(separator: #/\bcase /#).dropFirst().flatMap { $0.split(separator: ",") }.map { word in
            let sides = word.split(separator: "=").map { $0.trimmingCharacters(in: .whitespaces) }
            return sides.count == 2 ? sides[1].trimmingCharacters(in: ["\""]) : sides[0].trimmingCharacters(in: ["`"])
        }
    }

    /// Stored properties that are declared directly in the block.
    private static func properties(of block: [Substring]) -> [String] {
        let depth = depth(ofAll: block)
        return block.flatMap { line -> [String] in
            guard Self.depth(of: line) == depth, !line.contains("static "), !line.contains(" {"),
                let match = line.firstMatch(
                    of: /^ *(?:(?:public|package|private|private\(set\)) )*(?:var|let) ([^:=]+)[:=]/)
            else { return [] }
            // A line may declare several properties: `var a, b: Int`.
            return match.1.split(separator: ",").map { $0.trimmingCharacters(in: [" ", "`"]) }
        }
    }
}
