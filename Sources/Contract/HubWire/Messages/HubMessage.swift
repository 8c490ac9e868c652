/// A message from the hub to a client.
///
/// Indirect, because some messages are large and all are passed on several times.
public indirect enum HubMessage: Hashable, Sendable {
    case welcome(Welcome)
    case stored(Stored)
    case want(WantAnswer)
    case deliver(Delivery)
    case result(QueryResult)
    case command(CommandRequest)
    case progress(CommandProgress)
    case outcome(CommandOutcome)
    case token(TokenAnswer)
    /// The whole body; PONG returns it.
    case ping(RawJSON)
    case pong(RawJSON)
    case stop(Stop)
    case bye(Bye)
    case error(WireError)

    public var verb: Verb {
        switch self {
        case .welcome: .welcome
        case .stored: .stored
        case .want: .want
        case .deliver: .deliver
        case .result: .result
        case .command: .command
        case .progress: .progress
        case .outcome: .outcome
        case .token: .token
        case .ping: .ping
        case .pong: .pong
        case .stop: .stop
        case .bye: .bye
        case .error: .error
        }
    }

    /// The body frame: compact JSON.
    public var body: [UInt8] {
        switch self {
        case .welcome(let welcome): welcome.encoded()
        case .stored(let stored): stored.encoded()
        case .want(let answer): answer.encoded()
        case .deliver(let delivery): delivery.encoded()
        case .result(let result): result.encoded()
        case .command(let command): command.encoded()
        case .progress(let progress): progress.encoded()
        case .outcome(let outcome): outcome.encoded()
        case .token(let answer): answer.encoded()
        case .ping(let body), .pong(let body): body.bytes
        case .stop(let stop): stop.encoded()
        case .bye(let bye): bye.encoded()
        case .error(let error): error.encoded()
        }
    }

    /// Reads a message; frames after the second are ignored, because no verb of version 1 has them.
    ///
    /// - Throws: `frames`, `verb`, `json` or `field`: the hub's mistake, for the client's log.
    public static func decode(
        verb: UnsafeRawBufferPointer, body: UnsafeRawBufferPointer, frameCount: Int = 2
    ) throws(WireError) -> HubMessage {
        guard frameCount >= 2 else {
            throw WireError(.frames, "expected two frames, verb and body, found \(frameCount)")
        }
        guard let known = Verb(verb) else { throw WireError(.verb, "\(printable(verb)): no verb of this protocol") }
        let path = known.rawValue
        switch known {
        case .welcome: return .welcome(try .decoded(body, path: path))
        case .stored: return .stored(try .decoded(body, path: path))
        case .want: return .want(try .decoded(body, path: path))
        case .deliver: return .deliver(try .decoded(body, path: path))
        case .result: return .result(try .decoded(body, path: path))
        case .command: return .command(try .decoded(body, path: path))
        case .progress: return .progress(try .decoded(body, path: path))
        case .outcome: return .outcome(try .decoded(body, path: path))
        case .token: return .token(try .decoded(body, path: path))
        case .ping: return .ping(try rawObject(body, path))
        case .pong: return .pong(try rawObject(body, path))
        case .stop: return .stop(try .decoded(body, path: path))
        case .bye: return .bye(try .decoded(body, path: path))
        case .error: return .error(try .decoded(body, path: path))
        case .hello, .samples, .live, .event, .done, .query, .tokenPut:
            throw WireError(.verb, "\(path): only a client sends it")
        }
    }
}
