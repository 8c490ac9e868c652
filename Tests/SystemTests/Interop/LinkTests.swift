import Foundation
import Testing

/// The targets of the links in the documents.
@Suite struct LinkTests {
    private static let project = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")
        .standardizedFileURL

    private static func documents() throws -> [URL] {
        try ["", ".github", "Docs", "Plugins", "Simulators"].flatMap { folder in
            let place = folder.isEmpty ? project : project.appending(path: folder)
            let entries = try FileManager.default.contentsOfDirectory(at: place, includingPropertiesForKeys: nil)
            let below =
                folder == "Plugins" || folder == "Simulators" ? entries.map { $0.appending(path: "README.md") } : []
            return (entries + below).filter { $0.pathExtension == "md" && (try? $0.checkResourceIsReachable()) == true }
        }
    }

    @Test func `every link of the documents leads to a file of the project`() throws {
        var count = 0
        for document in try Self.documents() {
            let text = try String(contentsOf: document, encoding: .utf8)
            for match in text.matches(of: /\]\(([^)#\s]+)(#[^)]*)?\)/) where !match.1.contains("://") {
                count += 1
                let target = document.deletingLastPathComponent().appending(path: String(match.1)).standardizedFileURL
                #expect(
                    FileManager.default.fileExists(atPath: target.path),
                    "\(document.lastPathComponent) leads to \(match.1), which is not there")
            }
        }
        #expect(count > 60)
    }
}
