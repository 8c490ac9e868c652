import Foundation
import HealthText
import HubClient
import HubCore
import HubSettings
import HubWire

/// Checks everything that a hub needs, running or not, and changes nothing.
struct Doctor: Sendable {
    let configurationPath: String
    let checked: CheckedConfiguration
    /// `nil` if `hub.conf` cannot be used.
    let configuration: HubConfiguration?
    let files: HubFiles
    /// The running hub's status as received; `nil` if no hub answers.
    let status: [UInt8]?
    let isDeep: Bool
    let now: Date
    var watch = CheckRunner()

    /// All findings, by subject; calls `progress` with the name of each check.
    func findings(_ progress: (String) -> Void = { _ in }) -> [DoctorFinding] {
        var all: [DoctorFinding] = []
        let everywhere = [Doctor.ofConfiguration, Doctor.ofMachine, Doctor.ofIsolation, Doctor.ofService]
        let ofHub: [Check] = [
            Doctor.ofConfiguration, Check("endpoints", "the run directory") { $0.endpoints() },
            Check("modes", "modes") { $0.modes() }, Check("disk", "the disk") { $0.disk() },
            Check("clock", "the clock") { $0.clock() },
            Check("store", isDeep ? "every record" : "the store") { $0.store() }, Doctor.ofMachine, Doctor.ofIsolation,
            Doctor.ofService,
            Check("bluetooth", "Bluetooth") { $0.bluetooth() }, Check("hub", "the running hub") { $0.hub() },
        ]
        // Without hub.conf the folders of a hub are not known; do not guess them.
        for check in configuration == nil ? everywhere : ofHub {
            progress(check.name)
            all += watch.result { check.look(self) } ?? [Doctor.stood(check.subject, check.name, watch)]
        }
        return all
    }

    /// One check.
    private struct Check: Sendable {
        let subject, name: String
        let look: @Sendable (Doctor) -> [DoctorFinding]

        init(_ subject: String, _ name: String, _ look: @escaping @Sendable (Doctor) -> [DoctorFinding]) {
            (self.subject, self.name, self.look) = (subject, name, look)
        }
    }

    private static let ofConfiguration = Check("config", "hub.conf") { $0.config() }
    private static let ofMachine = Check("machine", "the machine") { $0.machine() }
    private static let ofIsolation = Check("isolation", "the isolation of plugins") { $0.isolation() }
    private static let ofService = Check("service", "the service") { $0.service() }

    /// The finding for a check that did not return.
    static func stood(_ subject: String, _ name: String, _ watch: CheckRunner) -> DoctorFinding {
        let seconds = watch.patience.formatted(.units(allowed: [.seconds, .milliseconds], width: .wide))
        return DoctorFinding(
            .error, subject,
            "\(name): not checked, because no answer came for \(seconds): a disk, or the server it is mounted from, does not answer",
            repair: "see dmesg and mount; run hub doctor again when it answers")
    }

    // MARK: - hub.conf

    private func config() -> [DoctorFinding] {
        var found = checked.loaded.problems.map { problem in
            DoctorFinding(
                problem.severity == .error ? .error : .warning, "config", problem.description, repair: "hub check")
        }
        found += checked.faults.sorted { $0.key < $1.key }.map { name, fault in
            DoctorFinding(.error, "config", "plugin \(name): \(fault)", repair: "hub check")
        }
        if let configuration, configuration.persons.isEmpty {
            found.add(
                .warning, "config", "\(configurationPath) names no person: every record waits in the inbox",
                repair: "write [person.me] into it")
        }
        if found.isEmpty { found.add(.good, "config", "\(configurationPath) is right") }
        let alike = configuration.map(Self.indistinct) ?? []
        if !alike.isEmpty {
            found.add(
                .note, "config",
                "nothing tells \(alike.joined(separator: ", ")) from the others: their first weighings wait in the inbox",
                repair: "give slots or expected_weight, or hub assign the first ones")
        }
        return found
    }

    /// The persons that a scale cannot tell apart: `hub.conf` has neither slots nor a weight for them.
    static func indistinct(_ configuration: HubConfiguration) -> [String] {
        guard configuration.persons.count > 1 else { return [] }
        return configuration.persons.filter { $0.slots.isEmpty && $0.expectedWeight == nil }.map(\.name)
    }

    // MARK: - The running hub

    func hub() -> [DoctorFinding] {
        guard let status else {
            return .one(.note, "hub", "no hub runs here now", repair: "hub run, or systemctl --user start hub")
        }
        guard let answer = try? JSON.decode(HubStatus.self, from: status) else {
            return .one(.error, "hub", "the hub's status cannot be read", repair: "hub status --json")
        }
        return answer.findings.map { DoctorFinding($0.severity, "hub", $0.text, repair: $0.repair) }
    }
}
