public import HubWire
import Platform
import Samples

/// A page of a service that asks a person whether this plugin may have access (RFC 6749 §4.1 and §4.2).
///
/// It holds the parts that differ from service to service. The hub opens the browser and receives the answer.
public struct Authorization: Sendable {
    /// How to check `state`, the value that ties an answer to this log-in.
    public enum StateRule: Sendable {
        /// The answer must contain it.
        case required
        /// For services whose documentation does not promise to return it: an address that a person has pasted may lack it.
        ///
        /// If a browser arrives without it, `hub login` does not pass the answer to a plugin; its page asks the person to paste the address.
        case ifReturned
    }

    /// The URL of the page; it may already have a query.
    public var page: String
    /// The parameters of the query, in this order: `client_id`, `response_type`, `scope` and any others that the service needs.
    ///
    /// The hub adds `redirect_uri`, `state` and the challenge.
    public var parameters: [(name: String, value: String)]
    /// The address to which the service sends the browser back, exactly as it was registered there.
    ///
    /// For a loopback address with a port, such as `http://127.0.0.1:8737/`, `hub login` listens there. For any other address, the person pastes the
    /// address of the page on which the browser ends.
    public var redirect: String
    /// Whether an answer without the `state` of this log-in is accepted.
    public var state: StateRule
    /// Whether the service supports PKCE (RFC 7636, S256), which makes a stolen code useless.
    public var usesProofKey: Bool
    /// The text shown next to the page's address.
    public var prompt: String

    /// Creates the description of a page; it checks and opens nothing.
    public init(
        page: String, parameters: [(name: String, value: String)], redirect: String, state: StateRule = .required,
        usesProofKey: Bool = true, prompt: String = "Log in there and agree."
    ) {
        (self.page, self.parameters, self.redirect) = (page, parameters, redirect)
        (self.state, self.usesProofKey, self.prompt) = (state, usesProofKey, prompt)
    }

    /// The address of the page with its query.
    func url(state: String, challenge: String?) -> String {
        var all = parameters + [("redirect_uri", redirect), ("state", state)]
        if let challenge { all += [("code_challenge", challenge), ("code_challenge_method", "S256")] }
        return page + (page.contains("?") ? "&" : "?") + FormText.write(all)
    }
}

/// The answer with which a service sent the browser back.
public struct AuthorizationAnswer: Sendable, CustomStringConvertible, CustomReflectable {
    /// The decoded members of the query or the fragment.
    public let parameters: [String: String]
    /// The redirect address, which the exchange of the code has to repeat.
    public let redirect: String
    /// The `code_verifier` that belongs to the code; `nil` without PKCE.
    public let verifier: Secret?

    /// A fixed text without any member, because the code is a secret.
    public var description: String { "<answer to a log-in>" }
    /// Empty, so that no dump shows the code.
    public var customMirror: Mirror { Mirror(self, children: []) }

    /// The code to exchange for a token; exchange it immediately, because some codes are valid for only a minute.
    public func code() throws -> String { try member("code") }

    /// The token that the service has put into the address (the implicit grant).
    /// - Parameter now: microseconds since 1970, from which `expires_in` counts; ``PluginContext/clock`` has it.
    public func token(at now: Int64) throws -> OAuthToken {
        OAuthToken(
            accessToken: Secret(try member("access_token")),
            refreshToken: parameters["refresh_token"].map { Secret($0) },
            expiresAt: parameters["expires_in"].flatMap(Double.init).flatMap { OAuthToken.end(now, $0) },
            scope: parameters["scope"], type: parameters["token_type"] ?? "Bearer")
    }

    private func member(_ name: String) throws -> String {
        if let value = parameters[name], !value.isEmpty { return value }
        let found = parameters.keys.filter { $0 != "state" }.sorted().joined(separator: ", ")
        throw CommandFailure(
            "answer", "the service came back without \(name)" + (found.isEmpty ? "" : ", but with \(found)"))
    }

    /// Reads the address that the browser arrived with, or a person's input: an address, its members, or the bare code or token.
    /// - Throws: ``CommandFailure`` with code `denied`, `answer` or `state`.
    init(
        _ text: String, to request: Authorization, state: String, verifier: Secret?
    ) throws {
        let text = text.trimmingASCIISpace
        let parts = text.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        let query = parts.first?.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).last ?? ""
        var parameters = FormText.read(parts.count > 1 ? parts[1] : "").merging(FormText.read(query)) { fragment, _ in
            fragment
        }
        let isBare = !text.contains("://") && parameters["error"] == nil && parameters["state"] == nil
        if isBare, parameters["code"] == nil, parameters["access_token"] == nil, !text.isEmpty {
            parameters = ["code": text, "access_token": text]
        }
        if let error = parameters["error"] {
            let more = parameters["error_description"].map { ": \($0)" } ?? ""
            guard error == "access_denied" else {
                throw CommandFailure("answer", "the service refuses to begin: \(error)\(more)")
            }
            throw CommandFailure("denied", "the service says that access was denied\(more); nothing was changed")
        }
        switch (parameters["state"], request.state) {
        case (state?, _), (nil, .ifReturned): break
        case (nil, .required) where isBare: break  // Pasted by hand, so it cannot come from another page.
        default:
            throw CommandFailure(
                "state",
                "this answer belongs to another log-in, and was not used; begin again, and finish on the same page")
        }
        (self.parameters, self.redirect, self.verifier) = (parameters, request.redirect, verifier)
    }
}

extension CommandCall {
    /// Sends the person's browser to a page of a service and waits for the answer, which belongs to this call only.
    ///
    /// - Throws: ``CommandFailure`` with code `denied` (the person or the service declined), `state` (an answer of another log-in) or `answer` (any
    ///   other unusable answer); `CancellationError` if the person gives up.
    public func authorize(_ request: Authorization) async throws -> AuthorizationAnswer {
        let state = RandomText.make(bytes: 32)
        let verifier = request.usesProofKey ? RandomText.make(bytes: 32) : nil
        let challenge = verifier.map { Base64URL.text(Digests.sha256($0.utf8)) }
        let answer = try await hub.link.ask(
            CommandQuestion(
                request.prompt, url: request.url(state: state, challenge: challenge), redirect: request.redirect,
                isSecret: true), ticket)
        return try AuthorizationAnswer(answer, to: request, state: state, verifier: verifier.map { Secret($0) })
    }
}
