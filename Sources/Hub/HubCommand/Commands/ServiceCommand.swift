import ArgumentParser
import Foundation
import HubClient
import HubCore
import HubSettings
import HubWire

struct ServiceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "service", abstract: "Run the hub under systemd: print, install or remove its unit.",
        discussion: """
            systemd starts the hub, which reports to it when it is ready, its state and
            that it still works. systemd starts the hub again if it exited at memory_limit
            (75) or crashed. install writes the file and shows the next commands; it starts
            no hub.

            --user (the default) is for your own hub, --system for a hub of the machine,
            under the account health-hub.

            Examples:
              hub service                             the unit, on stdout
              hub service install
              hub service install --system --config /etc/health-hub/hub.conf
              hub service remove

            Exit codes: 0; 1 there is such a unit that hub did not write, or none to
            remove; 66 there is no hub.conf; 71 the file cannot be written.
            """)

    enum Action: String, ExpressibleByArgument, CaseIterable { case print, install, remove }

    @Argument(help: "print, install or remove.") var action: Action = .print
    @Flag(help: "A service of this user.") var user = false
    @Flag(help: "A service of the machine.") var system = false
    @Flag(help: ArgumentHelp("Print the unit of the Debian package.", visibility: .hidden)) var packaged = false
    @OptionGroup var options: ConfigurationOptions

    func validate() throws {
        if user, system { throw ValidationError("--user and --system exclude each other.") }
        if packaged, action != .print { throw ValidationError("--packaged only prints.") }
    }

    func run() async throws {
        let manager = system ? SystemdUnit.Manager.system : .user
        if packaged { return try Output.lines(SystemdUnit.packaged(manager).text.dropLast()) }
        let path = try SystemdUnit.path(manager, environment: ProcessInfo.processInfo.environment)
        if action == .remove { return try remove(path, manager) }
        let file = URL(filePath: try options.path()).standardizedFileURL.path(percentEncoded: false)
        let unit = SystemdUnit(
            manager: manager, program: HubProgram.path, configuration: file,
            files: HubFiles(try options.configuration().hub),
            hasNamespaces: await Isolation.look(programPath: HubProgram.path).hasNamespaces)
        if action == .print { return try Output.lines(unit.text.dropLast()) }
        try checkIsOwnUnit(path)
        do {
            let folder = URL(filePath: path).deletingLastPathComponent()
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try Data(unit.text.utf8).write(to: URL(filePath: path), options: .atomic)
        } catch { throw Failure(.system, "\(path): cannot be written: \(error.localizedDescription)") }
        try Output.print("written: \(path)")
        Terminal.say("next:")
        for step in unit.steps { Terminal.say("  \(step)") }
    }

    private func remove(_ path: String, _ manager: SystemdUnit.Manager) throws {
        guard FileManager.default.fileExists(atPath: path) else { throw Failure(.unhealthy, "there is no \(path)") }
        try checkIsOwnUnit(path)
        do { try FileManager.default.removeItem(atPath: path) } catch {
            throw Failure(.system, "\(path): cannot be removed: \(error.localizedDescription)")
        }
        try Output.print("removed: \(path)")
        let options = manager == .user ? "--user " : ""
        // systemd still knows the running unit, which must be stopped before daemon-reload.
        Terminal.explain(
            "next:\n  systemctl \(options)stop hub      # if it runs\n  systemctl \(options)disable hub\n  systemctl \(options)daemon-reload"
        )
    }

    private func checkIsOwnUnit(_ path: String) throws(Failure) {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8), !text.hasPrefix(SystemdUnit.mark) else {
            return
        }
        throw Failure(.unhealthy, "\(path): hub did not write this unit, so it leaves it alone; move it away first")
    }
}
