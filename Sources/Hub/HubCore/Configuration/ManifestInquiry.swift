import HubSettings
package import HubWire

/// Asks a program for its manifest before any `hub.conf` names it, confined as by the hub: for packing and installing plugins.
package struct ManifestInquiry: Sendable {
    private let isolation: Isolation
    private let hidden: [String]

    /// - Parameters:
    ///   - programPath: the path of this process's program; `hub-confine` is in the same folder.
    ///   - hidden: folders of the hub that the program does not see; of its data folder the program sees only the installed programs.
    package init(programPath: String, hidden: [String]) async {
        isolation = await Isolation.look(programPath: programPath)
        self.hidden = hidden
    }

    /// - Throws: the reason for the missing answer, as it follows the program and a colon.
    package func manifest(of path: String) async throws(HubError) -> Manifest {
        if let fault = isolation.fault { throw HubError(.configuration, fault) }
        let reach = ConfinementRules(.init(), nil, nil, isolation, hidden: hidden)
        switch await PluginQuestion.manifest(of: path, reach, patience: .seconds(10)) {
        case .success(let manifest): return manifest
        case .failure(let failure): throw HubError(.configuration, "\(path) --describe: \(failure.message)")
        }
    }
}
