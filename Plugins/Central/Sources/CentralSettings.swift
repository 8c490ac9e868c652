import PluginKit
import PostgreSQL

/// The validated settings of one instance.
struct CentralSettings: Sendable {
    /// Empty for the hosts of the invitation.
    var hosts: [ConnectionOptions.Host]
    /// Nil for the database of the invitation.
    var database: String?
    /// Nil for the name in the certificate.
    var login: String?
    /// Nil for the files that enrolment made.
    var files: IdentityFiles?
    /// Time limit for one answer of the centre.
    var patience: Duration

    static let declarations: [SettingDeclaration] = [
        SettingDeclaration(
            "hosts", .list(of: .string(TextRule(example: "db1.example:5432"))),
            help:
                "The hosts of the centre, each with a port if it is not 5432; those of the invitation if it is not set."
        ),
        SettingDeclaration("database", .string(), help: "The database; that of the invitation if it is not set."),
        SettingDeclaration("login", .string(), help: "The role; the name in the certificate if it is not set."),
        SettingDeclaration(
            "certificate", .path,
            help: "The hub's certificate, where enrolment has not made one; with key and authority."),
        SettingDeclaration("key", .path, help: "Its key, a file that its owner alone may read."),
        SettingDeclaration(
            "authority", .path, help: "The certificate of the authority that has signed those of the centre's hosts."),
        SettingDeclaration(
            "patience", .duration(Bounds(SettingDuration("1s"), SettingDuration("10min"))),
            help: "How long an answer of the centre may take; then another host is asked.", default: .string("15s")),
    ]

    /// - Throws: ``PluginFailure`` that names the invalid settings.
    init(_ settings: PluginSettings) throws {
        (hosts, files, patience) = try PluginSettings.all(
            {
                try PluginSettings.each(settings["hosts"]?.strings ?? []) { text in
                    guard let host = ConnectionOptions.Host(parsing: text) else {
                        throw PluginFailure(
                            .settings,
                            "setting hosts: expected a name or an address, with :PORT or without, found \(text)")
                    }
                    return host
                }
            },
            { try Self.files(settings) },
            { .microseconds(try settings.duration("patience").microseconds) })
        (database, login) = (settings["database"]?.string, settings["login"]?.string)
    }

    private static func files(_ settings: PluginSettings) throws -> IdentityFiles? {
        let paths = ["certificate", "key", "authority"].map { settings[$0]?.string }
        guard paths.contains(where: { $0 != nil }) else { return nil }
        guard let certificate = paths[0], let key = paths[1], let authority = paths[2] else {
            throw PluginFailure(
                .settings, "setting certificate: expected certificate, key and authority together, or none of them")
        }
        return IdentityFiles(certificate: certificate, key: key, authority: authority)
    }
}

/// The PEM files with which the hub and the centre authenticate each other.
struct IdentityFiles: Hashable, Sendable {
    var certificate: String
    var key: String
    var authority: String

    init(certificate: String, key: String, authority: String) {
        (self.certificate, self.key, self.authority) = (certificate, key, authority)
    }

    /// The files that enrolment makes.
    init(in directory: String) {
        self.init(
            certificate: directory + "/hub.pem", key: directory + "/hub.key", authority: directory + "/authority.pem")
    }
}

extension ConnectionOptions.Host {
    /// Parses `NAME`, `NAME:PORT` or `[ADDRESS]:PORT`; nil for other texts.
    init?(parsing text: String, port usual: Int = 5_432) {
        let match = text.wholeMatch(
            of: #/(?:\[(?<six>[0-9A-Fa-f:.]+)\]|(?<name>[A-Za-z0-9._-]+))(?::(?<port>[0-9]{1,5}))?/#)
        guard let match, let name = match.six ?? match.name else { return nil }
        let port = match.port.flatMap { Int($0) } ?? usual
        guard (1...65_535).contains(port) else { return nil }
        self.init(String(name), port: port)
    }
}
