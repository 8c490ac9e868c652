import Synchronization

/// A connection to one of several PostgreSQL servers, by libpq.
///
/// ```swift
/// let connection = try await Connection.open(options)
/// _ = try await connection.query("BEGIN", within: .seconds(5))
/// let answer = try await connection.query("SELECT central.swept_v1($1)", [head], within: .seconds(15))
/// guard try await connection.commit(within: .seconds(15)) == .done else { … no receipt … }
/// ```
///
/// Waits on a thread of its own, and closes when the last reference is gone. Calls are done one after the other. A call that does not end
/// in time, whose task is cancelled, or that loses the server ends the connection, without asking the server to cancel: every call
/// after it throws, and what it was about is in doubt.
public final class Connection: Sendable {
    /// The host that it is to.
    public let host: ConnectionOptions.Host
    private let thread: ConnectionThread

    private init(_ thread: ConnectionThread, _ host: ConnectionOptions.Host) {
        (self.thread, self.host) = (thread, host)
    }

    deinit { thread.end() }

    /// Tries one host after the other until one lets us in, each for `patience` of the options.
    ///
    /// - Throws: ``PostgreSQLError`` that says what each host said; `CancellationError`.
    public static func open(_ options: ConnectionOptions) async throws -> Connection {
        precondition(!options.hosts.isEmpty, "a connection needs a host")
        var failures: [PostgreSQLError] = []
        for host in options.hosts {
            // Each has its own: one that is left behind may still be in the resolver.
            let thread = try ConnectionThread(for: host)
            do {
                try await thread.open(host, until: .now + options.patience) { ticket in
                    try Link(options, host, bell: thread.bell, ticket)
                }
                return Connection(thread, host)
            } catch {
                thread.end()
                guard let failure = error as? PostgreSQLError else { throw error }
                failures.append(failure)
            }
        }
        throw PostgreSQLError(failures)
    }

    /// Runs one statement with its parameters, as texts; `nil` is null.
    ///
    /// - Parameters:
    ///   - doing: what it is for, in errors; the statement's first words if not given.
    ///   - limit: until when the server must have answered.
    /// - Throws: ``PostgreSQLError``; `CancellationError`.
    @discardableResult
    public func query(
        _ statement: String, _ parameters: [String?] = [], doing: String? = nil, within limit: Duration
    ) async throws -> Answer {
        let doing = doing ?? statement.split(separator: " ").prefix(2).joined(separator: " ")
        let host = host
        return try await thread.run(until: .now + limit) { link, ticket in
            guard let open = link else {
                throw PostgreSQLError(.host, doing, at: host, "the connection was given up before")
            }
            do {
                return try open.ask(statement, parameters, doing, ticket)
            } catch let error as PostgreSQLError where error.code != nil && error.code?.hasPrefix("57P") != true {
                throw error
            } catch {
                open.shutDown()
                link = nil
                throw error
            }
        }
    }

    /// Ends the transaction that `BEGIN` has begun, and says what that is worth.
    ///
    /// - Throws: as ``query(_:_:doing:within:)``; then whether it was done is not known.
    public func commit(within limit: Duration) async throws -> Commit {
        let answer = try await query("COMMIT", doing: "COMMIT", within: limit)
        guard answer.tag == "COMMIT" else { return .rolledBack }
        return answer.notices.isEmpty ? .done : .doubtful(answer.notices)
    }

    /// Ends the connection when what was asked for before is done; called once more, it does nothing.
    public func close() { thread.end() }
}
