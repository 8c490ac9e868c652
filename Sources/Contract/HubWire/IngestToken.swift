/// The answer of the plugin http-ingest to `hub ingest new`.
package struct NewIngestToken: Codable, Hashable, Sendable {
    package var name: String
    /// The person who gets the records; absent if the hub's rules decide.
    package var person: String?
    /// The name to show for the person; absent if it is the same name.
    package var displayName: String?
    /// For a token without a person: the person that the token's name probably means, because its beginning is close to that person's name.
    package var meant: String?
    /// The address to which the phone posts.
    package var address: String
    /// Shown only this once; absent in a dry run.
    package var token: String?
    /// A link that sets up Health Auto Export completely.
    package var link: String?
    /// The link as a QR code, in lines for a terminal.
    package var qr: [String]?
    /// How the person was determined; absent if the token's name or the call names the person.
    package var note: String?

    /// Whether other machines cannot reach the address.
    package var isLocal: Bool {
        let host = address.split(separator: "/", omittingEmptySubsequences: true).dropFirst().first ?? ""
        return host.hasPrefix("127.") || host.hasPrefix("localhost") || host.hasPrefix("[::1]")
    }

    package init(name: String, person: String?, address: String) {
        (self.name, self.person, self.address) = (name, person, address)
    }
}

/// An item in the answer of the plugin http-ingest to `hub ingest list`.
package struct IngestToken: Codable, Hashable, Sendable {
    package var name: String
    package var id: String
    package var person: String?
    /// The formats that it may send; empty for all.
    package var formats: [String]
    /// The time of creation in RFC 3339; absent for a token in the settings.
    package var made: String?
    /// The time of last use in RFC 3339; absent if it was not used since the plugin started.
    package var lastSeen: String?
    package var inSettings: Bool

    package init(
        name: String, id: String, person: String?, formats: [String], made: String?, lastSeen: String?, inSettings: Bool
    ) {
        (self.name, self.id, self.person, self.formats) = (name, id, person, formats)
        (self.made, self.lastSeen, self.inSettings) = (made, lastSeen, inSettings)
    }
}
