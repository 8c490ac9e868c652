/// Which servers a ``Connection`` may be to, and how both sides prove who they are.
public struct ConnectionOptions: Sendable {
    /// Where a server waits.
    public struct Host: Hashable, Sendable, CustomStringConvertible {
        /// A name or an address; a folder, with `/` first, for the Unix socket in it.
        public var name: String
        /// 1 to 65,535.
        public var port: Int

        /// A place; nothing is checked.
        public init(_ name: String, port: Int = 5_432) { (self.name, self.port) = (name, port) }

        /// `NAME:PORT`, as people write it.
        public var description: String { name.contains(":") ? "[\(name)]:\(port)" : "\(name):\(port)" }
    }

    /// How the connection is protected.
    public enum Security: Sendable {
        /// Not at all: for a Unix socket, and for tests.
        case none
        /// TLS with the certificate of a server that has this name and is signed by the authority, and with a certificate of our own: files in PEM.
        case certificate(authority: String, own: String, key: String)
        /// TLS and a password by SCRAM with channel binding: a server that does not know the password cannot pretend to be the one that does.
        case password(String)
    }

    /// In the order in which they are tried; each name once.
    public var hosts: [Host]
    public var database: String
    /// The role.
    public var user: String
    public var security: Security
    /// Whether only a server that takes writes will do.
    public var mustWrite = true
    /// For each host: until its name was looked up and it has let us in.
    public var patience = Duration.seconds(5)
    /// An answer of more rows, or with more bytes in its values, is an error, and ends the connection.
    ///
    /// Rows are counted as they come; of a single one libpq holds all before it can be counted.
    public var mostRows = 10_000
    public var mostBytes = 16 << 20
    /// After so many milliseconds without an acknowledgement of what was sent the system ends the connection.
    public var unacknowledgedMilliseconds = 6_000
    /// What the server shows of this client.
    public var applicationName: String

    public init(
        hosts: [Host], database: String, user: String, security: Security, applicationName: String = "health-hub"
    ) {
        (self.hosts, self.database, self.user) = (hosts, database, user)
        (self.security, self.applicationName) = (security, applicationName)
    }

    /// What libpq is told, and with it all that its environment variables and files could say otherwise.
    func words(for host: Host) -> [(name: String, value: String)] {
        // libpq would take files of the user's home where these are not named.
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
