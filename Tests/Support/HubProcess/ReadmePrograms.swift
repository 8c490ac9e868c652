import Foundation

/// The programs of a document, exactly as the document has them.
public struct ReadmePrograms {
    private let programs: [String: String]

    private let file: String

    /// - Parameters:
    ///   - file: the path in the project's folder.
    ///   - mark: the word before each program, as in `<!-- run: NAME -->`.
    public init(_ file: String = "Docs/Clients.md", mark: String = "run") throws {
        self.file = file
        let text = try String(
            contentsOf: URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../\(file)"),
            encoding: .utf8)
        var programs: [String: String] = [:]
        var name: String?
        var block: [Substring]?
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("<!-- \(mark): ") {
                name = String(line.dropFirst("<!-- \(mark): ".count).dropLast(" -->".count))
            } else if ["```python", "```sh", "```swift", "```json", "```toml"].contains(line), name != nil {
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

    public var names: [String] { programs.keys.sorted() }

    public func start(_ name: String, in host: HubHost, _ arguments: [String] = []) throws -> ChildProcess {
        try ChildProcess(
            try Tool.python(with: "zmq"), [try write(name, in: host)] + arguments, environment: host.environment)
    }

    /// Writes the program into a file and returns its path.
    public func write(_ name: String, in host: HubHost) throws -> String { try host.folder.write(text(name), to: name) }

    public func text(_ name: String) throws -> String {
        guard let text = programs[name] else { throw Missing(what: "\(file) has no program \(name)") }
        return text
    }

    public struct Missing: Error, CustomStringConvertible {
        let what: String
        public var description: String { what }
    }
}
