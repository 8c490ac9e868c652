import Foundation
import Synchronization

extension OAuthServer {
    struct Answer {
        /// `nil`: the connection ends without a status.
        var status: Int?
        var fields: [String: String] = ["Content-Type": "application/json"]
        var body = ""
        var isHeld = false

        static func error(_ word: String, _ status: Int = 400) -> Answer {
            Answer(status: status, body: #"{"error":"\#(word)","error_description":"the stand-in says so"}"#)
        }
    }

    func answer(_ request: HTTPMessage) -> Answer {
        let words = request.start.split(separator: " ")
        guard words.count == 3, let url = URLComponents(string: String(words[1])) else {
            return .error("invalid_request")
        }
        var members = Self.form(url.percentEncodedQuery ?? "")
        members.merge(Self.form(request.body)) { $1 }
        switch (words[0], url.path) {
        case ("GET", "/authorize"): return authorize(members)
        // One real service has one address for both, and takes token requests by GET.
        case ("GET", "/both"):
            return members["grant_type"] == nil ? authorize(members) : token(members, isForeign: true)
        case ("POST", "/token"): return token(members, isForeign: false)
        case ("POST", "/revoke"): return revoke(members)
        case ("GET", "/me"): return me(request)
        default: return Answer(status: 404, body: "{}")
        }
    }

    private func authorize(_ members: [String: String]) -> Answer {
        guard let redirect = members["redirect_uri"], members["client_id"] == "client" else {
            return .error("invalid_request")
        }
        var parts: [(String, String)] = []
        count { state in
            switch state.ways.state {
            case .none: members["state"].map { parts.append(("state", $0)) }
            case .some(let other): other.map { parts.append(("state", $0)) }
            }
            if state.ways.denies { return parts.append(("error", "access_denied")) }
            if members["response_type"] == "token" {
                let tokens = Self.hand(&state)
                state.counts.logIns += 1
                parts += [("expires_in", "\(state.ways.expiresIn)"), ("token_type", "bearer")]
                parts += [("refresh_token", tokens.refresh), ("access_token", tokens.access)]
            } else {
                let code = Self.secret("code", &state)
                state.codes[code] = (redirect, members["code_challenge"])
                parts.append(("code", code))
            }
        }
        let mark = members["response_type"] == "token" ? "#" : "?"
        let text = parts.map { "\($0.0)=\($0.1)" }.joined(separator: "&")
        return Answer(status: 302, fields: ["Location": redirect + mark + text])
    }

    private func token(_ members: [String: String], isForeign: Bool) -> Answer {
        var answer = Answer()
        count { state in
            let fault = state.faults.isEmpty ? nil : state.faults.removeFirst()
            switch fault {
            case .hangUp: return
            case .refuse: return answer = .error("invalid_grant")
            case .status(let status): return answer = Answer(status: status, body: "<html>busy</html>")
            default: break
            }
            guard Self.isValid(members, &state) else { return answer = .error("invalid_grant") }
            let tokens = Self.hand(&state)
            answer.status = 200
            answer.body =
                isForeign
                ? #"{"AccessToken":"\#(tokens.access)","RefreshToken":"\#(tokens.refresh)","Expires":\#(state.ways.expiresIn),"UserID":"u1"}"#
                : #"{"access_token":"\#(tokens.access)","refresh_token":"\#(tokens.refresh)","expires_in":\#(state.ways.expiresIn),"token_type":"Bearer"}"#
            switch fault {
            case .loseAnswer: answer.status = nil
            case .rubbish: answer.body = "\u{1F4A9}{"
            case .hold: answer.isHeld = true
            default: break
            }
        }
        return answer
    }

    private static func isValid(_ members: [String: String], _ state: inout State) -> Bool {
        if members["grant_type"] == "refresh_token" {
            guard let token = members["refresh_token"], state.refresh.remove(token) != nil else {
                // The token was used before, so another program may have a copy: all tokens end.
                state.counts.reuses += 1
                (state.access, state.refresh) = ([], [])
                return false
            }
            state.access = []
            state.counts.renewals += 1
            return true
        }
        guard let code = members["code"], let known = state.codes.removeValue(forKey: code),
            known.redirect == members["redirect_uri"]
        else { return false }
        // Only the program that sent the challenge knows its verifier. Another implementation computes the challenge here.
        if let challenge = known.challenge, challenge != members["code_verifier"].flatMap(Proof.challenge) {
            return false
        }
        state.counts.logIns += 1
        return true
    }

    private func revoke(_ members: [String: String]) -> Answer {
        var answer = Answer(status: 200, body: "{}")
        count { state in
            guard state.ways.canRevoke else { return answer = Answer(status: 503, body: "{}") }
            state.counts.revoked += 1
            (state.access, state.refresh) = ([], [])
        }
        return answer
    }

    private func me(_ request: HTTPMessage) -> Answer {
        let token = request.fields["authorization"]?.split(separator: " ").last.map(String.init) ?? ""
        var answer = Answer(status: 200, body: #"{"name":"Mira"}"#)
        count { state in
            let isGood = state.access.contains(token)
            if isGood { state.counts.good += 1 } else { state.counts.bad += 1 }
            if !isGood { answer = .error("invalid_token", 401) }
        }
        return answer
    }

    /// Issues a long-lived token, such as a person copies from a page of the service.
    func handLongLivedToken() -> String {
        state.withLock { state in
            let token = Self.secret("longlived", &state)
            state.access.insert(token)
            return token
        }
    }

    private static func hand(_ state: inout State) -> (access: String, refresh: String) {
        let tokens = (secret("access", &state), secret("refresh", &state))
        state.access.insert(tokens.0)
        state.refresh.insert(tokens.1)
        return tokens
    }

    private static func secret(_ word: String, _ state: inout State) -> String {
        state.number += 1
        let secret = "\(word)-\(state.number)-\(UInt64.random(in: 0 ... .max))"
        state.secrets.append(secret)
        return secret
    }

    private static func form(_ text: String) -> [String: String] {
        Dictionary(
            text.split(separator: "&").compactMap { part in
                let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                guard pair.count == 2 else { return nil }
                let value = pair[1].replacing("+", with: " ").removingPercentEncoding ?? String(pair[1])
                return (String(pair[0]), value)
            }, uniquingKeysWith: { first, _ in first })
    }
}

/// Computes the challenge of RFC 7636 (S256) with another implementation than ours.
enum Proof {
    static func challenge(_ verifier: String) -> String? {
        let process = Process()
        let (input, output) = (Pipe(), Pipe())
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["sha256sum"]
        (process.standardInput, process.standardOutput) = (input, output)
        guard (try? process.run()) != nil else { return nil }
        input.fileHandleForWriting.write(Data(verifier.utf8))
        try? input.fileHandleForWriting.close()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        let digits = Array(text.prefix(64))
        let bytes = stride(from: 0, to: digits.count - 1, by: 2).compactMap {
            UInt8(String(digits[$0...$0 + 1]), radix: 16)
        }
        return Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing(
            "=", with: "")
    }
}
