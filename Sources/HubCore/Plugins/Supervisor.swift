import HubWire
import Logging
import Synchronization

/// Starts the enabled plugins and ends them in order.
///
/// A plugin that ends stays ended, and `hub status` says how; the others do not notice.
actor Supervisor {
    /// A plugin that can be started.
    struct Program: Sendable {
        let instance: String
        let executable: String
        let stateDirectory: String
    }

    private let programs: [Program]
    private let endpoints: HubEndpoints
    private let bus: Bus
    /// From SIGTERM to SIGKILL: what STOP has promised.
    private let grace: Duration
    private let logger: Logger

    init(programs: [Program], endpoints: HubEndpoints, bus: Bus, grace: Duration, logger: Logger) {
        (self.programs, self.endpoints, self.bus, self.grace, self.logger) = (programs, endpoints, bus, grace, logger)
    }

    /// Runs all of them until each has ended by itself or `stop` ends and they were told to.
    func run(stop: @escaping @Sendable () async -> Void) async {
        await withTaskGroup(of: Void.self) { group in
            for program in programs {
                group.addTask { await self.run(program, stop: stop) }
            }
        }
    }

    private func run(_ program: Program, stop: @escaping @Sendable () async -> Void) async {
        let token = LaunchTokens.random()
        let feed = await bus.admit(program.instance, token: token)
        let process = PluginProcess(
            instance: program.instance, executable: program.executable, arguments: ["--run"],
            environment: [
                "HUB_DOOR": endpoints.pluginDoor, "HUB_FEED": feed, "HUB_INSTANCE": program.instance,
                "HUB_STATE": program.stateDirectory,
            ], token: token, logger: logger)
        var fault: String?
        do {
            let bus = bus
            let ending = try await process.run(
                grace: grace, started: { pid in await bus.processBegan(program.instance, pid: pid) }, stop: stop)
            fault = ending.fault
        } catch {
            fault = "could not be started: \(error)"
        }
        await bus.processEnded(program.instance, fault: fault)
        logger.log(
            level: fault == nil ? .info : .error, "plugin ended",
            metadata: ["plugin": "\(program.instance)", "how": "\(fault ?? "by itself")"])
    }
}

extension Bus {
    /// - Returns: the endpoint of the instance's feed.
    func admit(_ instance: String, token: String) -> String {
        tokens.admit(instance, token: token)
        return openFeed(of: instance)
    }

    func processBegan(_ instance: String, pid: Int) { processes[instance, default: ProcessState()].pid = pid }

    func processEnded(_ instance: String, fault: String?) {
        tokens.revoke(instance)
        closeFeed(of: instance)
        processes[instance, default: ProcessState()].pid = nil
        processes[instance]?.fault = fault
    }
}
