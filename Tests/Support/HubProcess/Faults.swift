import Foundation

/// Faults of disk and clock for the programs of a test, which begin and end while they run (`Tests/Support/Faults/faults.c`); they
/// ``Need/compiler``.
public final class Faults: Sendable {
    /// What was built for the tests of this run.
    private static let library: String = {
        let source = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../Faults/faults.c").standardizedFileURL.path
        let built = "/tmp/hub-faults-\(UUID().uuidString).so"
        let failure = Tool.failure(
            "cc", ["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", built, source, "-ldl"])
        precondition(failure == nil, "\(source) does not compile: \(failure ?? "")")
        atexit { unlink(Faults.library) }
        return built
    }()

    private let file: String

    /// - Parameter name: of the file that says which faults there are; one for each program that has its own.
    public init(in folder: TemporaryFolder, name: String = "faults") { file = "\(folder.path)/\(name)" }

    /// What a program has to find in its environment.
    public var variables: [String: String] { ["LD_PRELOAD": Faults.library, "HUB_FAULTS": file] }

    /// The same as words for `env`.
    public var environment: [String] { variables.map { "\($0)=\($1)" } }

    /// From now on these lines hold, and no others.
    public func begin(_ lines: String...) throws { try begin(lines) }

    /// From now on these lines hold, and no others.
    public func begin(_ lines: [String]) throws {
        try Data(lines.map { $0 + "\n" }.joined().utf8).write(to: URL(filePath: file), options: .atomic)
    }

    public func end() throws { try FileManager.default.removeItem(atPath: file) }
}
