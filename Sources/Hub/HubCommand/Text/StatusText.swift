import HealthText
import HubClient
import HubCore
import HubSettings
import HubWire

/// `hub status` for people.
struct StatusText {
    private let status: HubStatus
    private let colours: Bool
    /// Whether to show disabled plugins, addresses, ids and the accounts of plugins and sinks too.
    private let showsAll: Bool

    init(_ status: HubStatus, all: Bool = false, colours: Bool) {
        (self.status, showsAll, self.colours) = (status, all, colours)
    }

    var lines: [String] {
        var lines = [summary, ""] + head + [""] + plugins + advice
        if !status.devices.isEmpty { lines += [""] + DeviceText.lines(status.devices, colours: colours) }
        let logIns = logIns
        if !logIns.isEmpty { lines += [""] + logIns }
        if showsAll, !status.accounts.isEmpty { lines += [""] + accounts }
        if !status.sinks.isEmpty { lines += sinks }
        return lines.map { LocalTime.inSentence($0) }
    }

    /// Whether all is well, or the gravest problem and the number of problems.
    private var summary: String {
        let problems = status.problems.map(\.text)
        let waiting = (status.inbox ?? 0) + (status.implausible ?? 0)
        let inbox = waiting > 0 ? "; \(NumberText.count(waiting, "record")) in the inbox (hub inbox)" : ""
        guard let first = problems.first else { return StatusColour.good.paint("All well", colours) + inbox }
        let others = problems.count > 1 ? " (and \(NumberText.count(problems.count - 1, "other problem")), below)" : ""
        return StatusColour.bad.paint("Not well", colours) + ": \(first)\(others)"
    }

    private var head: [String] {
        let store = status.store
        var storeLine = "store    \(store.path)  "
        storeLine +=
            store.isWell
            ? StatusColour.good.paint("ok", colours)
            : StatusColour.bad.paint(store.state, colours) + (store.error.map { ": \($0)" } ?? "")
        if store.isWell, let warning = store.warning {
            storeLine += ", but " + StatusColour.doubtful.paint(warning, colours)
        }
        if let whole = store.check?.whole.flatMap({ LocalTime.text($0) }) {
            storeLine += ", all of it read and found whole at \(whole)"
        }
        var records = status.records.map { NumberText.count($0, "record") } ?? "not known, the store cannot be read"
        if let inbox = status.inbox, inbox > 0 {
            records += ", \(NumberText.grouped(inbox)) waiting for a person (hub samples --nobody)"
        }
        if let implausible = status.implausible, implausible > 0 {
            records += ", \(NumberText.grouped(implausible)) implausible (hub inbox)"
        }
        var lines = [
            "hub      \(status.version), up \(NumberText.duration(seconds: status.uptime)), "
                + "\(NumberText.grouped(status.residentBytes / (1 << 20))) MiB",
            "records  \(records)" + (showsAll ? ", newest \(status.epoch)-\(status.head)" : ""), storeLine,
        ]
        let people = status.persons.filter { $0.zone != nil }.map(\.bothNames)
        if !people.isEmpty { lines.append("people   \(people.joined(separator: ", "))") }
        if let backup { lines.append(backup) }
        if showsAll { lines += ["door     \(status.endpoints.door)", "feed     \(status.endpoints.feed)"] }
        if let tcp = status.endpoints.tcp {
            let fault = status.endpoints.tcpFault
            lines.append(
                "network  \(tcp)" + (fault.map { "  " + StatusColour.bad.paint("closed", colours) + ": \($0)" } ?? ""))
        }
        for rule in status.retention ?? [] { lines.append("kept     \(RetentionText.line(rule, isDone: true))") }
        if let reason = status.retentionHeld {
            lines.append(
                "kept     " + StatusColour.doubtful.paint("nothing is thinned or removed", colours) + ": \(reason)")
        }
        if let erasure = status.erasure {
            if let left = erasure.left {
                lines.append(
                    left > 0
                        ? "erasing  \(NumberText.count(left, "record")) left"
                        : "erasing  no record left; the store's log is emptied as soon as no program reads it, such as a backup"
                )
            }
            if let erased = erasure.erased { lines.append("erased   \(erased)") }
            if let failed = erasure.failed {
                let first = erasure.faults?.first.map { ": \($0.number), for \($0.reason)" } ?? ""
                lines.append(
                    "erasing  "
                        + StatusColour.bad.paint("\(NumberText.count(failed, "record")) could not be erased", colours)
                        + " and are tried again every hour\(first)")
            }
        }
        if status.clock != "system" { lines.append("clock    \(status.clock)") }
        if let memory { lines.append(memory) }
        return lines
    }

    /// The newest backup; `nil` if none is known.
    private var backup: String? {
        guard let backup = status.backup else { return nil }
        let time = backup.time.flatMap { LocalTime.text($0) }.map { "\($0), " } ?? ""
        let behind =
            backup.behind.map { $0 > 0 ? ", \(NumberText.count($0, "change")) since" : ", nothing since" } ?? ""
        return "backup   \(time)\(backup.path)\(behind)"
    }

    /// The use of memory, if it is more than half of the limit.
    private var memory: String? {
        guard let memory = status.memory, let limit = memory.limit, status.residentBytes > limit / 2 else { return nil }
        func size(_ bytes: Int64) -> String { "\(NumberText.grouped(bytes / (1 << 20))) MiB" }
        let most = memory.mostOf.map { ", most of it of \($0)" } ?? ""
        return "memory   " + StatusColour.doubtful.paint("\(size(status.residentBytes)) of \(size(limit))", colours)
            + ": \(size(memory.atDoor)) wait at the door\(most), \(NumberText.count(memory.recordsForStore, "record")) for the store, "
            + "up to \(size(memory.onFeeds)) for listeners; sessions may send \(size(memory.credit))"
    }

    private var plugins: [String] {
        guard !status.plugins.isEmpty else { return ["no plugins: hub setup adds one"] }
        var table = Table([
            "PLUGIN", "STATE", "ALIVE", "FRESH", "DELIVERING", .right("RECORDS"), .right("RESTARTS"), "LAST RECORD",
        ])
        let shown = status.plugins.filter { showsAll || $0.enabled }
        let hidden = status.plugins.count - shown.count
        for plugin in shown {
            let last = plugin.lastRecord.flatMap { LocalTime.text($0) }
            table.add([
                plugin.name, state(plugin),
                plugin.enabled && plugin.state != .resting
                    ? lamp(plugin.alive) : StatusColour.faint.paint("-", colours),
                lamp(plugin.fresh), lamp(plugin.delivering), NumberText.grouped(stored(by: plugin.name)),
                NumberText.grouped(plugin.restarts), last ?? "-",
            ])
        }
        // The counts of the store cover all starts; the time of the last record is known only since this one.
        let isEarlier = shown.contains { $0.lastRecord == nil && stored(by: $0.name) > 0 }
        let rest = hidden > 0 ? ["\(NumberText.count(hidden, "plugin")) not enabled (hub status --all)"] : []
        return (shown.isEmpty ? ["no plugin is enabled; hub setup enables some"] : table.takeLines()) + rest
            + (isEarlier
                ? ["FRESH and LAST RECORD: since the hub's start, \(NumberText.duration(seconds: status.uptime)) ago"]
                : [])
    }

    /// The number of records of an instance that were stored, over all starts of the hub.
    private func stored(by instance: String) -> Int64 {
        status.accounts.first { $0.instance == instance }?.stored ?? 0
    }

    private func state(_ plugin: PluginStatus) -> String {
        let pause = plugin.restartIn.map { " in " + NumberText.duration(seconds: $0) } ?? ""
        return switch plugin.state {
        case .disabled: StatusColour.faint.paint("disabled", colours)
        case .running, .finished, .resting: StatusColour.good.paint(plugin.state.rawValue, colours)
        case .away: StatusColour.doubtful.paint("away", colours)
        case .restarting: StatusColour.doubtful.paint("restarting\(pause)", colours)
        case .silent, .quarantined, .failed: StatusColour.bad.paint(plugin.state.rawValue, colours)
        default: plugin.state.rawValue
        }
    }

    /// One line for each plugin that needs attention: its problem and the repair.
    private var advice: [String] {
        var lines = status.plugins.compactMap { plugin -> String? in
            if let advice = plugin.advice { return "\(plugin.name): \(advice)" }
            // An error of a device is the plugin's to resolve, but worth showing; if it is shown beside the device below, omit it here.
            guard !status.devices.contains(where: { $0.instance == plugin.name && $0.lastError == plugin.lastError })
            else { return nil }
            return plugin.lastError.map { "\(plugin.name) says: \($0)" }
        }
        for plugin in status.plugins where plugin.state == .resting {
            let last = plugin.lastRun.map { "ran last at \($0), and" } ?? "has not run yet, and"
            let next = plugin.nextRun.map { ", not before \($0)" } ?? ""
            lines.append("\(plugin.name): \(last) runs when something waits for it\(next)")
        }
        for plugin in status.plugins where plugin.enabled {
            for token in plugin.tokens ?? [] {
                if let advice = token.advice { lines.append("\(plugin.name), \(token.account): \(advice)") }
            }
        }
        return lines.isEmpty ? [] : [""] + lines
    }

    /// The log-ins at services with their accounts and expiry.
    private var logIns: [String] {
        var table = Table(["LOG-IN", "ACCOUNT", "AS", "STATE", "UNTIL", "LAST TOKEN"])
        for plugin in status.plugins where plugin.enabled {
            for token in plugin.tokens ?? [] {
                let shade: StatusColour = token.needsLogIn ? .bad : token.state == .failing ? .doubtful : .good
                table.add([
                    plugin.name, token.account, token.user ?? "-", shade.paint(token.state.rawValue, colours),
                    token.expires.flatMap { LocalTime.text($0) } ?? "-",
                    token.refreshed.flatMap { LocalTime.text($0) } ?? "-",
                ])
            }
        }
        return status.plugins.contains { $0.enabled && $0.tokens?.isEmpty == false } ? table.takeLines() : []
    }

    private func lamp(_ isOn: Bool?) -> String {
        switch isOn {
        case true: StatusColour.good.paint("yes", colours)
        case false: StatusColour.bad.paint("no", colours)
        case nil: StatusColour.faint.paint("-", colours)
        }
    }

    private var accounts: [String] {
        let columns: [Table.Column] = [
            "ACCOUNT", .right("RECEIVED"), .right("STORED"), .right("NEW VERSIONS"), .right("RETRACTIONS"),
            .right("DUPLICATES"), .right("REJECTED"),
        ]
        let table = Table.lines(columns, of: status.accounts) { account in
            [account.instance]
                + [
                    account.received, account.stored, account.versions, account.retractions, account.duplicates,
                    account.rejected,
                ].map { NumberText.grouped($0) }
        }
        return table
            + status.accounts.filter(\.isByHand).map {
                "\($0.instance): entries and changes by hand, and a retraction for each person or type that a record has left"
            }
    }

    /// Each sink's account if requested, and one sentence for each sink with a note.
    private var sinks: [String] {
        let columns: [Table.Column] = [
            "SINK", .right("WANTED"), .right("DELIVERED"), .right("PENDING"), .right("RETRYING"), .right("REFUSED"),
            .right("SUPERSEDED"), .right("SKIPPED"),
        ]
        let table = Table.lines(columns, of: status.sinks) { sink in
            [sink.name]
                + [
                    sink.wanted, sink.delivered, sink.pending, sink.retrying, sink.refused, sink.superseded,
                    sink.skipped,
                ].map { NumberText.grouped($0) }
        }
        let notes = status.sinks.compactMap { sink in
            sink.note.map { "\((sink.isWell ? StatusColour.faint : .bad).paint(sink.name, colours)): \($0)" }
        }
        return (showsAll ? [""] + table : notes.isEmpty ? [] : [""]) + notes
    }
}
