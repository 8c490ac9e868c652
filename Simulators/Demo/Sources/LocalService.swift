import Foundation
import HubClient

/// A web service on this machine; each request uses one connection, and answers are read as a whole.
struct LocalService: Sendable {
    /// `http://127.0.0.1:8730`.
    let address: String
    private let port: UInt16

    /// The maximum number of bytes in an answer, and how long the service may be silent.
    private static let (most, patience) = (4 << 20, timeval(tv_sec: 10, tv_usec: 0))

    /// - Returns: `nil` if the address is not on this machine.
    init?(_ address: String) {
        let parts = address.split(separator: ":")
        guard parts.count == 3, parts[0] == "http", parts[1] == "//127.0.0.1", let port = UInt16(parts[2]) else {
            return nil
        }
        (self.address, self.port) = (address, port)
    }

    /// Sends one request; blocks.
    ///
    /// - Parameters:
    ///   - body: JSON.
    ///   - cookie: the cookie of a log-in.
    /// - Returns: the body of the answer.
    /// - Throws: ``HubExit/system`` if there is no answer, or not a successful one.
    func send(_ method: String, _ path: String, body: String? = nil, cookie: String? = nil) throws(Failure) -> Data {
        var fields = cookie.map { ["Cookie: \($0)"] } ?? []
        if body != nil { fields.append("Content-Type: application/json") }
        return try answer(method, path, fields, body).body
    }

    /// Sends a log-in form.
    ///
    /// - Returns: the cookie for later requests.
    /// - Throws: ``HubExit/system`` if the log-in fails.
    func logIn(_ path: String, form: String) throws(Failure) -> String {
        let answer = try answer("POST", path, ["Content-Type: application/x-www-form-urlencoded"], form)
        let field = "set-cookie: "
        guard let line = answer.head.first(where: { $0.lowercased().hasPrefix(field) }) else {
            throw Failure(.system, "POST \(address)\(path): it does not log in")
        }
        return String(line.dropFirst(field.count).prefix { $0 != ";" })
    }

    private func answer(
        _ method: String, _ path: String, _ fields: [String], _ body: String?
    ) throws(Failure) -> (head: [String], body: Data) {
        let socket = try connection()
        defer { close(socket) }
        var request = "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: close\r\n"
        for field in fields { request += field + "\r\n" }
        if let body { request += "Content-Length: \(body.utf8.count)\r\n" }
        request += "\r\n\(body ?? "")"
        try send(Array(request.utf8), socket)
        var (answer, buffer) = (Data(), [UInt8](repeating: 0, count: 65_536))
        while true {
            if let whole = try LocalService.parts(of: answer, "\(method) \(address)\(path)") { return whole }
            let count = read(socket, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0, answer.count < Self.most else {
                throw Failure(.system, "\(method) \(address)\(path): the answer does not come, or does not end")
            }
            answer.append(contentsOf: buffer[..<count])
        }
    }

    /// A port of this machine on which no program listens.
    ///
    /// - Throws: ``HubExit/system`` if there is none.
    static func freePort() throws(Failure) -> UInt16 {
        let file = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(file) }
        var name = sockaddr_in()
        (name.sin_family, name.sin_addr.s_addr) = (sa_family_t(AF_INET), UInt32(0x7F00_0001).bigEndian)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(file, $0, size) == 0 ? getsockname(file, $0, &size) : -1
            }
        }
        guard result == 0 else { throw Failure(.system, "no port is free at 127.0.0.1") }
        return UInt16(bigEndian: name.sin_port)
    }

    private func connection() throws(Failure) -> Int32 {
        let file = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var patience = Self.patience
        setsockopt(file, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(file, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        (name.sin_port, name.sin_addr.s_addr) = (port.bigEndian, UInt32(0x7F00_0001).bigEndian)
        let result = withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(file, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else {
            let words = String(cString: strerror(errno))
            if file >= 0 { close(file) }
            throw Failure(.system, "\(address) cannot be reached: \(words)")
        }
        return file
    }

    private func send(_ bytes: [UInt8], _ file: Int32) throws(Failure) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let flags = Int32(MSG_NOSIGNAL)
            let count = rest.withUnsafeBytes { Foundation.send(file, $0.baseAddress, $0.count, flags) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                throw Failure(.system, "\(address): nothing can be sent: \(String(cString: strerror(errno)))")
            }
            rest = rest.dropFirst(count)
        }
    }

    /// - Returns: `nil` while the answer is incomplete.
    private static func parts(
        of answer: Data, _ what: String
    ) throws(Failure) -> (head: [String], body: Data)? {
        guard let end = answer.firstRange(of: Data("\r\n\r\n".utf8)) else { return nil }
        let head = String(decoding: answer[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
        let length = head.first { $0.lowercased().hasPrefix("content-length:") }
            .flatMap { Int($0.dropFirst("content-length:".count).trimmingCharacters(in: .whitespaces)) }
        guard let status = head.first?.split(separator: " ").dropFirst().first, let length, length <= most else {
            throw Failure(.system, "\(what): this program cannot read the answer")
        }
        let body = answer[end.upperBound...]
        guard body.count >= length else { return nil }
        // 303 means that the request succeeded and another page shows the result.
        guard status.hasPrefix("2") || status == "303" else {
            throw Failure(.system, "\(what): \(status) \(String(decoding: body.prefix(500), as: UTF8.self))")
        }
        return (head, Data(body.prefix(length)))
    }
}
