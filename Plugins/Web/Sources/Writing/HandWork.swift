import HTTPTypes
import HandEntries
import PluginKit

/// What a person does by hand, carried out by the hub; what the hub answers is what is said.
struct HandWork: Sendable {
    let hub: PluginContext

    private func ask(
        _ right: OwnerRight, _ arguments: [String: SettingValue], isDryRun: Bool
    ) async throws -> ManualAnswer {
        try ManualAnswer(try await hub.command(right.rawValue, arguments, isDryRun: isDryRun, deadline: .seconds(60)))
    }

    /// What it would do; nothing is changed, and all that it names or would change is this viewer's.
    ///
    /// - Parameter right: whose name is that of the command.
    /// - Throws: `NoSuchPage` where a record is another's, as if it were not there; ``Refusal``; `CommandFailure` with the
    ///   hub's reason; `AskError`; `HandFault` for an answer that is not understood.
    func plan(
        _ right: OwnerRight, _ arguments: [String: SettingValue], for viewer: Viewer
    ) async throws -> ManualAnswer {
        guard !viewer.isOwner else { return try await ask(right, arguments, isDryRun: true) }
        // Before the hub is asked: why it refuses something says what is there.
        try await demand(try Self.numbers(arguments), viewer)
        // Without a condition: what does not hold now, and takes no group along, may hold when its turn comes.
        let plain = arguments.filter { !["seq", "seqs"].contains($0.key) }
        let expected = try await ask(right, Self.own(plain, viewer), isDryRun: true)
        try Self.refuseForeign(expected, right, allows: { _ in false })
        return plain.count == arguments.count
            ? expected : try await ask(right, Self.own(arguments, viewer), isDryRun: true)
    }

    /// Does it, as far as the hub takes it, where ``plan(_:_:for:)`` finds nothing of another's.
    ///
    /// A record may become another's meanwhile: the hub compares again in its transaction, and then leaves it (Protocol R8.187).
    func run(
        _ right: OwnerRight, _ arguments: [String: SettingValue], for viewer: Viewer
    ) async throws -> ManualAnswer {
        _ = try await plan(right, arguments, for: viewer)
        let done = try await ask(right, Self.own(arguments, viewer), isDryRun: false)
        if !viewer.isOwner { try Self.refuseForeign(done, right) { $0.outcome == "stored" } }
        return done
    }

    /// Of the records of the viewer's person alone.
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
        throw NoSuchPage()
    }

    /// Does the whole of it or nothing.
    ///
    /// - Throws: `CommandFailure` for what the hub refuses of it, too; ``Refusal`` where a record is not at the version any more
    ///   that the arguments name.
    func runWhole(
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

    /// The records that arguments name.
    ///
    /// - Throws: ``Refusal`` for what is not a whole number: what the hub might still take for one was not looked at here.
    private static func numbers(_ arguments: [String: SettingValue]) throws -> [Int64] {
        try ["number", "numbers"].flatMap { name in
            let values = arguments[name].map { $0.list ?? [$0] } ?? []
            let numbers = values.compactMap(\.integer)
            guard numbers.count == values.count, numbers.count <= 1_000 else {
                throw Refusal(
                    .badRequest, "\(name) is not what it is to be",
                    "\(name): it takes whole numbers of records, at most 1,000.", member: name)
            }
            return numbers
        }
    }

    private func demand(_ numbers: [Int64], _ viewer: Viewer) async throws {
        let there = try await HealthReader(hub: hub).records(numbers)
        guard numbers.allSatisfy({ there[$0].map(viewer.maySee) ?? false }) else { throw NoSuchPage() }
    }

    private static func refusal(_ entry: ManualAnswer.Entry) -> any Error {
        if entry.outcome == "changed" { return Refusal.changed(entry.number) }
        return failure(entry)
    }

    private static func failure(_ entry: ManualAnswer.Entry, _ more: String = "") -> CommandFailure {
        let reason = (entry.reason ?? "the hub does not say why") + more
        return CommandFailure(entry.outcome, entry.number > 0 ? "record \(entry.number): \(reason)" : reason)
    }
}

extension WebParts {
    var hand: HandWork { HandWork(hub: hub) }
    var grants: OwnerGrants { OwnerGrants(hub) }
}
