package import HubWire
package import Logging
import Synchronization
package import ZeroMQ

/// The reason why a plugin has to stop.
package enum StopRequest: Sendable {
    /// SIGTERM or SIGINT.
    case asked
    /// Stdin has ended: the hub is gone.
    case hubGone
}

/// Receives the result of a record of the spool before the record leaves it; called on the poll loop.
package typealias SpoolReport = @Sendable (SpooledRecord, RecordResult) -> Void

/// Runs one process with a session: the dialogue, the work, and an end within a deadline.
package struct SessionRunner: Sendable {
    private enum Event: Sendable {
        case worked(Result<Void, any Error>)
        case requested(StopRequest)
        case signalled(HubLink.Signal)
        case overdue
        case closed
    }

    package var hello: Hello
    package var address: HubAddress
    package var logger: Logger
    /// The name of this program in the log.
    package var role = "plugin"
    package var context: Context
    package var policy = ClientPolicy(helloRepeat: 500, longestHelloRepeat: 2_000)
    /// Receives the result of each record of the spool, once or, after a crash, again.
    package var report: SpoolReport?
    /// How long the work may take to stop, unless STOP says otherwise.
    package var stopLimit = Duration.seconds(5)
    /// How long the runner waits at the end for the hub to acknowledge the records in the spool.
    package var drainLimit = Duration.seconds(60)

    package init(hello: Hello, address: HubAddress, logger: Logger, context: Context) {
        (self.hello, self.address, self.logger, self.context) = (hello, address, logger, context)
    }

    /// Runs the session until the work is done, `requests` or the hub asks to stop, or the hub refuses this program.
    ///
    /// After ``PluginExit/unfinished`` the work may still be running: end the process.
    /// - Parameters:
    ///   - state: the state that holds the spool; `nil` for no spool.
    ///   - declaring: types to declare in addition to those of HELLO.
    ///   - work: the work of the session; its task is cancelled to stop it.
    package func run(
        state: PluginState?, declaring: [TypeDeclaration] = [], requests: AsyncStream<StopRequest>,
        _ work: @escaping @Sendable (HubLink) async throws -> Void
    ) async -> PluginExit {
        let (loop, link): (PollLoop, HubLink)
        do {
            loop = try PollLoop(name: "hub-link")
            try loop.start()
            link = HubLink(
                hello: hello, address: address, state: state, logger: logger, loop: loop, context: context,
                policy: policy, declaring: declaring, report: report)
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
        return await lead(link, requests, work)
    }

    private func lead(
        _ link: HubLink, _ requests: AsyncStream<StopRequest>,
        _ body: @escaping @Sendable (HubLink) async throws -> Void
    ) async -> PluginExit {
        let (happenings, tell) = AsyncStream<Event>.makeStream()
        var tasks = [
            Task { for await request in requests { tell.yield(.requested(request)) } },
            Task { for await signal in link.signals { tell.yield(.signalled(signal)) } },
        ]
        let work = Task {
            do {
                try await body(link)
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
                await reportFailure(link, ending)
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
            case .overdue where ending.hasWorked: break  // Only the hub's answer is missing; the spool has it all.
            case .overdue:
                ending.exit = .unfinished
                logger.critical("the \(role) did not stop in time and is cut off")
            case .closed:
                if ending.exit == .done, await !link.spool.isEmpty, !ending.isStopping { ending.exit = .unfinished }
                if ending.exit == .done, hello.mode == .once, await link.sink.hasUndelivered {
                    ending.exit = .unfinished
                }
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
            await link.finishDeliveries(within: limit / 2)
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

    private func note(_ result: Result<Void, any Error>, _ ending: inout Ending) {
        guard case .failure(let error) = result else { return }
        if ending.isStopping {
            if error is CancellationError || (error as? GiveError)?.code == .stopping { return }
            if (error as? AskError)?.code == .stopping { return }
        }
        logger.critical("the \(role) failed", metadata: ["plugin.error": "\(error)"])
        ending.exit = (error as? PluginFailure)?.exit ?? .failed
        ending.failure = "\(error)"
    }

    /// Sends the failure as an event, because the hub shows the last error of a plugin.
    private func reportFailure(_ link: HubLink, _ ending: Ending) async {
        guard let failure = ending.failure,
            let event = try? DeviceEvent("failed", severity: .error, text: failure)
        else { return }
        await link.sendIfReady(.event(event))
    }
}

/// The planned end of a run.
private struct Ending {
    var exit = PluginExit.done
    var failure: String?
    var limit: Duration
    /// Whether to empty the spool before BYE.
    var drains = true
    var isStopping = false
    var isCancelled = false
    /// Whether the work has returned.
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
