import Foundation

/// The `example-source` program, which gives the same records for the same settings and notes their keys.
public final class ExampleSource: Sendable {
    public let process: ChildProcess
    /// The path of the file with a JSON line for each record given.
    private let given: String

    /// Starts the source against the owner's door of `host`.
    ///
    /// - Parameters:
    ///   - name: its instance, which also distinguishes its records from those of other sources.
    ///   - rate: records per second; 0 is as fast as it can.
    public init(in host: HubHost, name: String = "example-source", count: Int, rate: Int = 0, seed: Int = 1) throws {
        given = "\(host.folder.path)/\(name).given"
        process = try host.plugin(
            "example-source", "--once",
            settings: "count = \(count)\nrate = \(rate)\nseed = \(seed)\ngiven = \"\(given)\"\n", state: name,
            ["--instance", name])
    }

    /// The keys of the records it gave; a record counts as given when it is in the spool.
    public func keys() throws -> [String] {
        struct Line: Decodable { var key: String }
        return try String(contentsOfFile: given, encoding: .utf8).split(separator: "\n").map {
            try JSONDecoder().decode(Line.self, from: Data($0.utf8)).key
        }
    }
}
