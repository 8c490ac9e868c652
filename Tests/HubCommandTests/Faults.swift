import Foundation
import HubProcess

/// Faults of disk and clock for the programs of a test, which begin and end while they run (`Tests/Support/Faults/faults.c`); they ``Need/compiler``.
final class Faults: Sendable {
    /// What was built for the tests of this run.
    private static let library: String = {
        let source = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../Support/Faults/faults.c").standardizedFileURL.path
        let built = "/tmp/hub-faults-\(UUID().uuidString).so"
        let isBuilt = Tool.run(
            "cc", ["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", built, source, "-ldl"])
        precondition(isBuilt, "\(source) does not compile")
        atexit { unlink(Faults.library) }
        return built
    }()

    private let file: String

    init(in folder: TemporaryFolder) { file = folder.path + "/faults" }

    /// What a program has to find in its environment.
    var environment: [String] { ["LD_PRELOAD=\(Faults.library)", "HUB_FAULTS=\(file)"] }

    /// From now on these lines hold, and no others.
    func begin(_ lines: String...) throws {
        try Data(lines.map { $0 + "\n" }.joined().utf8).write(to: URL(filePath: file), options: .atomic)
    }

    func end() throws { try FileManager.default.removeItem(atPath: file) }
}
