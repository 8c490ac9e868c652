import Foundation
import FunctionTrace
import HubWire
import Logging
import Samples
import Testing
import ZeroMQ

@testable import PluginKit

/// The functions of this program that can be traced.
private enum Trace {
    /// The modules of the table; a symbol of Swift contains the name of its module after the length of the name.
    private static let modules = [
        "HubCore", "HubStore", "HubWire", "JSON", "Platform", "PluginKit", "Samples", "ZeroMQ",
    ]
    /// Their number; -1 if this machine or program cannot be traced.
    static let functions: Int = {
        let texts: [UnsafePointer<CChar>?] = modules.map { UnsafePointer(strdup("\($0.count)\($0)")) }
        return Int(function_trace_open(texts, Int32(texts.count)))
    }()

    static var isPossible: Bool {
        functions > 0
            && ["/usr/bin", "/usr/local/bin"].contains { folder in
                FileManager.default.isExecutableFile(atPath: folder + "/addr2line")
            }
    }
}

/// Compares the table of stages in CONTRIBUTING with the files that run for one weight.
@Suite(
    .timeLimit(.minutes(2)),
    .enabled(if: Trace.isPossible, "it needs Linux on x86-64 and addr2line of binutils"))
struct LifeOfAWeightTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        .standardizedFileURL
    /// A scale's connector, which gives each weight that the test sends it.
    private struct Connector: SourcePlugin {
        static let manifest = Manifest(
            name: "scale", summary: "Gives the weights of a test.", version: "1.0", writes: ["weight"])

        var weights = AsyncStream<Int> { $0.finish() }
        var given: @Sendable (Int) async -> Void = { _ in }

        func run(_ hub: PluginContext) async throws {
            for await number in weights {
                try await hub.give([try Self.weight(number, hub)], saving: ["last": .integer(Int64(number))])
                try await eventually("the answer is in the spool") { await hub.link.spool.isEmpty }
                await given(number)
            }
        }

        func once(_ hub: PluginContext) async throws { try await run(hub) }

        /// A weight with all that a scale says of it.
        private static func weight(_ number: Int, _ hub: PluginContext) throws -> Sample {
            Sample(
                source: hub.source(device: "scale-1"), key: try #require(RecordKey("weight-\(number)")), type: .weight,
                value: .quantity(72.5, unit: "kg"),
                start: Timestamp(microseconds: Int64(1_700_000_000 + number * 3_600) * 1_000_000, offsetMinutes: 60),
                zone: "Europe/Berlin", metadata: JSONObject(trusted: #"{"local":"2023-11-14T23:13:20"}"#))
        }
    }

    /// The files that run for each of several weights; work of the hub that only coincides with one of them is not in all.
    private func trace() async throws -> Set<String> {
        let (weights, send) = AsyncStream<Int>.makeStream()
        let (kept, keep) = AsyncStream<Int>.makeStream()
        var everywhere: Set<UInt64>?
        try await withHub { hub in
            let listener = try await hub.listener("sample/weight/")
            let log = Logger(label: "connector") { _ in hub.log }
            let runner = PluginRunner(
                Connector(weights: weights) { keep.yield($0) }, mode: .run, address: HubAddress(door: hub.door),
                instance: "scale", stateDirectory: hub.folder.path + "/state",
                settings: PluginSettings(), logger: log, context: try Context())
            let (requests, stop) = AsyncStream<StopRequest>.makeStream()
            let run = Task { await runner.run(requests: requests) }
            var answers = kept.makeAsyncIterator()
            for number in 1...8 {
                let isTraced = number > 3
                if isTraced { try #require(function_trace_begin() == 0) }
                send.yield(number)
                let heard = try await listener.next()
                #expect(heard.topic == "sample/weight/me/scale/")
                #expect(await answers.next() == number)
                guard isTraced else { continue }
                function_trace_end()
                let hit = Set((0..<Trace.functions).map { function_trace_hit(Int32($0)) }).subtracting([0])
                everywhere = everywhere?.intersection(hit) ?? hit
            }
            stop.yield(.asked)
            #expect(await run.value == .done)
        }
        return try Self.files(of: #require(everywhere))
    }

    /// The files of this project in which functions are written.
    private static func files(of functions: Set<UInt64>) throws -> Set<String> {
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["addr2line", "-e", program] + functions.map { "0x" + String($0, radix: 16) }
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        let sources = root.path + "/Sources/"
        return Set(
            text.split(separator: "\n").filter { $0.hasPrefix(sources) }
                .compactMap { $0.dropFirst(root.path.count + 1).split(separator: ":").first.map(String.init) })
    }

    @Test func `the table in CONTRIBUTING names the files that run for a weight`() async throws {
        let run = try await trace()
        let text = try String(contentsOf: Self.root.appending(path: "CONTRIBUTING.md"), encoding: .utf8)
        let section = text.components(separatedBy: "## The life of a sample").last?.components(separatedBy: "\n## ")
            .first
        let rows = try #require(section).split(separator: "\n").filter { $0.hasPrefix("|") }.joined()
        let named = Set(rows.matches(of: /\]\((Sources\/[^)]+)\)/).map { String($0.1) })
        #expect(run.subtracting(named).sorted() == [], "these files run for a weight, and the table does not name them")
        #expect(named.subtracting(run).sorted() == [], "the table names these files, and none of their functions runs")
    }
}
