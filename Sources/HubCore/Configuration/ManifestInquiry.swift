import HubSettings
package import HubWire

/// Asks a program what it is, confined as the hub does it, where no `hub.conf` names it yet: for those who pack and install plugins.
package struct ManifestInquiry: Sendable {
    private let isolation: Isolation
    private let hidden: [String]

    /// - Parameters:
    ///   - programPath: of this process, beside which `hub-confine` is.
    ///   - hidden: what of the hub's own it does not see; of its data folder it sees what is installed there alone.
    package init(programPath: String, hidden: [String]) async {
        isolation = await Isolation.look(programPath: programPath)
        self.hidden = hidden
    }

    /// - Throws: why there is no answer, as it follows the program and a colon.
    package func manifest(of path: String) async throws(HubError) -> Manifest {
        if let fault = isolation.fault { throw HubError(.configuration, fault) }
        let reach = ProgramReach(.init(), nil, nil, isolation, hidden: hidden)
        switch await PluginQuestion.manifest(of: path, reach, patience: .seconds(10)) {
        case .success(let manifest): return manifest
        case .failure(let failure): throw HubError(.configuration, "\(path) --describe: \(failure.reason)")
        }
    }
}
