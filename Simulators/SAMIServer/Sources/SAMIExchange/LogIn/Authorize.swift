import GRDB
import WebFaults

/// `/authorize` and the pages behind it (reference §1.2).
extension Exchange {
    private static let cookie = "sami_session"

    /// The parameters of `/authorize`, checked as far as possible without a person.
    private struct Asked {
        var application: ApplicationRow
        var redirect: String
        var isImplicit: Bool
        var scope: String
        var state: String?
        var challenge: String?
    }

    private struct Session {
        var id, mark: String
        var user: UserRow
    }

    /// The query as received, which is passed from page to page.
    private static func query(_ request: WebRequest) -> String {
        request.query.map { "\(WebRequest.encoded($0.name))=\(WebRequest.encoded($0.value))" }.joined(separator: "&")
    }

    /// `GET /`, the page for a person checking that the server is running.
    func startPage(_ request: WebRequest) throws -> WebAnswer {
        let counts = try database.read { database in
            try [("device", "devices"), ("message", "messages"), ("application", "applications")].map { table, plural in
                let count = try Int.fetchOne(database, sql: "SELECT count(*) FROM \(table)") ?? 0
                return "\(count) \(count == 1 ? table : plural)"
            }
        }
        return Pages.start(
            base: "http://\(request.fields["host"] ?? "localhost")", dialect: dialect.name, counts: counts)
    }

    /// `GET /authorize`, and `/signin`, which ignores the browser's session.
    func authorize(_ request: WebRequest, ignoresSession: Bool) throws -> WebAnswer {
        try database.write { database in
            let asked = try read(request, database)
            let prompt = request.query("prompt") ?? ""
            guard !ignoresSession, !["login", "select_account"].contains(prompt),
                let session = try session(request, database)
            else { return Pages.logIn(query: Self.query(request), mistake: nil) }
            return Pages.consent(
                application: asked.application.name, user: session.user.fullName,
                rights: try rights(asked.application, asked.scope, database), query: Self.query(request),
                mark: session.mark, redirect: asked.redirect)
        }
    }

    /// - Throws: ``OAuthError`` with a page, or with a redirect if the application is known.
    private func read(_ request: WebRequest, _ database: Database) throws -> Asked {
        let application = try request.query("client_id").flatMap { try ApplicationRow.fetchOne(database, key: $0) }
        guard let application else {
            throw OAuthError(
                answer: Pages.message("Not possible", "There is no application with this client_id.", status: 400))
        }
        let redirect = request.query("redirect_uri") ?? application.redirect
        guard redirect == application.redirect else {
            throw OAuthError(
                answer: Pages.message("Not possible", "The redirect_uri parameter is invalid.", status: 400))
        }
        let kind = request.query("response_type") ?? ""
        var asked = Asked(
            application: application, redirect: redirect, isImplicit: kind == "token",
            scope: request.query("scope") ?? "read,write", state: request.query("state"))
        func refusal(_ error: String) -> OAuthError { OAuthError(answer: sendBack(asked, [("error", error)])) }
        guard ["token", "code"].contains(kind) else { throw refusal("invalid_request") }
        let scopes = asked.scope.split { $0 == "," || $0 == " " }
        guard scopes.allSatisfy({ ["read", "write"].contains($0) }) else { throw refusal("invalid_request") }
        asked.scope = scopes.joined(separator: ",")
        guard application.mayUse(kind) else { throw refusal("unauthorized_client") }
        if let challenge = request.query("code_challenge") {
            guard request.query("code_challenge_method") == "S256" else { throw refusal("invalid_request") }
            asked.challenge = challenge
        }
        return asked
    }

    /// Redirects to the application: in the fragment for the implicit grant, otherwise in the query.
    private func sendBack(_ asked: Asked, _ members: [(name: String, value: String)]) -> WebAnswer {
        var members = members
        if let state = asked.state {
            // The access token stays last, because shipped clients take the text after the last `=`.
            let place = members.last?.name == "access_token" ? members.count - 1 : members.count
            members.insert(("state", state), at: place)
        }
        return .back(to: asked.redirect, members, inFragment: asked.isImplicit)
    }

    private func rights(
        _ application: ApplicationRow, _ scope: String, _ database: Database
    ) throws -> [String] {
        try application.rights.sorted { $0.key < $1.key }.map { dtid, right in
            let name = dtid == "*" ? "All devices" : try DeviceTypeRow.fetchOne(database, key: dtid)?.name ?? dtid
            let both = right.split(separator: ",").filter { scope.contains($0) }
            return "\(name): \(both.joined(separator: " and "))"
        }
    }

    // MARK: - The browser's session

    private func session(_ request: WebRequest, _ database: Database) throws -> Session? {
        let cookies = (request.fields["cookie"] ?? "").split(separator: ";").map { String($0.replacing(" ", with: "")) }
        guard let id = cookies.first(where: { $0.hasPrefix(Self.cookie + "=") })?.dropFirst(Self.cookie.count + 1)
        else { return nil }
        let row = try Row.fetchOne(
            database, sql: "SELECT * FROM session WHERE id = ? AND expiresOn > ?", arguments: [String(id), now])
        guard let row, let user = try UserRow.fetchOne(database, key: row["uid"] as String) else { return nil }
        return Session(id: String(id), mark: row["mark"], user: user)
    }

    /// `POST /login`: starts a session and continues with the original request.
    func logIn(_ request: WebRequest) throws -> WebAnswer {
        let form = request.form
        let (query, name) = (form["query"] ?? "", form["name"] ?? "")
        return try database.write { database in
            let user = try UserRow.filter(sql: "name = ? OR email = ?", arguments: [name, name]).fetchOne(database)
            guard let user, user.password == form["password"] else {
                return Pages.logIn(query: query, mistake: "The name or the password is wrong.")
            }
            let id = Identifier.make()
            try database.execute(
                sql: "INSERT INTO session (id, uid, mark, expiresOn) VALUES (?, ?, ?, ?)",
                arguments: [id, user.id, Identifier.make(), now + 86_400_000])
            // The original request must not ask for a log-in again.
            let rest = WebRequest("GET", "/?" + query).query.filter { $0.name != "prompt" }
            let text = rest.map { "\(WebRequest.encoded($0.name))=\(WebRequest.encoded($0.value))" }
            let isDevice = rest.contains { $0.name == "user_code" }
            return WebAnswer(
                303,
                fields: [
                    ("Location", (isDevice ? "/device?" : "/authorize?") + text.joined(separator: "&")),
                    ("Set-Cookie", "\(Self.cookie)=\(id); HttpOnly; SameSite=Lax; Path=/"),
                    ("Cache-Control", "no-store"),
                ])
        }
    }

    /// `POST /consent`.
    func consent(_ request: WebRequest) throws -> WebAnswer {
        let form = request.form
        let question = WebRequest("GET", "/authorize?" + (form["query"] ?? ""))
        return try database.write { database in
            guard let session = try session(request, database), session.mark == form["mark"] else {
                return Pages.logIn(query: form["query"] ?? "", mistake: "The session is over; log in again.")
            }
            let asked = try read(question, database)
            guard form["decision"] == "allow" else { return sendBack(asked, [("error", "access_denied")]) }
            let aid = asked.application.id
            guard asked.isImplicit else {
                let code = Identifier.make()
                try database.execute(
                    sql: """
                        INSERT INTO code (code, aid, uid, redirect, scope, challenge, expiresOn) VALUES (?, ?, ?, ?, ?, ?, ?)
                        """,
                    arguments: [
                        code, aid, session.user.id, asked.redirect, asked.scope, asked.challenge, now + 60_000,
                    ])
                return sendBack(asked, [("code", code)])
            }
            let token = try userToken(session.user.id, aid, scope: asked.scope, flow: "token", database)
            return sendBack(
                asked,
                [
                    ("expires_in", "\(seconds(left: token) ?? 0)"), ("token_type", "bearer"),
                    ("refresh_token", token.refresh ?? ""), ("access_token", token.token),
                ])
        }
    }

    /// `GET` and `POST /device`: a person allows a device that has no browser.
    func allowDevice(_ request: WebRequest) throws -> WebAnswer {
        let form = request.form
        let code =
            request.query("user_code") ?? WebRequest("GET", "/?" + (form["query"] ?? "")).query("user_code") ?? ""
        return try database.write { database in
            let row = try Row.fetchOne(
                database, sql: "SELECT * FROM deviceCode WHERE userCode = ? AND expiresOn > ?", arguments: [code, now])
            guard let row, let application = try ApplicationRow.fetchOne(database, key: row["aid"] as String) else {
                return Pages.message("Not possible", "There is no such code, or it is too old.", status: 400)
            }
            guard let session = try session(request, database) else {
                return Pages.logIn(query: "user_code=\(code)", mistake: nil)
            }
            guard request.method == "POST", session.mark == form["mark"] else {
                return Pages.consent(
                    application: application.name, user: session.user.fullName,
                    rights: try rights(application, "read,write", database), query: "user_code=\(code)",
                    mark: session.mark, redirect: nil, action: "/device")
            }
            let isAllowed = form["decision"] == "allow"
            try database.execute(
                sql: "UPDATE deviceCode SET uid = ?, denied = ? WHERE userCode = ?",
                arguments: [isAllowed ? session.user.id : nil, isAllowed ? 0 : 1, code])
            return Pages.message(isAllowed ? "Allowed" : "Denied", "You can close this page.")
        }
    }

    /// `GET /logout`: logs a person out of the client with this redirect address.
    ///
    /// It revokes the tokens that the person has given the client, unless an option disables that, and ends the browser's session. A browser
    /// identifies the person by its session, an app by the token that it sends.
    func logOut(_ request: WebRequest) throws -> WebAnswer {
        let redirect = request.query("redirect_uri")
        let caller = try request.fields["authorization"].map { try self.caller($0) }
        return try database.write { database in
            let application = try redirect.flatMap {
                try ApplicationRow.filter(sql: "redirect = ?", arguments: [$0]).fetchOne(database)
            }
            if let caller {
                guard case .user(let uid, let aid) = caller.kind else { throw APIError.forbidden("this is not a user") }
                guard redirect == nil || application?.id == aid else {
                    return Pages.message("Not possible", "The redirect_uri parameter is invalid.", status: 400)
                }
                try endTokens(of: uid, aid, database)
            } else if let session = try session(request, database) {
                try database.execute(sql: "DELETE FROM session WHERE id = ?", arguments: [session.id])
                if let application { try endTokens(of: session.user.id, application.id, database) }
            }
            guard let redirect, application != nil else {
                return Pages.message("Logged out", "You can close this page.")
            }
            let state = request.query("state").map { "&state=\(WebRequest.encoded($0))" } ?? ""
            return .redirect(redirect + (redirect.contains("?") ? "&" : "?") + "status=logout" + state)
        }
    }

    private func endTokens(of uid: String, _ aid: String, _ database: Database) throws {
        guard options.logoutRevokes else { return }
        try database.execute(sql: "DELETE FROM token WHERE uid = ? AND aid = ?", arguments: [uid, aid])
    }
}
