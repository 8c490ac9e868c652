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
        if let config {
            if let fault = ConfigurationOptions.fault(config) {
                throw Failure(.noConfiguration, "--config \(config): \(fault)")
            }
            return config
        }
        if let path = environment["HUB_CONF"], !path.isEmpty {
            if let fault = ConfigurationOptions.fault(path) {
                throw Failure(.noConfiguration, "HUB_CONF=\(path): \(fault)")
            }
            return path
        }
        let places = ConfigurationOptions.places(environment)
        guard let path = places.first(where: { ConfigurationOptions.fault($0) == nil }) else {
            throw Failure(
                .noConfiguration,
                "there is no hub.conf; looked for \(places.joined(separator: ", ")); name one with --config FILE, "
                    + "or see a hub work first with hub demo")
        }
        return path
    }

    static func places(_ environment: [String: String]) -> [String] {
        var folders: [String] = []
        if let folder = environment["XDG_CONFIG_HOME"], folder.hasPrefix("/") {
            folders.append(folder)
        } else if let home = environment["HOME"], !home.isEmpty {
            folders.append(home + "/.config")
        }
        return ["hub.conf"] + folders.map { $0 + "/health-hub/hub.conf" } + ["/etc/health-hub/hub.conf"]
    }

    /// Why there is nothing to read at `path`; nil if there is.
    private static func fault(_ path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0 else {
            return errno == ENOENT ? "there is no such file" : String(cString: strerror(errno))
        }
        return status.st_mode & S_IFMT == S_IFDIR ? "it is a folder" : nil
    }

    /// The text of the file.
    static func text(_ path: String) throws(Failure) -> String {
        let bytes: Data
        do {
            bytes = try SettingsEnvironment.process().readFile(path)
        } catch {
            throw Failure(.noConfiguration, "\(path): cannot be read: \(error)")
        }
        guard let text = String(data: bytes, encoding: .utf8) else {
            throw Failure(.noConfiguration, "\(path): cannot be read: it is not UTF-8 text")
        }
        return text
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
            machine: Reader.machineLocale(ProcessInfo.processInfo.environment))
    }

    private func loaded(declarations: [String: [SettingDeclaration]] = [:]) throws(Failure) -> LoadedConfiguration {
        let path = try path()
        return HubConfiguration.load(
            text: try ConfigurationOptions.text(path), file: path, environment: .process()
        ) { instance, _ in declarations[instance] }
    }

    private static func failure(_ loaded: LoadedConfiguration, _ path: String) -> Failure {
        let problem = loaded.problems.first { $0.severity == .error }
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

extension OwnerEndpoints {
    init(_ hub: HubSection) { self.init(run: hub.run) }
}
