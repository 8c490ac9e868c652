import HubWire

extension OwnCommands.Restart: CommandWork {
    func run(_ call: CommandCall, on hub: isolated Commands) async throws -> Result {
        guard let supervisor = hub.supervisor,
            let state = await supervisor.restart(instance, isDryRun: call.isDryRun)
        else { throw CommandFailure(cannotStart: instance, hub.facts.plugins) }
        let report = LifeReport(state: state)
        return Result(instance: instance, state: report.word, ended: report.hasProcess)
    }
}
