import HubClient
import HubCore
import HubSettings
import Logging
import ServiceLifecycle

/// A hub in this process.
struct RunningHub {
    let hub: Hub
    private let group: ServiceGroup

    /// A hub that waits for its `hub.conf`.
    ///
    /// - Throws: as ``init(_:_:reload:level:)``.
    init(
        waitingFor setup: any SetupService, _ checked: CheckedConfiguration, _ configuration: HubConfiguration
    ) throws {
        try self.init(configuration) { logger throws(HubError) in
            try Hub(waitingFor: setup, checked, logger: logger)
        }
    }

    /// - Throws: ``HubExit/tryAgain`` if another hub answers at the same addresses.
    init(
        _ checked: CheckedConfiguration, _ configuration: HubConfiguration, reload: ConfigurationReload? = nil,
        level: Logger.Level? = nil
    ) throws {
        try self.init(configuration, level) { logger throws(HubError) in
            try Hub(checked, reload: reload, logger: logger)
        }
    }

    private init(
        _ configuration: HubConfiguration, _ level: Logger.Level? = nil, _ make: (Logger) throws(HubError) -> Hub
    ) throws {
        let door = OwnerEndpoints(configuration.hub).door
        if UnixSocket.presence(door) == .listening {
            throw Failure(.tryAgain, "a hub runs already at \(door); see hub status")
        }
        var logger = Logger(label: "hub") { TerminalLogHandler(label: $0) }
        logger.logLevel = level ?? Logger.Level(rawValue: configuration.hub.logLevel.rawValue) ?? .info
        do { hub = try make(logger) } catch { throw RunningHub.failure(error) }
        var quiet = logger
        quiet.logLevel = max(logger.logLevel, .error)
        let service = ServiceGroupConfiguration.ServiceConfiguration(
            service: hub, successTerminationBehavior: .gracefullyShutdownGroup)
        group = ServiceGroup(configuration: ServiceGroupConfiguration(services: [service], logger: quiet))
    }

    /// Runs the hub until `end` returns, or until the hub ends on its own, which releases `interruption`.
    ///
    /// - Parameters:
    ///   - ready: called when the door is open.
    ///   - end: returns when the hub should stop; it must return soon after `interruption`.
    func run(
        _ interruption: Interruption, ready: @escaping @Sendable () async -> Void,
        end: @escaping @Sendable () async -> Void
    ) async throws {
        do {
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                tasks.addTask {
                    defer { interruption.release() }
                    try await group.run()
                }
                tasks.addTask { if await hub.waitUntilReady(), !interruption.isOver { await ready() } }
                tasks.addTask {
                    await end()
                    await group.triggerGracefulShutdown()
                }
                try await tasks.waitForAll()
            }
        } catch let error as HubError { throw RunningHub.failure(error) }
    }

    private static func failure(_ error: HubError) -> Failure {
        switch error.code {
        case .configuration: Failure(.badConfiguration, error.message)
        case .memory: Failure(.tryAgain, error.message)
        default: Failure(.system, error.message)
        }
    }
}
