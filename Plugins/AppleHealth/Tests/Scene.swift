import Foundation
import HubProcess
import Testing

/// A hub of a test's own, exports in a folder of it, and what the hub says of them.
final class Scene {
    let host: HubHost
    let exports: String
    private(set) var hub: ChildProcess?

    /// - Parameters:
    ///   - plugin: settings of `[plugin.apple-health]`; `nil`: there is none.
    ///   - persons: tables of `hub.conf`.
    init(plugin: String? = nil, persons: String = "") throws {
        let path = "/tmp/apple-\(UInt64.random(in: 0 ... .max))"
        exports = path + "/exports"
        let table = plugin.map { "[plugin.apple-health]\nfolder = \"\(path)/exports\"\nlook_every = \"1s\"\n\($0)\n" }
        host = try HubHost(at: path, plugins: "\(persons)\n\(table ?? "")")
        try FileManager.default.createDirectory(atPath: exports, withIntermediateDirectories: false)
    }

    func start() async throws { hub = try await host.start() }

    func kill() async { await hub?.killAndWait() }

    @discardableResult
    func write(_ text: String, as name: String, isNew: Bool = false) throws -> String {
        let path = "\(exports)/\(name)"
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        guard !isNew else { return path }
        // As if it had been copied a while ago.
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -60)], ofItemAtPath: path)
        return path
    }

    /// A command with `--json`, and what it prints.
    func json(_ arguments: [String], expecting code: Int? = 0) async throws -> [String: Any] {
        let result = try await host.command(arguments + ["--json"])
        try #require(code == nil || result.status == code, "\(result.errors)")
        let line = try #require(result.lines.last)
        return try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    }

    /// The records that the hub has of exports, each as it prints it.
    func records() async throws -> [[String: Any]] {
        let result = try await host.command("export", "--format", "json-lines", "--source", "apple-health")
        try #require(result.status == 0, "\(result.errors)")
        return try result.lines.map {
            try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
    }

    /// The newest sequence: what it stays at when nothing is new.
    func head() async throws -> Int {
        // It ends with 1 while a plugin is on its way.
        let status = try await json(["status"], expecting: nil)
        return try #require(status["head"] as? Int)
    }

    /// Returns when the plugin has a session: before, no plugin takes its commands.
    func untilPluginIsThere() async throws {
        try await eventually {
            let plugins = try await json(["status"], expecting: nil)["plugins"] as? [[String: Any]]
            return plugins?.first?["sessions"] as? Int == 1
        }
    }
}

/// An export of the steps of so many minutes, from the first of January 2026 on.
func steps(_ minutes: Range<Int>, weight: String = "80.4", end: String = "</HealthData>\n") -> String {
    let day = "2026-01-"
    func time(_ minute: Int) -> String {
        func two(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }
        return "\(day)\(two(1 + minute / 1_440)) \(two(minute / 60 % 24)):\(two(minute % 60)):00 +0100"
    }
    let records = minutes.map {
        "<Record type=\"HKQuantityTypeIdentifierStepCount\" sourceName=\"Phone\" sourceVersion=\"17.1\" unit=\"count\" value=\"\($0 % 97)\" creationDate=\"\(time($0))\" startDate=\"\(time($0))\" endDate=\"\(time($0 + 1))\"/>\n"
    }
    return """
        <HealthData locale="en_US">
        <ExportDate value="2026-03-01 09:00:00 +0100"/>
        <Record type="HKQuantityTypeIdentifierBodyMass" sourceName="Scale" unit="kg" value="\(weight)" startDate="2026-01-01 07:00:00 +0100" endDate="2026-01-01 07:00:00 +0100"/>
        \(records.joined())\(end)
        """
}

/// The export with everything in it.
func everything() throws -> String {
    let here = URL(filePath: #filePath).deletingLastPathComponent()
    return here.appending(path: "../Export").standardizedFileURL.path
}
