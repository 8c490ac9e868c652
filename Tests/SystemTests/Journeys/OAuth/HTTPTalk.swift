import Foundation
import HubProcess

/// A message of HTTP/1.1 on loopback, one connection for each exchange; only as much as the stand-in and the scripted browser need.
struct HTTPMessage: Sendable {
    /// The request line, or the status line.
    var start: String
    /// Header fields, with names in lower case.
    var fields: [String: String]
    var body: String

    var status: Int { Int(start.split(separator: " ").dropFirst().first ?? "") ?? 0 }

    /// Reads one message from a socket.
    init?(from descriptor: Int32) {
        var bytes: [UInt8] = []
        let end = Data("\r\n\r\n".utf8)
        while true {
            if let head = Data(bytes).range(of: end) {
                var lines = String(decoding: bytes[..<head.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
                start = lines.removeFirst()
                fields = Dictionary(
                    lines.compactMap { line in
                        line.firstIndex(of: ":").map {
                            (
                                line[..<$0].lowercased(),
                                line[line.index(after: $0)...].trimmingCharacters(in: .whitespaces)
                            )
                        }
                    }, uniquingKeysWith: { first, _ in first })
                let length = Int(fields["content-length"] ?? "0") ?? 0
                if bytes.count >= head.upperBound + length {
                    body = String(decoding: bytes[head.upperBound..<head.upperBound + length], as: UTF8.self)
                    return
                }
            }
            var buffer = [UInt8](repeating: 0, count: 8_192)
            let count = read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return nil }
            bytes += buffer[..<count]
        }
    }

    /// Writes a message with its length.
    static func write(_ start: String, _ fields: [String: String], _ body: String, to descriptor: Int32) {
        var text = start + "\r\n"
        for (name, value) in fields { text += "\(name): \(value)\r\n" }
        text += "Content-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n" + body
        let bytes = Array(text.utf8)
        _ = Foundation.write(descriptor, bytes, bytes.count)
    }
}

/// A browser without a window, which opens pages and follows redirects.
struct ScriptedBrowser: Sendable {
    struct NoAnswer: Error, CustomStringConvertible {
        let description: String
    }

    init() {}

    /// The address of each step, and the last page.
    struct Visit: Sendable {
        var addresses: [String]
        var page: HTTPMessage
    }

    /// Opens `url` and follows redirects; posts a fragment to the last address, as the page's script would.
    func open(_ url: String) throws -> Visit {
        var addresses = [url]
        for _ in 0..<10 {
            let (address, fragment) = Self.split(addresses[addresses.count - 1])
            let page = try send("GET", address)
            if (300...399).contains(page.status), let next = page.fields["location"] {
                addresses.append(next)
            } else if let fragment, page.body.contains("location.hash") {
                return Visit(
                    addresses: addresses,
                    page: try send("POST", address, ["Origin": Self.origin(address)], body: fragment))
            } else {
                return Visit(addresses: addresses, page: page)
            }
        }
        throw NoAnswer(description: "\(url): too many redirects")
    }

    /// Sends a request to a program of this machine and returns the answer.
    func send(
        _ method: String, _ url: String, _ fields: [String: String] = [:], body: String = ""
    ) throws -> HTTPMessage {
        guard let parts = URLComponents(string: url), let port = parts.port.flatMap(UInt16.init(exactly:)) else {
            throw NoAnswer(description: "\(url): no address of this machine")
        }
        let descriptor = try Loopback.connect(port)
        defer { close(descriptor) }
        let target =
            (parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath)
            + (parts.percentEncodedQuery.map { "?\($0)" } ?? "")
        let host = "\(parts.host ?? ""):\(port)"
        HTTPMessage.write("\(method) \(target) HTTP/1.1", ["Host": host].merging(fields) { $1 }, body, to: descriptor)
        guard let answer = HTTPMessage(from: descriptor) else {
            throw NoAnswer(description: "\(method) \(url): the connection ended without an answer")
        }
        return answer
    }

    private static func split(_ url: String) -> (String, String?) {
        let parts = url.split(separator: "#", maxSplits: 1).map(String.init)
        return (parts[0], parts.count > 1 ? parts[1] : nil)
    }

    private static func origin(_ url: String) -> String {
        let parts = URLComponents(string: url)
        return "http://\(parts?.host ?? ""):\(parts?.port ?? 0)"
    }
}
