import PostgreSQL

/// The invitation from the desk, in one line: `central://HOST,HOST:PORT/DATABASE?invite=ID.TOKEN`.
struct Invitation: Sendable {
    var hosts: [ConnectionOptions.Host]
    var database: String
    /// Names the role that may request a certificate.
    var id: String
    /// The role's password; it is worthless after use.
    var token: String

    var role: String { "invite_\(id)" }

    /// - Parameter text: the line from the desk; a port after the last host applies to all hosts without one.
    /// - Returns: nil if it is not such a line.
    init?(_ text: String) {
        let pattern =
            #/central://(?<hosts>[^/?\s]+)/(?<database>[A-Za-z0-9_-]{1,63})\?invite=(?<id>[A-Za-z0-9_]{1,32})\.(?<token>[A-Za-z0-9_-]{16,256})/#
        guard let match = text.trimming(while: \.isWhitespace).wholeMatch(of: pattern) else { return nil }
        let names = match.hosts.split(separator: ",").map(String.init)
        let usual = names.last.flatMap { ConnectionOptions.Host(parsing: $0) }?.port ?? 5_432
        let hosts = names.compactMap { ConnectionOptions.Host(parsing: $0, port: usual) }
        guard !hosts.isEmpty, hosts.count == names.count else { return nil }
        self.hosts = hosts
        (database, id, token) = (String(match.database), String(match.id), String(match.token))
    }

    /// The line for the state of this instance.
    var text: String {
        "central://\(hosts.map(\.description).joined(separator: ","))/\(database)?invite=\(id).\(token)"
    }
}

extension String {
    fileprivate func trimming(while isLeftOut: (Character) -> Bool) -> Substring {
        let rest = drop(while: isLeftOut)
        return rest.suffix(from: rest.startIndex).prefix(
            upTo: (rest.lastIndex { !isLeftOut($0) }).map { rest.index(after: $0) } ?? rest.startIndex)
    }
}
