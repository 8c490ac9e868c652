import Foundation
import PluginTesting
import Testing

@testable import JSONLines

/// The directory that a case writes to; compared afterwards with the case's folder `expected`.
private struct Directory: PluginCase.FarSide {
    let path: String
    let expected: URL

    init(_ testCase: PluginCase) throws {
        expected = testCase.directory.appending(path: "expected")
        path = "/tmp/json-lines-\(UUID().uuidString.prefix(13))"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    var variables: [String: String] { ["DIRECTORY": path] }

    func stop() { try? FileManager.default.removeItem(atPath: path) }

    func differences() throws -> [String] {
        let (found, wanted) = (try Self.files(URL(filePath: path)), try Self.files(expected))
        return Set(found.keys).union(wanted.keys).sorted().flatMap { name -> [String] in
            guard let found = found[name] else { return ["\(name) is missing"] }
            guard let wanted = wanted[name] else { return ["\(name) is not expected"] }
            let (left, right) = (found.split(separator: "\n"), wanted.split(separator: "\n"))
            return (0..<max(left.count, right.count)).compactMap { line in
                let (found, wanted) = (line < left.count ? left[line] : "", line < right.count ? right[line] : "")
                return found == wanted ? nil : "\(name):\(line + 1): expected \(wanted), found \(found)"
            } + (found.hasSuffix("\n") == wanted.hasSuffix("\n") ? [] : ["\(name): the last line feed"])
        }
    }

    private static func files(_ root: URL) throws -> [String: String] {
        var files: [String: String] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: root.path) {
            let file = root.appending(path: name)
            guard try file.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true else { continue }
            files[name] = try String(contentsOf: file, encoding: .utf8)
        }
        return files
    }
}

@Suite(.timeLimit(.minutes(1))) struct CaseTests {
    @Test(arguments: PluginCase.all(in: .module)) func `writes the files that the case expects`(_ testCase: PluginCase)
        async throws
    {
        try await testCase.run(JSONLines()) { _ in try Directory(testCase) }
    }
}
