import WebFaults

/// Which handler a request below `/v1.1` goes to.
struct Route: Sendable {
    typealias Handler = @Sendable (Exchange, Call) throws -> WebAnswer

    /// Whose counter of the rate limits a call moves.
    enum Counter: Sendable, Hashable { case verb, messages }

    let method: String
    /// `{name}` is a place.
    let pattern: [Substring]
    let counter: Counter
    let handler: Handler

    init(_ text: String, counter: Counter = .verb, _ handler: @escaping Handler) {
        let parts = text.split(separator: " ")
        method = String(parts[0])
        pattern = parts[1].split(separator: "/")
        (self.counter, self.handler) = (counter, handler)
    }

    /// What is in the places; nil when the path is another.
    ///
    /// A slash at the end means nothing.
    func places(of path: [Substring]) -> [String: String]? {
        guard path.count == pattern.count else { return nil }
        var places: [String: String] = [:]
        for (part, expected) in zip(path, pattern) {
            if expected.first == "{" {
                places[String(expected.dropFirst().dropLast())] = String(part)
            } else if part != expected {
                return nil
            }
        }
        return places
    }

    static let all: [Route] =
        userRoutes + deviceTypeRoutes + deviceRoutes + messageRoutes + analyticsRoutes
        + exportRoutes
}
