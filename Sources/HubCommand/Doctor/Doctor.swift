import HealthText
import Foundation
import HubClient
import HubCore
import HubSettings

/// Looks at everything a hub needs, whether it runs or not, and changes nothing.
struct Doctor: Sendable {
    let configurationPath: String
    let checked: CheckedConfiguration
    /// `nil` when `hub.conf` cannot be used.
    let configuration: HubConfiguration?
    let files: HubFiles
    /// What the running hub says of itself, as it came; `nil` when none answers.
    let status: [UInt8]?
    let isDeep: Bool
    let now: Date
    var watch = CheckWatch()

    /// All findings, by subject; `progress` hears what is being looked at.
    func findings(_ progress: (String) -> Void = { _ in }) -> [Finding] {
        var all: [Finding] = []
        let everywhere = [Doctor.ofConfiguration, Doctor.ofMachine, Doctor.ofIsolation, Doctor.ofService]
        let ofHub: [Check] = [
            Doctor.ofConfiguration, Check("endpoints", "the run directory") { $0.endpoints() },
            Check("modes", "modes") { $0.modes() }, Check("disk", "the disk") { $0.disk() },
            Check("clock", "the clock") { $0.clock() },
            Check("store", isDeep ? "every record" : "the store") { $0.store() }, Doctor.ofMachine, Doctor.ofIsolation,
            Doctor.ofService,
            Check("bluetooth", "Bluetooth") { $0.bluetooth() }, Check("hub", "the running hub") { $0.hub() },
        ]
        // Where the folders of a hub are is not known without its hub.conf, and nothing is guessed.
        for check in configuration == nil ? everywhere : ofHub {
            progress(check.name)
            all += watch.result { check.look(self) } ?? [Doctor.stood(check.subject, check.name, watch)]
        }
        return all
    }

    /// One thing that is looked at.
    private struct Check: Sendable {
        let subject, name: String
        let look: @Sendable (Doctor) -> [Finding]

        init(_ subject: String, _ name: String, _ look: @escaping @Sendable (Doctor) -> [Finding]) {
            (self.subject, self.name, self.look) = (subject, name, look)
        }
    }

    private static let ofConfiguration = Check("config", "hub.conf") { $0.config() }
    private static let ofMachine = Check("machine", "the machine") { $0.machine() }
    private static let ofIsolation = Check("isolation", "the isolation of plugins") { $0.isolation() }
    private static let ofService = Check("service", "the service") { $0.service() }

    /// A check that did not return.
    static func stood(_ subject: String, _ name: String, _ watch: CheckWatch) -> Finding {
        let seconds = watch.patience.formatted(.units(allowed: [.seconds, .milliseconds], width: .wide))
        return Finding(
            .error, subject,
            "\(name): not looked at, for nothing has come back for \(seconds): a disk, or what it is mounted from, does not answer",
            repair: "see dmesg and mount; say hub doctor again when it answers")
    }

    // MARK: - hub.conf

    private func config() -> [Finding] {
        var found = checked.loaded.problems.map { problem in
            Finding(problem.severity == .error ? .error : .warning, "config", problem.description, repair: "hub check")
        }
        found += checked.faults.sorted { $0.key < $1.key }.map { name, fault in
            Finding(.error, "config", "plugin \(name): \(fault)", repair: "hub check")
        }
        if let configuration, configuration.persons.isEmpty {
            found.append(
                Finding(
                    .warning, "config", "\(configurationPath) names no person: every record waits in the inbox",
                    repair: "write [person.me] into it"))
        }
        if found.isEmpty { found.append(Finding(.good, "config", "\(configurationPath) is right")) }
        let alike = configuration.map(Self.indistinct) ?? []
        if !alike.isEmpty {
            found.append(
                Finding(
                    .note, "config",
                    "nothing tells \(alike.joined(separator: ", ")) from the others: their first weighings wait in the inbox",
                    repair: "give slots or expected_weight, or hub assign the first ones"))
        }
        return found
    }

    /// Those of several persons of whom `hub.conf` says nothing by which a scale could know them.
    static func indistinct(_ configuration: HubConfiguration) -> [String] {
        guard configuration.persons.count > 1 else { return [] }
        return configuration.persons.filter { $0.slots.isEmpty && $0.expectedWeight == nil }.map(\.name)
    }

    // MARK: - The running hub

    func hub() -> [Finding] {
        guard let status else {
            return [Finding(.note, "hub", "no hub runs here now", repair: "hub run, or systemctl --user start hub")]
        }
        // Read without the program's own types: an older or newer hub has other members.
        guard let members = try? JSONSerialization.jsonObject(with: Data(status)) as? [String: Any] else {
            return [Finding(.error, "hub", "the hub's status cannot be read", repair: "hub status --json")]
        }
        var found: [Finding] = []
        if let store = members["store"] as? [String: Any] {
            if let state = store["state"] as? String, state != "ok" {
                let reason = store["error"] as? String ?? state
                found.append(Finding(.error, "hub", "the store does not work, nothing is confirmed: \(reason)"))
            }
            if let warning = store["warning"] as? String { found.append(Finding(.warning, "hub", warning)) }
        }
        if let inbox = members["inbox"] as? Int, inbox > 0 {
            found.append(
                Finding(
                    .note, "hub", "\(NumberText.count(inbox, "record")) without a person",
                    repair: "hub samples --nobody"))
        }
        for case let plugin as [String: Any] in members["plugins"] as? [Any] ?? [] {
            found += Doctor.plugin(plugin)
        }
        // Sinks and what may come: each tells by `well` and a sentence.
        for (list, value) in members.sorted(by: { $0.key < $1.key }) where list != "plugins" {
            for case let entry as [String: Any] in value as? [Any] ?? [] where entry["well"] as? Bool == false {
                let name = (entry["name"] ?? entry["instance"]) as? String ?? list
                let text = (entry["note"] ?? entry["advice"]) as? String ?? "is not well"
                found.append(Finding(.warning, "hub", "\(name): \(text)", repair: "hub status"))
            }
        }
        if found.allSatisfy({ $0.severity == .note }) {
            found.append(Finding(.good, "hub", "it runs, and says it is well"))
        }
        return found
    }

    private static func plugin(_ plugin: [String: Any]) -> [Finding] {
        guard plugin["enabled"] as? Bool == true, let name = plugin["name"] as? String else { return [] }
        let state = plugin["state"] as? String
        if let advice = plugin["advice"] as? String {
            let isOver = state == "quarantined" || state == "failed"
            return [Finding(isOver ? .error : .warning, "hub", "\(name): \(advice)", repair: look(at: plugin, name))]
        }
        let tokens = plugin["tokens"] as? [Any] ?? []
        let logIns = tokens.compactMap { ($0 as? [String: Any])?["advice"] as? String }
        if !logIns.isEmpty { return logIns.map { Finding(.warning, "hub", "\(name): \($0)", repair: "hub status") } }
        if plugin["hasError"] as? Bool == true, let error = plugin["lastError"] as? String {
            return [Finding(.warning, "hub", "\(name) says: \(error)", repair: look(at: plugin, name))]
        }
        guard plugin["alive"] as? Bool == false, state != "finished" else { return [] }
        let reason = (plugin["lastError"] as? String).map { ": \($0)" } ?? ""
        return [Finding(.warning, "hub", "\(name) has no session\(reason)", repair: look(at: plugin, name))]
    }

    /// Where to see more; what runs on another machine has its log there, and its advice says what to do.
    private static func look(at plugin: [String: Any], _ name: String) -> String? {
        guard plugin["remote"] as? Bool == true else { return "hub logs \(name)" }
        let program = "hub-\(plugin["kind"] as? String ?? name)"
        return "on its machine: \(program) --run --key FILE, with the key of hub keys new \(name)"
    }
}
