import FoundationEssentials
package import HubSettings
package import HubWire
import Logging
import Platform

/// A plugin's program with its settings in `hub.conf`, started as by the hub but without a hub: for testing plugins.
package struct PluginProbe: Sendable {
    /// The parameters of one process (Protocol §13.2).
    package struct Place: Sendable {
        package var door, feed: String
        /// Its own folders, and the file for its output, in which nothing is hidden.
        package var state, temporary, log: String
        /// 32 characters.
        package var token: String

        package init(door: String, feed: String, state: String, temporary: String, log: String, token: String) {
            (self.door, self.feed, self.state, self.temporary) = (door, feed, state, temporary)
            (self.log, self.token) = (log, token)
        }
    }

    package let instance: PluginInstance
    package let manifest: Manifest
    package let executable: String
    private let reach: ConfinementRules
    /// The one zone of the instance's persons; `nil` if they have several zones or none.
    ///
    /// In a hub, WELCOME contains it.
    private let zone: String?

    /// - Throws: the problems that `hub check` would report for it, one line each; problems of other plugins do not matter.
    package init(_ checked: CheckedConfiguration, _ name: String) throws(HubError) {
        let common = checked.loaded.problems.filter { $0.severity == .error && $0.table?.hasPrefix("plugin.") != true }
        let problems = (common + checked.loaded.problems.errors(["plugin", name])).map(\.description)
        guard let configuration = checked.loaded.configuration,
            let instance = configuration.plugins.first(where: { $0.name == name }),
            let manifest = checked.manifests[name], let executable = checked.executables[name], problems.isEmpty
        else {
            let faults = checked.faults[name].map { [$0] } ?? []
            throw HubError(.configuration, (problems + faults).joined(separator: "\n"))
        }
        (self.instance, self.manifest, self.executable) = (instance, manifest, executable)
        let names = InstancePolicy(instance, manifest).persons
        let persons = configuration.persons.filter { names?.contains($0.name) ?? true }
        let zones = Set(persons.map { $0.zone ?? configuration.hub.zone })
        zone = zones.count == 1 ? zones.first.flatMap(\.self) : nil
        reach = ConfinementRules(
            instance.confinement, manifest, instance, checked.isolation ?? Isolation(launcher: "", line: ""),
            hidden: [checked.file, configuration.hub.data])
    }

    /// The settings as in WELCOME, with defaults filled in and secrets in plain text.
    package var settings: RawJSON { InstancePolicy(instance, manifest).settings }
    /// The settings that must not be shown.
    package var secrets: [String] { instance.secrets }

    /// Runs it with `--run` until it ends or `end` is requested.
    ///
    /// - Parameters:
    ///   - stop: the time from the end of its stdin to SIGTERM.
    ///   - started: called with its process id.
    package func run(
        in place: Place, stop: Duration, end: ProcessEnd, started: @escaping @Sendable (Int) -> Void
    ) async -> ProcessEnding {
        reach.makePlaces()
        let own = ConfinementRules.Own(
            state: place.state, temporary: place.temporary,
            sockets: [place.door, place.feed].map { String($0.trimmingPrefix("ipc://")) })
        let command = reach.command(executable, ["--run"], own)
        let quiet = Logger(label: "plugin") { _ in SwiftLogNoOpLogHandler() }
        let process = PluginProcess(
            instance: instance.name, program: command.program, arguments: command.words,
            environment: PluginEnvironment.of(
                temporary: place.temporary,
                [
                    "HUB_DOOR": place.door, "HUB_FEED": place.feed, "HUB_INSTANCE": instance.name,
                    "HUB_STATE": place.state,
                ]),
            isConfined: reach.launcher != nil,
            hint: ConfinementHint(executable: executable, reach: reach, own: own, instance: instance.name),
            token: place.token,
            secrets: InstanceSecrets([]),
            log: PluginLog(path: place.log, logger: quiet), logger: quiet)
        return await process.run(
            PluginProcess.Patience(stop: stop, kill: .seconds(1)), started: { pid, _ in started(pid) }, end: end)
    }

    /// Runs it with these arguments and without a log-in, as for `--describe`.
    ///
    /// - Returns: its output on stdout; or how it failed, in words with its exit code.
    package func ask(_ arguments: [String], input: String = "") async -> Result<String, HubError> {
        let question = PluginQuestion(
            path: executable, arguments: arguments, reach: reach, input: input, patience: .seconds(10))
        return await question.ask { .success(String(decoding: $0, as: UTF8.self)) }
    }

    /// Lets it log in or connect for real (`--check`), with the same rights as in a hub, but without a hub.
    ///
    /// - Parameter folder: an empty folder for this check alone; its settings are written there, mode 0600.
    /// - Returns: its report; or the problem, without its secrets.
    package func check(in folder: String, patience: Duration) async -> Result<String, HubError> {
        let file = "\(folder)/settings.toml"
        let lines = instance.settings.sorted { $0.key < $1.key }.map { "\($0) = \($1.revealed().toml)\n" }
        do throws(FileError) {
            try PrivateFile.write(Array(lines.joined().utf8), to: file)
        } catch {
            return .failure(HubError(.unanswered, error.description))
        }
        let question = PluginQuestion(
            path: executable, arguments: ["--check", "--settings", file, "--state", folder], reach: reach,
            own: ConfinementRules.Own(state: folder, temporary: folder, sockets: []), zone: zone, patience: patience)
        let answer = await question.ask { .success(String(decoding: $0, as: UTF8.self)) }
        return answer.map(instance.withoutSecrets).mapError {
            HubError($0.code, instance.withoutSecrets($0.message))
        }
    }
}
