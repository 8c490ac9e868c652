import HubWire
import Logging

/// Notes the commands that plugins give to the hub, in the hub's log and on `hub/plugin/` (R12.15).
///
/// A part of the door.
@DoorActor
final class CommandAudit {
    private struct Entry {
        let plugin: String
        /// The target of the command: `hub`, or an instance.
        let instance: String
        let command: String
        let isDryRun: Bool

        /// `restart of exist`; without the arguments, because they may contain health values.
        var deed: String {
            "\(command)\(instance == "hub" ? "" : " of \(instance)")\(isDryRun ? " (dry run)" : "")"
        }

        func metadata(_ more: Logger.Metadata) -> Logger.Metadata {
            let known: Logger.Metadata = [
                "plugin": "\(plugin)", "command": "\(command)", "of": "\(instance)", "dryRun": "\(isDryRun)",
            ]
            return known.merging(more) { _, new in new }
        }
    }

    private let door: Door
    /// The commands that have no outcome yet.
    private var entries: [CommandKey: Entry] = [:]
    /// Maximum number of log entries at once, and in a second; the rest is counted.
    private var bucket = TokenBucket(size: 200, rate: 20, now: 0)

    init(of door: Door) { self.door = door }

    /// Notes a command of a session if the session is a plugin's.
    func began(_ request: CommandRequest, _ session: ClientSession, _ key: CommandKey) {
        guard !session.isOwners, case .run(let instance, let command, _, let isDryRun, _) = request.content else {
            return
        }
        let entry = Entry(
            plugin: session.instance, instance: String((instance ?? "hub").prefix(64)),
            command: String(command.prefix(64)), isDryRun: isDryRun)
        entries[key] = entry
        log(entry, "a plugin has begun a command")
    }

    /// Notes the outcome of a command.
    func ended(_ content: CommandOutcome.Content, _ key: CommandKey) {
        let word: String
        switch content {
        case .ask: return
        case .done: word = "done"
        case .failed(let code, _): word = "failed (\(code))"
        case .cancelled: word = "cancelled"
        }
        end(key, word)
    }

    /// Ends the entries of a session that is over and gets no outcome.
    func end(of session: SessionReference) {
        for key in entries.keys where key.session == session { end(key, "its session ended first") }
    }

    private func end(_ key: CommandKey, _ word: String) {
        guard let entry = entries.removeValue(forKey: key) else { return }
        log(entry, "a plugin's command has ended", ["outcome": "\(word)"])
        guard !entry.isDryRun else { return }
        door.feeds.publish(
            PluginNotices(
                instance: entry.plugin, word: "command", text: "ran the command \(entry.deed): \(word)", level: .notice,
                isNotice: false))
    }

    /// Notes the records that a plugin has changed with the commands for changes by hand.
    func changed(_ numbers: [Int64], by plugin: String) {
        guard !numbers.isEmpty, bucket.take(at: door.now) else { return }
        let shown = numbers.prefix(20).map(String.init).joined(separator: ", ")
        door.logger.notice(
            "a plugin has changed records by hand",
            metadata: ["plugin": "\(plugin)", "records": "\(shown)", "count": "\(numbers.count)"])
    }

    private func log(_ entry: Entry, _ message: Logger.Message, _ more: Logger.Metadata = [:]) {
        guard bucket.take(at: door.now) else { return }
        var more = more
        let omitted = bucket.takeRefused()
        if omitted > 0 { more["leftOut"] = "\(omitted)" }
        door.logger.log(level: entry.isDryRun ? .debug : .notice, message, metadata: entry.metadata(more))
    }
}
