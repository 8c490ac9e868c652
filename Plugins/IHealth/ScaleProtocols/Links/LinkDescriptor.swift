import Glibc

/// A file descriptor that is closed when its last reference is released.
package final class LinkDescriptor: Sendable {
    package let number: Int32

    package init(owning number: Int32) { self.number = number }
    deinit { Glibc.close(number) }

    /// Makes calls non-blocking, and keeps child programs from inheriting the descriptor.
    package func setNonBlocking() {
        _ = fcntl(number, F_SETFL, fcntl(number, F_GETFL) | O_NONBLOCK)
        _ = fcntl(number, F_SETFD, FD_CLOEXEC)
    }

    /// Creates a non-blocking socket; returns −1 and sets `errno` on failure.
    ///
    /// It is close-on-exec from the first moment: a child program that inherited it would keep its port taken.
    static func socket(_ family: Int32, _ kind: __socket_type, _ number: Int32 = 0) -> Int32 {
        Glibc.socket(family, Int32(kind.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), number)
    }

    /// The numeric address of the machine at the other end of a TCP connection; nil for anything else.
    package var otherEnd: String? {
        let (found, address) = SocketAddress.written { Int(getpeername(number, $0, $1)) }
        guard found == 0, [AF_INET, AF_INET6].contains(address.family) else { return nil }
        var name = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let result = address.use { getnameinfo($0, $1, &name, socklen_t(name.count), nil, 0, NI_NUMERICHOST) }
        return result == 0
            ? String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
    }

    /// The outcome of a read or write.
    package enum Result<Value> {
        case done(Value)
        /// Nothing now; `poll` reports when.
        case later
        /// The end of the stream (0) or an error number.
        case ended(Int32)

        /// The value, or `none` if there is nothing now; `nil` at the end.
        package func value(orLater none: Value) -> Value? {
            switch self {
            case .done(let value): value
            case .later: none
            case .ended: nil
            }
        }
    }

    /// Reads the available bytes, at most 4 KiB.
    package func read() -> Result<[UInt8]> {
        while true {
            var (got, failure) = (0, Int32(0))
            let bytes = [UInt8](unsafeUninitializedCapacity: 4096) { buffer, count in
                got = Glibc.read(number, buffer.baseAddress, buffer.count)
                failure = got < 0 ? errno : 0
                count = max(0, got)
            }
            if got > 0 { return .done(bytes) }
            if got == 0 { return .ended(0) }
            if failure == EAGAIN { return .later }
            if failure != EINTR { return .ended(failure) }
        }
    }

    /// Writes bytes and returns the number accepted by the other side.
    package func write(_ bytes: ArraySlice<UInt8>) -> Result<Int> {
        while true {
            let taken = bytes.withUnsafeBytes { buffer in
                // Without the flag, a socket without a peer would end the process by a signal; only sockets know the flag.
                let sent = Glibc.send(number, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL))
                return sent < 0 && errno == ENOTSOCK ? Glibc.write(number, buffer.baseAddress, buffer.count) : sent
            }
            let failure = errno
            if taken >= 0 { return .done(taken) }
            if failure == EAGAIN { return .later }
            if failure != EINTR { return .ended(failure) }
        }
    }
}

/// Wakes a thread from `poll`; may be called from any other thread.
package struct Wakeup: Sendable {
    /// Readable after `wake` until `clear`.
    package let descriptor: LinkDescriptor
    private let writingEnd: LinkDescriptor

    package init() throws(ScaleLinkError) {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else {
            throw ScaleLinkError(.machine, "cannot make a pipe: \(String(cString: strerror(errno)))")
        }
        (descriptor, writingEnd) = (LinkDescriptor(owning: ends[0]), LinkDescriptor(owning: ends[1]))
        descriptor.setNonBlocking()
        writingEnd.setNonBlocking()
    }

    /// A full pipe wakes the thread just like one more byte would.
    package func wake() { _ = writingEnd.write([1]) }

    package func clear() { _ = descriptor.read() }

    /// The timeout of `poll` in milliseconds, rounded up, at most a minute; −1 if there is no deadline.
    package static func timeout(_ left: Duration?) -> Int32 {
        guard let left = left?.components else { return -1 }
        return Int32(max(0, min(60_000, left.seconds * 1000 + left.attoseconds / 1_000_000_000_000_000 + 1)))
    }
}
