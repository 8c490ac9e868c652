import Foundation
import Glibc

/// A connection to a port or a local socket of this machine that sends and receives plain bytes.
public final class RawConnection {
    private let descriptor: Int32
    /// The received bytes that were not taken yet.
    private var bytes: [UInt8] = []

    public struct NoAnswer: Error, CustomStringConvertible {
        public let description: String
    }

    /// - Parameter source: the address of this machine from which the connection comes.
    public init(_ port: Int, from source: String = "127.0.0.1") throws {
        descriptor = try Loopback.connect(UInt16(port), from: source)
        // A peer that does not read must not block the test.
        var time = timeval(tv_sec: 5, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    }

    /// Connects to a local socket.
    public init(_ path: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else { throw NoAnswer(description: "\(path): \(String(cString: strerror(errno)))") }
    }

    deinit { close(descriptor) }

    /// Sends as many bytes as the other side takes; it is no error if that side has closed.
    public func send(_ data: [UInt8]) {
        var rest = data[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    public func send(_ text: String) { send(Array(text.utf8)) }

    /// Ends the sending direction; the connection can still receive.
    public func endSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Waits for `count` bytes and takes them; fewer if the other side has closed.
    public func take(_ count: Int, within seconds: Double = 10) throws -> [UInt8] {
        while bytes.count < count, try more(seconds) {}
        defer { bytes.removeFirst(min(count, bytes.count)) }
        return Array(bytes.prefix(count))
    }

    /// Takes everything up to the end of the connection.
    public func takeAll(within seconds: Double = 10) throws -> [UInt8] {
        while try more(seconds) {}
        defer { bytes = [] }
        return bytes
    }

    /// The status of the next answer, whose body is skipped; `nil` if the connection ended instead.
    public func status(within seconds: Double = 10) throws -> Int? {
        let end = Data("\r\n\r\n".utf8)
        while true {
            if let found = Data(bytes).range(of: end) {
                let head = String(decoding: bytes[..<found.lowerBound], as: UTF8.self)
                let lines = head.components(separatedBy: "\r\n")
                let length =
                    lines.first { $0.lowercased().hasPrefix("content-length:") }
                    .flatMap { Int($0.dropFirst("content-length:".count).trimmingCharacters(in: .whitespaces)) } ?? 0
                _ = try take(found.upperBound + length, within: seconds)
                return Int(lines[0].split(separator: " ").dropFirst().first ?? "")
            }
            guard try more(seconds) else { return nil }
        }
    }

    /// - Returns: `false` if the other side has closed.
    private func more(_ seconds: Double) throws -> Bool {
        var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&polled, 1, Int32(seconds * 1_000)) > 0 else {
            throw NoAnswer(
                description: "the connection gave no complete answer and did not end; \(bytes.count) bytes so far")
        }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = read(descriptor, &buffer, buffer.count)
        guard count > 0 else { return false }
        bytes += buffer[..<count]
        return true
    }
}
