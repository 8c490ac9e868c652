import ArgumentParser
import Foundation
import HealthText
import HubClient
import HubCore
import HubSettings
import HubStore
import HubWire

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor", abstract: "Look for present and coming problems, and show their repairs.",
        discussion: """
            Checks hub.conf, sockets and locks, modes, disk, clock, the store's file, the
            machine, systemd, Bluetooth, and the running hub's report on plugins and sinks.
            Works while the hub runs and while it is stopped, and changes nothing without
            --fix. A check without an answer for five seconds, as from a disk that hangs,
            is given up and reported.

            Examples:
              hub doctor
              hub doctor --deep                       reads every record and index
              hub doctor --fix                        restores the modes of files
              hub doctor --deep --fix                 lets a hub go on that found damage
              hub doctor -q                           for cron: silent if all is well
              hub doctor --json | jq -r '.findings[] | select(.severity=="error").repair'

            Exit codes: by the worst finding: 0 nothing to do, 1 a warning, 2 an error;
            66 there is no hub.conf.
            """)

    @Flag(help: "Compare every index with its records, and recount every counter.") var deep = false
    @Flag(help: "Repair what needs no decision: modes of files.") var fix = false
    @Flag(help: "One JSON document: {\"findings\":[{\"severity\",\"subject\",\"text\",\"repair\"}],\"worst\"}.")
    var json = false
    @Flag(name: .shortAndLong, help: "Show only problems.") var quiet = false
    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        let path = try options.path()
        guard try await blocking({ CheckRunner().result { _ = FileManager.default.contents(atPath: path) } }) != nil
        else { return try show([Doctor.stood("config", path, CheckRunner())]) }
        let checked = await ConfigurationLoader(path: path, programPath: HubProgram.path).load()
        let (isDeep, isFixing) = (deep, fix)
        let findings = try await blocking {
            let doctor = Doctor(path: path, checked: checked, isDeep: isDeep)
            let shows = isatty(STDERR_FILENO) == 1
            var findings = doctor.findings { if shows { Terminal.progress("looking at \($0)") } }
            if shows { Terminal.progress("") }
            if isFixing { for index in findings.indices { findings[index].repairIfPossible() } }
            return findings
        }
        try show(findings)
    }

    private func show(_ findings: [DoctorFinding]) throws {
        let worst = findings.filter { $0.isFixed != true }.map(\.severity).max() ?? .good
        if json {
            try Output.json(try JSON.line(DoctorReport(findings: findings, worst: worst)))
        } else {
            for finding in findings where !quiet || finding.severity >= .warning {
                try Output.print(finding.lines(colours: Terminal.hasColours))
            }
        }
        switch worst {
        case .good, .note: return
        case .warning: throw ExitCode(HubExit.unhealthy.rawValue)
        case .error: throw ExitCode(HubExit.broken.rawValue)
        }
    }
}

/// The document of `hub doctor --json`.
struct DoctorReport: Encodable {
    let findings: [DoctorFinding]
    let worst: DoctorFinding.Severity
}

extension Doctor {
    /// Asks the running hub for its status, if there is one; blocks for the answer.
    init(path: String, checked: CheckedConfiguration, isDeep: Bool) {
        let configuration = checked.loaded.configuration
        configuration?.hub.liveInZone()
        // Without a usable file the folders are not known; do not guess them.
        let files = HubFiles(configuration?.hub ?? HubSection(data: "/nonexistent", run: "/nonexistent"))
        let status = configuration.flatMap { configuration in
            try? DoorClient(endpoint: OwnerEndpoints(configuration.hub).door, command: "doctor", patience: .seconds(5))
                .ask(.status).bytes
        }
        self.init(
            configurationPath: path, checked: checked, configuration: configuration, files: files,
            status: status.map { Array($0) }, isDeep: isDeep, now: Date())
    }
}

extension DoctorFinding {
    /// Repairs the finding if possible: sets a file's mode, lets the hub use a store that was found intact, or removes wrong figures.
    mutating func repairIfPossible() {
        if let damaged { isFixed = (try? damaged.forgetDamage()) != nil }
        if let rolledUp { isFixed = (try? rolledUp.forgetRollups()) != nil }
        guard let mode else { return }
        isFixed = chmod(mode.path, mode.mode) == 0
    }
}
