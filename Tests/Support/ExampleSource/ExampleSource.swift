// A source that gives the same records for the same settings, for tests that disturb it. It writes the keys of its records
// to a file, so that a test knows which records the hub must have.

import Foundation
import PluginKit

@main struct ExampleSource: SourcePlugin {
    static let manifest = Manifest(
        name: "example-source", summary: "Deterministic records, for tests.", version: "1.0",
        writes: ["weight", "stepCount"],
        settings: [
            .init("count", .integer(Bounds(1, 10_000_000)), help: "Total number of records.", default: .integer(1_000)),
            .init(
                "rate", .number(Bounds(0, 1_000_000)), help: "Records per second; 0 is as fast as possible.",
                default: .integer(0)),
            .init("batch", .integer(Bounds(1, 1_000)), help: "Records given in one call.", default: .integer(100)),
            .init("seed", .integer(), help: "The same seed gives the same values.", default: .integer(1)),
            .init("type", .choice(["weight", "stepCount"]), help: "Type of the records.", default: .string("weight")),
            .init("direct", .boolean, help: "Waits for the hub instead of spooling.", default: .boolean(false)),
            .init(
                "given", .path, help: "File to which the key of each given record is appended.", required: true,
                access: .write),
        ])

    func run(_ hub: PluginContext) async throws {
        let settings = hub.settings
        let (count, batch) = (try settings.integer("count"), try settings.integer("batch"))
        let (rate, isDirect) = (try settings.number("rate"), try settings.boolean("direct"))
        let given = try GivenFile(try settings.text("given"))
        let begin = ContinuousClock.now
        // The cursor is committed with the records, so a killed process continues exactly there.
        let first = try await hub.state.integer("next") ?? 0
        var next = first
        while next < count, !hub.isStopping {
            let range = next..<min(count, next + batch)
            let samples = try range.map { try sample($0, hub) }
            do {
                if isDirect {
                    _ = try await hub.store(samples)
                    try await hub.state.set("next", to: .integer(range.upperBound))
                } else {
                    try await hub.give(samples, saving: ["next": .integer(range.upperBound)])
                }
            } catch let error as GiveError where error.code == .full {
                await hub.waitForRoom()
                continue
            }
            try given.write(samples.map(\.key.text))
            next = range.upperBound
            if rate > 0 {
                try await Task.sleep(until: begin + .seconds(Double(next - first) / rate), clock: .continuous)
            }
        }
    }

    func once(_ hub: PluginContext) async throws { try await run(hub) }

    private func sample(_ number: Int64, _ hub: PluginContext) throws -> Sample {
        let seed = try hub.settings.integer("seed")
        let isWeight = try hub.settings.text("type") == "weight"
        var mixed = UInt64(bitPattern: seed) &+ UInt64(bitPattern: number) &* 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        let value = Double((mixed >> 33) % 500)
        let time = Timestamp(microseconds: (1_700_000_000 + number) * 1_000_000, offsetMinutes: 60)
        guard let key = RecordKey("\(1_700_000_000 + number)-\(seed)") else {
            throw PluginFailure(.failed, "a key of this form is always allowed")
        }
        return Sample(
            source: hub.source(device: "example"), key: key, type: isWeight ? .weight : .stepCount,
            value: .quantity(isWeight ? 60 + value / 10 : value, unit: isWeight ? "kg" : "count"), start: time)
    }
}

/// A file with the keys that were given, one JSON line each; complete lines survive a kill of the process.
private struct GivenFile {
    private let file: FileHandle

    init(_ path: String) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw PluginFailure(.settings, "given: \(path) cannot be written") }
        file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    func write(_ keys: [String]) throws {
        try file.write(contentsOf: Data(keys.map { "{\"key\":\"\($0)\"}\n" }.joined().utf8))
    }
}
