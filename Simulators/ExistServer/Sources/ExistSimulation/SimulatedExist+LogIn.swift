import GRDB
import WebFaults

// The authorization code flow, and the simple token, which permits only reading.
extension SimulatedExist {
    func authorize(_ exchange: Exchange) throws -> WebAnswer {
        let request = exchange.request
        let redirect = request.query("redirect_uri") ?? ""
        let client = try Row.fetchOne(
            exchange.database, sql: "SELECT * FROM client WHERE id = ?", arguments: [request.query("client_id") ?? ""])
        guard let client, (client["redirects"] as String).split(separator: "\n").contains(redirect[...]) else {
            return .html(ExistPage.problem("This client, or its redirect URI, is not registered."), 400)
        }
        func back(_ members: [(name: String, value: String)]) -> WebAnswer {
            let state = exchange.switches.returnsState ? request.query("state") : nil
            return .back(to: redirect, members + (state.map { [("state", $0)] } ?? []))
        }
        guard request.query("response_type") == "code" else { return back([("error", "unsupported_response_type")]) }
        let scopes = (request.query("scope") ?? "").split(separator: " ").map(String.init)
        guard !scopes.isEmpty, scopes.allSatisfy(ExistGroup.scopes.contains) else {
            return back([("error", "invalid_scope")])
        }
        let users = try String.fetchAll(exchange.database, sql: "SELECT name FROM user ORDER BY rowid")
        var user = exchange.switches.signedIn ?? users.first ?? ""
        switch exchange.switches.consent {
        case .deny: return back([("error", "access_denied")])
        case .allow: break
        case .ask:
            guard let decision = request.query("decision") else {
                return .html(ExistPage.consent(request, client: client["label"], users: users, scopes: scopes))
            }
            if decision == "deny" { return back([("error", "access_denied")]) }
            user = decision
        }
        guard users.contains(user) else { return back([("error", "access_denied")]) }
        let code = Self.randomToken()
        try exchange.database.execute(
            sql: "INSERT INTO code VALUES (?, ?, ?, ?, ?, ?)",
            arguments: [
                code, client["id"] as String, user, scopes.joined(separator: " "), redirect,
                exchange.now + Int64(exchange.switches.codeLife) * 1_000_000,
            ])
        return back([("code", code)])
    }

    func accessToken(_ exchange: Exchange) throws -> WebAnswer {
        let form = exchange.request.form
        let credentials = exchange.request.client(form)
        let client = try Row.fetchOne(
            exchange.database, sql: "SELECT * FROM client WHERE id = ? AND secret = ?",
            arguments: [credentials.id ?? "", credentials.secret ?? ""])
        guard let client else { return .refusedToken("invalid_client", 401) }
        let id: String = client["id"]
        switch form["grant_type"] {
        case "authorization_code":
            let row = try Row.fetchOne(
                exchange.database, sql: "DELETE FROM code WHERE code = ? RETURNING *", arguments: [form["code"] ?? ""])
            guard let row, row["client"] == id, row["redirect"] == form["redirect_uri"] ?? "",
                row["expires"] as Int64 > exchange.now
            else { return .refusedToken("invalid_grant") }
            return try hand(id, row["user"], row["scopes"], exchange)
        case "refresh_token":
            let row = try Row.fetchOne(
                exchange.database, sql: "DELETE FROM token WHERE refresh = ? AND client = ? RETURNING *",
                arguments: [form["refresh_token"] ?? "", id])
            guard let row else { return .refusedToken("invalid_grant") }
            return try hand(id, row["user"], row["scopes"], exchange)
        default: return .refusedToken("unsupported_grant_type")
        }
    }

    private func hand(_ client: String, _ user: String, _ scopes: String, _ exchange: Exchange) throws -> WebAnswer {
        let life = exchange.switches.tokenLife
        let (access, refresh) = try Self.insertToken(
            client, user, scopes, until: exchange.now + Int64(life) * 1_000_000, in: exchange.database)
        return .token(access, refresh: refresh, life: Int64(life), scope: scopes, type: "Bearer")
    }

    /// Creates a pair of tokens.
    static func insertToken(
        _ client: String, _ user: String, _ scopes: String, until: Int64, in database: Database
    ) throws -> (access: String, refresh: String) {
        let (access, refresh) = (randomToken(), randomToken())
        try database.execute(
            sql: "INSERT INTO token (access, refresh, client, user, scopes, expires) VALUES (?, ?, ?, ?, ?, ?)",
            arguments: [access, refresh, client, user, scopes, until])
        return (access, refresh)
    }

    func simpleToken(_ exchange: Exchange) throws -> WebAnswer {
        let form = exchange.request.form
        let user = try String.fetchOne(
            exchange.database, sql: "SELECT name FROM user WHERE name = ? AND password = ?",
            arguments: [form["username"] ?? "", form["password"] ?? ""])
        guard let user else {
            return .json(["non_field_errors": ["Unable to log in with provided credentials."]], 400)
        }
        let known = try String.fetchOne(
            exchange.database, sql: "SELECT access FROM token WHERE user = ? AND client IS NULL", arguments: [user])
        if let known { return .json(["token": .text(known)]) }
        let token = Self.randomToken()
        let scopes = ExistGroup.scopes.filter { $0.hasSuffix("_read") }.sorted().joined(separator: " ")
        try exchange.database.execute(
            sql: "INSERT INTO token (access, user, scopes) VALUES (?, ?, ?)", arguments: [token, user, scopes])
        return .json(["token": .text(token)])
    }
}
