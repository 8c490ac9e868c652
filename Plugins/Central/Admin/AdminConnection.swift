import ArgumentParser
import Foundation
import HubWire
import PostgreSQL

/// The options for the connection to the database.
struct DatabaseOptions: ParsableArguments {
    @Option(help: "Hosts with a comma between them, or the folder of a Unix socket.")
    var host = ProcessInfo.processInfo.environment["PGHOST"] ?? "/var/run/postgresql"
    @Option(help: "The port of all of them.")
    var port = Int(ProcessInfo.processInfo.environment["PGPORT"] ?? "") ?? 5_432
    @Option(help: "The role; postgres, or a member of central_desk.")
    var user = ProcessInfo.processInfo.environment["PGUSER"] ?? "postgres"
    @Option(help: ArgumentHelp("For TLS: the certificate of the authority.", valueName: "file"))
    var authority: String?
    @Option(help: ArgumentHelp("For TLS: the certificate of the role.", valueName: "file"))
    var certificate: String?
    @Option(help: ArgumentHelp("For TLS: its key.", valueName: "file"))
    var key: String?

    var hosts: [String] { host.split(separator: ",").map(String.init) }

    func validate() throws {
        guard !hosts.isEmpty else { throw ValidationError("--host: expected names, or the folder of a socket") }
        guard (1...65_535).contains(port) else { throw ValidationError("--port: expected 1 to 65535, not \(port)") }
        let files = [authority, certificate, key].compactMap { $0 }.count
        guard files == (hosts[0].hasPrefix("/") ? 0 : 3) else {
            throw ValidationError("hosts of a network need --authority, --certificate and --key; a socket needs none")
        }
    }

    /// Connects with the role of the desk, so that it owns the objects it makes.
    func desk(_ database: String = "central", as role: String? = "central_desk") async throws -> AdminConnection {
        var security = ConnectionOptions.Security.none
        if let authority, let certificate, let key {
            security = .certificate(authority: authority, own: certificate, key: key)
        }
        var options = ConnectionOptions(
            hosts: hosts.map { .init($0, port: port) }, database: database, user: user, security: security,
            applicationName: "hub-central-admin")
        // Large enough for a list of a million hubs or figures of many studies.
        (options.maximumRows, options.maximumBytes) = (2_000_000, 1 << 30)
        let desk = AdminConnection(connection: try await Connection.open(options))
        if let role { try await desk.ask("SET ROLE \(role)") }
        return desk
    }
}

/// A refusal, with the reason for people.
struct AdminError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// A connection of the desk.
struct AdminConnection {
    let connection: Connection

    @discardableResult
    func ask(_ statement: String, _ parameters: String?..., within limit: Duration = .seconds(60)) async throws
        -> StatementResult
    {
        try await connection.query(statement, parameters, within: limit)
    }

    /// Runs `body` in a transaction, and returns when another host has it, too.
    func transaction(_ body: () async throws -> Void) async throws {
        try await ask("BEGIN")
        do { try await body() } catch {
            _ = try? await ask("ROLLBACK")
            throw error
        }
        switch try await connection.commit(within: .seconds(60)) {
        case .done: return
        case .rolledBack: throw AdminError("rolled back; nothing was done")
        case .doubtful(let notices):
            throw AdminError("done on this host alone, which may lose it: \(notices[0]). Look again, and do it again.")
        }
    }

    /// Prints rows as a table for people, or as one JSON document.
    func show(_ statement: String, _ parameters: String?..., json: Bool) async throws {
        if json {
            let whole = "SELECT coalesce(json_agg(x), '[]') AS json FROM (\(statement)) x"
            let text = try await connection.query(whole, parameters, doing: "asking", within: .seconds(600))["json"]
            return print(PlainText.json(text ?? "[]"))
        }
        let answer = try await connection.query(statement, parameters, doing: "asking", within: .seconds(600))
        let rows =
            [answer.columns.map { $0.uppercased() }] + answer.rows.map { $0.map { PlainText.escaped($0 ?? "") } }
        let widths = answer.columns.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        for row in rows {
            let cells = zip(row, widths).map { $0.padding(toLength: $1, withPad: " ", startingAt: 0) }
            print(cells.joined(separator: "  ").replacing(#/ +$/#, with: ""))
        }
    }
}

/// Quotes an identifier for a statement.
func identifier(_ name: String) -> String { "\"\(name.replacing("\"", with: "\"\""))\"" }
/// Quotes a text for a statement that takes no parameters.
func literal(_ text: String) -> String { "'\(text.replacing("'", with: "''"))'" }
/// Writes names as a PostgreSQL array.
func array(_ names: [String]) -> String {
    "{\(names.map { "\"\($0.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\"" }.joined(separator: ","))}"
}

/// Prints words for people, or a JSON object for scripts.
func say(_ words: String, json: [(String, Any)], if isJSON: Bool) throws {
    guard isJSON else { return print(PlainText.lines(words)) }
    let object = Dictionary(uniqueKeysWithValues: json)
    let data = try JSONSerialization.data(withJSONObject: object, options: [.sortedKeys, .withoutEscapingSlashes])
    print(PlainText.json(String(decoding: data, as: UTF8.self)))
}

func complain(_ words: String) { FileHandle.standardError.write(Data((PlainText.lines(words) + "\n").utf8)) }
