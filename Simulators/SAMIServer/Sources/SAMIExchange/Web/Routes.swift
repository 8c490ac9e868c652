import WebFaults

/// Maps a request below `/v1.1` to its handler.
struct Route: Sendable {
    typealias Handler = @Sendable (Exchange, Call) throws -> WebAnswer

    /// The rate limit counter that a call increases.
    enum Counter: Sendable, Hashable { case verb, messages }

    let method: String
    /// `{name}` is a placeholder.
    let pattern: [Substring]
    let counter: Counter
    let handler: Handler

    init(_ text: String, counter: Counter = .verb, _ handler: @escaping Handler) {
        let parts = text.split(separator: " ")
        method = String(parts[0])
        pattern = parts[1].split(separator: "/")
        (self.counter, self.handler) = (counter, handler)
    }

    /// The values of the placeholders; `nil` if the path does not match.
    ///
    /// A trailing slash is ignored.
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
