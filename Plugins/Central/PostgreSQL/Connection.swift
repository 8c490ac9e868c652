import Synchronization

/// A connection to one of several PostgreSQL servers, based on libpq.
///
/// ```swift
/// let connection = try await Connection.open(options)
/// _ = try await connection.query("BEGIN", within: .seconds(5))
/// let answer = try await connection.query("SELECT central.swept_v1($1)", [head], within: .seconds(15))
/// guard try await connection.commit(within: .seconds(15)) == .done else { … no receipt … }
/// ```
///
/// It waits on a dedicated thread and closes with its last reference. Calls run one after the other. A call ends the connection if it
/// exceeds its time limit, if its task is cancelled, or if the server is lost. It does not ask the server to cancel. All later calls then
/// throw, and the outcome of the failed call is unknown.
public final class Connection: Sendable {
    /// The connected host.
    public let host: ConnectionOptions.Host
    private let thread: ConnectionThread

    private init(_ thread: ConnectionThread, _ host: ConnectionOptions.Host) {
        (self.thread, self.host) = (thread, host)
    }

    deinit { thread.end() }

    /// Tries one host after the other until one accepts the connection, each for the options' `patience`.
    ///
    /// - Throws: ``PostgreSQLError`` with the error of each host; `CancellationError`.
    public static func open(_ options: ConnectionOptions) async throws -> Connection {
        precondition(!options.hosts.isEmpty, "a connection needs a host")
        var failures: [PostgreSQLError] = []
        for host in options.hosts {
            // Each attempt has its own thread, because an abandoned one may still be in the resolver.
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

    /// Runs a statement with its parameters as texts; `nil` is null.
    ///
    /// - Parameters:
    ///   - doing: the purpose for error messages; by default the statement's first words.
    ///   - limit: the time within which the server must answer.
    /// - Throws: ``PostgreSQLError``; `CancellationError`.
    @discardableResult
    public func query(
        _ statement: String, _ parameters: [String?] = [], doing: String? = nil, within limit: Duration
    ) async throws -> StatementResult {
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

    /// Ends the transaction that `BEGIN` started, and returns the outcome.
    ///
    /// - Throws: as ``query(_:_:doing:within:)``; then the outcome is unknown.
    public func commit(within limit: Duration) async throws -> Commit {
        let answer = try await query("COMMIT", doing: "COMMIT", within: limit)
        guard answer.tag == "COMMIT" else { return .rolledBack }
        return answer.notices.isEmpty ? .done : .doubtful(answer.notices)
    }

    /// Ends the connection after the pending calls; a second call does nothing.
    public func close() { thread.end() }
}
