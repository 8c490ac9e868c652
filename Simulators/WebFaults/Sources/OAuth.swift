import Foundation
import Platform

// The parts of OAuth 2 that all stand-ins share (RFC 6749, RFC 7636); each has its own codes, tokens, pages and refusals.

extension WebRequest {
    /// The scheme of `Authorization` in lower case, and the credentials after it.
    public var authorization: (scheme: String, credentials: String)? {
        let words = (fields["authorization"] ?? "").split(separator: " ")
        return words.count == 2 ? (words[0].lowercased(), String(words[1])) : nil
    }

    /// The id and the secret of the client: by HTTP Basic, else among the members; an absent part is `nil`.
    public func client(_ members: [String: String]) -> (id: String?, secret: String?) {
        guard let (scheme, text) = authorization, scheme == "basic", let bytes = Data(base64Encoded: text),
            let plain = String(validating: bytes, as: UTF8.self)
        else { return (members["client_id"], members["client_secret"]) }
        let parts = plain.split(separator: ":", maxSplits: 1).map(String.init)
        return (parts.first, parts.count > 1 ? parts[1] : nil)
    }

    /// Whether a verifier fits the challenge with which the code was requested (S256).
    public static func proves(_ verifier: String, _ challenge: String) -> Bool {
        let digest = Data(Digests.sha256(verifier.utf8)).base64EncodedString()
        return digest.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "") == challenge
    }
}

extension WebAnswer {
    /// Sends the browser back to an application with the answer to a log-in.
    ///
    /// - Parameter inFragment: whether the members are in the fragment of the address, as in the implicit grant.
    public static func back(
        to redirect: String, _ members: [(name: String, value: String)], inFragment: Bool = false
    ) -> WebAnswer {
        let text = members.map { "\($0.name)=\(WebRequest.encoded($0.value))" }.joined(separator: "&")
        var answer = WebAnswer.redirect(redirect + (inFragment ? "#" : redirect.contains("?") ? "&" : "?") + text)
        answer.fields.append(("Cache-Control", "no-store"))
        return answer
    }

    /// The answer of a token endpoint.
    ///
    /// - Parameter life: the seconds until the access token ends.
    public static func token(
        _ access: String, refresh: String?, life: Int64?, scope: String, type: String
    ) -> WebAnswer {
        var answer = WebAnswer.json(
            .members([
                "access_token": .text(access), "token_type": .text(type),
                "expires_in": life.map { .number(String($0)) }, "refresh_token": refresh.map(JSONTree.text),
                "scope": .text(scope),
            ]))
        answer.fields += [("Cache-Control", "no-store"), ("Pragma", "no-cache")]
        return answer
    }

    /// The refusal of a token endpoint.
    public static func refusedToken(_ code: String, _ status: Int = 400) -> WebAnswer {
        .json(["error": .text(code)], status)
    }
}
