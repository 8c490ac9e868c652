/// What the plugin http-ingest answers to `hub ingest new`.
package struct NewIngestToken: Codable, Hashable, Sendable {
    package var name: String
    /// Whose records they are; absent where the hub's rules say so.
    package var person: String?
    /// The name to show for the person; absent if it is no other name.
    package var displayName: String?
    /// Whose it may be meant to be, of a token without a person whose name begins like a person's.
    package var meant: String?
    /// Where the phone posts to.
    package var address: String
    /// Shown this once; absent in a dry run.
    package var token: String?
    /// Opens Health Auto Export with all that it needs.
    package var link: String?
    /// The link as a code, in lines for a terminal.
    package var qr: [String]?
    /// How it was found whose it is, where nobody has said it; absent where the name or the call says it.
    package var note: String?

    /// Whether no other machine reaches the address.
    package var isLocal: Bool {
        let host = address.split(separator: "/", omittingEmptySubsequences: true).dropFirst().first ?? ""
        return host.hasPrefix("127.") || host.hasPrefix("localhost") || host.hasPrefix("[::1]")
    }

    package init(name: String, person: String?, address: String) {
        (self.name, self.person, self.address) = (name, person, address)
    }
}

/// A line of what the plugin http-ingest answers to `hub ingest list`.
package struct IngestToken: Codable, Hashable, Sendable {
    package var name: String
    package var id: String
    package var person: String?
    /// What it may send; empty: everything.
    package var formats: [String]
    /// When it was made, by RFC 3339; absent of one in the settings.
    package var made: String?
    /// When it was last used, by RFC 3339; absent where it was not since the plugin's start.
    package var lastSeen: String?
    package var inSettings: Bool

    package init(
        name: String, id: String, person: String?, formats: [String], made: String?, lastSeen: String?, inSettings: Bool
    ) {
        (self.name, self.id, self.person, self.formats) = (name, id, person, formats)
        (self.made, self.lastSeen, self.inSettings) = (made, lastSeen, inSettings)
    }
}
