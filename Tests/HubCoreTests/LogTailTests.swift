import Foundation
import HubSettings
import HubWire
import Logging
import Testing

@testable import HubCore

/// Queries for the last lines of a plugin's log (Protocol §8.1.4).
@Suite struct LogTailTests {
    private static func files(in folder: Folder) throws -> PluginLogFiles {
        let files = PluginLogFiles(data: folder.path)
        try FileManager.default.createDirectory(atPath: files.folder, withIntermediateDirectories: true)
        return files
    }

    private static func texts(_ page: LogPage?) -> [String] { page?.lines.map(\.text) ?? [] }

    @Test func `R8.170 the last lines come oldest first, across rotations, and the answer says if there are more`()
        async throws
    {
        let folder = try Folder()
        let files = try Self.files(in: folder)
        let log = PluginLog(path: files.newest(of: "scale"), fileSize: 2_000, logger: Logger(label: "log"))
        for number in 0..<100 { log.write("line \(number)", from: .out) }
        for limit in [1, 7, 60] {
            let page = try await LogTail(files: files, instance: "scale", limit: limit, start: nil).page()
            #expect(Self.texts(page) == (100 - limit..<100).map { "line \($0)" } && page?.more == true)
        }
        let all = try await LogTail(files: files, instance: "scale", limit: 1_000, start: nil).page()
        #expect(Self.texts(all) == (0..<100).map { "line \($0)" } && all?.more == false && all?.instance == "scale")
        #expect(try await LogTail(files: files, instance: "other", limit: 1, start: nil).page() == nil)
    }

    @Test func `R8.170 no answer exceeds the byte limit, and each line is complete`()
        async throws
    {
        let folder = try Folder()
        let files = try Self.files(in: folder)
        let log = PluginLog(path: files.newest(of: "scale"), logger: Logger(label: "log"))
        for number in 0..<400 { log.write("\(number) " + String(repeating: "é", count: number * 5), from: .err) }
        let page = try #require(try await LogTail(files: files, instance: "scale", limit: 1_000, start: nil).page())
        let bytes = page.lines.reduce(0) { $0 + $1.line.utf8.count + 1 }
        #expect(bytes <= LogPage.maximumBytes && bytes > LogPage.maximumBytes - 8_192 && page.more)
        let numbers = page.lines.compactMap { line in Int(line.text.prefix { $0 != " " }) }
        #expect(numbers == Array(400 - numbers.count..<400))
        for (line, number) in zip(page.lines, numbers) { #expect(line.text.count == "\(number) ".count + number * 5) }
    }

    @Test func `R8.170 an answer has lines from a given time on, and no incomplete line`() async throws {
        let folder = try Folder()
        let files = try Self.files(in: folder)
        let lines = (0..<10).map {
            LogLine("line \($0)", from: .out, at: 1_700_000_000_000_000 + Int64($0) * 1_000_000)
        }
        let text = lines.map { $0.line + "\n" }.joined() + "2023-11-14T22:14:00.000Z info out half a li"
        try Data(text.utf8).write(to: URL(filePath: files.newest(of: "scale")))
        let start = LogLine.time(1_700_000_006_000_000)
        let page = try await LogTail(files: files, instance: "scale", limit: 100, start: start).page()
        #expect(Self.texts(page) == ["line 6", "line 7", "line 8", "line 9"] && page?.more == false)
        let cut = try await LogTail(files: files, instance: "scale", limit: 2, start: start).page()
        #expect(Self.texts(cut) == ["line 8", "line 9"] && cut?.more == true)
    }

    @Test func `a link in the log folder is not followed`() async throws {
        let folder = try Folder()
        let files = try Self.files(in: folder)
        let secret = folder.path + "/secret"
        try Data("2023-11-14T22:14:00.000Z info out secret\n".utf8).write(to: URL(filePath: secret))
        try FileManager.default.createSymbolicLink(atPath: files.newest(of: "scale"), withDestinationPath: secret)
        #expect(try await LogTail(files: files, instance: "scale", limit: 9, start: nil).page() == nil)
    }

    @Test func `R8.170 R12.10 the owner and a plugin with the grant get logs, and errors name the mistake`()
        async throws
    {
        let folder = try Folder()
        var setting = try OwnerGrantTests.setting(granted: ["logs"], in: folder)
        let script = try folder.script("quiet", "cat > /dev/null")
        var quiet = PluginInstance(name: "quiet")
        quiet.enabled = false
        setting.add(quiet, script: script)
        try await withHub(setting, in: folder) { hub in
            let owner = try await hub.client("owner")
            let (web, _) = try await OwnerGrantTests.web(hub)
            for peer in [owner, web] {
                let log = try await peer.query(#""instance":"web","limit":1000"#, want: "logs").body["logs"]
                #expect(log["instance"].string == "web" && log["more"].truth == false)
                #expect(log["lines"].array.contains { $0["from"].string == "hub" }, "\(log)")
                #expect(
                    try await peer.query(#""instance":"quiet""#, want: "logs").body["logs"]
                        == JSON(#"{"instance":"quiet","lines":[],"more":false}"#))
                for (members, part) in [
                    (#""instance":"wbe""#, "did you mean web?"), (#""instance":"../data""#, "QUERY.instance"),
                    ("", "QUERY.instance"), (#""instance":"web","limit":1001"#, "at most 1000"),
                    (#""instance":"web","types":["weight"]"#, "types"),
                ] {
                    let wrong = try await peer.query(members, want: "logs")
                    #expect(wrong.code == "field" && wrong.body["closed"].truth == false, "\(wrong)")
                    #expect(wrong.body["reason"].string?.contains(part) == true, "\(members): \(wrong)")
                }
                let other = try await peer.query(#""instance":"web""#, want: "records")
                #expect(other.code == "field" && other.body["reason"].string?.contains("logs") == true, "\(other)")
            }
        }
    }
}
