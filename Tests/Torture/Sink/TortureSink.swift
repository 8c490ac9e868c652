// A sink that notes the records it received before it works on them, and its answers before it sends them. It can be slow, and it can
// fail at random in every possible way. It may be killed at any instant.

import Foundation
import PluginKit
import Synchronization
import TortureDiary

@main struct TortureSink: SinkPlugin {
    static let manifest = Manifest(
        name: "torture-sink", summary: "Records its deliveries in a file, for tests.", version: "1.0", reads: ["*"],
        settings: [
            .init(
                "diary", .path, help: "File to which a line is appended before and after each delivery.",
                required: true,
                access: .write),
            .init(
                "signs", .path, help: "Folder for signs: once it contains `finish`, no delivery fails.", required: true),
            .init("types", .list(of: .string()), help: "Types to receive; all if not set."),
            .init(
                "delay", .integer(Bounds(0, 60_000)), help: "Duration of a delivery in milliseconds.", required: true),
            .init(
                "failing", .boolean, help: "Fails at random: retry, refused, auth, all or some.",
                default: .boolean(false)),
        ],
        sink: SinkAbilities(batchRecords: 40, deliveriesAtOnce: 2))

    private let desk = Desk()

    func wants(_ hub: PluginContext) async throws -> [Want] {
        try desk.open(try hub.settings.text("diary"))
        let types = hub.settings["types"] == nil ? nil : try hub.settings.texts("types")
        return [Want("all", types: types, start: .beginning)]
    }

    func deliver(_ records: [DeliveredRecord], for want: Want, _ hub: PluginContext) async throws -> [DeliveryResult] {
        let delivery = desk.nextNumber()
        try desk.write(SinkLine(.begin, pid: getpid(), delivery: delivery, records: try records.map(Self.got)))
        try await Task.sleep(for: .milliseconds(try hub.settings.integer("delay")))
        let isCalm = FileManager.default.fileExists(atPath: try hub.settings.text("signs") + "/finish")
        let mood = try hub.settings.boolean("failing") && !isCalm ? Behaviour.random() : .fine
        let why = "\(getpid())-\(delivery)"
        func end(_ answers: [SinkLine.Answer]) throws {
            try desk.write(SinkLine(.end, pid: getpid(), delivery: delivery, answers: answers))
        }
        func endAll(_ result: SinkLine.Answer.Result) throws { try end(records.map { _ in .init(result, why) }) }
        switch mood {
        case .away:
            try endAll(.retry)
            throw DeliveryFailure.retry(after: .milliseconds(Int.random(in: 100...600)), why)
        case .refusing:
            try endAll(.refused)
            throw DeliveryFailure.refused(why)
        case .loggedOut:
            try endAll(.unauthorized)
            repairLater(want, hub)
            throw DeliveryFailure.unauthorized(why)
        case .moody, .fine:
            let answers = records.map { _ in mood == .fine ? .init(.delivered) : Self.moodyAnswer(why) }
            try end(answers)
            if answers.contains(where: { $0.result == .unauthorized }) { repairLater(want, hub) }
            return answers.map(Self.result)
        }
    }

    /// Asks for the subscription again after a while, as if a person had repaired the log-in.
    private func repairLater(_ want: Want, _ hub: PluginContext) {
        Task {
            try await Task.sleep(for: .milliseconds(Int.random(in: 50...800)))
            try desk.write(SinkLine(.again, pid: getpid()))
            await hub.wantAgain(want.name)
        }
    }

    private enum Behaviour {
        case fine, moody, away, refusing, loggedOut

        static func random() -> Behaviour {
            switch Int.random(in: 0..<100) {
            case 0..<12: .away
            case 12..<15: .refusing
            case 15..<19: .loggedOut
            case 19..<60: .moody
            default: .fine
            }
        }
    }

    private static func moodyAnswer(_ why: String) -> SinkLine.Answer {
        switch Int.random(in: 0..<200) {
        case 0..<20: .init(.retry, why)
        case 20..<28: .init(.refused, why)
        case 28: .init(.unauthorized, why)
        default: .init(.delivered)
        }
    }

    private static func result(_ answer: SinkLine.Answer) -> DeliveryResult {
        let reason = answer.reason ?? ""
        return switch answer.result {
        case .delivered: .delivered(receipt: Bool.random() ? "receipt" : nil)
        case .retry: .retry(after: Int64.random(in: 0...1_500), reason: reason)
        case .refused: .refused(reason: reason)
        case .unauthorized: .unauthorized(reason: reason)
        }
    }

    private static func got(_ record: DeliveredRecord) throws -> SinkLine.Got {
        let (key, version, isRetraction): (String, String?, Bool)
        switch record.record {
        case .sample(let sample):
            (key, isRetraction) = (sample.key.text, false)
            version = if case .quantity(let value, _) = sample.value { String(Int(value)) } else { nil }
        case .retraction(let retraction):
            guard case .sample(_, let text) = retraction.identity else { throw Surprise(json: record.json) }
            (key, version, isRetraction) = (text.text, retraction.reason, true)
        case .day: throw Surprise(json: record.json)
        }
        guard let number = version.flatMap(Int.init) else { throw Surprise(json: record.json) }
        return SinkLine.Got(
            epoch: record.version.epoch, number: record.number, seq: record.sequence,
            device: record.record.source.device ?? "",
            step: Step(key: key, version: number, isRetraction: isRetraction), type: record.type.rawValue)
    }

    /// A record that no source of the test gives.
    private struct Surprise: Error { let json: String }
}

/// The diary, which is opened when the settings are known, and the number of the last delivery.
private final class Desk: Sendable {
    private let state = Mutex((diary: Diary<SinkLine>?.none, delivery: 0))

    func open(_ path: String) throws {
        let diary = try Diary<SinkLine>(path)
        try diary.write(SinkLine(.started, pid: getpid()))
        state.withLock { $0.diary = diary }
    }

    func nextNumber() -> Int {
        state.withLock { state in
            state.delivery += 1
            return state.delivery
        }
    }

    func write(_ line: SinkLine) throws { try state.withLock { try $0.diary?.write(line) } }
}
