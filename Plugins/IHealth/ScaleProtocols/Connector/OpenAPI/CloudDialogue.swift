package import FoundationEssentials

/// The dialogue between a connector and `hub-ihealth-cloud`: one line of JSON for each message, on that program's stdin and stdout.
///
/// A scale's connector does not contain TLS: few users need it, and it takes longer to build than everything else.
package enum CloudDialogue {
    /// A GET request.
    package struct Question: Codable, Sendable {
        package var id: Int
        /// The address of the service: `https://api.ihealthlabs.com:8443`.
        package var address: String
        package var path: String
        /// Pairs of name and value.
        package var query: [[String]]
        /// How often the request may be sent.
        package var attempts: Int
    }

    /// The result of the request with this id: an answer with any status, or the reason why there is none.
    package struct Answer: Codable, Sendable {
        package var id: Int
        package var status: Int?
        package var body: Data?
        package var reason: String?

        package init(id: Int, status: Int, body: Data) { (self.id, self.status, self.body) = (id, status, body) }

        package init(id: Int, reason: String) { (self.id, self.reason) = (id, reason) }
    }
}
