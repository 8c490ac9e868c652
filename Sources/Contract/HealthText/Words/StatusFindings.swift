package import HubWire

/// One finding in the hub's own status that a person should know, and the command that repairs it.
package struct StatusFinding: Sendable {
    package enum Severity: String, Sendable, Encodable, Comparable, CaseIterable {
        /// All is well.
        case good
        /// Worth knowing; nothing has to be done.
        case note
        /// It does harm or will do so.
        case warning
        /// The hub cannot do its work or does not keep its promises.
        case error

        package static func < (left: Severity, right: Severity) -> Bool { left.rank < right.rank }
        private var rank: Int { Severity.allCases.firstIndex(of: self) ?? 0 }
    }

    package let severity: Severity
    /// One sentence.
    package let text: String
    /// The command that repairs it, or what to do.
    package let repair: String?
    /// The instance that it is about, if it is about one.
    package let plugin: String?
    /// Whether the hub is not well because of it: the plugin or the store needs a person.
    package let isProblem: Bool

    package init(
        _ severity: Severity, _ text: String, repair: String? = nil, plugin: String? = nil, isProblem: Bool = false
    ) {
        (self.severity, self.text, self.repair) = (severity, text, repair)
        (self.plugin, self.isProblem) = (plugin, isProblem)
    }
}

extension HubStatus {
    /// Whether the store works, and every enabled plugin is alive or done, delivers, is logged in if it needs to be, and has no unresolved error.
    ///
    /// A scale that was not used since yesterday is not fresh, but well; so is one that warns.
    package var isWell: Bool { problems.isEmpty }

    /// The findings that need a person's attention, the store's first.
    package var problems: [StatusFinding] { findings.filter(\.isProblem) }

    /// All findings; at least one, also if all is well.
    package var findings: [StatusFinding] {
        var found: [StatusFinding] = []
        if let setup {
            found.append(
                StatusFinding(
                    .error,
                    "there is no \(setup) yet, and the hub takes no records: hub web prints a link to set it up",
                    repair: "hub web", isProblem: true))
        }
        if !store.isWell {
            let reason = store.error.map { ": \($0)" } ?? ""
            found.append(StatusFinding(.error, "the store is \(store.state)\(reason)", isProblem: true))
        }
        if let warning = store.warning {
            found.append(StatusFinding(.warning, "the store: \(warning)", isProblem: true))
        }
        if let fault = endpoints.tcpFault {
            found.append(StatusFinding(.warning, "the network door is closed: \(fault)", isProblem: true))
        }
        if let inbox, inbox > 0 {
            found.append(
                StatusFinding(
                    .note, "\(NumberText.count(inbox, "record")) waiting for a person", repair: "hub samples --nobody"))
        }
        found += plugins.filter(\.enabled).flatMap(findings)
        found += sinks.filter { !$0.isWell }.map { sink in
            StatusFinding(
                .warning, "\(sink.name): \(sink.note ?? "is not well")", repair: "hub status", plugin: sink.instance,
                isProblem: plugins.contains { $0.name == sink.instance && $0.enabled })
        }
        if found.allSatisfy({ $0.severity == .note }) {
            found.append(StatusFinding(.good, "it runs, and says it is well"))
        }
        return found
    }

    /// The findings about an enabled plugin, without those about its sinks.
    private func findings(of plugin: PluginStatus) -> [StatusFinding] {
        let name = plugin.name
        let device = devices.first { $0.instance == name && $0.lastErrorSeverity == "error" }
        let hasError = plugin.hasError == true || plugin.isFallback == true || device != nil
        let logIns = (plugin.tokens ?? []).filter { $0.advice != nil || $0.needsLogIn }.map { logIn in
            StatusFinding(
                .warning, "\(name): \(logIn.advice ?? "its log-in is \(logIn.state.rawValue)")", repair: "hub status",
                plugin: name, isProblem: logIn.needsLogIn)
        }
        let needsLogIn = logIns.contains(where: \.isProblem)
        let isProblem = !plugin.isUp || plugin.delivering == false || hasError || needsLogIn
        func finding(_ text: String, _ severity: StatusFinding.Severity = .warning) -> StatusFinding {
            StatusFinding(severity, name + text, repair: plugin.logPlace, plugin: name, isProblem: isProblem)
        }
        // A finished plugin says how to run it again; that is no problem.
        if let advice = plugin.advice, isProblem || plugin.state != .finished {
            return [finding(": \(advice)", plugin.state == .quarantined || plugin.state == .failed ? .error : .warning)]
        }
        if needsLogIn { return logIns }
        if hasError, let error = plugin.lastError ?? device?.lastError { return logIns + [finding(" says: \(error)")] }
        if !plugin.isUp { return logIns + [finding(" has no session" + (plugin.lastError.map { ": \($0)" } ?? ""))] }
        if hasError { return logIns + [finding(" reports an error")] }
        let hasReason = sinks.contains { $0.instance == name && !$0.isWell }
        return plugin.delivering == false && !hasReason ? logIns + [finding(" does not deliver")] : logIns
    }
}

extension PluginStatus {
    /// The place to see more; an instance on another machine has its log there, and its advice says what to do.
    fileprivate var logPlace: String {
        remote == true
            ? "on its machine: hub-\(kind) --run --key FILE, with the key of hub keys new \(name)" : "hub logs \(name)"
    }
}

extension HubStatus.Erasure {
    /// The erased records that keep their keys, and the reason; nil if there are none.
    package var erased: String? {
        guard named > 0 else { return nil }
        let sinks = waitingFor.joined(separator: ", ")
        let reason =
            sinks.isEmpty
            ? "which are being removed" : "until \(sinks) \(waitingFor.count == 1 ? "has" : "have") been notified"
        return "\(NumberText.count(named, "record")) but for their keys, \(reason)"
    }
}
