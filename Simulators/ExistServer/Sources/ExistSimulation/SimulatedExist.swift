import Foundation
import GRDB
import Platform
import Samples
import Synchronization
public import WebFaults

/// Exist according to its documentation: users, clients, tokens, attributes, values, limits.
///
/// Details that the documentation leaves open are controlled by ``ExistSwitches``. Each request is one transaction, including its entry in the
/// log.
public struct SimulatedExist: StandInService {
    public static let forms = ["no-failed", "lost-object", "title-for-name", "reordered"]

    let state: ExistState
    let clock: SettableClock
    let switches: Shared<ExistSwitches>

    /// - Parameter path: the state file; `nil` for memory.
    public init(path: String?, clock: SettableClock, switches: ExistSwitches = ExistSwitches()) throws {
        (state, self.clock) = (try ExistState(path: path), clock)
        self.switches = Shared(switches)
    }

    final class Shared<Value: Sendable>: Sendable {
        private let value: Mutex<Value>
        init(_ value: Value) { self.value = Mutex(value) }
        func callAsFunction() -> Value { value.withLock { $0 } }
        func replace(_ new: Value) { value.withLock { $0 = new } }
    }

    // MARK: - Requests

    /// The caller that a token identifies.
    struct Caller {
        let user: String
        /// `nil` for a simple token.
        let client: String?
        let scopes: Set<String>
    }

    /// The state of one request during the checks.
    struct Exchange {
        let request: WebRequest
        let database: Database
        let faults: [Fault]
        let switches: ExistSwitches
        /// Microseconds since 1970.
        let now: Int64
        /// For the log.
        var caller: Caller?

        func has(_ form: String) -> Bool { faults.contains { $0.kind == .form(form) } }
    }

    public func isDisturbed(_ path: String) -> Bool { path.hasPrefix("/api/") || path.hasPrefix("/oauth2/") }

    public func answer(_ request: WebRequest, faults: [Fault]) throws -> WebAnswer {
        if request.path == "/", request.method == "GET" { return .html(try page()) }
        return try state.queue.write { database in
            var exchange = Exchange(
                request: request, database: database, faults: faults, switches: switches(), now: clock.now())
            let answer = try answer(&exchange)
            try note(exchange, status: answer.status)
            return answer
        }
    }

    public func note(_ request: WebRequest, status: Int?, fault: Fault) throws {
        try state.queue.write { database in
            var exchange = Exchange(
                request: request, database: database, faults: [fault], switches: switches(), now: clock.now())
            exchange.caller = try caller(exchange)
            try note(exchange, status: status)
        }
    }

    private func note(_ exchange: Exchange, status: Int?) throws {
        let request = exchange.request
        // Log-ins have passwords and secrets in their bodies.
        let hasSecrets = request.path.hasPrefix("/oauth2/") || request.path.contains("/auth/")
        try exchange.database.execute(
            sql:
                "INSERT INTO call (time, user, client, method, path, status, fault, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            arguments: [
                exchange.now, exchange.caller?.user, exchange.caller?.client, request.method, request.path, status,
                exchange.faults.isEmpty ? nil : exchange.faults.map { "\($0)" }.joined(separator: " "),
                request.body.isEmpty || hasSecrets ? nil : String(decoding: request.body, as: UTF8.self),
            ])
    }

    private func answer(_ exchange: inout Exchange) throws -> WebAnswer {
        let request = exchange.request
        switch (request.method, request.path) {
        case ("GET", "/oauth2/authorize"): return try authorize(exchange)
        case ("POST", "/oauth2/access_token"): return try accessToken(exchange)
        case ("POST", "/api/2/auth/simple-token/"): return try simpleToken(exchange)
        default: break
        }
        guard request.path.hasPrefix("/api/2/") else { return Self.detail(404, "Not found.") }
        guard let caller = try caller(exchange) else {
            return Self.detail(401, "Authentication credentials were not provided, or are not valid any more.")
        }
        exchange.caller = caller
        if let refusal = try tooMany(exchange, caller) { return refusal }
        return try answer(exchange, caller)
    }

    private func answer(_ exchange: Exchange, _ caller: Caller) throws -> WebAnswer {
        let path = exchange.request.path.dropFirst("/api/2/".count)
        if exchange.request.method == "POST" {
            if caller.client == nil { return Self.detail(403, "This token cannot write.") }
            guard let action = Action(rawValue: String(path)) else { return Self.detail(404, "Not found.") }
            return try write(exchange, caller, action)
        }
        guard exchange.request.method == "GET" else { return Self.detail(405, "Method not allowed.") }
        switch path {
        case "accounts/profile/": return try profile(exchange, caller)
        case "attributes/templates/": return templates(exchange)
        case "attributes/": return try attributes(exchange, caller, owned: exchange.flag("owned"))
        case "attributes/owned/":
            if caller.client == nil { return Self.detail(403, "This token belongs to no client.") }
            return try attributes(exchange, caller, owned: true)
        case "attributes/with-values/": return try attributesWithValues(exchange, caller)
        case "attributes/values/": return try values(exchange, caller)
        case "averages/": return exchange.page([])
        default: return Self.detail(404, "Not found.")
        }
    }

    static func detail(_ status: Int, _ text: String) -> WebAnswer { .json(["detail": .text(text)], status) }

    // MARK: - Tokens and limits

    private func caller(_ exchange: Exchange) throws -> Caller? {
        guard let (scheme, token) = exchange.request.authorization,
            let row = try Row.fetchOne(
                exchange.database, sql: "SELECT * FROM token WHERE access = ?", arguments: [token])
        else { return nil }
        let (client, expires): (String?, Int64?) = (row["client"], row["expires"])
        guard scheme == (client == nil ? "token" : "bearer"), expires ?? .max > exchange.now else { return nil }
        let scopes: String = row["scopes"]
        return Caller(user: row["user"], client: client, scopes: Set(scopes.split(separator: " ").map(String.init)))
    }

    /// Counts every authenticated request, including refused ones.
    private func tooMany(_ exchange: Exchange, _ caller: Caller) throws -> WebAnswer? {
        let hour: Int64 = 3_600_000_000
        let since = exchange.switches.hourByTheClock ? exchange.now / hour * hour : exchange.now - hour + 1
        let count = try Int.fetchOne(
            exchange.database,
            sql: "SELECT count(*) FROM call WHERE user = ? AND client IS ? AND time BETWEEN ? AND ?",
            arguments: [caller.user, caller.client, since, exchange.now])
        guard count ?? 0 >= exchange.switches.callsPerHour else { return nil }
        return WebAnswer(429, fields: exchange.switches.retryAfter.map { [("Retry-After", "\($0)")] } ?? [])
    }

    /// The current date in the user's zone.
    func today(_ user: String, _ exchange: Exchange) throws -> LocalDate {
        let zone = try String.fetchOne(
            exchange.database, sql: "SELECT zone FROM user WHERE name = ?", arguments: [user])
        let time = Timestamp(microseconds: exchange.now)
        return LocalDay.of(time, sampleZone: nil, personZone: zone ?? "UTC", policy: .fixed) ?? time.localDate
    }

    /// Forty hexadecimal digits.
    static func randomToken() -> String {
        (0..<20).map { _ in UInt8.random(in: .min ... .max) }.hexadecimal
    }
}
