import HubWire

extension OwnCommands.Configure: CommandWork {
    func run(_ call: OwnCommandCall, on hub: Commands) async throws -> ConfigureReport {
        guard let keeper = hub.keeper else { throw OwnCommandFailure("busy", "the hub is starting or stopping") }
        let section = try ConfiguredSection(
            plugin: instance, person: person.map { hub.facts.persons.named($0)?.name ?? $0 }, isHub: self.hub ?? false)
        if section.plugin == nil, let scope = call.scope, scope.persons != nil {
            throw OwnCommandFailure(
                "forbidden",
                "\(scope.instance) serves only some persons (persons in its section) and cannot change settings of others; use \(section.command)"
            )
        }
        let edit = try ConfigurationEdit(
            section, enabled: enabled, set: set ?? [], unset: unset ?? [], asker: call.scope?.instance)
        return try await keeper.configure(edit, at: revision, isDryRun: call.isDryRun)
    }
}
