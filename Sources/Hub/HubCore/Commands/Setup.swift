package import HubWire

/// Keeps the answers of a set-up while there is no `hub.conf`, and writes the file.
package protocol SetupService: Sendable {
    /// The path of the file.
    var file: String { get }

    /// - Throws: ``OwnCommandFailure`` with a reason for the asker.
    func carryOut(_ command: OwnCommands.Setup, isDryRun: Bool) async throws -> SetupState
}

extension SetupService {
    /// Why the hub takes no records.
    var refusalOfRecords: String { "\(missing), and the hub takes no records; keep them. \(remedy)" }

    /// Why the hub does not carry out a command.
    func refusal(of command: String) -> String { "\(command): \(missing). \(remedy)" }

    /// The line for the service manager.
    var status: String { "\(missing): \(remedy)" }

    private var missing: String { "there is no \(file) yet" }
    private var remedy: String { "hub web prints a link to set the hub up" }
}

extension OwnCommands.Setup: CommandWork {
    func run(_ call: OwnCommandCall, on hub: Commands) async throws -> SetupState {
        guard let setup = hub.facts.setup else {
            throw OwnCommandFailure(
                "configured", "there is a hub.conf: hub setup asks again, hub configure changes a setting")
        }
        guard call.scope != nil else {
            throw OwnCommandFailure(
                "forbidden", "only the page of the set-up answers; hub web prints a link to it, hub setup asks here")
        }
        return try await setup.carryOut(self, isDryRun: call.isDryRun)
    }

    /// The commands of a hub that waits for its `hub.conf`; the others would change records or a file that are not there.
    static let usable = ["setup", "stop", "restart", "release"]
}
