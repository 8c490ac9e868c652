/// A server error for people: the host, the operation, the server's code and message.
///
/// It never contains a value or a secret.
public struct PostgreSQLError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The category, which determines the remedy.
    public enum Kind: Hashable, Sendable {
        /// The statement or its parameters are wrong: every host gives the same error.
        case statement
        /// The host is down, shutting down, read-only or short of resources: another host, or the same one later, may succeed.
        case host
        /// Authentication of one side failed: a person has to check.
        case identity
        /// There was no answer in time; the outcome is unknown.
        case deadline
    }

    public let kind: Kind
    /// The host; `nil` if there were several.
    public let host: ConnectionOptions.Host?
    /// SQLSTATE, five characters, if the server gave one or would have.
    public let code: String?
    public let description: String

    init(_ kind: Kind, _ doing: String, at host: ConnectionOptions.Host, code: String? = nil, _ reason: String) {
        (self.kind, self.host, self.code) = (kind, host, code)
        description = "\(host): \(doing): \(code.map { "\($0) " } ?? "")\(reason)"
    }

    /// Combines the errors of several hosts that were tried one after the other.
    init(_ errors: [PostgreSQLError]) {
        let kind = [Kind.identity, .statement].first { kind in errors.contains { $0.kind == kind } } ?? .host
        host = errors.count == 1 ? errors[0].host : nil
        code = errors.first { $0.kind == kind }?.code
        self.kind = kind
        description = errors.map(\.description).joined(separator: "; ")
    }

    /// The category of a server's code.
    static func kind(of code: String) -> Kind {
        switch code.prefix(2) {
        case "28": .identity
        // Connections, transaction states (including read-only), rollbacks, resources, operator intervention, system and file errors, internal
        // errors.
        case "08", "25", "40", "53", "55", "57", "58", "F0", "XX": .host
        default: .statement
        }
    }

    /// The server's message without quoted text, if that may be a value from the parameters.
    static func withoutValues(_ message: String, code: String) -> String {
        guard code.hasPrefix("22") || code.hasPrefix("23") else { return message }
        guard let first = message.firstIndex(of: "\""), let last = message.lastIndex(of: "\"") else {
            return message
        }
        // From the first quotation mark to the last one, because a value may contain quotation marks.
        return message[...first] + "…" + (first < last ? message[last...] : "")
    }
}
