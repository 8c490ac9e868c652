/// The servers a ``Connection`` may use, and the authentication of both sides.
public struct ConnectionOptions: Sendable {
    /// The address of a server.
    public struct Host: Hashable, Sendable, CustomStringConvertible {
        /// A name or an address; or a folder that starts with `/`, for the Unix socket in it.
        public var name: String
        /// 1 to 65,535.
        public var port: Int

        /// Creates an address without checking it.
        public init(_ name: String, port: Int = 5_432) { (self.name, self.port) = (name, port) }

        /// `NAME:PORT`, as people write it.
        public var description: String { name.contains(":") ? "[\(name)]:\(port)" : "\(name):\(port)" }
    }

    /// The protection of the connection.
    public enum Security: Sendable {
        /// No protection: for a Unix socket, and for tests.
        case none
        /// TLS with certificates, as PEM files. The server's certificate must have the host's name and be signed by the authority. The client has
        /// its own.
        case certificate(authority: String, own: String, key: String)
        /// TLS and a SCRAM password with channel binding, so that a server that does not know the password cannot impersonate the real one.
        case password(String)
    }

    /// The hosts in the order in which they are tried; each name once.
    public var hosts: [Host]
    public var database: String
    /// The role.
    public var user: String
    public var security: Security
    /// Whether the server must accept writes.
    public var mustWrite = true
    /// Time limit for each host, until its name is resolved and it accepts the connection.
    public var patience = Duration.seconds(5)
    /// Maximum number of rows.
    ///
    /// An answer with more rows, or with more bytes in its values, is an error and ends the connection.
    ///
    /// Rows are counted as they arrive, but libpq holds each row completely before it can be counted.
    public var maximumRows = 10_000
    public var maximumBytes = 16 << 20
    /// The system ends the connection after this many milliseconds without an acknowledgement of sent data.
    public var unacknowledgedMilliseconds = 6_000
    /// The client's name on the server.
    public var applicationName: String

    public init(
        hosts: [Host], database: String, user: String, security: Security, applicationName: String = "health-hub"
    ) {
        (self.hosts, self.database, self.user) = (hosts, database, user)
        (self.security, self.applicationName) = (security, applicationName)
    }

    /// The parameters for libpq, including all that its environment variables and files could otherwise change.
    func words(for host: Host) -> [(name: String, value: String)] {
        // Without these names, libpq would use files in the user's home.
        let none = "/dev/null/none"
        var words = [
            ("host", host.name), ("port", "\(host.port)"), ("dbname", database), ("user", user),
            ("application_name", applicationName), ("client_encoding", "UTF8"), ("gssencmode", "disable"),
            ("passfile", none), ("target_session_attrs", mustWrite ? "read-write" : "any"),
            ("keepalives", "1"), ("keepalives_idle", "3"), ("keepalives_interval", "2"), ("keepalives_count", "2"),
            ("tcp_user_timeout", "\(unacknowledgedMilliseconds)"), ("options", ""),
        ]
        switch security {
        case .none: words.append(("sslmode", "disable"))
        case .certificate(let authority, let own, let key):
            words += [("sslmode", "verify-full"), ("sslrootcert", authority), ("sslcert", own), ("sslkey", key)]
        case .password(let password):
            words += [("sslmode", "require"), ("sslrootcert", none), ("sslcert", none), ("sslkey", none)]
            words += [("channel_binding", "require"), ("password", password)]
        }
        return words
    }
}
