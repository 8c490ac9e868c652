public import Foundation
public import JSON
import PluginKit

/// A service's answer, with any status.
///
/// Its description contains only the status.
public struct CloudAnswer: Sendable, CustomStringConvertible {
    public let status: Int
    /// The headers, in the order of the answer.
    public let headers: [(name: String, value: String)]
    public let body: Data
    /// `GET exist.io/api/2/…`, for messages.
    let what: String
    /// Whether the request may have changed something at the service.
    let hasEffect: Bool

    /// The first header with this name, ignoring case.
    public func header(_ name: String) -> String? {
        headers.first { $0.name.caseInsensitiveCompare(name) == .orderedSame }?.value
    }

    /// Whether the status is 200 to 299.
    public var isSuccess: Bool { (200...299).contains(status) }

    /// Returns itself if the answer is a success.
    ///
    /// - Throws: `answered` with the status. If 401, 429 or another status has a meaning for the caller, check ``status`` first.
    public func successful() throws(CloudError) -> CloudAnswer {
        guard !isSuccess else { return self }
        throw CloudError(
            .answered(status), "\(what): the service answered \(status)",
            mayHaveHadEffect: hasEffect && status >= 500)
    }

    /// Reads the body as JSON.
    ///
    /// - Throws: `malformed`; its message never contains the data.
    public func json<Value: Decodable>(
        _ type: Value.Type = Value.self, _ decoder: JSONDecoder = JSONDecoder()
    ) throws(CloudError) -> Value {
        do {
            return try decoder.decode(type, from: body)
        } catch {
            throw CloudError(
                .malformed, "\(what): the service answered \(status) with an unreadable body\(Self.place(of: error))",
                mayHaveHadEffect: hasEffect)
        }
    }

    /// The body as JSON of any shape, with numbers as written.
    ///
    /// - Throws: `malformed`.
    public func tree() throws(CloudError) -> JSONTree {
        if let tree = JSONTree(Array(body)) { return tree }
        throw CloudError(
            .malformed, "\(what): the service answered \(status) with text that is not JSON",
            mayHaveHadEffect: hasEffect)
    }

    public var description: String { "\(what): \(status)" }

    /// Names the members, which come from the plugin, but never the values.
    private static func place(of error: any Error) -> String {
        let path: [any CodingKey]
        switch error as? DecodingError {
        case .keyNotFound(let key, let context)?: path = context.codingPath + [key]
        case .typeMismatch(_, let context)?, .valueNotFound(_, let context)?, .dataCorrupted(let context)?:
            path = context.codingPath
        default: path = []
        }
        let names = path.map { $0.intValue.map { "[\($0)]" } ?? $0.stringValue }
        return names.isEmpty ? "" : " at " + names.joined(separator: ".")
    }

    /// The wait that `Retry-After` requests (RFC 9110 §10.2.3), in seconds or as a date; nil if the header is missing or unreadable.
    ///
    /// - Parameter now: microseconds since 1970, by the hub's clock.
    public func retryAfter(at now: Int64) -> Duration? {
        guard let text = header("Retry-After")?.trimmingCharacters(in: .whitespaces) else { return nil }
        if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            return .seconds(Int64(text) ?? .max / 1_000_000)
        }
        return HTTPDate.microseconds(text).map { .microseconds(max(0, $0 - now)) }
    }
}

/// Parses dates of HTTP (RFC 9110 §5.6.7): the current form, and the two obsolete ones that must still be read.
enum HTTPDate {
    private static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]

    /// Microseconds since 1970; nil for any other text.
    static func microseconds(_ text: String) -> Int64? {
        var words = text.lowercased().split { " ,-:".contains($0) }.map(String.init)
        // Sun, 06 Nov 1994 08:49:37 GMT · Sunday, 06-Nov-94 08:49:37 GMT · Sun Nov  6 08:49:37 1994
        if words.count == 7, months.contains(words[1]) {
            words = [words[0], words[2], words[1], words[6], words[3], words[4], words[5], "gmt"]
        }
        guard words.count == 8, words[7] == "gmt", let month = months.firstIndex(of: words[2]),
            var year = Int(words[3])
        else { return nil }
        if words[3].count == 2 { year += year < 70 ? 2_000 : 1_900 }
        func two(_ text: String) -> String { text.count == 1 ? "0" + text : text }
        let date = String(format: "%04d-%02d-", year, month + 1) + two(words[1])
        return try? Timestamp(parsing: "\(date)T\(words[4]):\(words[5]):\(words[6])Z").microseconds
    }
}
