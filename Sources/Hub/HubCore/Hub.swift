import FoundationEssentials
import Glibc
import HubSettings
import HubStore
public import HubWire
public import Logging
import Platform
import Samples
public import ServiceLifecycle
import Synchronization
import ZeroMQ

/// A running hub: the store, the door and the feed, and the plugins it starts.
///
/// The parts start in the order of their dependencies and stop in reverse: plugins stop producing, the door answers accepted work, the store
/// closes.
public final class Hub: Service, Sendable {
    public let endpoints: HubEndpoints
    private let checked: CheckedConfiguration
    private let configuration: HubConfiguration
    private let logger: Logger
    private let ready = Latch()
    private let wasReady = Latch()
    private let told = Latch()
    private let policy: SessionPolicy
    private let lifePolicy: LifecyclePolicy
    private let reload: ConfigurationReload?
    private let keeper = Mutex<ConfigurationManager?>(nil)
    private let notifier: ServiceNotifier?
    private let setup: (any SetupService)?
    /// Ends the process if it cannot end in order at `memory_limit`.
    private let endAtOnce: (@Sendable () -> Void)?

    /// How long plugins and open answers get at the end.
    private static let stopDeadline = Duration.seconds(5)
    /// How often the free space is checked.
    private static let roomInterval = Duration.seconds(5)

    /// - Parameter reload: reads `hub.conf` again, for `hub apply` and SIGHUP; without it they are refused.
    /// - Throws: `configuration` if `hub.conf` has problems that concern more than single plugins.
    public convenience init(
        _ checked: CheckedConfiguration, reload: ConfigurationReload? = nil, logger: Logger
    ) throws(HubError) {
        var policy = SessionPolicy()
        if let most = checked.loaded.configuration?.hub.livePerSecond { policy.limits.livePerSecond = most }
        try self.init(
            checked, reload: reload, policy: policy,
            notifier: ServiceNotifier(environment: ProcessInfo.processInfo.environment),
            endAtOnce: { _exit(EX_TEMPFAIL) }, logger: logger)
    }

    /// A hub that waits for its `hub.conf`, takes no records, and lets its one instance give the command `setup`.
    ///
    /// - Parameter checked: an implied configuration with the page alone.
    package convenience init(
        waitingFor setup: any SetupService, _ checked: CheckedConfiguration, logger: Logger
    ) throws(HubError) {
        try self.init(
            checked, policy: SessionPolicy(),
            notifier: ServiceNotifier(environment: ProcessInfo.processInfo.environment), setup: setup, logger: logger)
    }

    /// - Parameters:
    ///   - notifier: the service manager that started this process.
    ///   - setup: the set-up, if there is no `hub.conf` yet.
    init(
        _ checked: CheckedConfiguration, reload: ConfigurationReload? = nil, policy: SessionPolicy,
        lifePolicy: LifecyclePolicy = LifecyclePolicy(), notifier: ServiceNotifier? = nil,
        endAtOnce: (@Sendable () -> Void)? = nil, setup: (any SetupService)? = nil, logger: Logger
    ) throws(HubError) {
        var policy = policy
        policy.recordsRefusal = setup?.refusalOfRecords
        (self.reload, self.endAtOnce, self.setup) = (reload, endAtOnce, setup)
        (self.lifePolicy, self.notifier) = (lifePolicy, notifier)
        guard let configuration = checked.loaded.configuration else {
            throw HubError(
                .configuration,
                "hub.conf cannot be used: \(checked.loaded.problems.first.map(String.init(describing:)) ?? "it is missing")"
            )
        }
        (self.checked, self.configuration, self.policy, self.logger) = (checked, configuration, policy, logger)
        endpoints = HubEndpoints(run: configuration.hub.run)
    }

    /// Returns once door and feed are bound and the plugins are being started; at once if the hub has ended.
    ///
    /// - Returns: whether the hub was ready; false if it ended before.
    @discardableResult
    public func waitUntilReady() async -> Bool {
        await ready.wait()
        return wasReady.isRaised
    }

    /// Reads `hub.conf` again and applies it, as `hub apply` does; the log has the result.
    ///
    /// - Returns: `nil` while the hub is starting, stopping or busy with another change.
    @discardableResult
    public func applyConfiguration() async -> ApplyReport? {
        guard let keeper = keeper.withLock({ $0 }) else { return nil }
        do {
            return try await keeper.apply(isDryRun: false)
        } catch {
            logger.error("hub.conf was not applied", metadata: ["reason": "\(error.reason)"])
            return nil
        }
    }

    /// Runs until graceful shutdown, a `stop` command, or a failure.
    public func run() async throws {
        defer { ready.raise() }
        // The reader of a pipe or socket, such as a plugin, may have ended; a write to it must fail instead of ending the hub.
        signal(SIGPIPE, SIG_IGN)
        ProcessDescriptors.raiseLimit()
        let directories = HubDirectories(configuration.hub)
        let lock = try directories.prepare { logger.notice("\($0)") }
        defer {
            directories.removeSockets()
            lock.release()
        }
        if let loss = HubFiles(configuration.hub).lostStore { throw HubError(.store, loss) }
        let clock = HubClock(configuration.hub.clock)
        // Both use one reading of the clock: the clock bounds the waits in the store.
        let waits = WaitClock(clock)
        let store: Store
        do throws(StoreError) {
            var upgrade = UpgradeNotes(notifier: notifier, logger: logger)
            store = try Store(path: directories.storePath, now: waits.now()) { upgrade.note($0) }
        } catch {
            throw HubError(.store, error.message)
        }
        let secrets = secrets(at: directories.secretsPath)
        do {
            try await run(store, secrets, clock, waits, directories)
        } catch {
            try? store.close()
            throw error
        }
        // Nothing is lost if that fails, because each change was made durable when it was made.
        try? secrets.get().close()
        do throws(StoreError) { try store.close() } catch { throw HubError(.store, error.message) }
        logger.notice("the hub has stopped", metadata: ["head": "\(store.head)"])
    }

    /// The control groups that limit the memory of plugins; `nil` if the hub has to count it.
    private func controlGroups() -> ControlGroups? {
        // The process must contain only a hub, because it moves to another group.
        guard endAtOnce != nil else { return nil }
        do throws(HubError) {
            let groups = try ControlGroups.take()
            logger.info("the kernel holds plugins to their memory_limit")
            return groups
        } catch {
            logger.info("the hub counts the memory of plugins", metadata: ["reason": "\(error)"])
            return nil
        }
    }

    /// If the tokens cannot be read, the hub still stores and publishes the records of other plugins.
    private func secrets(at path: String) -> Result<SecretStore, StoreError> {
        do throws(StoreError) {
            return .success(try SecretStore(path: path))
        } catch {
            logger.error("the tokens cannot be used", metadata: ["error": "\(error)"])
            return .failure(error)
        }
    }

    private func run(
        _ store: Store, _ secrets: Result<SecretStore, StoreError>, _ clock: HubClock, _ waits: WaitClock,
        _ directories: HubDirectories
    ) async throws {
        let parts = ConfiguredParts(
            store: store, clock: clock, waits: waits, directories: directories, endpoints: endpoints,
            policy: policy, began: .now, logger: logger, setup: setup)
        let facts = try await parts.facts(checked, configuration)
        let logs = try directories.logs()
        let committer = Committer(store: store, clock: clock)
        let (loop, context) = try startLoop()
        let sessionChanges = SessionChanges()
        let deviceMemory = DeviceMemory(data: HubFiles(configuration.hub).data, logger: logger)
        let door = await Door(
            facts: facts, store: store, secrets: secrets, committer: committer, loop: loop, context: context,
            plugins: PluginStates(
                facts.plugins.map(\.name), devices: deviceMemory, sessionChanges, lifePolicy: lifePolicy),
            logger: logger)
        do throws(ZeroMQError) {
            try await door.open(in: context) { [told] in told.raise() }
        } catch {
            await door.close()
            throw HubError(.endpoints, "\(error)")
        }
        let supervisor = Supervisor(
            endpoints: endpoints, door: door, sessionChanges: sessionChanges, logs: logs, policy: lifePolicy,
            runs: RunHistory(data: HubFiles(configuration.hub).data, clock: clock, logger: logger),
            groups: controlGroups(), began: facts.started, logger: logger)
        let programs = parts.programs(checked, configuration)
        let keeper = ConfigurationManager(
            checked, configuration, reload: reload, parts: parts, door: door, supervisor: supervisor, policy: lifePolicy
        )
        self.keeper.withLock { $0 = keeper }
        await door.commands.serve(supervisor, keeper)
        logger.notice(
            "the hub is ready",
            metadata: ["door": "\(endpoints.door)", "feed": "\(endpoints.feed)", "head": "\(store.head)"])
        wasReady.raise()
        ready.raise()
        notifier?.tell(("READY", "1"), ("STATUS", setup?.status ?? "ready"))

        let memory = await withTaskGroup(of: HubError?.self) { group in
            let leaving = Latch()
            group.addTask { [told, notifier, setup] in
                await withGracefulShutdownHandler {
                    await told.wait()
                } onGracefulShutdown: {
                    told.raise()
                }
                // After a set-up this process goes on with the new hub.conf.
                if setup == nil {
                    notifier?.tell(
                        ("STOPPING", "1"), ("STATUS", "stopping: plugins finish, accepted records are stored"))
                }
                await door.beginStopping(deadline: Hub.stopDeadline)
                leaving.raise()
                return nil
            }
            group.addTask {
                await supervisor.run(programs) {
                    await leaving.wait()
                } listener: { instance, news in
                    keeper.heard(news, of: instance)
                }
                await leaving.wait()  // Without plugins, or when all have ended, the hub goes on.
                committer.finish()
                return nil
            }
            group.addTask {
                await committer.run { outcome in await door.report(outcome) }
                return nil
            }
            group.addTask {
                await keeper.run(until: leaving)
                return nil
            }
            group.addTask {
                await StoreScrubber(store: store, clock: clock).run(until: leaving)
                return nil
            }
            group.addTask {
                await RollupMaintenance(store: store, committer: committer, clock: clock)
                    .run(until: leaving, for: door.commands)
                return nil
            }
            group.addTask {
                await door.commands.eraser.run(until: leaving)
                return nil
            }
            group.addTask {
                await door.commands.retainer.run(until: leaving, for: door.commands)
                return nil
            }
            group.addTask {
                await deviceMemory.run(until: leaving)
                return nil
            }
            let watch = ResourceWatch(keeper, door, committer, endAtOnce: endAtOnce, logger: logger)
            group.addTask { [told] in await watch.run(until: leaving) { told.raise() } }
            group.addTask {
                var backups = BackupWatch(of: directories.storePath)
                while !leaving.isRaised {
                    backups.look()
                    await door.storeHealth.look(
                        at: StoreSpace(store: directories.storePath), newest: backups.newest)
                    await leaving.wait(upTo: Hub.roomInterval)
                }
                return nil
            }
            if let notifier {
                group.addTask { [setup] in
                    await WatchdogSignal(notifier: notifier).run(until: leaving) {
                        await committer.turn()
                        let status = await door.storeHealth.serviceStatus()
                        return setup?.status ?? status
                    }
                    return nil
                }
            }
            return await group.reduce(nil) { $0 ?? $1 }
        }
        await door.deliveries.settleAll()
        await door.close()
        deviceMemory.write()
        context.shutdown()
        // Otherwise messages in flight would be lost with the process.
        context.finish(within: .seconds(1))
        if let memory { throw memory }
    }
}

// MARK: - Preparing

extension Hub {
    private func startLoop() throws(HubError) -> (PollLoop, Context) {
        do throws(ZeroMQError) {
            let context = try Context()
            return (try DoorActor.start(), context)
        } catch {
            throw HubError(.endpoints, "\(error)")
        }
    }
}
