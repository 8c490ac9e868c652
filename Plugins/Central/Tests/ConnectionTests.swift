import Foundation
import HubProcess
import Testing

@testable import PostgreSQL

/// A connection to a real server.
@Suite(.enabled(if: Need.postgresql.isMet, Comment(rawValue: Need.postgresql.reason))) struct ConnectionTests {
    private let limit = Duration.seconds(60)

    private func local(_ server: PostgreSQLServer, as user: String = "postgres") -> ConnectionOptions {
        var options = ConnectionOptions(
            hosts: [.init(server.socket, port: server.port)], database: "postgres", user: user, security: .none)
        options.patience = limit
        return options
    }

    private func failure(_ body: () async throws -> Void) async throws -> PostgreSQLError {
        do { try await body() } catch let error as PostgreSQLError { return error }
        throw NothingFailed()
    }

    private struct NothingFailed: Error {}

    @Test func `rows are returned as texts under their columns, null as null, and every double exactly`() async throws {
        let server = try await PostgreSQLServer()
        let connection = try await Connection.open(local(server))
        let values = ["72.3", "-0", "5e-324", "1.7976931348623157e+308", "0.1", nil]
        let answer = try await connection.query(
            "SELECT $1::text AS word, v::float8 AS value FROM unnest($2::float8[]) v",
            ["ä \" \n", ArrayText.of(values)], within: limit)
        #expect(answer.columns == ["word", "value"])
        #expect(answer.rows.map { $0[0] } == Array(repeating: "ä \" \n", count: 6))
        #expect(answer.rows.map { $0[1].flatMap { Double($0) } } == values.map { $0.flatMap { Double($0) } })
        #expect(answer["word"] == "ä \" \n" && answer["none"] == nil && answer.tag == "SELECT 6")
    }

    @Test func `each text of an array arrives unchanged, and a text with the character NUL is refused`() async throws {
        let server = try await PostgreSQLServer()
        let connection = try await Connection.open(local(server))
        let texts = ["", "NULL", nil, "a,b", "{x}", "\"", "\\", "\\\"", " ä\n\t", #"{"a":["\u00e9",null]}"#]
        let answer = try await connection.query(
            "SELECT v FROM unnest($1::text[]) v", [ArrayText.of(texts)], within: limit)
        #expect(answer.rows.map { $0[0] } == texts)
        let none = try await connection.query(
            "SELECT cardinality($1::text[]) AS n", [ArrayText.of([String?]())], within: limit)
        #expect(none["n"] == "0")
        let refusal = try await failure {
            try await connection.query("SELECT $1::text[]", [ArrayText.of(["a\0b"])], doing: "a word", within: limit)
        }
        #expect(refusal.code == "22021" && refusal.kind == .statement)
        #expect(try await connection.query("SELECT 1 AS one", within: limit)["one"] == "1")
        // A value that contains quotation marks is masked completely.
        let masked = try await failure {
            try await connection.query(
                "SELECT $1::float8[]", [ArrayText.of(["se\"cr\"et"])], doing: "weights", within: limit)
        }
        #expect(masked.description.hasSuffix("22P02 invalid input syntax for type double precision: \"…\""))
    }

    @Test func `an error has host, code and the server's sentence but no value, and the connection can be used again`()
        async throws
    {
        let server = try await PostgreSQLServer()
        let connection = try await Connection.open(local(server))
        let wrong = try await failure {
            try await connection.query("SELECT $1::float8", ["72.3 secret"], doing: "reading a weight", within: limit)
        }
        #expect(wrong.kind == .statement && wrong.code == "22P02")
        #expect(
            wrong.description
                == "\(connection.host): reading a weight: 22P02 invalid input syntax for type double precision: \"…\"")
        let missing = try await failure { try await connection.query("SELECT * FROM nothing", within: limit) }
        #expect(missing.code == "42P01" && missing.description.contains("relation \"nothing\" does not exist"))
        #expect(try await connection.query("SELECT 1 AS one", within: limit)["one"] == "1")
    }

    @Test func `a COMMIT after a failed statement reports that it was rolled back`() async throws {
        let server = try await PostgreSQLServer()
        let connection = try await Connection.open(local(server))
        try await connection.query("BEGIN", within: limit)
        _ = try await failure { try await connection.query("SELECT 1/0", within: limit) }
        #expect(try await connection.commit(within: limit) == .rolledBack)
        try await connection.query("BEGIN", within: limit)
        #expect(try await connection.commit(within: limit) == .done)
    }

    @Test func `a COMMIT whose wait for a replica was cancelled is doubtful`() async throws {
        let server = try await PostgreSQLServer(settings: ["synchronous_standby_names = 'nowhere'"])
        let options = local(server)
        // The commits of this function wait for no replica.
        func other(_ text: String) async throws -> [String] {
            try await server.sql("SET synchronous_commit = local; \(text)")
        }
        _ = try await other("CREATE TABLE t (i int)")
        let connection = try await Connection.open(options)
        try await connection.query("BEGIN", within: limit)
        try await connection.query("INSERT INTO t VALUES (1)", within: limit)
        async let commit = connection.commit(within: limit)
        var cancelled: [String] = []
        while cancelled.isEmpty {
            cancelled = try await other(
                "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
        }
        guard case .doubtful(let notices) = try await commit else {
            Issue.record("it was taken for a receipt")
            return
        }
        #expect(notices.map(\.code) == ["01000"])
        #expect(notices[0].message.contains("canceling wait for synchronous replication"))
    }

    @Test func `the host that accepts writes is found among several, and the error has the answers of the others`()
        async throws
    {
        let server = try await PostgreSQLServer()
        let free = try FreePort.next()
        var options = local(server)
        options.hosts.insert(.init("127.0.0.1", port: free), at: 0)
        #expect(try await Connection.open(options).host == options.hosts[1])
        try await server.sql("CREATE ROLE reader LOGIN; ALTER ROLE reader SET default_transaction_read_only = on")
        options.user = "reader"
        let error = try await failure { _ = try await Connection.open(options) }
        #expect(error.kind == .host && error.host == nil)
        #expect(error.description.contains("127.0.0.1:\(free): connecting: Connection refused"))
        #expect(error.description.contains("session is read-only"))
        options.mustWrite = false
        #expect(try await Connection.open(options).host == options.hosts[1])
    }

    @Test func `a server that does not answer in time is given up, and the next call says so`() async throws {
        let server = try await PostgreSQLServer()
        let connection = try await Connection.open(local(server))
        server.freeze(true)
        let late = try await failure { try await connection.query("SELECT 1", within: .milliseconds(200)) }
        #expect(late.kind == .deadline && late.description.contains("no answer in time"))
        server.freeze(false)
        let after = try await failure { try await connection.query("SELECT 1", within: limit) }
        #expect(after.kind == .host && after.description.contains("was given up before"))
    }

    @Test
    func
        `an answer above the limit of rows or bytes is an error that says so, and the next call does not get its rest`()
        async throws
    {
        let server = try await PostgreSQLServer()
        var options = local(server)
        (options.maximumRows, options.maximumBytes) = (100, 10_000)
        let statements = ["SELECT generate_series(1, 101)", "SELECT repeat('x', 5001) FROM generate_series(1, 2)"]
        for statement in statements {
            let connection = try await Connection.open(options)
            #expect(try await connection.query("SELECT generate_series(1, 100)", within: limit).rows.count == 100)
            let large = try await failure { try await connection.query(statement, within: limit) }
            #expect(large.kind == .statement && large.description.contains("more than 100 rows or 10000 bytes"))
            let after = try await failure { try await connection.query("SELECT 1", within: limit) }
            #expect(after.description.contains("was given up before"))
        }
    }

    @Test func `a resolver that does not answer blocks no caller, and the number of its waiting look-ups is limited`()
        async throws
    {
        let (host, answers, left) = (
            ConnectionOptions.Host("db1.example"), DispatchSemaphore(value: 0), AbandonedThreads()
        )
        func attempt() async throws -> PostgreSQLError {
            let thread = try ConnectionThread(for: host)
            defer { thread.end() }
            return try await failure {
                try await thread.open(host, until: .now, leaving: left) { _ in
                    answers.wait()
                    throw CancellationError()
                }
            }
        }
        for _ in 0..<AbandonedThreads.most {
            let late = try await attempt()
            #expect(late.kind == .host && late.description.contains("resolver has not answered in time"))
        }
        #expect(try await attempt().description.contains("8 questions wait for it"))
        let waiting = Task {
            let thread = try ConnectionThread(for: host)
            defer { thread.end() }
            try await thread.open(host, until: .now + limit, leaving: AbandonedThreads()) { _ in
                answers.wait()
                throw CancellationError()
            }
        }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        for _ in 0...AbandonedThreads.most { answers.signal() }
        while !left.hasRoom { try await Task.sleep(for: .milliseconds(1)) }
    }

    @Test func `a call whose task is cancelled ends with its connection`() async throws {
        let server = try await PostgreSQLServer()
        let connection = try await Connection.open(local(server))
        let call = Task { try await connection.query("SELECT pg_sleep(100000)", within: .seconds(100_000)) }
        try await eventually {
            try await !server.sql("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'").isEmpty
        }
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        let after = try await failure { try await connection.query("SELECT 1", within: limit) }
        #expect(after.kind == .host)
    }

    @Test
    func `the loss of a killed server is a fault of the host, and another connection finds it again`() async throws {
        let server = try await PostgreSQLServer()
        let connection = try await Connection.open(local(server))
        server.kill()
        let lost = try await failure { try await connection.query("SELECT 1", within: limit) }
        #expect(lost.kind == .host)
        try await server.start()
        #expect(try await Connection.open(local(server)).query("SELECT 1 AS one", within: limit)["one"] == "1")
    }

    // MARK: - Identity

    private func secured(
        _ server: PostgreSQLServer, as user: String, _ security: ConnectionOptions.Security,
        at name: String = "127.0.0.1"
    ) -> ConnectionOptions {
        var options = local(server, as: user)
        (options.hosts, options.security) = ([.init(name, port: server.port)], security)
        return options
    }

    @Test func `a certificate admits only the role that it names`() async throws {
        let server = try await PostgreSQLServer()
        try await server.sql("CREATE ROLE hub; CREATE ROLE anna LOGIN IN ROLE hub; CREATE ROLE ben LOGIN IN ROLE hub")
        let anna = try await server.certificate("anna")
        let security = ConnectionOptions.Security.certificate(
            authority: server.authority, own: anna.certificate, key: anna.key)
        let connection = try await Connection.open(secured(server, as: "anna", security))
        #expect(try await connection.query("SELECT session_user AS me", within: limit)["me"] == "anna")
        let other = try await failure { _ = try await Connection.open(secured(server, as: "ben", security)) }
        #expect(other.kind == .identity && other.code == "28000")

        // A certificate of another authority, and a server of another authority.
        let stranger = try await PostgreSQLServer()
        let foreign = try await stranger.certificate("anna")
        let refused = try await failure {
            _ = try await Connection.open(
                secured(
                    server, as: "anna",
                    .certificate(authority: server.authority, own: foreign.certificate, key: foreign.key)))
        }
        #expect(refused.kind == .identity, "\(refused)")
        let pretender = try await failure {
            _ = try await Connection.open(
                secured(
                    server, as: "anna",
                    .certificate(authority: stranger.authority, own: anna.certificate, key: anna.key)))
        }
        #expect(pretender.kind == .identity && pretender.description.contains("certificate verify failed"))
        let name = try await failure {
            _ = try await Connection.open(secured(server, as: "anna", security, at: "127.0.0.2"))
        }
        #expect(name.kind == .host || name.kind == .identity)
        let keyless = try await failure {
            _ = try await Connection.open(
                secured(server, as: "anna", .certificate(authority: server.authority, own: "/none", key: "/none")))
        }
        #expect(keyless.kind == .identity, "\(keyless)")
    }

    @Test func `a password admits by SCRAM with channel binding, and is in no error`() async throws {
        let server = try await PostgreSQLServer()
        try await server.sql("CREATE ROLE invited; CREATE ROLE guest LOGIN PASSWORD 'open sesame' IN ROLE invited")
        let connection = try await Connection.open(secured(server, as: "guest", .password("open sesame")))
        #expect(try await connection.query("SELECT session_user AS me", within: limit)["me"] == "guest")
        let wrong = try await failure {
            _ = try await Connection.open(secured(server, as: "guest", .password("close sesame")))
        }
        #expect(wrong.kind == .identity && wrong.code == "28P01")
        #expect(!wrong.description.contains("sesame"))
    }
}
