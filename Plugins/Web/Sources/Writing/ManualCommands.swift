import HTTPTypes
import HealthText
import PluginKit

/// Runs commands by hand for a viewer, and returns the hub's answers.
struct ManualCommands: Sendable {
    let hub: PluginContext

    private func ask(
        _ right: OwnerRight, _ arguments: [String: SettingValue], isDryRun: Bool
    ) async throws -> ManualAnswer {
        let result = try await hub.command(right.rawValue, arguments, isDryRun: isDryRun, deadline: .seconds(60))
        return try ManualAnswer.read(result, of: right.rawValue)
    }

    /// Returns the hub's plan, which must name or change only this viewer's records.
    ///
    /// - Parameter right: the right with the name of the command.
    /// - Throws: ``noSuchPage`` for another person's record, as if it did not exist; ``RequestRefusal``; `CommandFailure` with the
    /// hub's reason; `AskError`; `UnreadableResult` for an answer that is not understood.
    func plan(
        _ right: OwnerRight, _ arguments: [String: SettingValue], for viewer: Viewer
    ) async throws -> ManualAnswer {
        guard !viewer.isOwner else { return try await ask(right, arguments, isDryRun: true) }
        // Check before asking the hub, because its reason for a refusal would reveal which records exist.
        try await demand(try Self.numbers(arguments), viewer)
        // Check without the version condition: it may fail now, which hides the group, and hold when the command runs.
        let plain = arguments.filter { !["seq", "seqs"].contains($0.key) }
        let expected = try await ask(right, Self.own(plain, viewer), isDryRun: true)
        try Self.refuseForeign(expected, right, allows: { _ in false })
        return plain.count == arguments.count
            ? expected : try await ask(right, Self.own(arguments, viewer), isDryRun: true)
    }

    /// Runs the command if ``plan(_:_:for:)`` finds only this viewer's records.
    ///
    /// A record may move to another person meanwhile: the hub checks again in its transaction, and then skips it (Protocol R8.187).
    func run(
        _ right: OwnerRight, _ arguments: [String: SettingValue], for viewer: Viewer
    ) async throws -> ManualAnswer {
        _ = try await plan(right, arguments, for: viewer)
        let done = try await ask(right, Self.own(arguments, viewer), isDryRun: false)
        if !viewer.isOwner { try Self.refuseForeign(done, right) { $0.outcome == "stored" } }
        return done
    }

    /// Limits a command to records of the viewer's person.
    private static func own(_ arguments: [String: SettingValue], _ viewer: Viewer) -> [String: SettingValue] {
        guard let person = viewer.person else { return arguments }
        return arguments.merging(["of": .string(person)]) { $1 }
    }

    /// - Parameter allows: an entry that makes the answer worth showing.
    private static func refuseForeign(
        _ answer: ManualAnswer, _ right: OwnerRight, allows: (ManualAnswer.Entry) -> Bool
    ) throws {
        guard answer.entries.contains(where: { ["unknown", "forbidden"].contains($0.outcome) }),
            !answer.entries.contains(where: allows)
        else { return }
        if right == .log { throw CommandFailure("key", "key: is another entry's already") }
        throw noSuchPage
    }

    /// Runs the whole command or nothing.
    ///
    /// - Throws: `CommandFailure`, also if the hub refuses a part; ``RequestRefusal`` if a record no longer has the version in the
    /// arguments.
    func runAll(
        _ right: OwnerRight, _ arguments: [String: SettingValue], for viewer: Viewer
    ) async throws -> ManualAnswer {
        let expected = try await plan(right, arguments, for: viewer)
        if let rejected = expected.entries.first(where: \.isRejected) { throw Self.refusal(rejected) }
        let done = try await ask(right, Self.own(arguments, viewer), isDryRun: false)
        if !viewer.isOwner { try Self.refuseForeign(done, right) { $0.outcome == "stored" } }
        if let rejected = done.entries.first(where: \.isRejected) {
            let isPart = done.entries.contains { $0.outcome == "stored" }
            throw isPart ? Self.failure(rejected, "; the others are done") : Self.refusal(rejected)
        }
        return done
    }

    /// The record numbers in the arguments.
    ///
    /// - Throws: ``RequestRefusal`` for a value that is not a whole number, because the hub might accept it although it was not checked here.
    private static func numbers(_ arguments: [String: SettingValue]) throws -> [Int64] {
        try ["number", "numbers"].flatMap { name in
            let values = arguments[name].map { $0.list ?? [$0] } ?? []
            let numbers = values.compactMap(\.integer)
            guard numbers.count == values.count, numbers.count <= 1_000 else {
                throw RequestRefusal(
                    .badRequest, "\(name) is not valid",
                    "\(name): it takes whole numbers of records, at most 1,000.", member: name)
            }
            return numbers
        }
    }

    private func demand(_ numbers: [Int64], _ viewer: Viewer) async throws {
        let there = try await HealthReader(hub: hub).records(numbers)
        guard numbers.allSatisfy({ there[$0].map(viewer.maySee) ?? false }) else { throw noSuchPage }
    }

    private static func refusal(_ entry: ManualAnswer.Entry) -> any Error {
        if entry.outcome == "changed" { return RequestRefusal.changed(entry.number) }
        return failure(entry)
    }

    private static func failure(_ entry: ManualAnswer.Entry, _ more: String = "") -> CommandFailure {
        let reason = (entry.reason ?? "the hub does not say why") + more
        return CommandFailure(entry.outcome, entry.number > 0 ? "record \(entry.number): \(reason)" : reason)
    }
}

extension WebParts {
    var hand: ManualCommands { ManualCommands(hub: hub) }
    var grants: OwnerGrants { OwnerGrants(hub) }
}
