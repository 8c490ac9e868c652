import GRDB
import WebFaults

/// `POST /token`, on the accounts host and, for SDKs, on the API's host (reference §1.3).
extension Exchange {
    /// Form fields first, then the query, which one SDK and an old page use.
    private static func fields(_ request: WebRequest) -> [String: String] {
        let query = Dictionary(request.query.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        return request.form.merging(query) { form, _ in form }
    }

    func token(_ request: WebRequest) throws -> WebAnswer {
        let fields = Self.fields(request)
        // A refusal that changes the database, such as for a device that polls too often, must not be rolled back.
        let row = try database.write { database -> Result<TokenRow, OAuthError> in
            switch fields["grant_type"] {
            case "authorization_code": .success(try exchangeCode(fields, request, database))
            case "client_credentials": .success(try applicationToken(fields, request, database))
            case "refresh_token": .success(try refreshed(fields, request, database))
            case "device_code": try deviceCodeToken(fields, request, database)
            case nil: throw OAuthError.invalidRequest
            default: throw OAuthError("unsupported_grant_type")
            }
        }.get()
        return .token(row.token, refresh: row.refresh, life: seconds(left: row), scope: row.scope, type: "bearer")
    }

    func seconds(left row: TokenRow) -> Int64? { row.expiresOn.map { max(0, ($0 - now) / 1000) } }

    /// A new token of a user for an application, with a refresh token.
    func userToken(
        _ uid: String, _ aid: String, scope: String, flow: String, _ database: Database
    ) throws -> TokenRow {
        let end = now + options.tokenLife * 1000
        let row = TokenRow(
            token: Identifier.make(), kind: "user", uid: uid, aid: aid, did: nil, scope: scope, flow: flow,
            expiresOn: end, refresh: Identifier.make(), refreshExpiresOn: end + 14 * 86_400_000)
        try row.insert(database)
        try database.execute(
            sql: "INSERT OR IGNORE INTO consent (uid, aid) VALUES (?, ?)", arguments: [uid, aid])
        return row
    }

    /// The application that authenticates with id and secret: by HTTP Basic, or in the form.
    private func client(
        _ fields: [String: String], _ request: WebRequest, _ database: Database
    ) throws -> ApplicationRow? {
        let (id, secret) = request.client(fields)
        guard let secret else { return nil }
        guard let row = try id.flatMap({ try ApplicationRow.fetchOne(database, key: $0) }), row.secret == secret else {
            throw OAuthError.unauthorizedClient
        }
        return row
    }

    private func exchangeCode(
        _ fields: [String: String], _ request: WebRequest, _ database: Database
    ) throws -> TokenRow {
        guard let code = fields["code"] else { throw OAuthError.invalidRequest }
        let row = try Row.fetchOne(database, sql: "SELECT * FROM code WHERE code = ?", arguments: [code])
        guard let row, row["expiresOn"] as Int64 > now else { throw OAuthError.invalidRequest }
        let (aid, challenge): (String, String?) = (row["aid"], row["challenge"])
        if let challenge {
            guard WebRequest.proves(fields["code_verifier"] ?? "", challenge), fields["client_id"] ?? aid == aid else {
                throw OAuthError.invalidRequest
            }
        } else {
            guard let client = try client(fields, request, database), client.id == aid else {
                throw OAuthError.unauthorizedClient
            }
        }
        if let redirect = fields["redirect_uri"], redirect != row["redirect"] as String {
            throw OAuthError.invalidRequest
        }
        // A code is valid once.
        try database.execute(sql: "DELETE FROM code WHERE code = ?", arguments: [code])
        return try userToken(row["uid"], aid, scope: row["scope"], flow: "code", database)
    }

    private func applicationToken(
        _ fields: [String: String], _ request: WebRequest, _ database: Database
    ) throws -> TokenRow {
        guard let client = try client(fields, request, database), client.mayUse("client_credentials") else {
            throw OAuthError.unauthorizedClient
        }
        let row = TokenRow(
            token: Identifier.make(), kind: "application", uid: nil, aid: client.id, did: nil,
            scope: fields["scope"] ?? "read,write", flow: "client_credentials",
            expiresOn: now + options.tokenLife * 500)
        try row.insert(database)
        return row
    }

    /// Renews a token: for the code flow with the application's secret, for the implicit flow with the old token itself.
    private func refreshed(
        _ fields: [String: String], _ request: WebRequest, _ database: Database
    ) throws -> TokenRow {
        let old = try fields["refresh_token"].flatMap {
            try TokenRow.filter(sql: "refresh = ?", arguments: [$0]).fetchOne(database)
        }
        guard let old, let uid = old.uid, let aid = old.aid, old.refreshExpiresOn ?? 0 > now else {
            throw OAuthError.invalidRequest
        }
        if let client = try client(fields, request, database) {
            guard client.id == aid else { throw OAuthError.unauthorizedClient }
        } else {
            guard let (scheme, token) = request.authorization, scheme == "bearer", token == old.token else {
                throw OAuthError.unauthorizedClient
            }
        }
        _ = try old.delete(database)
        return try userToken(uid, aid, scope: old.scope, flow: old.flow, database)
    }

    // MARK: - A device without a browser

    /// The lifetime of the two codes, and the minimum interval of polling, in seconds.
    ///
    /// A device that polls sooner gets an error, and has to wait that much longer each time (RFC 8628 §3.5).
    private static let (deviceCodeLife, deviceCodeInterval): (Int64, Int64) = (1_800, 5)

    /// `POST /device/code`.
    func deviceCode(_ request: WebRequest) throws -> WebAnswer {
        let fields = Self.fields(request)
        return try database.write { database in
            let application = try fields["client_id"].flatMap { try ApplicationRow.fetchOne(database, key: $0) }
            guard let application, application.mayUse("device_code") else { throw OAuthError.unauthorizedClient }
            let (code, userCode) = (Identifier.make(), String(Identifier.make().prefix(8)).uppercased())
            try database.execute(
                sql: """
                    INSERT INTO deviceCode (code, userCode, aid, denied, expiresOn, interval) VALUES (?, ?, ?, 0, ?, ?)
                    """,
                arguments: [
                    code, userCode, application.id, now + Self.deviceCodeLife * 1000, Self.deviceCodeInterval,
                ])
            let host = request.fields["host"] ?? "localhost"
            return .json([
                "device_code": .text(code), "user_code": .text(userCode),
                "verification_url": .text("http://\(host)/device?user_code=\(userCode)"),
                "expires_in": .whole(Self.deviceCodeLife), "interval": .whole(Self.deviceCodeInterval),
            ])
        }
    }

    private func deviceCodeToken(
        _ fields: [String: String], _ request: WebRequest, _ database: Database
    ) throws -> Result<TokenRow, OAuthError> {
        let code = fields["code"] ?? fields["device_code"] ?? ""
        let row = try Row.fetchOne(database, sql: "SELECT * FROM deviceCode WHERE code = ?", arguments: [code])
        guard let row else { throw OAuthError.invalidRequest }
        if let client = try client(fields, request, database), client.id != row["aid"] as String {
            throw OAuthError.unauthorizedClient
        }
        guard row["expiresOn"] as Int64 > now else { throw OAuthError("expired_token") }
        guard row["denied"] as Int64 == 0 else { throw OAuthError("access_denied") }
        guard let uid = row["uid"] as String? else {
            let (asked, interval): (Int64?, Int64) = (row["askedOn"], row["interval"])
            let isTooSoon = asked.map { now < $0 + interval * 1000 } ?? false
            try database.execute(
                sql: "UPDATE deviceCode SET askedOn = ?, interval = ? WHERE code = ?",
                arguments: [now, isTooSoon ? interval + Self.deviceCodeInterval : interval, code])
            return .failure(OAuthError(isTooSoon ? "slow_down" : "authorization_pending"))
        }
        try database.execute(sql: "DELETE FROM deviceCode WHERE code = ?", arguments: [code])
        return .success(try userToken(uid, row["aid"], scope: "read,write", flow: "device_code", database))
    }

    // MARK: - Token information and revocation

    func tokenInfo(_ request: WebRequest) throws -> WebAnswer {
        let caller = try caller(request.fields["authorization"])
        let row = try database.read { try TokenRow.fetchOne($0, key: caller.token) }
        guard let row else { throw APIError.unauthorized }
        return .data(
            .members([
                "client_id": .text(row.aid), "device_id": .text(row.did), "user_id": .text(row.uid),
                "expires_in": .whole(seconds(left: row)),
            ]))
    }

    func checkToken(_ request: WebRequest) throws -> WebAnswer {
        guard let token = request.json?["token"]?.text else { throw APIError.required("token") }
        guard try database.read({ try caller(token: token, $0) }) != nil else { throw APIError.unauthorized }
        return .data(["message": "Valid token"])
    }

    /// `PUT /revokeAccessToken` of SAMI, by an authenticated application; `PUT` or `POST /revokeToken` of ARTIK Cloud.
    func revoke(_ request: WebRequest, isLater: Bool) throws -> WebAnswer {
        let fields = Self.fields(request)
        return try database.write { database in
            var victim = fields["token"]
            var aid: String?
            if isLater {
                let header = (request.fields["authorization"] ?? "").split(separator: " ")
                victim = victim ?? header.last.map(String.init)
            } else {
                let proof = try fields["client_credentials"].flatMap { try caller(token: $0, database) }
                guard case .application(let id)? = proof?.kind else { throw APIError.unauthorized }
                aid = id
            }
            let row = try victim.flatMap { try TokenRow.fetchOne(database, key: $0) }
            guard let row, aid == nil || row.aid == aid else { throw APIError.unauthorized }
            _ = try row.delete(database)
            return .data(["message": "Token has been revoked"])
        }
    }
}
