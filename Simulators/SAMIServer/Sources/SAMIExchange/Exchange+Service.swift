public import WebFaults

extension Exchange: StandInService {
    public func isDisturbed(_ path: String) -> Bool {
        !["/", "/authorize", "/signin", "/login", "/consent", "/device", "/logout"].contains(path)
    }

    public func note(_ request: WebRequest, status: Int?, fault: Fault) {}

    public func answer(_ request: WebRequest, faults: [Fault]) throws -> WebAnswer {
        var answer: WebAnswer
        do {
            answer = try answered(request, faults)
        } catch let error as APIError {
            answer = error.answer
        } catch let error as OAuthError {
            answer = error.answer
        }
        answer.fields += [
            ("Access-Control-Allow-Origin", "*"),
            ("Access-Control-Allow-Methods", "POST, GET, PUT, DELETE, OPTIONS"),
            (
                "Access-Control-Allow-Headers",
                "Origin, X-Requested-With, Content-Type, Accept, Referer, User-Agent, Authorization"
            ),
        ]
        if dialect.isLater { answer.fields.append(("X-Quota-Max-Payload-Size", "\(dialect.messageBytes)")) }
        return answer
    }

    private func answered(_ request: WebRequest, _ faults: [Fault]) throws -> WebAnswer {
        if request.method == "OPTIONS" { return WebAnswer(200) }
        let path = request.path.split(separator: "/")
        // A shipped client writes /V1.1.
        guard path.first?.lowercased() == "v1.1" else { return try accounts(request, path.joined(separator: "/")) }
        let rest = path.dropFirst()
        if rest.first == "accounts" { return try accounts(request, rest.dropFirst().joined(separator: "/")) }
        if socket(request.path) != nil {
            // A request without a handshake.
            _ = try hearing(request)
            throw APIError(400, "Bad Request")
        }
        return try called(request, Array(rest), faults)
    }

    private func accounts(_ request: WebRequest, _ path: String) throws -> WebAnswer {
        switch (request.method, path) {
        case ("GET", ""): try startPage(request)
        case ("GET", "authorize"): try authorize(request, ignoresSession: false)
        case ("GET", "signin"): try authorize(request, ignoresSession: true)
        case ("POST", "login"): try logIn(request)
        case ("POST", "consent"): try consent(request)
        case ("GET", "device"), ("POST", "device"): try allowDevice(request)
        case ("POST", "device/code"): try deviceCode(request)
        case ("GET", "logout"): try logOut(request)
        case ("POST", "token"): try token(request)
        case ("GET", "tokenInfo"): try tokenInfo(request)
        case ("POST", "checkToken"): try checkToken(request)
        case ("PUT", "revokeAccessToken"): try revoke(request, isLater: false)
        case ("PUT", "revokeToken"), ("POST", "revokeToken"): try revoke(request, isLater: true)
        default: throw APIError.notFound
        }
    }

    /// Handles a call of the API: authenticates the caller, checks the rate limit, and runs the handler.
    private func called(_ request: WebRequest, _ path: [Substring], _ faults: [Fault]) throws -> WebAnswer {
        guard let route = Route.all.first(where: { $0.method == request.method && $0.places(of: path) != nil }),
            let places = route.places(of: path)
        else { throw APIError.notFound }
        guard !faults.contains(where: { $0.kind == .form("expired") }) else { throw APIError.unauthorized }
        var header = request.fields["authorization"]
        // The first iOS SDK may send a device's token in the body instead.
        if header == nil, route.counter == .messages, let token = request.json?["token"]?.text {
            header = "bearer \(token)"
        }
        let caller = try caller(header)
        let kind: RateLimits.Kind = route.counter == .messages ? .messages : .verb(request.method)
        let tally = limits.count(caller.actor, kind, at: now)
        var answer: WebAnswer
        do {
            if let excess = tally?.excess { throw APIError(429, excess) }
            answer = try route.handler(
                self,
                Call(
                    request: request, places: places, caller: caller,
                    isTwice: faults.contains { $0.kind == .form("twice") }))
        } catch let error as APIError {
            answer = error.answer
        }
        answer.fields += tally?.fields ?? []
        return answer
    }
}
