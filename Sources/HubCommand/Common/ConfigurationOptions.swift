import ArgumentParser
import Foundation
import HealthText
import HubClient
import HubSettings

/// Which `hub.conf`, and what a client needs of it.
struct ConfigurationOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The settings; $HUB_CONF, ./hub.conf, ~/.config/health-hub/hub.conf or /etc/health-hub/hub.conf if not given.",
            valueName: "file"))
    var config: String?

    /// The path of the file that counts.
    /// - Throws: ``HubExit/noConfiguration``, with all places that were looked at.
    func path(environment: [String: String] = ProcessInfo.processInfo.environment) throws(Failure) -> String {
        try ConfigurationFile.path(named: config, environment: environment)
    }

    /// What the file says, plugins' own settings unchecked unless `declarations` has their instance.
    func configuration(
        declarations: [String: [SettingDeclaration]] = [:]
    ) throws(Failure) -> HubConfiguration {
        let loaded = try loaded(declarations: declarations)
        guard let configuration = loaded.configuration else { throw ConfigurationOptions.failure(loaded, try path()) }
        return configuration
    }

    /// How persons read values; a file with errors says nothing of it.
    func readingUnits() -> ReadingUnits {
        ReadingUnits(
            (try? configuration())?.persons ?? [],
            machine: Reader.machineLocale(ProcessInfo.processInfo.environment), household: .current)
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
        // Without a hub no program was asked to describe itself; the file is not at fault.
        let errors = loaded.problems.filter { $0.severity == .error }
        let problem = errors.first { $0.key != "executable" } ?? errors.first
        return Failure(
            .badConfiguration, "\(problem?.description ?? "\(path): it has errors"); hub check lists everything")
    }

    /// Where the hub of this file listens.
    ///
    /// Of a file with errors it is enough that `[hub]` has none: a person who is about to correct it wants to look at the hub too.
    func endpoints() throws(Failure) -> OwnerEndpoints { OwnerEndpoints(try hub()) }

    /// What `[hub]` of the file says.
    func hub() throws(Failure) -> HubSection {
        let loaded = try loaded()
        guard let hub = loaded.hub else { throw ConfigurationOptions.failure(loaded, try path()) }
        return hub
    }
}

extension HubSection {
    /// Makes its zone the one of this process: whatever has no person is then by the clocks of the household.
    func liveInZone() {
        guard let zone, zone != ProcessInfo.processInfo.environment["TZ"] else { return }
        setenv("TZ", zone, 1)
        NSTimeZone.resetSystemTimeZone()
    }
}

extension OwnerEndpoints {
    init(_ hub: HubSection) { self.init(run: hub.run) }
}
