import Foundation
import HubProcess
import Synchronization
import TortureDiary

/// Two plugins that people use, both rated platinum by `hub plugin test`, beside the plugins made for the torture.
///
/// One is a source as `hub plugin new` makes it in Swift, the other the sink of JSON Lines. Neither knows that it is tortured.
final class PlatinumPlugins: Sendable {
    static let source = "climbs"
    static let sink = "archive"
    static let names = [source, sink]

    /// The program that the hub starts under a name; `nil` for other names.
    static func program(_ name: String) -> String? {
        switch name {
        case source: "hub-climbs"
        case sink: "hub-json-lines"
        default: nil
        }
    }

    private let folder: String
    private let program: String
    private let state = Mutex((readings: [String](), isOver: false))

    /// The source's folder, made and built once for all rounds.
    private static let made = Task { () -> String in
        let place = try TemporaryFolder()
        // The rounds need the folder until this program ends.
        place.keep()
        for words in [
            ["plugin", "new", source, "--lang", "swift", "--source", "flightsClimbed", "--in", place.path],
            ["plugin", "build", "\(place.path)/\(source)"],
        ] {
            let result = try await ChildProcess("hub", words).result()
            guard result.code == 0 else { throw Scene.Broken("hub \(words.joined(separator: " ")): \(result.errors)") }
        }
        return place.path
    }

    /// Removes the source's folder.
    static func cleanUp() async {
        if let path = try? await made.value { try? FileManager.default.removeItem(atPath: path) }
    }

    /// - Parameter folder: the folder of the round.
    init(in folder: String) async throws {
        self.folder = folder
        program = "\(try await Self.made.value)/\(Self.source)/hub-\(Self.source)"
    }

    /// The tables of these plugins in `hub.conf`.
    var sections: String {
        """
        [plugin.\(Self.source)]
        executable = "\(program)"
        file = "\(folder)/readings.txt"
        every = 1
        [plugin.\(Self.sink)]
        kind = "json-lines"
        executable = "\(Programs.path("hub-json-lines"))"
        path = "\(folder)/archive"

        """
    }

    /// The keys in the file that the source reads, one for each line.
    var readings: [String] { state.withLock(\.readings) }

    /// Writes a line to the source's file every few milliseconds, as a device would.
    func begin() throws {
        let path = "\(folder)/readings.txt"
        guard FileManager.default.createFile(atPath: path, contents: nil) else {
            throw Scene.Broken("\(path) cannot be written")
        }
        Thread.detachNewThread { [self] in
            while !state.withLock(\.isOver) {
                try? add(to: path)
                Thread.sleep(forTimeInterval: 0.08)
            }
        }
    }

    private func add(to path: String) throws {
        guard let file = FileHandle(forWritingAtPath: path) else { return }
        defer { try? file.close() }
        try file.seekToEnd()
        // Under the lock, so that every counted line has been written.
        try state.withLock { state in
            guard !state.isOver else { return }
            let minute = state.readings.count
            let key =
                String(format: "2026-03-%02d", 1 + minute / 1_440)
                + String(format: "T%02d:%02d:05+01:00", minute / 60 % 24, minute % 60)
            try file.write(contentsOf: Data("\(key) 1\n".utf8))
            state.readings.append(key)
        }
    }

    /// Stops writing.
    func finish() throws { state.withLock { $0.isOver = true } }

    /// The lines of the archive, in the order in which they were written.
    func lines() throws -> [Story.Record] {
        let path = "\(folder)/archive"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        return try names.sorted().flatMap { name in
            try String(contentsOfFile: "\(path)/\(name)", encoding: .utf8).split(separator: "\n").map {
                try JSONDecoder().decode(Story.Record.self, from: Data($0.utf8))
            }
        }
    }
}
