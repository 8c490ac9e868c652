package import HubWire
package import Logging
import PluginState
import Synchronization
package import ZeroMQ

/// Why a plugin is to stop.
package enum StopRequest: Sendable {
    /// SIGTERM or SIGINT.
    case asked
    /// Stdin has ended: the hub is gone.
    case hubGone
}

/// The life of one plugin process: state, dialogue, the author's work, and an end within a deadline.
package struct PluginRunner<P: Plugin>: Sendable {
    private enum Event: Sendable {
        case worked(Result<Void, any Error>)
        case requested(StopRequest)
        case signalled(HubLink.Signal)
        case overdue
        case closed
    }

    package var plugin: P
    package var mode: Hello.Mode
    package var address: HubAddress
    package var instance: String
    package var stateDirectory: String
    /// From a file; nil: those of WELCOME.
    package var settings: PluginSettings?
    package var logger: Logger
    package var context: Context
    package var limits = PluginState.Limits()
    /// How long the plugin may take to stop, unless STOP says otherwise.
    package var stopLimit = Duration.seconds(5)
    /// How long `once` waits for the hub to take what is in the spool.
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
    /// Ends by itself when the work is done, when `requests` says so, when the hub says STOP or refuses the plugin. On
    /// ``PluginExit/unfinished`` the author's work may still go on: end the process.
    package func run(requests: AsyncStream<StopRequest>) async -> PluginExit {
        let state: PluginState
        let kept: [TypeDeclaration]
        let (loop, link): (PollLoop, HubLink)
        do {
            state = try PluginState(directory: stateDirectory, limits: limits)
            kept = try await KeptDeclarations.read(state)
        } catch {
            logger.critical("the state directory cannot be used", metadata: ["state.error": "\(error)"])
            return .state
        }
        defer { closeState(state) }
        do {
            loop = try PollLoop(name: "hub-link")
            try loop.start()
            link = HubLink(
                hello: hello, address: address, state: state, logger: logger, loop: loop, context: context,
                declaring: kept)
        } catch {
            logger.critical("the connection to the hub cannot be set up", metadata: ["zeromq.error": "\(error)"])
            return .failed
        }
        defer { loop.stop() }
        do {
            try await link.open()
        } catch {
            logger.critical("the address of the hub cannot be used", metadata: ["zeromq.error": "\(error)"])
            await link.close(draining: false, within: .zero)
            return .usage
        }
        return await lead(link, state, requests)
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

    private func lead(_ link: HubLink, _ state: PluginState, _ requests: AsyncStream<StopRequest>) async -> PluginExit {
        let (happenings, tell) = AsyncStream<Event>.makeStream()
        var tasks = [
            Task { for await request in requests { tell.yield(.requested(request)) } },
            Task { for await signal in link.signals { tell.yield(.signalled(signal)) } },
        ]
        let work = Task {
            do {
                try await self.work(link, state)
                tell.yield(.worked(.success(())))
            } catch {
                tell.yield(.worked(.failure(error)))
            }
        }
        var ending = Ending(stopLimit)
        for await happening in happenings {
            switch happening {
            case .worked(let result):
                if let end = await link.end { ending.request(end) }
                ending.hasWorked = true
                note(result, &ending)
                await tellFailure(link, ending)
                let (drains, isStopping) = (ending.drains, ending.isStopping)
                let limit = isStopping ? ending.limit / 2 : drainLimit
                tasks.append(
                    Task {
                        await link.close(draining: drains, waitsForHub: !isStopping, within: limit)
                        tell.yield(.closed)
                    })
                continue
            case .requested(let request):
                ending.request(request)
                if case .hubGone = request { await link.abandon() }
            case .signalled(.stop(let stop)): ending.request(stop)
            case .signalled(.ended(let end)): ending.request(end)
            case .signalled(.opened): continue
            case .overdue where ending.hasWorked: break  // Only the hub did not answer, and the spool has it all.
            case .overdue:
                ending.exit = .unfinished
                logger.critical("the plugin did not stop in time and is cut off")
            case .closed:
                if ending.exit == .done, await !link.spool.isEmpty, !ending.isStopping { ending.exit = .unfinished }
                if ending.exit == .done, mode == .once, await link.sink.hasUndelivered { ending.exit = .unfinished }
            }
            if case .closed = happening { break }
            if case .overdue = happening {
                await link.close(draining: false, within: .zero)
                break
            }
            guard !ending.isCancelled else { continue }
            ending.isCancelled = true
            link.hasStopRequest.withLock { $0 = true }
            let limit = ending.limit
            await link.prepareStop()
            await link.sink.finish(within: limit / 2)
            work.cancel()
            tasks.append(
                Task {
                    guard (try? await Task.sleep(for: limit)) != nil else { return }
                    tell.yield(.overdue)
                })
        }
        for task in tasks { task.cancel() }
        return ending.exit
    }

    /// The author's part.
    private func work(_ link: HubLink, _ state: PluginState) async throws {
        let settings: PluginSettings
        if let given = self.settings {
            settings = given
        } else {
            guard let welcome = await link.welcome() else { return }  // Refused: the signal says why.
            settings = try PluginSettings(welcome.settings)
        }
        let context = PluginContext(
            kind: P.manifest.name, settings: settings, state: state, logger: logger, link: link)
        if context.isStopping { return }
        do {
            try await authorsPart(context, link)
        } catch {
            await context.renewals.untilNone()
            throw error
        }
        await context.renewals.untilNone()
    }

    private func authorsPart(_ context: PluginContext, _ link: HubLink) async throws {
        await serveCommands(context, on: link.commands)
        guard let sink = plugin as? any SinkPlugin else { return try await ownWork(context) }
        try await withThrowingTaskGroup { group in
            group.addTask { try await serve(sink, context) }
            group.addTask { [mode] in
                try await ownWork(context)
                if mode != .once { await link.sink.finish(within: stopLimit / 2) }
            }
            do {
                // Not `waitForAll`, which would wait for the other part before it throws.
                while try await group.next() != nil {}
            } catch {
                await link.sink.finish(within: stopLimit / 2)
                throw error
            }
        }
    }

    /// What a source does by itself.
    private func ownWork(_ context: PluginContext) async throws {
        if mode == .once { try await plugin.once(context) } else { try await plugin.run(context) }
    }

    /// Takes what the hub delivers.
    private func serve(_ sink: any SinkPlugin, _ context: PluginContext) async throws {
        let wants = try await sink.wants(context)
        // A source that is a sink where its settings say so.
        if wants.isEmpty, sink is any SourcePlugin { return }
        let handler = DeliveryHandler(sink, wants, context)
        try await context.link.sink.serve(
            try handler.requests(P.manifest), width: P.manifest.sink?.deliveriesAtOnce ?? 1,
            untilCaughtUp: mode == .once, handler.deliver)
    }

    private func note(_ result: Result<Void, any Error>, _ ending: inout Ending) {
        guard case .failure(let error) = result else { return }
        if ending.isStopping {
            if error is CancellationError || (error as? GiveError)?.code == .stopping { return }
            if (error as? AskError)?.code == .stopping { return }
        }
        logger.critical("the plugin failed", metadata: ["plugin.error": "\(error)"])
        ending.exit = (error as? PluginFailure)?.exit ?? .failed
        ending.failure = "\(error)"
    }

    /// The hub shows the last error of a plugin.
    private func tellFailure(_ link: HubLink, _ ending: Ending) async {
        guard let failure = ending.failure,
            let event = try? DeviceEvent("failed", severity: .error, text: failure)
        else { return }
        await link.sendIfReady(.event(event))
    }
}

/// How a run is going to end.
private struct Ending {
    var exit = PluginExit.done
    var failure: String?
    var limit: Duration
    /// Whether the hub should have what is in the spool before BYE.
    var drains = true
    var isStopping = false
    var isCancelled = false
    /// The author's part is over.
    var hasWorked = false

    init(_ limit: Duration) { self.limit = limit }

    mutating func request(_ request: StopRequest) {
        isStopping = true
        if case .hubGone = request { drains = false }
    }

    mutating func request(_ stop: Stop) {
        isStopping = true
        drains = false
        limit = min(limit, .milliseconds(stop.deadline))
    }

    mutating func request(_ end: ClientEnd) {
        isStopping = true
        drains = false
        if case .fatal = end { exit = .refused }
    }
}
