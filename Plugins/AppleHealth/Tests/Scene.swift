import Foundation
import HubProcess
import Testing

/// A hub for one test, exports in its folder, and the hub's records.
final class Scene {
    let host: HubHost
    let exports: String
    private(set) var hub: ChildProcess?

    /// - Parameters:
    ///   - plugin: settings of `[plugin.apple-health]`; nil for no such section.
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

    @discardableResult func write(_ text: String, as name: String, isNew: Bool = false) throws -> String {
        let path = "\(exports)/\(name)"
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        guard !isNew else { return path }
        // As if it had been copied a while ago.
        try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSinceNow: -60)], ofItemAtPath: path)
        return path
    }

    /// Runs a command with `--json`, and returns its output.
    func json(_ arguments: [String], expecting code: Int? = 0) async throws -> [String: Any] {
        let result = try await host.command(arguments + ["--json"])
        try #require(code == nil || result.status == code, "\(result.errors)")
        let line = try #require(result.lines.last)
        return try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    }

    /// The hub's records from exports, each as the hub prints it.
    func records() async throws -> [[String: Any]] {
        try await lines().map { try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]) }
    }

    /// The number of the hub's records from exports.
    func count() async throws -> Int { try await lines().count }

    private func lines() async throws -> [String] {
        let result = try await host.command("export", "--format", "json-lines", "--source", "apple-health")
        try #require(result.status == 0, "\(result.errors)")
        return result.lines
    }

    /// The newest sequence, which does not change while no record is stored.
    func head() async throws -> Int {
        // The status is 1 while a plugin is starting.
        let status = try await json(["status"], expecting: nil)
        return try #require(status["head"] as? Int)
    }

    /// Returns when the plugin has a session; before that it takes no commands.
    func untilPluginIsThere() async throws {
        try await eventually {
            let plugins = try await json(["status"], expecting: nil)["plugins"] as? [[String: Any]]
            return plugins?.first?["sessions"] as? Int == 1
        }
    }
}

/// An export of steps for these minutes, counted from 1 January 2026.
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

/// The export that contains every kind of record.
func everything() throws -> String {
    let here = URL(filePath: #filePath).deletingLastPathComponent()
    return here.appending(path: "../Export").standardizedFileURL.path
}
