import Foundation
import Glibc
import HubProcess
import Synchronization

/// A service on loopback that handles each connection exactly as a test says, with a thread for each connection.
final class StandIn: Sendable {
    /// One connection, from the service's side.
    final class Talk: Sendable {
        private let descriptor: Int32
        private let ended: DispatchSemaphore

        fileprivate init(_ descriptor: Int32, _ ended: DispatchSemaphore) {
            (self.descriptor, self.ended) = (descriptor, ended)
        }

        /// The next request with its body, or `nil` if the client has left.
        func request() -> String? {
            var bytes: [UInt8] = []
            while true {
                var byte: UInt8 = 0
                guard read(descriptor, &byte, 1) == 1 else { return nil }
                bytes.append(byte)
                guard bytes.suffix(4) == Array("\r\n\r\n".utf8) else { continue }
                let head = String(decoding: bytes, as: UTF8.self)
                let length = head.lowercased().components(separatedBy: "content-length: ").dropFirst().first
                    .flatMap { Int($0.prefix { $0.isNumber }) }
                var body = [UInt8](repeating: 0, count: length ?? 0)
                var count = 0
                while count < body.count {
                    let step = body.withUnsafeMutableBytes {
                        read(descriptor, $0.baseAddress! + count, $0.count - count)
                    }
                    guard step > 0 else { return nil }
                    count += step
                }
                return head + String(decoding: body, as: UTF8.self)
            }
        }

        /// Returns `false` if the client has left.
        @discardableResult func send(_ text: String) -> Bool {
            Foundation.send(descriptor, text, text.utf8.count, Int32(MSG_NOSIGNAL)) == text.utf8.count
        }

        func answer(_ status: String = "200 OK", _ fields: [String] = [], _ body: String = "") {
            let lines = ["HTTP/1.1 \(status)", "Content-Length: \(body.utf8.count)"] + fields
            send(lines.joined(separator: "\r\n") + "\r\n\r\n" + body)
        }

        /// Makes the connection end with a reset instead of an orderly close.
        func reset() {
            var linger = linger(l_onoff: 1, l_linger: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
        }

        /// Sends nothing until the client leaves.
        func stall() { _ = request() }

        /// Sends nothing until the stand-in ends.
        func hold() {
            ended.wait()
            ended.signal()
        }
    }

    private let descriptor: Int32
    private let ended = DispatchSemaphore(value: 0)
    let port: UInt16
    var base: String { "http://127.0.0.1:\(port)" }
    let connections = Mutex(0)

    /// - Parameter script: is called with each connection and its number, from 1; the connection ends when it returns.
    init(_ script: @escaping @Sendable (Talk, Int) -> Void) throws {
        let (listener, port) = try Loopback.listen()
        (descriptor, self.port) = (listener, port)
        let ended = ended
        let count = Mutex(0)
        Thread.detachNewThread { [weak self] in
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { break }
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                self?.connections.withLock { $0 = number }
                Thread.detachNewThread {
                    script(Talk(connection, ended), number)
                    close(connection)
                }
            }
            close(listener)
        }
    }

    deinit {
        shutdown(descriptor, Int32(SHUT_RDWR))
        ended.signal()
    }
}

/// A port of this machine at which no program listens while this object exists.
final class DeafPort: Sendable {
    let port: UInt16
    private let descriptor: Int32

    init() throws { (descriptor, port) = try Loopback.bind() }

    deinit { close(descriptor) }
}

/// A hub clock that a test moves: pauses pass at once and are recorded.
final class TestPace: Sendable {
    let pauses = Mutex<[Duration]>([])
    let time = Mutex<Int64>(1_710_000_000_000_000)
    /// The sum of all changes of the clock.
    fileprivate let offset = Mutex<Int64>(0)
    let chance: Double

    /// - Parameter chance: 0 for waits without jitter.
    init(chance: Double = 0) { self.chance = chance }
}

extension TestPace {
    /// Sets the clock ahead or back; the time that has passed does not change.
    func jump(seconds: Int64) { offset.withLock { $0 += seconds * 1_000_000 } }

    var shown: Int64 { time.withLock { $0 } + offset.withLock { $0 } }

    var seconds: [Double] { pauses.withLock { $0.map { $0 / .seconds(1) } } }
}
