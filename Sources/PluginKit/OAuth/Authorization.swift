import Digests
public import HubSettings
import HubWire
import Samples

/// A page of a service that asks a person whether this plugin may have access (RFC 6749 §4.1 and §4.2).
///
/// What differs from service to service is said here; the browser, and the way back from it, are the hub's.
public struct Authorization: Sendable {
    /// What is expected of `state`, the mark by which an answer is known to belong to this log-in.
    public enum StateRule: Sendable {
        /// It must come back.
        case required
        /// For services whose documentation does not say that it comes back: an address that a person has pasted may lack it.
        ///
        /// What a browser brings without it `hub login` passes to no plugin: it says on the page what to paste.
        case ifReturned
    }

    /// Where the page is: a URL, which may have a query already.
    public var page: String
    /// What it is asked, in this order: `client_id`, `response_type`, `scope` and whatever the service wants.
    ///
    /// `redirect_uri`, `state` and the challenge are added.
    public var parameters: [(name: String, value: String)]
    /// Where the service is to send the browser back to, exactly as it was registered there.
    ///
    /// With a loopback address and a port, such as `http://127.0.0.1:8737/`, `hub login` listens there; with any other the person pastes
    /// the address of the page that the browser ends on.
    public var redirect: String
    /// Whether an answer without the mark of this log-in is taken.
    public var state: StateRule
    /// Whether the service knows PKCE (RFC 7636, S256): then a stolen code is of no use.
    public var usesProofKey: Bool
    /// What the person reads beside the page's address.
    public var prompt: String

    /// A page to send a person to; nothing is checked or opened here.
    public init(
        page: String, parameters: [(name: String, value: String)], redirect: String, state: StateRule = .required,
        usesProofKey: Bool = true, prompt: String = "Log in there and agree."
    ) {
        (self.page, self.parameters, self.redirect) = (page, parameters, redirect)
        (self.state, self.usesProofKey, self.prompt) = (state, usesProofKey, prompt)
    }

    /// The address of the page, with all it is asked.
    func url(state: String, challenge: String?) -> String {
        var all = parameters + [("redirect_uri", redirect), ("state", state)]
        if let challenge { all += [("code_challenge", challenge), ("code_challenge_method", "S256")] }
        return page + (page.contains("?") ? "&" : "?") + FormText.write(all)
    }
}

/// What a service has sent the browser back with.
public struct AuthorizationAnswer: Sendable, CustomStringConvertible, CustomReflectable {
    /// The members of the query or of the fragment, decoded.
    public let parameters: [String: String]
    /// To be repeated when the code is exchanged.
    public let redirect: String
    /// The `code_verifier` that belongs to the code; nil without PKCE.
    public let verifier: Secret?

    /// Says what it is and nothing of what is in it: the code is a secret.
    public var description: String { "<answer to a log-in>" }
    /// Empty, so that no dump shows the code.
    public var customMirror: Mirror { Mirror(self, children: []) }

    /// The code to be exchanged for a token, now: some are valid for a minute.
    public func code() throws -> String { try member("code") }

    /// The token that the service has put into the address itself (the implicit grant).
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

    /// Reads what the browser came back with, or what a person has pasted: an address, its members, or the bare code or token.
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
        case (nil, .required) where isBare: break  // Pasted by hand: it cannot come from another page.
        default:
            throw CommandFailure(
                "state",
                "this answer belongs to another log-in, and was not used; begin again, and finish on the same page")
        }
        (self.parameters, self.redirect, self.verifier) = (parameters, request.redirect, verifier)
    }
}

extension CommandCall {
    /// Sends the person's browser to a page of a service, and waits for what comes back; the answer belongs to this call and no other.
    ///
    /// - Throws: ``CommandFailure``: `denied` (the person or the service said no), `state` (an answer of another log-in), `answer`
    ///   (neither yes nor no); `CancellationError` when the person gives up.
    public func authorize(_ request: Authorization) async throws -> AuthorizationAnswer {
        let state = RandomText.make(bytes: 32)
        let verifier = request.usesProofKey ? RandomText.make(bytes: 32) : nil
        let challenge = verifier.map { Base64URL.text(Digests.sha256($0.utf8)) }
        let answer = try await hub.link.commands.ask(
            CommandQuestion(
                request.prompt, url: request.url(state: state, challenge: challenge), redirect: request.redirect,
                isSecret: true), ticket)
        return try AuthorizationAnswer(answer, to: request, state: state, verifier: verifier.map { Secret($0) })
    }
}
