import HTMLText
import HandEntries
import PluginKit

/// What a person does by hand, carried out by the hub; what the hub answers is what is said.
struct HandWork: Sendable {
    let hub: PluginContext

    /// Whether `hub.conf` lets this page do that.
    func may(_ right: OwnerRight) -> Bool { hub.ownerRights.contains(right) }

    /// - Parameter right: whose name is that of the command.
    /// - Throws: `CommandFailure` with the hub's reason; `AskError`; `HandFault` for an answer that is not understood.
    func run(
        _ right: OwnerRight, _ arguments: [String: SettingValue], isDryRun: Bool = false
    ) async throws -> ManualAnswer {
        try ManualAnswer(try await hub.command(right.rawValue, arguments, isDryRun: isDryRun, deadline: .seconds(60)))
    }

    /// Does it, after a dry run has shown that all of what it changes is this viewer's.
    func run(
        _ right: OwnerRight, _ arguments: [String: SettingValue], for viewer: Viewer, _ reader: HealthReader
    ) async throws -> ManualAnswer {
        let expected = try await run(right, arguments, isDryRun: true)
        if !viewer.isOwner {
            for entry in expected.entries where entry.number > 0 {
                // A group may have been taken apart, and a member be another's by now.
                _ = try await reader.any(entry.number, for: viewer)
            }
        }
        if let rejected = expected.entries.first(where: \.isRejected) { throw Self.refusal(rejected) }
        let done = try await run(right, arguments)
        if let rejected = done.entries.first(where: \.isRejected) { throw Self.refusal(rejected) }
        return done
    }

    private static func refusal(_ entry: ManualAnswer.Entry) -> CommandFailure {
        let reason = entry.reason ?? "the hub does not say why"
        return CommandFailure(entry.outcome, entry.number > 0 ? "record \(entry.number): \(reason)" : reason)
    }

    /// What `hub.conf` needs for this; for the place where it could be done.
    func advice(_ right: OwnerRight, to what: StaticString) -> HTML {
        let words = (hub.ownerRights.map(\.rawValue) + [right.rawValue]).sorted()
        let line = "grants = { owner = [\(words.map { "\"\($0)\"" }.joined(separator: ", "))] }"
        return """
            <p class="hint">\(HTML(stringLiteral: what)) needs this line in <code>[plugin.\(hub.instance)]</code> of hub.conf, and
            <code>hub apply</code>: <code>\(line)</code></p>
            """
    }
}

extension WebParts {
    var hand: HandWork { HandWork(hub: hub) }
}
