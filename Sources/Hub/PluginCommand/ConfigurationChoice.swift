import ArgumentParser
import Foundation
import HubClient
import HubCore
import HubSettings
import HubWire

/// The choice of a `hub.conf`.
struct ConfigurationChoice: ParsableArguments {
    @Option(help: ArgumentHelp("The hub's settings; as for every command of hub if not given.", valueName: "file"))
    var config: String?

    func path() throws(Failure) -> String {
        let path = try ConfigurationFile.path(named: config)
        return URL(filePath: path).standardizedFileURL.path
    }

    /// The paths of the hub's data, from `[hub]` as far as it has no errors.
    func files() throws(Failure) -> HubFiles {
        let path = try path()
        let loaded = HubConfiguration.load(
            text: try ConfigurationFile.text(path), file: path, environment: .process()
        ) { _, _ in nil }
        guard let hub = loaded.hub else {
            let problem = loaded.problems.first { $0.severity == .error }?.description
            throw Failure(.badConfiguration, problem ?? "\(path): [hub] has errors; hub check lists them")
        }
        return HubFiles(hub)
    }
}
