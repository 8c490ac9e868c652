public import Foundation

/// A store of a hub with an earlier schema, and its content; Tests/Support/OldFormats/README.md says how each was made.
public struct OldFormat: Sendable, CustomStringConvertible {
    /// The number of the schema, and a suffix if there are several stores of that schema.
    public let name: String

    public static let all = [
        "1", "2", "3", "4", "5", "6", "7", "8", "9", "10-without-sums", "10", "11", "13", "14", "15", "16", "18", "19",
    ].map(OldFormat.init)
    /// The formats that have a file of tokens beside the store.
    public static let withTokens = ["3", "4", "10", "11", "13", "14", "15", "16", "18", "19"].map(OldFormat.init)
    public static let withPluginState = ["1"].map(OldFormat.init)
    /// Every version of `hub.conf` that this repository has had.
    public static var configurations: [URL] {
        get throws {
            try FileManager.default.contentsOfDirectory(
                at: folder.appending(path: "conf"), includingPropertiesForKeys: nil
            ).sorted { $0.path < $1.path }
        }
    }

    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(
        path: "../OldFormats/Files")

    private init(_ name: String) { self.name = name }

    public var description: String { "schema \(name)" }

    /// Unpacks the files into an existing folder: `hub.sqlite`, with its log if the hub was killed, `secrets.db`, `state/`.
    public func unpack(into folder: String) throws { try OldFormat.unpack(name, into: folder) }

    /// Unpacks a chain of backups into an existing folder: `plain`, `encrypted` with its whole backup decrypted, and `key.txt`, the key of age.
    public static func unpackChain(into folder: String) throws { try unpack("chain", into: folder) }

    private static func unpack(_ name: String, into folder: String) throws {
        let archive = OldFormat.folder.appending(path: name + ".tar.gz").path
        if let failure = Tool.failure("tar", ["-xzf", archive, "-C", folder, "--no-same-owner"]) {
            throw CocoaError(.fileReadCorruptFile, userInfo: [NSFilePathErrorKey: "\(archive): \(failure)"])
        }
    }

    /// The content of the store, one line for each row that `OldFormat.questions` returned before any upgrade.
    public var rows: [String] {
        get throws { try OldFormat.text(name + ".txt").split(separator: "\n").map(String.init) }
    }

    /// SQL statements that each return the rows of one table as a single column of text; a schema without that table has no such rows.
    public static var questions: [String] {
        get throws { try text("../expectation.sql").components(separatedBy: ";\n") }
    }

    private static func text(_ name: String) throws -> String {
        try String(contentsOf: folder.appending(path: name).standardizedFileURL, encoding: .utf8)
    }
}
