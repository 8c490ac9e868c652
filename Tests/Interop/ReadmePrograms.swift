import Foundation
import HubProcess

/// The programs of a document, exactly as they stand there.
struct ReadmePrograms {
    private let programs: [String: String]

    private let file: String

    /// - Parameter file: below the project's folder.
    init(_ file: String = "Docs/Clients.md") throws {
        self.file = file
        let text = try String(
            contentsOf: URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../\(file)"),
            encoding: .utf8)
        var programs: [String: String] = [:]
        var name: String?
        var block: [Substring]?
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("<!-- run: ") {
                name = String(line.dropFirst("<!-- run: ".count).dropLast(" -->".count))
            } else if line == "```python" || line == "```sh", name != nil {
                block = []
            } else if line == "```", let key = name, let lines = block {
                programs[key] = lines.joined(separator: "\n") + "\n"
                (name, block) = (nil, nil)
            } else {
                block?.append(line)
            }
        }
        self.programs = programs
    }

    var names: [String] { programs.keys.sorted() }

    func start(_ name: String, in host: HubHost, _ arguments: [String] = []) throws -> ChildProcess {
        try ChildProcess(try Self.python(), [try write(name, in: host)] + arguments, environment: host.environment)
    }

    /// The program as a file of its own.
    func write(_ name: String, in host: HubHost) throws -> String { try host.folder.write(text(name), to: name) }

    func text(_ name: String) throws -> String {
        guard let text = programs[name] else { throw Missing(what: "\(file) has no program \(name)") }
        return text
    }

    struct Missing: Error, CustomStringConvertible {
        let what: String
        var description: String { what }
    }

    /// The first Python that has a module; `make test` installs pyzmq and pandas.
    static func python(with module: String = "zmq") throws -> String {
        let folders =
            (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init) + ["/usr/bin"]
        for folder in folders {
            let path = "\(folder)/python3"
            guard FileManager.default.isExecutableFile(atPath: path) else { continue }
            if Tool.run(path, ["-c", "import \(module)"]) { return path }
        }
        throw Missing(what: "no python3 with \(module): run make test, which installs python3-\(module)")
    }
}
