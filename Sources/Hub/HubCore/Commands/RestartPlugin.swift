import HubWire

extension OwnCommands.Restart: CommandWork {
    func run(_ call: OwnCommandCall, on hub: Commands) async throws -> Result {
        guard let supervisor = hub.supervisor,
            let state = await supervisor.restart(instance, isDryRun: call.isDryRun)
        else { throw OwnCommandFailure(cannotStart: instance, hub.facts.plugins) }
        let report = LifecycleReport(state: state)
        return Result(instance: instance, state: report.word, ended: report.hasProcess)
    }
}
