package import HubWire
package import Samples
import ZeroMQ

/// The owner's connection to the door: blocking, one question at a time.
///
/// Use it from one thread only. It greets again when the hub has forgotten the session (R4.2) or was restarted, and ends with BYE.
package final class DoorClient {
    /// The address of the hub.
    package let endpoint: String
    /// The latest WELCOME of the hub.
    package private(set) var welcome: Welcome?
    private let hello: Hello
    private let patience: Duration
    private let greeting: Duration
    private let socket: Socket
    private let monitor: SocketMonitor
    private var isConnected = false
    private var lastID: Int64 = 0

    /// - Parameters:
    ///   - command: the command of `hub`; it names the session `hub-<command>`.
    ///   - source: the source of the records, if this client gives any; it then names both session and source.
    ///   - instance: the name of the session, if it differs from the source.
    ///   - declares: the types of its records that are in no registry.
    ///   - patience: how long the hub may be silent while an answer is due.
    ///   - greeting: how long the hub may take to greet, which a healthy hub does at once; `patience` if not given.
    /// - Throws: ``HubExit/noHub`` at once if no program listens.
    package init(
        endpoint: String, command: String, source: String? = nil, instance: String? = nil,
        declares: [TypeDeclaration] = [], patience: Duration = .seconds(10), greeting: Duration? = nil
    ) throws {
        switch UnixSocket.presence(endpoint) {
        case .listening: break
        case .absent: throw DoorClient.absent(endpoint)
        case .refused(let reason):
            throw Failure(.forbidden, "\(endpoint): \(reason); a hub's data belong to the user who runs it")
        }
        (self.endpoint, self.patience, self.greeting) = (endpoint, patience, greeting ?? patience)
        let name = source ?? "hub-\(command)"
        hello = Hello(
            instance: instance ?? name, plugin: name, version: ProductVersion.current, mode: .once, declares: declares)
        do {
            socket = try Socket(.dealer, in: try Context())
            monitor = try socket.monitor()
            // BYE may take a moment to leave; unwanted requests must not delay the exit longer.
            try socket.set(.linger, to: .milliseconds(200))
            try socket.connect(endpoint)
        } catch { throw Failure(.system, "\(endpoint): \(error)") }
    }

    deinit { if welcome != nil { try? send(.bye(Bye())) } }

    package static func absent(_ endpoint: String) -> Failure {
        Failure(.noHub, "no hub answers at \(endpoint): is it running? Start it with hub run")
    }

    // MARK: - Questions

    /// Opens the session if it is not open.
    @discardableResult
    package func open() throws -> Welcome {
        if let welcome { return welcome }
        try send(.hello(hello))
        let end = ContinuousClock.now + greeting
        while true {
            do {
                if case .welcome(let welcome) = try receive(patience: greeting) { return welcome }
            } catch let lost as SessionLost {
                // A loss without a lost connection concerns a message that was sent before this HELLO.
                guard lost.isOfConnection else { continue }
                if UnixSocket.presence(endpoint) == .absent { throw DoorClient.absent(endpoint) }
                guard ContinuousClock.now < end else { throw UnresponsiveHub.failure(endpoint, greeting) }
                try send(.hello(hello))
            }
        }
    }

    /// Asks for one page of records, or for one of the owner's answers.
    package func ask(_ query: QueryRequest) throws -> QueryResult {
        var query = query
        query.id = nextID()
        return try answer(to: .query(query), of: query.id) { message in
            if case .result(let result) = message, result.id == query.id { result } else { nil }
        }
    }

    /// Asks for one of the owner's answers, as JSON.
    package func ask(
        _ subject: QueryRequest.Subject, number: Int64? = nil, limit: Int64? = nil, next: String? = nil
    ) throws -> RawJSON {
        let result = try ask(QueryRequest(id: 0, want: subject, limit: limit, next: next, number: number))
        guard case .answer(subject, let value) = result.content else {
            throw Failure(
                .dialogue, "the hub answered a question about \(subject.rawValue) without \(subject.rawValue)")
        }
        return value
    }

    /// Asks for one of the owner's answers, and decodes it.
    package func ask<Answer: Decodable>(_ subject: QueryRequest.Subject, as type: Answer.Type) throws -> Answer {
        try JSON.answer(type, ask(subject))
    }

    /// Asks page by page; calls `page` with the records of each page, and with the cursor if the page has one.
    package func pages(_ query: QueryRequest, _ page: (RawRecords, Cursor?) throws -> Void) throws {
        var query = query
        while true {
            guard case .records(let records, let next, let cursor) = try ask(query).content else {
                throw Failure(.dialogue, "the hub answered a question about records without records")
            }
            try page(records, cursor)
            guard let next else { return }
            query.next = next
        }
    }

    /// Asks page by page, and reads each record.
    package func records(_ query: QueryRequest, _ body: (StoredRecord) throws -> Void) throws {
        var reader = RecordReader()
        try pages(query) { records, _ in for record in records { try body(try reader.record(record)) } }
    }

    package func records(_ query: QueryRequest) throws -> [StoredRecord] {
        var found: [StoredRecord] = []
        try records(query) { found.append($0) }
        return found
    }

    /// Asks for the sources of the records of a filter, all pages together; calls `progress` between them with the number of records so far.
    package func sources(
        _ filter: QueryRequest.Filter, progress: (Int64) -> Void = { _ in }
    ) throws -> [SourceTally] {
        var query = QueryRequest(id: 0, want: .sources, filter: filter)
        var found = SourcesPage(sources: [], next: nil)
        repeat {
            query.next = found.next
            guard case .answer(.sources, let page) = try ask(query).content else {
                throw Failure(.dialogue, "the hub answered a question about sources without sources")
            }
            found.add(try JSON.answer(SourcesPage.self, page))
            if found.next != nil { progress(found.sources.reduce(0) { $0 + $1.count }) }
        } while found.next != nil
        return found.sources
    }

    /// Gives records of the past, as any script may, and returns the result of each.
    ///
    /// They may be given again: records that the hub already has are duplicates.
    /// - Parameter records: the records as JSON; within the credit of one session.
    package func give(_ records: RawRecords) throws -> [RecordResult] {
        let batch = nextID()
        let samples = SamplesEnvelope(batch: batch, isBackfill: true, records: records)
        return try answer(to: .samples(samples), of: batch) { message in
            if case .stored(let stored) = message, stored.batch == batch { stored.results } else { nil }
        }
    }

    package func nextID() -> Int64 {
        lastID += 1
        return lastID
    }

    // MARK: - Messages

    /// Sends `message` and reads until `take` finds the answer; greets and sends again if the hub knows no session.
    private func answer<Answer>(
        to message: ClientMessage, of id: Int64, _ take: (HubMessage) throws -> Answer?
    ) throws -> Answer {
        for _ in 0..<3 {
            try open()
            try send(message)
            do {
                while true {
                    if let answer = try take(try receive(ref: id)) { return answer }
                }
            } catch is SessionLost {}
        }
        throw Failure(.tryAgain, "the hub at \(endpoint) forgets its sessions; is it restarting?")
    }

    /// The hub knows no session, or the connection of the request has ended, so no answer will come.
    package struct SessionLost: Error { var isOfConnection = false }

    private static let look = Duration.milliseconds(100)

    /// Whether a connection has ended since the last call.
    ///
    /// A connection without a completed handshake does not count: libzmq sends its messages to the next hub.
    private func hasLostConnection() throws(ZeroMQError) -> Bool {
        var isLost = false
        while let event = try monitor.receive() {
            switch event.kind {
            case .handshakeSucceeded: isConnected = true
            case .disconnected:
                isLost = isLost || isConnected
                isConnected = false
            default: break
            }
        }
        if isLost { welcome = nil }
        return isLost
    }

    /// Waits for the next message other than a PING.
    private func receive(ref: Int64? = nil, patience limit: Duration? = nil) throws -> HubMessage {
        let limit = limit ?? patience
        guard let message = try receive(ref: ref, within: limit) else { throw UnresponsiveHub.failure(endpoint, limit) }
        return message
    }

    /// The same; returns `nil` if no message comes in time.
    package func receive(ref: Int64?, within limit: Duration) throws -> HubMessage? {
        let end = ContinuousClock.now + limit
        while let message = try next(within: max(.zero, end - .now)) {
            switch message {
            case .ping(let body): try send(.pong(body))
            case .welcome(let welcome):
                self.welcome = welcome
                return message
            case .error(let error) where error.code == .helloFirst:
                welcome = nil
                throw SessionLost()
            case .error(let error) where error.closed || error.ref == nil || error.ref == ref:
                if error.closed { welcome = nil }
                throw DoorClient.failure(error)
            case .stop(let stop): throw Failure(.tryAgain, "the hub at \(endpoint) is stopping: \(stop.reason)")
            case .bye: throw Failure(.tryAgain, "the hub at \(endpoint) has ended the session")
            default: return message
            }
        }
        return nil
    }

    private func next(within limit: Duration) throws -> HubMessage? {
        do {
            let end = ContinuousClock.now + limit
            while try !socket.wait(for: .readable, upTo: min(max(.zero, end - .now), DoorClient.look))
                .contains(.readable)
            {
                if try hasLostConnection() { throw SessionLost(isOfConnection: true) }
                if ContinuousClock.now >= end { return nil }
            }
            var frames = Multipart()
            guard case .complete = try socket.receiveMultipart(into: &frames), frames.count >= 2 else {
                throw Failure(.dialogue, "the hub at \(endpoint) sent an invalid message")
            }
            let (verb, body) = (frames.bytes(of: 0), frames.bytes(of: 1))
            return try verb.withUnsafeBytes { verb in
                try body.withUnsafeBytes { try HubMessage.decode(verb: verb, body: $0) }
            }
        } catch let error as WireError {
            throw Failure(.dialogue, "the hub at \(endpoint) sent an unreadable message: \(error.reason)")
        } catch let error as ZeroMQError { throw Failure(.system, "\(endpoint): \(error)") }
    }

    package func send(_ message: ClientMessage) throws {
        var frames = Multipart()
        frames.append(message.verb.bytes)
        frames.append(message.body)
        do {
            // An earlier loss does not affect a question that is sent after it.
            _ = try hasLostConnection()
            guard try socket.sendMultipart(frames) == .sent else { throw DoorClient.absent(endpoint) }
        } catch let error as ZeroMQError { throw Failure(.system, "\(endpoint): \(error)") }
    }

    /// The exit code and message for an ERROR.
    package static func failure(_ error: WireError) -> Failure {
        let exit: HubExit =
            switch error.code {
            case .stopping, .busy, .store, .limit: .tryAgain
            case .forbidden: .forbidden
            case .query, .cursor, .epoch, .field: .usage
            case .internal: .fault
            default: .dialogue
            }
        let code = error.code == .field ? "" : " (\(error.code))"
        let (member, words) = commandWording(error.reason)
        return Failure(exit, "the hub says: \(words)\(code)", isForeignCursor: error.code == .epoch, member: member)
    }

    /// Replaces the message member at the start of a reason with the option that the person gave.
    static func commandWording(_ reason: String) -> (member: String?, words: String) {
        guard let match = reason.prefixMatch(of: #/(QUERY|COMMAND)\.([a-z]+): /#) else { return (nil, reason) }
        let rest = reason[match.range.upperBound...]
        let options = ["persons": "--person", "types": "type", "sources": "--source", "args": ""]
        let word = options[String(match.2)] ?? (match.1 == "QUERY" ? "--\(match.2)" : "\(match.2)")
        return ("\(match.1).\(match.2)", word.isEmpty ? String(rest) : "\(word): \(rest)")
    }
}
