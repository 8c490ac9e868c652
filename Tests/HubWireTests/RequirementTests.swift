import Foundation
import Testing

@Suite struct RequirementTests {
    /// The numbered rules that this version implements: all except those whose chapter or line is marked *specified*.
    static func servedRequirements() throws -> [String] {
        let text = try String(contentsOf: ProtocolVectors.root.appending(path: "Docs/Protocol.md"), encoding: .utf8)
        var served: [String] = []
        var isSpecifiedOnly = false
        for line in text.split(separator: "\n", omittingEmptySubsequences: true) {
            let isMarked = line.contains("(*specified*")
            if line.hasPrefix("## ") { isSpecifiedOnly = isMarked }
            guard !isSpecifiedOnly, !isMarked else { continue }
            for match in line.matches(of: /\[(R\d+\.\d+)\]/) where !served.contains(String(match.1)) {
                served.append(String(match.1))
            }
        }
        return served
    }

    /// The rules that are cited in names of tests, in all test folders.
    static func testedRequirements() throws -> Set<String> {
        var tested: Set<String> = []
        for folder in ["Tests", "Plugins"] {
            let url = ProtocolVectors.root.appending(path: folder)
            // Only Swift sources count. A build of the fuzzers has its own hidden folder, which is skipped.
            let files = FileManager.default.enumerator(
                at: url, includingPropertiesForKeys: nil, options: .skipsHiddenFiles)
            for case let file as URL in files ?? .init() where file.pathExtension == "swift" {
                guard folder == "Tests" || file.pathComponents.contains("Tests") else { continue }
                for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
                where line.contains("func `") || line.contains("@Test(\"") {
                    tested.formUnion(line.matches(of: /R\d+\.\d+/).map { String($0.0) })
                }
            }
        }
        return tested
    }

    @Test func `every requirement that a test or a vector names is in the documents`() throws {
        var written: Set<String> = []
        for name in ["Protocol.md", "Clients.md"] {
            let text = try String(contentsOf: ProtocolVectors.root.appending(path: "Docs/\(name)"), encoding: .utf8)
            written.formUnion(text.matches(of: /\[(R\d+\.\d+)\]/).map { String($0.1) })
        }
        let vectors = try String(
            contentsOf: ProtocolVectors.root.appending(path: "Docs/ProtocolVectors.jsonl"), encoding: .utf8)
        let cited = Set(vectors.matches(of: /"(R\d+\.\d+)"/).map { String($0.1) })
        #expect(cited.count > 50)
        let unknown = try Self.testedRequirements().union(cited).subtracting(written)
        #expect(unknown.isEmpty, "no document has \(unknown.sorted().joined(separator: " "))")
    }

    @Test func `every requirement of the served chapters has a test that names it`() throws {
        let served = try Self.servedRequirements()
        #expect(served.count > 70)
        let tested = try Self.testedRequirements()
        let missing = served.filter { !tested.contains($0) }
        #expect(missing.isEmpty, "no test names \(missing.joined(separator: " "))")
    }
}
