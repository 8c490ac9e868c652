package import FoundationEssentials

/// What a connector and `hub-ihealth-cloud` say to each other: a line of JSON each, on that program's stdin and stdout.
///
/// A connector of a scale has no TLS of its own: few need it, and it takes longer to build than all the rest.
package enum CloudDialogue {
    /// A GET.
    package struct Question: Codable, Sendable {
        package var id: Int
        /// Of the service: `https://api.ihealthlabs.com:8443`.
        package var address: String
        package var path: String
        /// Of name and value.
        package var query: [[String]]
        /// How often it may be sent.
        package var attempts: Int
    }

    /// What came of the question with this id: an answer with any status, or the reason why there is none.
    package struct Answer: Codable, Sendable {
        package var id: Int
        package var status: Int?
        package var body: Data?
        package var reason: String?

        package init(id: Int, status: Int, body: Data) { (self.id, self.status, self.body) = (id, status, body) }

        package init(id: Int, reason: String) { (self.id, self.reason) = (id, reason) }
    }
}
