import Foundation
import Glibc
import HubProcess
import HubWire
import JSON
import NIOCore
import PhonePayloads
import Platform
import PluginKit
import PluginTesting
import Samples
import Testing

@testable import HTTPIngest
@testable import HTTPServing

/// A fake hub, the plugin, and a phone with a token of the settings.
final class Scene: Sendable {
    static let secret = "0badcafe.a-secret-that-is-no-secret"

    /// With this heartbeat a plugin notices quickly that the hub has forgotten its session.
    static let quickHeartbeat = Heartbeat(interval: 100)

    let place: TestPlace
    let hub: FakeHub
    let port: Int
    private let limits: IngestLimits

    init(
        settings more: [String: SettingValue] = [:], limits: IngestLimits = IngestLimits(),
        _ change: @Sendable (inout FakeHub.Behaviour) -> Void = { _ in }
    ) async throws {
        place = try TestPlace()
        port = try FreePort.next()
        let hash = Digests.sha256("a-secret-that-is-no-secret".utf8).hexadecimal
        var values = Self.settings([
            "listen": .string("127.0.0.1:\(port)"), "tokens": .list([.string("phone:0badcafe:\(hash):me")]),
        ])
        values.merge(more) { _, new in new }
        var behaviour = FakeHub.Behaviour()
        behaviour.settings = RawJSON(trusted: Array(try JSONEncoder().encode(values)))
        change(&behaviour)
        hub = try FakeHub(door: place.door, context: place.context, behaviour: behaviour)
        try await hub.start()
        var limits = limits
        limits.connection.farewell = .milliseconds(50)
        self.limits = limits
    }

    /// The settings that a plugin must have, and others.
    static func settings(_ change: [String: SettingValue] = [:]) -> [String: SettingValue] {
        let usual: [String: SettingValue] = [
            "listen": .string("127.0.0.1:7780"), "plain_http": .boolean(false), "percent": .string("hundred"),
            "workout_names": .list([]), "computed": .boolean(false), "max_body": .string("1MiB"), "tokens": .list([]),
        ]
        return usual.merging(change) { _, new in new }
    }

    /// The samples that the hub has.
    func samples() async -> [Sample] {
        await hub.held.compactMap { if case .sample(let sample) = $0.record { sample } else { nil } }
    }

    /// Makes a token by the plugin's command, and returns its result.
    func newToken(_ arguments: String) async throws -> JSONTree {
        let outcome = await hub.command("new", RawJSON(trusted: Array(arguments.utf8)))
        guard case .done(let result?) = outcome else { throw NoAnswer(text: "\(outcome)") }
        return try #require(JSONTree(Array(result.text.utf8)))
    }

    /// Runs the plugin until `body` ends, and checks that it followed the protocol.
    func run(_ body: () async throws -> Void) async throws {
        let before = await hub.events.count { $0.event == "connected" }
        // Each run is like a new process: only the files of the earlier run remain.
        var plugin = HTTPIngest()
        plugin.limits = limits
        let run = PluginRun(plugin, at: place, settings: nil)
        await hub.wait { $0.events.count { $0.event == "connected" } > before }
        try await body()
        run.stop()
        #expect(await run.end() == .done)
        #expect(await hub.violations == [])
    }

    // MARK: - A phone

    struct NoAnswer: Error { let text: String }

    struct Answer {
        var status: Int
        var fields: [String: String]
        var body: String

        var json: JSONTree? { JSONTree(Array(body.utf8)) }

        func count(_ name: String) -> Int64? { json?[name]?.lenientInteger }
    }

    /// Sends a request on a new connection and reads its answer off the cooperative threads.
    func send(
        _ method: String = "POST", _ path: String, _ body: [UInt8] = [], token: String? = Scene.secret,
        fields: [String: String] = [:], within seconds: Double = 30
    ) async throws -> Answer {
        let head = Self.head(method, path, length: body.count, token: token, fields: fields)
        return try await send(raw: Array(head.utf8) + body, within: seconds)
    }

    /// Sends bytes on a new connection and reads the answer to them.
    func send(raw bytes: [UInt8], within seconds: Double = 30) async throws -> Answer {
        let port = port
        return try await onThread {
            let connection = try RawConnection(port)
            connection.send(bytes)
            return try Self.answer(String(decoding: connection.takeAll(within: seconds), as: UTF8.self))
        }
    }

    func post(_ path: String, _ body: String, fields: [String: String] = [:]) async throws -> Answer {
        try await send("POST", path, Array(body.utf8), fields: fields)
    }

    func post(fixture name: String, to path: String, fields: [String: String] = [:]) async throws -> Answer {
        try await send("POST", path, try Self.fixture(name), fields: fields)
    }

    static func head(
        _ method: String, _ path: String, length: Int?, token: String? = Scene.secret, fields: [String: String] = [:]
    ) -> String {
        var lines = ["\(method) \(path) HTTP/1.1", "Host: localhost", "Connection: close"]
        if let length { lines.append("Content-Length: \(length)") }
        if let token { lines.append("Authorization: Bearer \(token)") }
        if fields["Content-Type"] == nil { lines.append("Content-Type: application/json") }
        lines += fields.map { "\($0.key): \($0.value)" }
        return lines.joined(separator: "\r\n") + "\r\n\r\n"
    }

    static func answer(_ text: String) throws -> Answer {
        let parts = text.components(separatedBy: "\r\n\r\n")
        let lines = parts[0].components(separatedBy: "\r\n")
        guard let status = Int(lines[0].split(separator: " ").dropFirst().first ?? "") else {
            throw NoAnswer(text: text)
        }
        var fields: [String: String] = [:]
        for line in lines.dropFirst() {
            let sides = line.split(separator: ":", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
            if sides.count == 2 { fields[sides[0].lowercased()] = sides[1] }
        }
        return Answer(status: status, fields: fields, body: parts.dropFirst().joined(separator: "\r\n\r\n"))
    }

    static func fixture(_ name: String) throws -> [UInt8] {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Payloads/Fixtures/\(name)")
        let bytes = Array(try Data(contentsOf: folder.standardizedFileURL))
        // The token of these tests belongs to `me`, and a post that names someone else is refused.
        guard name.hasPrefix("ble-scale-sync") else { return bytes }
        return Array(String(decoding: bytes, as: UTF8.self).replacing("\"Mira\"", with: "\"me\"").utf8)
    }
}
