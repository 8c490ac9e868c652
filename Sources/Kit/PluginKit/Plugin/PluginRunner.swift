package import HubWire
package import Logging
package import ZeroMQ

/// Runs one plugin process: opens the state, talks to the hub, runs the author's code, and stops within a deadline.
package struct PluginRunner<P: Plugin>: Sendable {
    package var plugin: P
    package var mode: Hello.Mode
    package var address: HubAddress
    package var instance: String
    package var stateDirectory: String
    /// Settings from a file; if `nil`, the settings of WELCOME apply.
    package var settings: PluginSettings?
    package var logger: Logger
    package var context: Context
    package var limits = PluginState.Limits()
    /// How long the plugin may take to stop, unless STOP says otherwise.
    package var stopLimit = Duration.seconds(5)
    /// How long `once` waits for the hub to acknowledge the records in the spool.
    package var drainLimit = Duration.seconds(60)

    package init(
        _ plugin: P, mode: Hello.Mode, address: HubAddress, instance: String, stateDirectory: String,
        settings: PluginSettings?, logger: Logger, context: Context
    ) {
        (self.plugin, self.mode, self.address, self.instance) = (plugin, mode, address, instance)
        (self.stateDirectory, self.settings, self.logger, self.context) = (stateDirectory, settings, logger, context)
    }

    /// Runs the plugin to its end.
    ///
    /// It returns when the work is done, when `requests` asks for a stop, when the hub sends STOP, or when the hub rejects the plugin. After
    /// ``PluginExit/unfinished`` the author's code may still be running: end the process.
    package func run(requests: AsyncStream<StopRequest>) async -> PluginExit {
        let state: PluginState
        let kept: [TypeDeclaration]
        do {
            state = try PluginState(directory: stateDirectory, limits: limits)
            kept = try await KeptDeclarations.read(state)
        } catch {
            logger.critical("the state directory cannot be used", metadata: ["state.error": "\(error)"])
            return .state
        }
        defer { closeState(state) }
        var runner = SessionRunner(hello: hello, address: address, logger: logger, context: context)
        (runner.stopLimit, runner.drainLimit) = (stopLimit, drainLimit)
        return await runner.run(state: state, declaring: kept, requests: requests) { try await work($0, state) }
    }

    package var hello: Hello {
        let manifest = P.manifest
        return Hello(
            protocols: manifest.protocols, instance: instance, plugin: manifest.name, version: manifest.version,
            mode: mode, reads: manifest.reads, writes: manifest.writes, declares: manifest.declares)
    }

    private func closeState(_ state: PluginState) {
        do {
            try state.close()
        } catch {
            logger.error("the state could not be closed", metadata: ["state.error": "\(error)"])
        }
    }

    /// Runs the author's code.
    private func work(_ link: HubLink, _ state: PluginState) async throws {
        let settings: PluginSettings
        if let given = self.settings {
            settings = given
        } else {
            guard let welcome = await link.welcome() else { return }  // Refused; the signal has the reason.
            settings = try PluginSettings(welcome: welcome.settings, for: P.manifest)
        }
        let context = PluginContext(
            kind: P.manifest.name, settings: settings, state: state, logger: logger, link: link)
        if context.isStopping { return }
        do {
            try await runPlugin(context, link)
            // A person may have started the plugin for a command (R13.70).
            await link.untilCommandsEnd()
        } catch {
            await context.renewals.untilNone()
            throw error
        }
        await context.renewals.untilNone()
    }

    private func runPlugin(_ context: PluginContext, _ link: HubLink) async throws {
        await serveCommands(context)
        guard let sink = plugin as? any SinkPlugin else { return try await ownWork(context) }
        try await withThrowingTaskGroup { group in
            group.addTask { try await serve(sink, context) }
            group.addTask { [mode] in
                try await ownWork(context)
                if mode != .once { await link.finishDeliveries(within: stopLimit / 2) }
            }
            do {
                // `waitForAll` would wait for the other task before it throws.
                while try await group.next() != nil {}
            } catch {
                await link.finishDeliveries(within: stopLimit / 2)
                throw error
            }
        }
    }

    /// Runs the plugin's `once` or `run`.
    private func ownWork(_ context: PluginContext) async throws {
        if mode == .once { try await plugin.once(context) } else { try await plugin.run(context) }
    }

    /// Passes deliveries of the hub to the sink.
    private func serve(_ sink: any SinkPlugin, _ context: PluginContext) async throws {
        let handler = DeliveryHandler(sink, context)
        try await context.link.serve(
            { try await handler.requests(P.manifest) }, width: P.manifest.sink?.deliveriesAtOnce ?? 1,
            untilCaughtUp: mode == .once, handler.deliver)
    }
}
