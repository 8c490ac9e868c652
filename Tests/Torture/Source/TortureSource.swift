// A source that notes its records before it gives them, and again after they are confirmed: new records, new versions, repeats and
// retractions, at random. It may be killed at any instant; it then gives the unconfirmed records again.

import Foundation
import PluginKit
import TortureDiary

@main struct TortureSource: SourcePlugin {
    static let manifest = Manifest(
        name: "torture-source", summary: "Gives records, versions and retractions, for tests.", version: "1.0",
        writes: ["stepCount", "flightsClimbed"],
        settings: [
            .init(
                "diary", .path, help: "File to which a line is appended before and after each call.", required: true,
                access: .write),
            .init(
                "signs", .path,
                help: "Folder for signs: records are given once it contains `begin`, until it contains `finish`.",
                required: true), .init("seed", .integer(), help: "The same seed gives the same calls.", required: true),
            .init("pace", .integer(Bounds(1, 60_000)), help: "Milliseconds between two calls.", required: true),
            .init(
                "direct", .boolean, help: "Waits for the hub's answers instead of spooling.", default: .boolean(false)),
        ])

    func run(_ hub: PluginContext) async throws {
        let (path, signs) = (try hub.settings.text("diary"), try hub.settings.text("signs"))
        let (seed, pace) = (try hub.settings.integer("seed"), try hub.settings.integer("pace"))
        let giver = Giver(hub, isDirect: try hub.settings.boolean("direct"))
        let diary = try Diary<SourceLine>(path)
        var author = Author(seed: UInt64(bitPattern: seed), isVersioned: !giver.isDirect)
        var open: SourceLine?
        var emptied: Int64 = 0
        for line in try Diary<SourceLine>.lines(path) {
            switch line.event {
            case .giving:
                author.recall(line)
                open = line
            case .given: open = nil
            case .emptied: emptied = line.operation ?? 0
            case .started, .finished: break
            }
        }
        try diary.write(SourceLine(.started))
        if let operation = open?.operation, let steps = open?.steps {
            try diary.write(try await giver.give(steps, operation))
        }
        func isThere(_ sign: String) -> Bool { FileManager.default.fileExists(atPath: "\(signs)/\(sign)") }
        func lookAtSpool() async throws {
            guard !giver.isDirect, emptied < author.operation, try await hub.state.counters().pending == 0 else {
                return
            }
            emptied = author.operation
            try diary.write(SourceLine(.emptied, operation: emptied))
        }
        while !hub.isStopping, !isThere("begin") { try await Task.sleep(for: .milliseconds(20)) }
        while !hub.isStopping, !isThere("finish") {
            let steps = author.next()
            try diary.write(SourceLine(.giving, operation: author.operation, steps: steps))
            try diary.write(try await giver.give(steps, author.operation))
            try await Task.sleep(for: .milliseconds(author.pause(pace)))
            try await lookAtSpool()
        }
        while !hub.isStopping, !giver.isDirect, emptied < author.operation {
            try await Task.sleep(for: .milliseconds(20))
            try await lookAtSpool()
        }
        if !hub.isStopping { try diary.write(SourceLine(.finished)) }
        await hub.untilStopped()
    }
}

/// Gives steps in one of the two possible ways: directly to the hub, or through the spool.
struct Giver: Sendable {
    let hub: PluginContext
    let isDirect: Bool

    init(_ hub: PluginContext, isDirect: Bool) { (self.hub, self.isDirect) = (hub, isDirect) }

    /// Gives the steps and returns the line for the diary after they are confirmed.
    func give(_ steps: [Step], _ operation: Int64) async throws -> SourceLine {
        let records = try steps.map(record)
        if isDirect {
            let answers = try await hub.store(records).map { result -> SourceLine.Answer in
                switch result {
                case .stored(let number, let sequence): .init(result: "stored", number: number, seq: sequence)
                case .duplicate(let number, let sequence): .init(result: "duplicate", number: number, seq: sequence)
                case .rejected(let code, _): .init(result: "\(code)")
                }
            }
            return SourceLine(.given, operation: operation, answers: answers)
        }
        // Spool and number are one commit, so steps that an earlier process has spooled are not given again.
        while try await hub.state.integer("operation") ?? 0 < operation {
            do throws(GiveError) {
                try await hub.give(records, saving: ["operation": .integer(operation)])
            } catch {
                guard error.code == .full else { throw error }
                await hub.waitForRoom()
            }
        }
        return SourceLine(.given, operation: operation)
    }

    private func record(_ step: Step) throws -> Record {
        guard let key = RecordKey(step.key), let second = Int64(step.key.prefix(10)) else {
            throw PluginFailure(.failed, "a key of this form is always allowed")
        }
        let source = hub.source(device: hub.instance)
        // Many records of the spool are under way at a time, and come again after a loss. Only a version number distinguishes an older version
        // that arrives late from a newer one. A source that gives one record after the other needs none.
        let version = isDirect ? nil : Int64(step.version)
        if step.isRetraction {
            return .retraction(
                Retraction(
                    identity: .sample(source, key), source: source, reason: "\(step.version)", sourceVersion: version))
        }
        return .sample(
            Sample(
                source: source, key: key, type: try TypeID(Step.type(ofKey: step.key)),
                value: .quantity(Double(step.version), unit: "count"),
                start: Timestamp(microseconds: second * 1_000_000, offsetMinutes: 60), sourceVersion: version))
    }
}
