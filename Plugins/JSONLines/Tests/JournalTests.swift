import Foundation
import HealthExports
import HubSettings
import HubWire
import PluginKit
import PluginTesting
import Samples
import Testing

@testable import JSONLines

/// A fake hub, and the plugin writing to a temporary directory.
private struct Scene {
    let place: TestPlace
    let hub: FakeHub

    init() async throws {
        place = try TestPlace()
        hub = try FakeHub(door: place.door, context: place.context)
        try await hub.start()
    }

    var path: String { "\(place.directory)/files" }

    func run(_ more: [String: SettingValue] = [:]) async -> PluginRun {
        var values = Dictionary(
            FileSettings.declarations.compactMap { declaration in
                declaration.defaultValue.map { (declaration.name, $0) }
            }, uniquingKeysWith: { first, _ in first })
        values["path"] = .string(path)
        values["rotate"] = .string("never")
        values.merge(more) { $1 }
        return PluginRun(JSONLines(), at: place, settings: PluginSettings(values))
    }

    /// Delivers, and returns the results.
    func deliver(_ numbers: [Int64], wanted times: Int = 1) async throws -> [DeliveryResult] {
        await hub.wants("files", times: times)
        let delivery = try #require(await hub.deliver(try numbers.map(Self.record), to: "files"))
        return try #require(await hub.report(of: delivery)).results
    }

    /// The sequences in a file, in the order of its lines.
    func sequences(_ name: String = "json-lines-0001.jsonl") throws -> [Int64] {
        try String(contentsOfFile: "\(path)/\(name)", encoding: .utf8).split(separator: "\n").map { line in
            try JSONDecoder().decode(Line.self, from: Data(line.utf8)).seq
        }
    }

    private struct Line: Decodable { var seq: Int64 }

    static func record(_ number: Int64) throws -> StoredRecord {
        let sample = try Sample(
            source: Source(plugin: "scale"), key: #require(RecordKey("key-\(number)")), type: .weight,
            value: .quantity(70, unit: "kg"), start: Timestamp(microseconds: 1_700_000_000_000_000 + number))
        return StoredRecord(
            record: .sample(sample), number: number, sequence: number,
            assignment: .person(Person(uid: "6f1c2a9e5b7d4c30", name: "me")), type: .weight)
    }
}

private let written: DeliveryResult = .delivered

@Suite(.timeLimit(.minutes(1))) struct JournalTests {
    @Test
    func `R10.6 a record that is delivered again after a restart is confirmed and not written again`() async throws {
        let scene = try await Scene()
        var run = await scene.run()
        #expect(try await scene.deliver([1, 2]) == [written, written])
        run.stop()
        #expect(await run.end() == .done)
        run = await scene.run()
        #expect(try await scene.deliver([1, 2, 3], wanted: 2) == [written, written, written])
        run.stop()
        #expect(await run.end() == .done)
        #expect(try scene.sequences() == [1, 2, 3])
    }

    @Test func `R10.6 after a restore of the hub the same number is another record and is written`() async throws {
        let scene = try await Scene()
        let run = await scene.run()
        #expect(try await scene.deliver([1, 2]) == [written, written])
        await scene.hub.change { $0.epoch = "z2m5ak7q" }
        await scene.hub.forgetSessions()
        #expect(try await scene.deliver([2, 3], wanted: 2) == [written, written])
        #expect(try await scene.deliver([2, 3], wanted: 2) == [written, written])
        run.stop()
        #expect(await run.end() == .done)
        #expect(try scene.sequences() == [1, 2, 2, 3])
    }

    @Test func `a file that is truncated while it is written is left as it is, and a new one begins`() async throws {
        let scene = try await Scene()
        let run = await scene.run()
        #expect(try await scene.deliver([1, 2]) == [written, written])
        let file = try #require(FileHandle(forWritingAtPath: "\(scene.path)/json-lines-0001.jsonl"))
        try file.truncate(atOffset: 0)
        try file.close()
        #expect(try await scene.deliver([3]) == [written])
        run.stop()
        #expect(await run.end() == .done)
        #expect(try scene.sequences().isEmpty)
        #expect(try scene.sequences("json-lines-0002.jsonl") == [3])
    }

    @Test func `lines that were written but not noted in the state are cut off at the next start`() async throws {
        let scene = try await Scene()
        var run = await scene.run()
        #expect(try await scene.deliver([1]) == [written])
        run.stop()
        #expect(await run.end() == .done)
        let file = try #require(FileHandle(forWritingAtPath: "\(scene.path)/json-lines-0001.jsonl"))
        try file.seekToEnd()
        try file.write(contentsOf: Data("{\"seq\":2}\n{\"se".utf8))
        try file.close()
        run = await scene.run(["rotate": .string("day")])
        #expect(try await scene.deliver([2], wanted: 2) == [written])
        run.stop()
        #expect(await run.end() == .done)
        #expect(try scene.sequences() == [1])
    }

    @Test func `if files are removed, new ones begin, and their records can be written again`() async throws {
        let scene = try await Scene()
        var run = await scene.run()
        #expect(try await scene.deliver([1, 2]) == [written, written])
        run.stop()
        #expect(await run.end() == .done)
        try FileManager.default.removeItem(atPath: scene.path)
        run = await scene.run()
        #expect(try await scene.deliver([1], wanted: 2) == [written])
        run.stop()
        #expect(await run.end() == .done)
        #expect(try scene.sequences() == [1])
    }

    @Test func `files are readable only by their owner, and other instances use other names`() async throws {
        let scene = try await Scene()
        let run = await scene.run()
        #expect(try await scene.deliver([1]) == [written])
        run.stop()
        #expect(await run.end() == .done)
        for (name, mode) in [("", 0o700), ("/json-lines-0001.jsonl", 0o600)] {
            let attributes = try FileManager.default.attributesOfItem(atPath: scene.path + name)
            #expect(attributes[.posixPermissions] as? Int == mode)
        }
        let files = RecordFiles(directory: scene.path, instance: "json-lines-2", extension: "jsonl")
        #expect(try files.next(period: "2024-03") == "json-lines-2-2024-03-0001.jsonl")
        #expect(try files.next(period: "") == "json-lines-2-0001.jsonl")
    }

    @Test func `a delivery to an unwritable directory is retried with the reason, and no partial file remains`()
        async throws
    {
        let scene = try await Scene()
        let run = await scene.run()
        #expect(try await scene.deliver([1]) == [written])
        try FileManager.default.removeItem(atPath: scene.path)
        try Data().write(to: URL(filePath: scene.path))
        for result in try await scene.deliver([2]) {
            guard case .retry(_, let reason) = result else {
                Issue.record("\(result)")
                continue
            }
            #expect(
                reason
                    == "cannot make the folder \(scene.path): Not a directory; name another place in the setting path, or make room for this one"
            )
        }
        try FileManager.default.removeItem(atPath: scene.path)
        #expect(try await scene.deliver([2]) == [written])
        run.stop()
        #expect(await run.end() == .done)
        #expect(try scene.sequences() == [2])
    }

    @Test
    func `check shows whether the directory can be written and its future files, and writes nothing`() async throws {
        let scene = try await Scene()
        func check(_ more: [String: SettingValue] = [:]) async throws -> String {
            var values = Dictionary(
                FileSettings.declarations.compactMap { declaration in
                    declaration.defaultValue.map { (declaration.name, $0) }
                }, uniquingKeysWith: { first, _ in first })
            values["path"] = .string(scene.path)
            values.merge(more) { $1 }
            let clock = try #require(HubClock("2024-03-20T12:00:00Z@1"))
            return try await JSONLines().check(
                CheckContext(
                    instance: "json-lines", settings: PluginSettings(values), clock: clock,
                    logger: Logger(label: "test")))
        }
        let text = try await check(["types": .list([.string("weight")])])
        #expect(text.contains("weight as JSON Lines") && text.contains("json-lines-2024-03-0001.jsonl"), "\(text)")
        let names = try await check([
            "types": .list(["HKQuantityTypeIdentifierBodyMass", "weight", "x.acme.glow"].map { .string($0) })
        ])
        #expect(names.contains("It would write weight, x.acme.glow as"), "\(names)")
        let wrong = await #expect(throws: PluginFailure.self) { try await check(["types": .list([.string("steps")])]) }
        #expect("\(try #require(wrong))".contains("there is no type steps; did you mean stepCount?"))
        #expect(!FileManager.default.fileExists(atPath: scene.path))
        try Data().write(to: URL(filePath: scene.path))
        await #expect(throws: PluginFailure.self) { try await check() }
    }

    @Test func `sample conf is the one that the settings describe`() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../sample.conf")
        let rendered = SampleConfiguration.render(instance: "json-lines", declarations: FileSettings.declarations)
        let onFile = try String(contentsOf: file, encoding: .utf8)
        #expect(onFile == rendered, "\(rendered)")
    }
}

/// How a spreadsheet reads a field of CSV.
@Suite struct ColumnTests {
    /// The fields of a line according to RFC 4180.
    private func fields(_ line: String) -> [String] {
        var (fields, field, isQuoted) = ([String](), "", false)
        for character in line.dropLast() {
            switch character {
            case "\"": isQuoted.toggle()
            case "," where !isQuoted:
                fields.append(field)
                field = ""
            default: field.append(character)
            }
        }
        return fields + [field]
    }

    private func line(key: String) throws -> [String] {
        let key = try #require(RecordKey(key))
        let sample = Sample(
            source: Source(plugin: "scale"), key: key, type: .bodyTemperature, value: .quantity(-0.5, unit: "degC"),
            start: Timestamp(microseconds: 1_700_000_000_000_000))
        let stored = StoredRecord(
            record: .sample(sample), number: 1, sequence: 1,
            assignment: .person(Person(uid: "6f1c2a9e5b7d4c30", name: "me")), type: .bodyTemperature)
        return fields(CSVColumn.line(stored, [.key, .value, .seq]))
    }

    @Test(arguments: [
        "=HYPERLINK('http://evil.example';'weight')", "+1+1", "-1+1", "@SUM(A1)", "'quoted", "=1,2", "-", "+5", "-e",
        "--1",
    ])
    func `no text begins like a formula, and each can be restored`(_ key: String) throws {
        let found = try line(key: key)[0]
        #expect(found == "'" + key)
        #expect(String(found.dropFirst()) == key)
    }

    @Test(arguments: ["a", "a=b", "07ea0701070a0302bc", "-72.5", "-1e-7"])
    func `a text that is not a formula, and every number, stays unchanged`(_ key: String) throws {
        #expect(try line(key: key) == [key, "-0.5", "1"])
    }
}
