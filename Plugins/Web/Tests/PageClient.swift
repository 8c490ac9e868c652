import Foundation
import HubProcess

/// Sends requests to a page of this machine, each on a new connection.
struct PageClient: Sendable {
    let port: Int
    /// The seconds after which a silent page has not answered.
    var patience = 20.0

    struct Answer {
        /// 0 if there was no answer.
        var status = 0
        var fields: [String: String] = [:]
        var body = ""
    }

    /// Sends a request on a new connection, and reads its answer off the cooperative threads.
    ///
    /// - Parameter socket: the path of the page's socket; nil for its port.
    private func send(
        _ method: String, _ path: String, cookie: String?, fields: [String], body: String? = nil, socket: String?
    ) async throws -> Answer {
        var lines = ["\(method) \(path) HTTP/1.1", "Connection: close"] + fields
        func add(_ name: String, _ value: String) {
            if !fields.contains(where: { $0.hasPrefix("\(name):") }) { lines.append("\(name): \(value)") }
        }
        add("Host", "127.0.0.1:\(port)")
        if let cookie { add("Cookie", cookie) }
        if let body {
            add("Content-Length", "\(body.utf8.count)")
            add("Content-Type", "application/x-www-form-urlencoded")
        }
        let request = lines.joined(separator: "\r\n") + "\r\n\r\n" + (body ?? "")
        let bytes = try await onThread { [port, patience] () -> [UInt8] in
            guard let connection = try? socket.map({ try RawConnection($0) }) ?? RawConnection(port) else { return [] }
            connection.send(request)
            return (try? connection.takeAll(within: patience)) ?? []
        }
        return Self.answer(bytes)
    }

    private static func answer(_ bytes: [UInt8]) -> Answer {
        guard let end = Data(bytes).range(of: Data("\r\n\r\n".utf8)) else { return Answer() }
        let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
        var answer = Answer(status: Int(lines[0].split(separator: " ")[1]) ?? 0)
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            answer.fields[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
        }
        let isChunked = answer.fields["transfer-encoding"] == "chunked"
        let body = bytes[end.upperBound...]
        answer.body = String(decoding: isChunked ? joined(chunks: body) : Array(body), as: UTF8.self)
        return answer
    }

    /// The body of an answer that comes in chunks.
    private static func joined(chunks: ArraySlice<UInt8>) -> [UInt8] {
        var (rest, body) = (chunks, [UInt8]())
        while let end = rest.firstIndex(of: UInt8(ascii: "\r")),
            let size = Int(String(decoding: rest[..<end], as: UTF8.self), radix: 16), size > 0
        {
            body += rest.dropFirst(end - rest.startIndex + 2).prefix(size)
            rest = rest.dropFirst(end - rest.startIndex + 2 + size + 2)
        }
        return body
    }

    func get(
        _ path: String, cookie: String? = nil, fields: [String] = [], socket: String? = nil
    ) async throws -> Answer {
        try await send("GET", path, cookie: cookie, fields: fields, socket: socket)
    }

    func post(
        _ path: String, _ form: String, cookie: String? = nil, fields: [String] = [], socket: String? = nil
    ) async throws -> Answer {
        try await send("POST", path, cookie: cookie, fields: fields, body: form, socket: socket)
    }
}
