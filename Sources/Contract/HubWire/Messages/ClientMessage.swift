/// A message from a client to the hub.
///
/// Indirect, because some messages are large and all are passed on several times.
public indirect enum ClientMessage: Hashable, Sendable {
    case hello(Hello)
    case samples(SamplesEnvelope)
    case live(LiveValue)
    case event(DeviceEvent)
    case want(WantRequest)
    case done(DeliveryReport)
    case query(QueryRequest)
    case command(CommandRequest)
    case progress(CommandProgress)
    case outcome(CommandOutcome)
    case token(TokenRequest)
    case tokenPut(TokenPut)
    /// The whole body; PONG returns it.
    case ping(RawJSON)
    case pong(RawJSON)
    case bye(Bye)

    public var verb: Verb {
        switch self {
        case .hello: .hello
        case .samples: .samples
        case .live: .live
        case .event: .event
        case .want: .want
        case .done: .done
        case .query: .query
        case .command: .command
        case .progress: .progress
        case .outcome: .outcome
        case .token: .token
        case .tokenPut: .tokenPut
        case .ping: .ping
        case .pong: .pong
        case .bye: .bye
        }
    }

    /// The body frame: compact JSON.
    public var body: [UInt8] {
        switch self {
        case .hello(let hello): hello.encoded()
        case .samples(let samples): samples.encoded()
        case .live(let live): live.body.bytes
        case .event(let event): event.body.bytes
        case .want(let want): want.encoded()
        case .done(let report): report.encoded()
        case .query(let query): query.encoded()
        case .command(let command): command.encoded()
        case .progress(let progress): progress.encoded()
        case .outcome(let outcome): outcome.encoded()
        case .token(let request): request.encoded()
        case .tokenPut(let put): put.encoded()
        case .ping(let body), .pong(let body): body.bytes
        case .bye(let bye): bye.encoded()
        }
    }

    /// Checks the frames of a message before its body is read, in the order of §3.
    ///
    /// - Parameters:
    ///   - verb: the first frame.
    ///   - frameCount: the number of frames from the verb on; payload frames are those after the second.
    ///   - serving: the verbs that this hub serves.
    /// - Throws: `frames` (R3.1), `verb` (R3.2) or `unsupported` (R3.8).
    public static func verb(
        _ verb: UnsafeRawBufferPointer, frameCount: Int, serving: Set<Verb> = Verb.fromClient
    ) throws(WireError) -> Verb {
        let known = Verb(verb)
        guard frameCount >= 2 else {
            throw WireError(.frames, "expected two frames, verb and body, found \(frameCount)")
        }
        guard let known, Verb.fromClient.contains(known) else {
            let verbs = Verb.allCases.filter(Verb.fromClient.contains).map(\.rawValue).joined(separator: ", ")
            throw WireError(.verb, "\(printable(verb)): no verb that a client sends; these are \(verbs)")
        }
        guard frameCount == 2 || known == .samples else {
            throw WireError(
                .frames, "\(known.rawValue): expected two frames, found \(frameCount); only SAMPLES has payload frames")
        }
        guard serving.contains(known) else {
            throw WireError(
                .unsupported,
                "\(known.rawValue): this hub does not support it; WELCOME.serves lists the supported verbs")
        }
        return known
    }

    /// Reads a body.
    ///
    /// - Throws: `json` (R3.3), `field` (R3.4), or an error that §8 and §4.2 define for the verb; with `ref` if the message had a number.
    public init(verb: Verb, body: UnsafeRawBufferPointer) throws(WireError) {
        let path = verb.rawValue
        switch verb {
        case .hello: self = .hello(try .decoded(body, path: path))
        case .samples: self = .samples(try .decoded(body, path: path))
        case .live: self = .live(try .decoded(body))
        case .event: self = .event(try .decoded(body))
        case .want: self = .want(try .decoded(body, path: path))
        case .done: self = .done(try .decoded(body, path: path))
        case .query: self = .query(try .decoded(body, path: path))
        case .command: self = .command(try .decoded(body, path: path))
        case .progress: self = .progress(try unreferenced { () throws(WireError) in try .decoded(body, path: path) })
        case .outcome: self = .outcome(try unreferenced { () throws(WireError) in try .decoded(body, path: path) })
        case .token: self = .token(try .decoded(body, path: path))
        case .tokenPut: self = .tokenPut(try .decoded(body, path: path))
        case .ping: self = .ping(try rawObject(body, path))
        case .pong: self = .pong(try rawObject(body, path))
        case .bye: self = .bye(try .decoded(body, path: path))
        case .welcome, .stored, .deliver, .result, .stop, .error:
            throw WireError(.verb, "\(path): only the hub sends it")
        }
    }

    /// Reads a whole message: ``verb(_:frameCount:serving:)``, then the body.
    public static func decode(
        verb: UnsafeRawBufferPointer, body: UnsafeRawBufferPointer, frameCount: Int = 2,
        serving: Set<Verb> = Verb.fromClient
    ) throws(WireError) -> ClientMessage {
        try ClientMessage(verb: Self.verb(verb, frameCount: frameCount, serving: serving), body: body)
    }
}

/// Reads a message whose id is the hub's number; removes `ref` from errors, because there it would name a batch or question of the client.
private func unreferenced<Value>(_ read: () throws(WireError) -> Value) throws(WireError) -> Value {
    do throws(WireError) {
        return try read()
    } catch {
        var error = error
        error.ref = nil
        throw error
    }
}

/// The whole body of a PING or PONG, which is returned unchanged.
func rawObject(_ body: UnsafeRawBufferPointer, _ path: String) throws(WireError) -> RawJSON {
    _ = try ObjectReader(body, path: path)
    return RawJSON(trusted: Array(body))
}

/// A verb frame in a form for error messages: printable ASCII, shortened.
package func printable(_ verb: UnsafeRawBufferPointer) -> String {
    let text = verb.prefix(24).map { (0x20...0x7E).contains($0) ? String(UnicodeScalar($0)) : "?" }.joined()
    return "\"\(text)\(verb.count > 24 ? "…" : "")\""
}
