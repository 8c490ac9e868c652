/// What went wrong with a server, for people: the host, what was tried, the server's code and its sentence; never a value or a secret.
public struct PostgreSQLError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Who can mend it.
    public enum Kind: Hashable, Sendable {
        /// The statement or what it was given is wrong: every host says the same.
        case statement
        /// The host is away, is being ended, does not lead, or lacks something: another may do it, or the same one later.
        case host
        /// One side did not prove who it is: a person has to look.
        case identity
        /// There was no answer in time; whether it was done is not known.
        case deadline
    }

    public let kind: Kind
    /// Where it was tried; `nil` where there were several.
    public let host: ConnectionOptions.Host?
    /// SQLSTATE, five characters, where the server said one, or would have.
    public let code: String?
    public let description: String

    init(_ kind: Kind, _ doing: String, at host: ConnectionOptions.Host, code: String? = nil, _ reason: String) {
        (self.kind, self.host, self.code) = (kind, host, code)
        description = "\(host): \(doing): \(code.map { "\($0) " } ?? "")\(reason)"
    }

    /// Of several hosts that were tried one after the other.
    init(_ errors: [PostgreSQLError]) {
        let kind = [Kind.identity, .statement].first { kind in errors.contains { $0.kind == kind } } ?? .host
        host = errors.count == 1 ? errors[0].host : nil
        code = errors.first { $0.kind == kind }?.code
        self.kind = kind
        description = errors.map(\.description).joined(separator: "; ")
    }

    /// Who can mend what the server said.
    static func kind(of code: String) -> Kind {
        switch code.prefix(2) {
        case "28": .identity
        // Connections, states of a transaction (read-only, too), rollbacks, resources, a person's intervention, the system, its files, its faults.
        case "08", "25", "40", "53", "55", "57", "58", "F0", "XX": .host
        default: .statement
        }
    }

    /// The server's sentence without what it quotes where that may be a value that it was given.
    static func withoutValues(_ message: String, code: String) -> String {
        guard code.hasPrefix("22") || code.hasPrefix("23") else { return message }
        guard let first = message.firstIndex(of: "\""), let last = message.lastIndex(of: "\"") else {
            return message
        }
        // From the first to the last: a value may have quotation marks of its own.
        return message[...first] + "…" + (first < last ? message[last...] : "")
    }
}
