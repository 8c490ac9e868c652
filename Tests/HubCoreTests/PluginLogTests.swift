import Foundation
import HubWire
import Logging
import Platform
import Testing

@testable import HubCore

/// The output of plugins is cut into lines, cleaned of control characters and secrets, and limited.
@Suite struct PluginLogTests {
    private func cut(_ text: String, hiding secrets: [String], by size: Int = .max) -> [String] {
        var cutter = LineSplitter(hiding: SecretMask(secrets))
        var (lines, rest) = ([String](), Array(text.utf8)[...])
        while !rest.isEmpty {
            let part = rest.prefix(size)
            lines += part.withUnsafeBytes { cutter.add($0) }
            rest = rest.dropFirst(part.count)
        }
        return lines + (cutter.rest().map { [$0] } ?? [])
    }

    @Test func `R11.3 a token that passed the door is hidden, even in a line that had begun before`() {
        let secrets = InstanceSecrets(["opensesame"])
        var cutter = LineSplitter(hiding: secrets.mask)
        func add(_ text: String) -> [String] { Array(text.utf8).withUnsafeBytes { cutter.add($0) } }
        #expect(add("with eyJhbGciOiJIUzI1Ni").isEmpty)
        let token =
            #"{"access_token":"eyJhbGciOiJIUzI1NiJ9","refresh_token":"r-1/2","token_type":"Bearer","scope":"read:weight write:weight","expires_at":"2024-03-15T07:30:05Z","more":[{"id_token":"i-77"}]}"#
        secrets.learn(Array(token.utf8))
        cutter.hide(secrets.mask)
        #expect(
            add("J9 or r-1/2, i-77\nBearer opensesame read:weight\n") == [
                "with <secret> or <secret>, <secret>", "Bearer <secret> read:weight",
            ])
        // Other bytes are not taken for a token.
        secrets.learn(Array("[".utf8))
        for number in 0..<1_000 { secrets.learn(Array(#"{"access_token":"a-long-token-\#(number)"}"#.utf8)) }
        #expect(secrets.mask.hiding("opensesame a-long-token-999") == "<secret> <secret>")
    }

    @Test func `secrets are hidden plain, in JSON and percent-encoded, unless they are too short`() {
        let lines = cut(
            "k=hunter2&x\n{\"k\":\"pass\\\"word\"} pass%22word\nabc 1 a\n",
            hiding: ["hunter2&x", "pass\"word", "1", "abc"])
        #expect(lines == ["k=<secret>", "{\"k\":\"<secret>\"} <secret>", "abc 1 a"])
        #expect(cut("-----KEY\nabcd1234\nlast", hiding: ["-----KEY\nabcd1234"]) == ["<secret>", "<secret>", "last"])
        #expect(cut("longer than long", hiding: ["long", "longer than"]) == ["<secret> <secret>"])
    }

    @Test(arguments: 0..<60) func `a secret in a line without an end is hidden wherever the line is divided`(
        _ seed: UInt64
    ) {
        var generator = SeededGenerator(seed: seed)
        let secret = String(
            (0..<Int.random(in: 4...3_000, using: &generator)).map { _ in
                Character(Unicode.Scalar(UInt8.random(in: 97...122, using: &generator)))
            })
        var text = ""
        while text.utf8.count < 40_000 {
            text += String(repeating: ".", count: .random(in: 0...5_000, using: &generator)) + secret
        }
        let pieces = cut(text, hiding: [secret], by: .random(in: 1...9_000, using: &generator))
        let whole = pieces.joined()
        #expect(whole == text.replacing(secret, with: "<secret>"), "seed \(seed)")
        #expect(pieces.allSatisfy { $0.utf8.count <= max(4_096, 2 * secret.utf8.count) }, "seed \(seed)")
    }

    @Test func `a line keeps the level from PluginKit and loses control characters`() {
        let time = Int64(1_700_000_000_123_456)
        let line = LogLine("2023-11-14T22:13:20+0000 warning scale: \u{1B}[31mthe battery is low", from: .err, at: time)
        #expect(line.line == "2023-11-14T22:13:20.123Z warning err scale:  [31mthe battery is low")
        #expect(LogLine(reading: line.line) == line)
        let plain = LogLine("error in the first word", from: .out, at: 0)
        #expect(plain.line == "1970-01-01T00:00:00.000Z info out error in the first word")
        #expect(LogLine(reading: "1970-01-01T00:00:00.000Z info") == nil)
        #expect(LogLine(reading: LogLine("", from: .out, at: 0).line)?.text == "")
    }

    @Test func `the log files of a plugin are private, rotate, and stay below their size limit`() throws {
        let folder = try Folder()
        let files = PluginLogFiles(data: folder.path)
        try FileManager.default.createDirectory(atPath: files.folder, withIntermediateDirectories: true)
        let path = files.newest(of: "scale")
        for _ in 0..<2 {
            let log = PluginLog(path: path, fileSize: 10_000, logger: Logger(label: "log"))
            for number in 0..<2_000 { log.write("line \(number)", from: .out) }
        }
        let sizes = try files.all(of: "scale").map {
            try #require(try FileManager.default.attributesOfItem(atPath: $0)[.size] as? Int)
        }
        #expect(sizes.count == 5 && sizes.allSatisfy { $0 <= 10_000 })
        #expect(try FileManager.default.contentsOfDirectory(atPath: files.folder).count == 5)
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let lines = try files.all(of: "scale").map { try String(contentsOfFile: $0, encoding: .utf8) }.joined()
            .split(separator: "\n").compactMap { LogLine(reading: $0) }
        #expect(lines.last?.text == "line 1999")
        let numbers = lines.compactMap { Int($0.text.dropFirst(5)) }
        #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $1 == ($0 + 1) % 2_000 })
    }

    @Test func `a log that cannot be written is reported once and stops nothing`() throws {
        let told = LogLines()
        let log = PluginLog(path: "/nonexistent/scale.log", logger: Logger(label: "log") { _ in told })
        for _ in 0..<10 { log.write("line", from: .out) }
        #expect(told.lines.count == 1 && told.lines[0].contains("/nonexistent/scale.log"))
    }

    @Test func `a log that cannot be rotated is reported once, stops nothing and keeps its size limit`() throws {
        let folder = try Folder()
        let path = folder.path + "/scale.log"
        for number in 1...4 {
            try FileManager.default.createDirectory(atPath: "\(path).\(number)/x", withIntermediateDirectories: true)
        }
        let told = LogLines()
        for _ in 0..<2 {
            let log = PluginLog(path: path, fileSize: 1_000, logger: Logger(label: "log") { _ in told })
            for number in 0..<100 { log.write("line \(number)", from: .out) }
        }
        #expect(told.lines.count == 2 && told.lines[0].contains(path))
        let size = try #require(try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int)
        #expect(size <= 1_000)
        // It continues when rotation works again.
        for number in 1...4 { try FileManager.default.removeItem(atPath: "\(path).\(number)") }
        let log = PluginLog(path: path, fileSize: 1_000, logger: Logger(label: "log") { _ in told })
        log.write("at last", from: .out)
        #expect(try String(contentsOfFile: path, encoding: .utf8).contains("at last"))
    }

    @Test func `a burst is read at once, and later output at the limited rate`() {
        var allowance = TokenBucket(size: 1_000, rate: 100, now: 0)
        #expect(allowance.take(1_000, at: 0) == 0)
        #expect(allowance.take(50, at: 0) == 500)
        #expect(allowance.take(50, at: 500) == 500)
        #expect(allowance.take(1_000, at: 100_000) == 0)
    }
}
