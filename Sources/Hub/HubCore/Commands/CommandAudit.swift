import HubWire
import Logging

/// A command that a plugin gives to the hub, for the hub's log and `hub/plugin/` (R12.15).
struct CommandAudit: Sendable {
    let plugin: String
    /// The target of the command: `hub`, or an instance.
    let instance: String
    let command: String
    let isDryRun: Bool

    /// Maximum number of log entries at once, and in a second; the rest is counted.
    static let (burst, rate) = (200, 20)

    /// `restart of exist`; without the arguments, because they may contain health values.
    var deed: String {
        "\(command)\(instance == "hub" ? "" : " of \(instance)")\(isDryRun ? " (dry run)" : "")"
    }

    func metadata(_ more: Logger.Metadata = [:]) -> Logger.Metadata {
        let known: Logger.Metadata = [
            "plugin": "\(plugin)", "command": "\(command)", "of": "\(instance)", "dryRun": "\(isDryRun)",
        ]
        return known.merging(more) { _, new in new }
    }
}

extension Commands {
    /// Logs a command of a session if the session is a plugin's.
    func audit(_ request: CommandRequest, _ session: ClientSession, _ key: CommandKey) {
        guard !session.isOwners, case .run(let instance, let command, _, let isDryRun, _) = request.content else {
            return
        }
        let audit = CommandAudit(
            plugin: session.instance, instance: String((instance ?? "hub").prefix(64)),
            command: String(command.prefix(64)), isDryRun: isDryRun)
        audits[key] = audit
        note(audit, "a plugin has begun a command")
    }

    /// Logs the outcome of a command.
    func audit(_ content: CommandOutcome.Content, _ key: CommandKey) {
        let word: String
        switch content {
        case .ask: return
        case .done: word = "done"
        case .failed(let code, _): word = "failed (\(code))"
        case .cancelled: word = "cancelled"
        }
        end(key, word)
    }

    /// Ends the audits of a session that is over and gets no outcome.
    func endAudits(of session: SessionReference) {
        for key in audits.keys where key.session == session { end(key, "its session ended first") }
    }

    private func end(_ key: CommandKey, _ word: String) {
        guard let audit = audits.removeValue(forKey: key) else { return }
        note(audit, "a plugin's command has ended", ["outcome": "\(word)"])
        guard !audit.isDryRun else { return }
        door.feeds.publish(
            PluginNotices(
                instance: audit.plugin, word: "command", text: "ran the command \(audit.deed): \(word)", level: .notice,
                isNotice: false))
    }

    /// Logs the records that a plugin has changed with the commands for changes by hand.
    func auditRecords(_ numbers: [Int64], _ plugin: String) {
        guard !numbers.isEmpty, auditBucket.take(at: door.now) else { return }
        let shown = numbers.prefix(20).map(String.init).joined(separator: ", ")
        logger.notice(
            "a plugin has changed records by hand",
            metadata: ["plugin": "\(plugin)", "records": "\(shown)", "count": "\(numbers.count)"])
    }

    private func note(_ audit: CommandAudit, _ message: Logger.Message, _ more: Logger.Metadata = [:]) {
        guard auditBucket.take(at: door.now) else { return }
        var more = more
        let omitted = auditBucket.takeRefused()
        if omitted > 0 { more["leftOut"] = "\(omitted)" }
        logger.log(level: audit.isDryRun ? .debug : .notice, message, metadata: audit.metadata(more))
    }
}
