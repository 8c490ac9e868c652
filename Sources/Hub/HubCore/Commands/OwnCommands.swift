import HubWire

/// The table of the hub's own commands.
enum OwnCommands {
    static let all: [any OwnCommand.Type] = [
        ApplyConfiguration.self, Assign.self, ConfigurePlugin.self, Edit.self, Erase.self, ForgetSink.self, Log.self,
        LogOut.self, ReleasePlugin.self, ReloadKeys.self, ReplayToSink.self, RestartPlugin.self, Retain.self,
        Retract.self, StopHub.self,
    ]

    /// - Throws: ``CommandFailure``, which suggests the nearest name.
    static func named(_ name: String) throws(CommandFailure) -> any OwnCommand.Type {
        if let command = all.first(where: { $0.declaration.name == name }) { return command }
        throw CommandFailure(unknown: name, of: "the hub", known: all.map { $0.declaration.name })
    }
}

extension CommandFailure {
    /// A command that is not declared.
    init(unknown name: String, of whom: String, known: [String]) {
        let hint =
            nearestName(to: name, among: known).map { "did you mean \($0)?" }
            ?? (known.isEmpty ? "it has none" : "it has \(known.sorted().joined(separator: ", "))")
        self.init("command", "COMMAND.command: \(whom) has no command \"\(name.prefix(64))\"; \(hint)")
    }

    /// Arguments that do not fit their declarations; all problems in one sentence.
    init(problems: [String]) {
        self.init("command", "COMMAND.args: \(problems.joined(separator: "; "))")
    }

    /// A dry run of a command that does not support it.
    init(noDryRunOf name: String) {
        self.init(
            "command",
            "COMMAND.dryRun: \(name) has no dry run; send the command without dryRun, or not at all")
    }
}
