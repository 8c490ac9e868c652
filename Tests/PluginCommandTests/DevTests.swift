import Foundation
import HubProcess
import Testing

/// `hub plugin dev`: runs a plugin with its own hub, and restarts it at each save.
@Suite(.timeLimit(.minutes(2))) struct DevTests {
    /// A plugin in its own folder, and `hub plugin dev` for it.
    private struct Desk {
        let place: TemporaryFolder
        let folder: String

        init(_ role: String) async throws {
            place = try TemporaryFolder()
            let made = try await Programs.hub(["plugin", "new", "x", "--lang", "sh", role, "--in", place.path])
            try #require(made.code == 0, "\(made)")
            folder = "\(place.path)/x"
        }

        /// `hub-x` executes the `hub` that it finds in `PATH`.
        func start(_ arguments: String...) throws -> ChildProcess {
            try ChildProcess(
                "hub", ["plugin", "dev", folder] + arguments,
                environment: ["PATH": "\(Programs.folder):/usr/bin:/bin", "HUB_CONF": "/nowhere/hub.conf"])
        }

        func change(_ name: String, _ old: String, _ new: String) throws {
            let path = "\(folder)/\(name)"
            let text = try String(contentsOfFile: path, encoding: .utf8)
            try #require(text.contains(old), "\(name) has no \(old)")
            let facts = try FileManager.default.attributesOfItem(atPath: path)
            try text.replacing(old, with: new).write(toFile: path, atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes(facts, ofItemAtPath: path)
        }
    }

    /// Whether a line begins with this word and contains this text.
    private static func line(_ word: String, _ text: String) -> @Sendable (String) -> Bool {
        { $0.hasPrefix(word) && $0.contains(text) }
    }

    @Test(.enabled(if: Need.jq.isMet, "\(Need.jq.reason)"))
    func `dev shows a source's records, restarts it at each save, and no record is duplicated or missed`() async throws
    {
        let desk = try await Desk("--source")
        let dev = try desk.start()
        try await dev.line(Self.line("gave", "12 records: 12 new"))
        // The records arrive over the feed at any time.
        try await dev.line { $0.hasPrefix("record") && $0.contains("weight") && $0.contains("#12") }
        let configuration = try #require(dev.lines.compactMap { $0.split(separator: "HUB_CONF=").last }.first)
        // A change of the program: hub restart.
        try desk.change("program.sh", "# ", "# Again: ")
        try await dev.line(Self.line("saved", "program.sh"))
        try await dev.line(Self.line("restart", "its process is ended and started again"))
        try await dev.line(Self.line("gave", "12 records: 12 already there"))
        // A change of the settings: hub apply.
        try desk.change("test.conf", "every = 1", "every = 2")
        try await dev.line(Self.line("restart", "restart: its section has changed"))
        // An invalid change has no effect.
        try desk.change("test.conf", "every = 2", "evry = 2")
        try await dev.line(Self.line("restart", "not done: the former one keeps running"))
        #expect(dev.lines.contains { $0.hasPrefix("restart") && $0.contains("did you mean") })
        try desk.change("test.conf", "evry = 2", "every = 1")
        _ = await dev.lines(count: 2, where: Self.line("restart", "restart: its section has changed"))
        // Files that the plugin reads, and those that editors leave, cause no restart.
        let readings = try String(contentsOfFile: desk.folder + "/readings.txt", encoding: .utf8)
        let last = try #require(readings.split(separator: "\n").last)
        try (readings + last.replacing("T07:", with: "T09:") + "\n").write(
            toFile: desk.folder + "/readings.txt", atomically: false, encoding: .utf8)
        try await dev.line(Self.line("saved", "readings.txt, which the plugin reads"))
        try await dev.line(Self.line("gave", "1 new"))
        dev.signal(SIGINT)
        #expect(await dev.waitForExit() == 0)
        #expect(!FileManager.default.fileExists(atPath: String(configuration)))
        #expect(!dev.lines.contains { $0.hasPrefix("saved") && $0.contains(".sw") })
    }

    @Test(.enabled(if: Need.jq.isMet, "\(Need.jq.reason)"))
    func `a sink gets made-up records, dev shows its answers, and a failed build keeps the old program running`()
        async throws
    {
        let desk = try await Desk("--sink")
        let dev = try desk.start("--build", "test ! -e broken")
        try await dev.line(Self.line("made up", "three records each of weight"))
        try await dev.line(Self.line("took", "3 delivered"))
        try "".write(toFile: desk.folder + "/broken", atomically: false, encoding: .utf8)
        try await dev.line(Self.line("build", "the former program keeps running"))
        try FileManager.default.removeItem(atPath: desk.folder + "/broken")
        try await dev.line(Self.line("restart", "its process is ended and started again"))
        dev.signal(SIGTERM)
        #expect(await dev.waitForExit() == 0)
    }

    @Test(.enabled(if: Need.jq.isMet, "\(Need.jq.reason)"))
    func `dev shows the reason of a refusal, and continues with a kept store`() async throws {
        let desk = try await Desk("--source")
        let keep = "\(desk.place.path)/kept"
        let first = try desk.start("--keep", keep, "--count", "12", "--for", "30")
        #expect(await first.waitForExit() == 0, "\(first.lines) \(first.errorLines)")
        try desk.change("program.sh", "\"kg\"", "\"bananas\"")
        let second = try desk.start("--keep", keep, "--json")
        try await second.line { $0.contains(#""event":"refused""#) && $0.contains("12 of 12 records were rejected") }
        try await second.line { $0.contains(#""event":"gave""#) && $0.contains(#""rejected":12"#) }
        #expect(!second.lines.contains { $0.contains(#""event":"record""#) }, "the records were shown before")
        second.signal(SIGINT)
        #expect(await second.waitForExit() == 0)
    }

    @Test func `dev reports why it cannot start, with an exit code for scripts`() async throws {
        let place = try TemporaryFolder()
        let none = try await Programs.hub(["plugin", "dev", place.path + "/none"])
        #expect(none.code == 65 && none.errors.contains("is not there"), "\(none)")
        let empty = try await Programs.hub(["plugin", "dev", place.path])
        #expect(empty.code == 65 && empty.errors.contains("name the program itself"), "\(empty)")
    }
}
