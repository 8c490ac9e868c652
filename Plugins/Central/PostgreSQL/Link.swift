import CPostgreSQL
import Glibc

/// A non-blocking libpq connection, for use on one thread.
final class Link {
    private let handle: OpaquePointer
    private let host: ConnectionOptions.Host
    private let bell: CInt
    private let most: (rows: Int, bytes: Int)
    private var notices: [Notice] = []

    /// Connects, and returns when the server has accepted the connection.
    ///
    /// It resolves names, which takes as long as the system's resolver needs.
    /// - Throws: ``PostgreSQLError``; `CancellationError`.
    init(_ options: ConnectionOptions, _ host: ConnectionOptions.Host, bell: CInt, _ ticket: Ticket) throws {
        let words = options.words(for: host)
        let texts = words.map { (strdup($0.name), strdup($0.value)) }
        defer { for text in texts.flatMap({ [$0.0, $0.1] }) { free(text) } }
        let names: [UnsafePointer<CChar>?] = texts.map { UnsafePointer($0.0) } + [nil]
        let values: [UnsafePointer<CChar>?] = texts.map { UnsafePointer($0.1) } + [nil]
        guard let handle = PQconnectStartParams(names, values, 0) else {
            throw PostgreSQLError(.host, "connecting", at: host, "no memory")
        }
        (self.handle, self.host, self.bell) = (handle, host, bell)
        most = (options.maximumRows, options.maximumBytes)
        // Otherwise the message would not contain the server's code, and there is no other way to get it before a connection exists.
        PQsetErrorVerbosity(handle, PQERRORS_VERBOSE)
        PQsetNoticeReceiver(
            handle,
            { argument, result in
                guard let argument, let result else { return }
                Unmanaged<Link>.fromOpaque(argument).takeUnretainedValue().noted(result)
            }, Unmanaged.passUnretained(self).toOpaque())
        do {
            try connect(ticket)
        } catch {
            shutDown()
            throw error
        }
    }

    deinit { PQfinish(handle) }

    /// Closes the socket below libpq.
    ///
    /// The server gets no cancel request, which it would answer, so pending statements stay unanswered.
    func shutDown() {
        let socket = PQsocket(handle)
        if socket >= 0 { shutdown(socket, CInt(SHUT_RDWR)) }
    }

    private func noted(_ result: OpaquePointer) {
        // Limit the number, because a function may raise a notice for each row.
        guard notices.count < 16 else { return }
        let code = Self.field("C", of: result) ?? "01000"
        notices.append(
            Notice(code: code, message: PostgreSQLError.withoutValues(Self.field("M", of: result) ?? "", code: code)))
    }

    /// A field of an error or a notice, by its letter in the protocol.
    private static func field(_ letter: Unicode.Scalar, of result: OpaquePointer) -> String? {
        PQresultErrorField(result, CInt(letter.value)).map { String(cString: $0) }
    }

    // MARK: - Connecting

    private func connect(_ ticket: Ticket) throws {
        guard PQstatus(handle) != CONNECTION_BAD else { throw refusal() }
        var status = PGRES_POLLING_WRITING
        while status != PGRES_POLLING_OK {
            guard status != PGRES_POLLING_FAILED else { throw refusal() }
            try wait(for: status == PGRES_POLLING_READING ? POLLIN : POLLOUT, ticket, "connecting")
            status = PQconnectPoll(handle)
        }
        guard PQsetnonblocking(handle, 1) == 0 else { throw lost("connecting") }
    }

    /// Why there is no connection: the first line from the server in libpq's message, or the last line.
    private func refusal() -> PostgreSQLError {
        let lines = message.split(separator: "\n").map(String.init)
        for line in lines {
            guard let match = line.firstMatch(of: /[A-Z]+: {1,2}([0-9A-Z]{5}): (.*)/) else { continue }
            let code = String(match.1)
            return PostgreSQLError(
                PostgreSQLError.kind(of: code), "connecting", at: host, code: code,
                PostgreSQLError.withoutValues(String(match.2), code: code))
        }
        let text = lines.map { $0.replacing(#/^connection to server (at|on socket) .* failed: /#, with: "") }
            .joined(separator: " ")
        // libpq has no code for errors on the client side.
        let isOfIdentity = ["certificate", "alert", "private key", "channel binding", "authentication"].contains {
            text.contains($0)
        }
        return PostgreSQLError(isOfIdentity ? .identity : .host, "connecting", at: host, text)
    }

    private var message: String { PQerrorMessage(handle).map { String(cString: $0) } ?? "" }

    private func lost(_ doing: String) -> PostgreSQLError {
        let text = message.split(separator: "\n").joined(separator: " ")
        return PostgreSQLError(.host, doing, at: host, text.isEmpty ? "the connection was lost" : text)
    }

    // MARK: - Queries

    /// Sends a statement and returns its result when the server is ready for the next one.
    ///
    /// - Throws: ``PostgreSQLError``; after an error without a code, the connection must not be used; `CancellationError`.
    func ask(_ statement: String, _ parameters: [String?], _ doing: String, _ ticket: Ticket) throws -> StatementResult
    {
        notices = []
        guard parameters.allSatisfy({ $0?.utf8.contains(0) != true }) else {
            // Throw the server's error. A C string would silently end at the NUL.
            throw PostgreSQLError(.statement, doing, at: host, code: "22021", "a text has the character NUL")
        }
        let texts = parameters.map { $0.map { strdup($0) } ?? nil }
        defer { for text in texts { free(text) } }
        let values = texts.map { $0.map { UnsafePointer($0) } }
        guard PQsendQueryParams(handle, statement, CInt(values.count), nil, values, nil, nil, 0) == 1 else {
            throw lost(doing)
        }
        // Read row by row, to detect an excessive result before all of it has arrived.
        PQsetSingleRowMode(handle)
        while true {
            let left = PQflush(handle)
            guard left >= 0 else { throw lost(doing) }
            if left == 0 { break }
            // Read as well, because a server that writes at the same time would wait for us.
            try wait(for: POLLIN | POLLOUT, ticket, doing)
            guard PQconsumeInput(handle) == 1 else { throw lost(doing) }
        }
        var (answer, bytes) = (StatementResult(), 0)
        var failure: PostgreSQLError?
        while let result = try nextResult(ticket, doing) {
            defer { PQclear(result) }
            switch PQresultStatus(result) {
            case PGRES_SINGLE_TUPLE:
                let row = Self.row(of: result)
                bytes += row.reduce(0) { $0 + ($1?.utf8.count ?? 0) }
                guard answer.rows.count < most.rows, bytes <= most.bytes else {
                    throw PostgreSQLError(
                        .statement, doing, at: host,
                        "the answer is larger than this program takes: more than \(most.rows) rows or \(most.bytes) bytes"
                    )
                }
                answer.rows.append(row)
            case PGRES_TUPLES_OK, PGRES_COMMAND_OK:
                answer.columns = (0..<PQnfields(result)).map { PQfname(result, $0).map { String(cString: $0) } ?? "" }
                answer.tag = PQcmdStatus(result).map { String(cString: $0) } ?? ""
            default:
                let code = Self.field("C", of: result)
                let text = Self.field("M", of: result) ?? message.split(separator: "\n").joined(separator: " ")
                failure = PostgreSQLError(
                    code.map(PostgreSQLError.kind) ?? .host, doing, at: host, code: code,
                    PostgreSQLError.withoutValues(text, code: code ?? ""))
            }
        }
        if let failure { throw failure }
        guard PQstatus(handle) == CONNECTION_OK else { throw lost(doing) }
        answer.notices = notices
        return answer
    }

    private func nextResult(_ ticket: Ticket, _ doing: String) throws -> OpaquePointer? {
        while PQisBusy(handle) == 1 {
            try wait(for: POLLIN, ticket, doing)
            guard PQconsumeInput(handle) == 1 else { throw lost(doing) }
        }
        return PQgetResult(handle)
    }

    /// The values of the only row of a result.
    private static func row(of result: OpaquePointer) -> [String?] {
        (0..<PQnfields(result)).map { column in
            guard PQgetisnull(result, 0, column) == 0, let bytes = PQgetvalue(result, 0, column) else { return nil }
            let length = Int(PQgetlength(result, 0, column))
            return String(decoding: UnsafeRawBufferPointer(start: bytes, count: length), as: UTF8.self)
        }
    }

    // MARK: - Waiting

    private func wait(for events: CInt, _ ticket: Ticket, _ doing: String) throws {
        while true {
            if ticket.isCancelled { throw CancellationError() }
            let left = ContinuousClock.now.duration(to: ticket.deadline)
            guard left > .zero else {
                throw PostgreSQLError(.deadline, doing, at: host, "no answer in time; whether it was done is not known")
            }
            let socket = PQsocket(handle)
            guard socket >= 0 else { throw lost(doing) }
            var items = [
                pollfd(fd: socket, events: Int16(events), revents: 0),
                pollfd(fd: bell, events: Int16(POLLIN), revents: 0),
            ]
            // Add a millisecond, so that the deadline has passed when it wakes.
            poll(&items, 2, CInt(clamping: Int64(left / .milliseconds(1)) + 1))
            if items[1].revents != 0 {
                var rings: eventfd_t = 0
                eventfd_read(bell, &rings)
            }
            if items[0].revents != 0 { return }
        }
    }
}
