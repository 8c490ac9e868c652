import Foundation

/// Faults of disk and clock for the programs of a test, which begin and end while the programs run
/// (`Tests/Support/Faults/faults.c`); they need ``Need/compiler``.
public final class Faults: Sendable {
    /// The library, built once for all tests of this run.
    private static let library: String = {
        let source = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../Faults/faults.c").standardizedFileURL.path
        let built = "/tmp/hub-faults-\(UUID().uuidString).so"
        let failure = Tool.failure("cc", ["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", built, source, "-ldl"])
        precondition(failure == nil, "\(source) does not compile: \(failure ?? "")")
        atexit { unlink(Faults.library) }
        return built
    }()

    private let file: String

    /// - Parameter name: the file that lists the faults; programs with different faults need different files.
    public init(in folder: TemporaryFolder, name: String = "faults") { file = "\(folder.path)/\(name)" }

    /// The environment variables that a program needs for the faults.
    public var variables: [String: String] { ["LD_PRELOAD": Faults.library, "HUB_FAULTS": file] }

    /// The same as arguments of `env`.
    public var environment: [String] { variables.map { "\($0)=\($1)" } }

    /// Replaces all earlier faults with these lines.
    public func begin(_ lines: String...) throws { try begin(lines) }

    /// Replaces all earlier faults with these lines.
    public func begin(_ lines: [String]) throws {
        try Data(lines.map { $0 + "\n" }.joined().utf8).write(to: URL(filePath: file), options: .atomic)
    }

    public func end() throws { try FileManager.default.removeItem(atPath: file) }
}
