package import HubWire

/// Callbacks of the caller while a command runs; they are called every tenth of a second.
package struct CallCallbacks {
    /// Looks for an answer without waiting; `nil` while there is none.
    package typealias Answer = () throws -> RawJSON?

    package var progress: (CommandProgress) -> Void = { _ in }
    /// Whether the person wants to cancel the command.
    package var isCancelled: () -> Bool = { false }
    /// Shows a question, and returns a closure that looks for its answer.
    package var ask: (CommandQuestion) throws -> Answer = { question in
        throw Failure(.dialogue, "the command asks a question that cannot be answered here: \(question.prompt)")
    }

    package init() {}

    package static let pause = Duration.milliseconds(100)
    /// How often to check whether the hub is still there.
    package static let look = Duration.milliseconds(500)
}

extension DoorClient {
    /// Begins a command of the hub or of a plugin, and waits for its outcome.
    ///
    /// Never sends the command twice: a caller that repeats it must make sure that the first one was not carried out.
    /// - Returns: `done`, `failed` or `cancelled`.
    package func call(_ request: CommandRequest, _ watch: CallCallbacks = CallCallbacks()) throws
        -> CommandOutcome.Content
    {
        let heartbeat = try open().heartbeat
        var request = request
        let id = nextID()
        request.id = id
        try send(.command(request))
        var (heard, pinged, looked) = (ContinuousClock.now, ContinuousClock.now, ContinuousClock.now)
        var (isCancelled, answer): (Bool, CallCallbacks.Answer?) = (false, nil)
        do {
            while true {
                if !isCancelled, watch.isCancelled() {
                    isCancelled = true
                    answer = nil
                    try send(.command(CommandRequest(id: id, content: .cancel)))
                }
                if let given = try answer?() {
                    answer = nil
                    try send(.command(CommandRequest(id: id, content: .answer(given))))
                }
                guard let message = try receive(ref: id, within: CallCallbacks.pause) else {
                    let now = ContinuousClock.now
                    guard now - heard < .milliseconds(heartbeat.timeout) else {
                        throw UnresponsiveHub.failure(endpoint, .milliseconds(heartbeat.timeout))
                    }
                    // libzmq would silently wait for another hub.
                    if now - looked > CallCallbacks.look {
                        looked = now
                        if UnixSocket.presence(endpoint) == .absent {
                            throw Failure(
                                .noHub,
                                "the hub at \(endpoint) has ended before it answered; the command may have happened: look first"
                            )
                        }
                    }
                    if now - pinged > .milliseconds(heartbeat.interval) {
                        pinged = now
                        try send(.ping(.emptyObject))
                    }
                    continue
                }
                heard = .now
                switch message {
                case .progress(let step) where step.id == id: watch.progress(step)
                case .outcome(let outcome) where outcome.id == id:
                    guard case .ask(let question) = outcome.content else { return outcome.content }
                    if !isCancelled { answer = try watch.ask(question) }
                default: break
                }
            }
        } catch is SessionLost {
            throw Failure(
                .tryAgain,
                "the hub at \(endpoint) has forgotten this session; the command may have happened: look first")
        }
    }

    /// Runs one of the hub's own commands.
    /// - Returns: the result, also as the hub wrote it.
    package func run<Command: OwnCommand>(
        _ command: Command, isDryRun: Bool = false, progress: @escaping (CommandProgress) -> Void = { _ in }
    ) throws -> (result: Command.Result, json: RawJSON) {
        try run(Command.self, command.arguments, isDryRun: isDryRun, progress: progress)
    }

    /// Runs one of the hub's own commands with arguments that may not fit it: the hub says so.
    package func run<Command: OwnCommand>(
        _ type: Command.Type, _ arguments: RawJSON, isDryRun: Bool = false,
        progress: @escaping (CommandProgress) -> Void = { _ in }
    ) throws -> (result: Command.Result, json: RawJSON) {
        let name = Command.name
        var watch = CallCallbacks()
        watch.progress = progress
        let request = CommandRequest(id: 0, instance: "hub", command: name, arguments: arguments, isDryRun: isDryRun)
        switch try call(request, watch) {
        case .done(let json):
            do throws(UnreadableResult) { return (try Command.result(json), json ?? .emptyObject) } catch {
                throw Failure(.dialogue, error.description)
            }
        case .failed(let code, let reason): throw DoorClient.failure(name, code: code, reason)
        case .ask, .cancelled: throw Failure(.tryAgain, "\(name): cancelled by the hub")
        }
    }

    /// The exit code and message for an OUTCOME `failed`.
    package static func failure(_ name: String, code: String, _ reason: String) -> Failure {
        let exit: HubExit =
            switch code {
            case "command": .usage
            case "busy", "stopping", "store": .tryAgain
            case "unsupported": .dialogue
            case "internal": .fault
            default: .unhealthy
            }
        let (member, words) = commandWording(reason)
        return Failure(exit, "\(name): \(words)", member: member)
    }
}
