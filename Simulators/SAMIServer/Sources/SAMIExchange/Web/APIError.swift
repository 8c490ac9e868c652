import WebFaults

/// A failure in SAMI's error envelope (reference §7.2).
struct APIError: Error {
    let status: Int
    let code: Int
    let message: String
    /// The wrong parameter, and its fault in SAMI's own words.
    private var field: (name: String, message: String)?
    /// The message on a socket, if it is another one.
    private(set) var socketMessage: String?
    /// The headers of a rate limit, which a socket sends as members.
    var limits: [(name: String, value: String)] = []

    init(_ status: Int, _ message: String, code: Int? = nil) {
        (self.status, self.code, self.message) = (status, code ?? status, message)
    }

    /// The object below `error`.
    var tree: JSONTree {
        let object: JSONTree = ["code": JSONTree(code), "message": .text(message)]
        guard let field else { return object }
        return object.with(["errors": [["field": .text(field.name), "messages": [.text(field.message)]]]])
    }

    var answer: WebAnswer { .api(["error": tree], status) }

    static let unauthorized = APIError(401, "Please provide a valid authorization header")
    static let notFound = APIError(404, "Not Found")
    static let noDeviceType = APIError(404, "Device type does not exist.", code: 1101)
    static let noUser = APIError(404, "User does not exist.", code: 1201)
    static let tooLarge = APIError(413, "The message is too large")

    static func forbidden(_ detail: String) -> APIError {
        APIError(403, "You don't have the right permissions: \(detail)")
    }

    /// - Parameter message: such as `Minimum length 5`.
    static func invalid(_ field: String, _ message: String) -> APIError {
        var error = APIError(400, "Validation Error", code: 4001)
        error.field = (field, message)
        return error
    }

    static func required(_ field: String) -> APIError { invalid(field, "Required parameter") }

    func onSocket(_ message: String) -> APIError {
        var error = self
        error.socketMessage = message
        return error
    }
}

/// A failure in OAuth's form (RFC 6749 §5.2).
struct OAuthError: Error {
    /// A page or a redirect if a browser asks.
    let answer: WebAnswer

    init(_ code: String) { answer = .refusedToken(code) }
    init(answer: WebAnswer) { self.answer = answer }

    static let invalidRequest = OAuthError("invalid_request")
    static let unauthorizedClient = OAuthError("unauthorized_client")
}

extension WebAnswer {
    static func api(_ tree: JSONTree, _ status: Int = 200) -> WebAnswer { api(text: tree.json, status) }

    static func api(text: String, _ status: Int = 200) -> WebAnswer {
        WebAnswer(status, fields: [("Content-Type", "application/json; charset=utf-8")], body: Array(text.utf8))
    }

    /// Wraps the value in `data`.
    static func data(_ tree: JSONTree) -> WebAnswer { .api(["data": tree]) }
}
