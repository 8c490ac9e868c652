import ArgumentParser
import Foundation
import HealthText
import HubClient
import HubSettings
import HubWire

/// The choice of a `hub.conf`, and the parts of it that a client needs.
struct ConfigurationOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The settings; $HUB_CONF, ./hub.conf, ~/.config/health-hub/hub.conf or /etc/health-hub/hub.conf if not given.",
            valueName: "file"))
    var config: String?

    /// The path of the file in use.
    ///
    /// - Throws: ``HubExit/noConfiguration`` with all places that were searched.
    func path(environment: [String: String] = ProcessInfo.processInfo.environment) throws(Failure) -> String {
        try ConfigurationFile.path(named: config, environment: environment)
    }

    /// The content of the file; plugins' own settings are checked only if `declarations` has their instance.
    func configuration(declarations: [String: [SettingDeclaration]] = [:]) throws(Failure) -> HubConfiguration {
        let loaded = try loaded(declarations: declarations)
        guard let configuration = loaded.configuration else { throw ConfigurationOptions.failure(loaded, try path()) }
        return configuration
    }

    /// How persons read values; if the file has errors, by the machine's defaults.
    func readingUnits() -> ReadingUnits {
        ReadingUnits(
            (try? configuration())?.persons ?? [],
            machine: DisplayPreferences.machineLocale(ProcessInfo.processInfo.environment), household: .current)
    }

    private func loaded(declarations: [String: [SettingDeclaration]] = [:]) throws(Failure) -> LoadedConfiguration {
        let path = try path()
        let loaded = HubConfiguration.load(
            text: try ConfigurationFile.text(path), file: path, environment: .process()
        ) { instance, _ in declarations[instance] }
        loaded.hub?.liveInZone()
        return loaded
    }

    private static func failure(_ loaded: LoadedConfiguration, _ path: String) -> Failure {
        // Without a hub, no program was asked for its manifest, so the file is not at fault for errors about executables.
        let errors = loaded.problems.filter { $0.severity == .error }
        let problem = errors.first { $0.key != "executable" } ?? errors.first
        return Failure(
            .badConfiguration, "\(problem?.description ?? "\(path): it has errors"); hub check lists everything")
    }

    /// The endpoints of the hub of this file.
    ///
    /// Errors outside `[hub]` do not matter: before correcting the file, a person wants to look at the hub too. Without a file, it is a hub that
    /// waits for one.
    func endpoints() throws(Failure) -> OwnerEndpoints {
        do throws(Failure) { return OwnerEndpoints(try hub()) } catch {
            guard error.exit == .noConfiguration, let waiting = FutureConfiguration.waiting(named: config) else {
                throw error
            }
            return waiting
        }
    }

    /// The connection to the hub of this file for a command of `hub`.
    func door(_ command: String, patience: Duration = .seconds(10)) throws -> DoorClient {
        try DoorClient(endpoint: try endpoints().door, command: command, patience: patience)
    }

    /// The content of `[hub]` in the file.
    func hub() throws(Failure) -> HubSection {
        let loaded = try loaded()
        guard let hub = loaded.hub else { throw ConfigurationOptions.failure(loaded, try path()) }
        return hub
    }
}

extension HubSection {
    /// Makes its zone that of this process, so that moments without a person are shown in the household's zone.
    func liveInZone() {
        guard let zone, zone != ProcessInfo.processInfo.environment["TZ"] else { return }
        setenv("TZ", zone, 1)
        NSTimeZone.resetSystemTimeZone()
    }
}

extension OwnerEndpoints {
    init(_ hub: HubSection) { self.init(run: hub.run) }
}
