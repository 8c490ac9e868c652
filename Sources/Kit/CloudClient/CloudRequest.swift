public import Foundation
public import PluginKit

/// A plugin's request to a service.
///
/// ```swift
/// var request = CloudRequest(.get, "/api/2/attributes/values/", query: [("attribute", "weight"), ("limit", "100")])
/// request.authorize(token.accessToken)
/// let answer = try await client.send(request, retrying: .init()).successful()
/// ```
///
/// Its description omits query, headers and body.
public struct CloudRequest: Sendable, CustomStringConvertible {
    public struct Method: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        public static let get = Method(description: "GET")
        public static let head = Method(description: "HEAD")
        public static let post = Method(description: "POST")
        public static let put = Method(description: "PUT")
        public static let patch = Method(description: "PATCH")
        public static let delete = Method(description: "DELETE")

        /// Whether the method changes nothing at the service (RFC 9110 §9.2.1).
        var isSafe: Bool { self == .get || self == .head }
        /// Whether sending the request twice has the same effect as once (RFC 9110 §9.2.2).
        var isIdempotent: Bool { isSafe || self == .put || self == .delete }
    }

    public var method: Method
    /// Appended to the service's address, such as `/v1.1/messages`; characters not allowed in a path are escaped.
    public var path: String
    /// Query items in order; names and values are escaped.
    public var query: [(name: String, value: String)]
    /// Additional headers; repeated names are all sent.
    public var headers: [(name: String, value: String)] = []
    /// The body with its media type; nil for none.
    public private(set) var body: (type: String, bytes: Data)?
    /// Whether the request may be sent again if it is unknown whether it had an effect.
    ///
    /// The method determines the default; set it for a POST that overwrites.
    public var isRepeatable: Bool
    /// Whether the request may change something at the service, for ``CloudError/mayHaveHadEffect``.
    ///
    /// The method determines the default; set it for a GET that changes something, such as one that spends a refresh token.
    public var hasEffect: Bool
    private(set) var authorization: (scheme: String, secret: Secret)?

    public init(_ method: Method, _ path: String, query: [(name: String, value: String)] = []) {
        (self.method, self.path, self.query) = (method, path, query)
        (isRepeatable, hasEffect) = (method.isIdempotent, !method.isSafe)
    }

    /// Sends `members` as a form.
    public static func form(
        _ path: String, _ members: [(name: String, value: String)], method: Method = .post
    ) -> CloudRequest {
        let bytes = Data(FormText.write(members).utf8)
        return .bytes(path, bytes, type: "application/x-www-form-urlencoded", method: method)
    }

    /// Sends `value` as JSON.
    public static func json(_ path: String, _ value: some Encodable, method: Method = .post) throws -> CloudRequest {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return .bytes(path, try encoder.encode(value), type: "application/json", method: method)
    }

    /// Sends `bytes` unchanged.
    public static func bytes(_ path: String, _ bytes: Data, type: String, method: Method = .post) -> CloudRequest {
        var request = CloudRequest(method, path)
        request.body = (type, bytes)
        return request
    }

    /// Sends `Authorization: Bearer` with the token, or another scheme if the service requires one.
    ///
    /// The token is sent only to the service's own address, because redirects are not followed.
    public mutating func authorize(_ token: Secret, scheme: String = "Bearer") { authorization = (scheme, token) }

    /// Sends `Authorization: Basic` with a name and a password (RFC 7617).
    public mutating func authorizeBasic(_ name: String, _ password: Secret) {
        authorize(Secret(Data("\(name):\(password.reveal())".utf8).base64EncodedString()), scheme: "Basic")
    }

    /// A copy after ``authorize(_:scheme:)``.
    public func authorized(_ token: Secret, scheme: String = "Bearer") -> CloudRequest {
        var request = self
        request.authorize(token, scheme: scheme)
        return request
    }

    /// `GET /v1.1/messages`.
    public var description: String { "\(method) \(path)" }

    func url(at address: ServiceAddress) -> String {
        let escaped = path.addingPercentEncoding(withAllowedCharacters: Self.pathCharacters) ?? path
        let separator = escaped.isEmpty || escaped.hasPrefix("/") ? "" : "/"
        return address.text + separator + escaped + (query.isEmpty ? "" : "?" + FormText.write(query))
    }

    /// A percent sign is taken as the start of an escape written by the caller.
    private static let pathCharacters = CharacterSet.urlPathAllowed.union(CharacterSet(charactersIn: "%"))
}
