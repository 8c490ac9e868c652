import HubWire

extension OwnCommands.Release: CommandWork {
    func run(_ call: OwnCommandCall, on hub: Commands) async throws -> Result {
        guard let supervisor = hub.supervisor,
            let state = await supervisor.release(instance, isDryRun: call.isDryRun)
        else { throw OwnCommandFailure(cannotStart: instance, hub.facts.plugins) }
        let report = LifecycleReport(state: state)
        return Result(instance: instance, state: report.word, released: !report.hasProcess)
    }
}

extension OwnCommandFailure {
    /// The reason why the hub cannot start this instance, with a remedy.
    init(cannotStart instance: String, _ plugins: [PluginStatus]) {
        if plugins.contains(where: { $0.name == instance && !$0.enabled }) {
            self.init(disabled: instance, "plugin")
            return
        }
        let names = plugins.map(\.name).sorted()
        let reason =
            switch plugins.first(where: { $0.name == instance }) {
            case nil:
                "hub.conf has no [plugin.\(instance.prefix(64))]; "
                    + (nearestName(to: instance, among: names).map { "did you mean \($0)?" }
                        ?? (names.isEmpty ? "it has none" : "it has \(names.joined(separator: ", "))"))
            case let plugin? where plugin.remote == true:
                "\(instance) runs on another machine, or under another service manager (remote = true): start it there"
            case let plugin?: "\(instance) cannot be started: \(plugin.advice ?? "the hub is starting or stopping")"
            }
        self.init("plugin", reason)
    }
}
