import Glibc

/// A file descriptor, closed when its last owner lets go of it.
final class Descriptor: Sendable {
    let number: Int32

    init(owning number: Int32) { self.number = number }
    deinit { Glibc.close(number) }

    /// Bytes that are there now; empty where there are none yet, nil at the end of the stream or after an error.
    func read() -> [UInt8]? {
        while true {
            var failure: Int32 = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: 4096) { buffer, count in
                let got = Glibc.read(number, buffer.baseAddress, buffer.count)
                failure = got < 0 ? errno : got == 0 ? -1 : 0
                count = max(0, got)
            }
            switch failure {
            case 0: return bytes
            case EINTR: continue
            case EAGAIN: return []
            default: return nil
            }
        }
    }

    /// How many of the bytes the other side took; nil after an error.
    func write(_ bytes: ArraySlice<UInt8>) -> Int? {
        while true {
            let taken = bytes.withUnsafeBytes { buffer in
                // Without the flag a socket whose peer has gone ends the process by SIGPIPE; only sockets know the
                // flag.
                let sent = Glibc.send(number, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL))
                return sent < 0 && errno == ENOTSOCK ? Glibc.write(number, buffer.baseAddress, buffer.count) : sent
            }
            if taken >= 0 { return taken }
            if errno == EAGAIN { return 0 }
            if errno != EINTR { return nil }
        }
    }

    /// A datagram that is there now, and who sent it; nil where there is none.
    func receive() -> (bytes: [UInt8], from: [UInt8])? {
        var sender = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        var got = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: 2048) { buffer, count in
            got = withUnsafeMutablePointer(to: &sender) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    recvfrom(number, buffer.baseAddress, buffer.count, 0, $0, &length)
                }
            }
            count = max(0, got)
        }
        guard got >= 0 else { return nil }
        return (bytes, withUnsafeBytes(of: &sender) { Array($0.prefix(Int(length))) })
    }

    /// Sends one datagram; one that the network does not take is lost, as datagrams are.
    func send(_ bytes: [UInt8], to address: [UInt8]) {
        address.withUnsafeBytes { raw in
            guard let start = raw.baseAddress else { return }
            _ = bytes.withUnsafeBytes { buffer in
                sendto(
                    number, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL),
                    start.assumingMemoryBound(to: sockaddr.self), socklen_t(raw.count))
            }
        }
    }

    func setNonBlocking() {
        _ = fcntl(number, F_SETFL, fcntl(number, F_GETFL) | O_NONBLOCK)
        _ = fcntl(number, F_SETFD, FD_CLOEXEC)
    }
}

/// A bell that wakes a thread out of `poll`, and may be rung from any other.
struct Wakeup: Sendable {
    /// Readable while the bell has been rung.
    let descriptor: Descriptor
    private let rope: Descriptor

    init() throws(SimulatorError) {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { throw LinkAddress.failure("make", "a pipe") }
        (descriptor, rope) = (Descriptor(owning: ends[0]), Descriptor(owning: ends[1]))
        descriptor.setNonBlocking()
        rope.setNonBlocking()
    }

    /// A full pipe rings as well as one more byte would.
    func ring() { _ = rope.write([1]) }

    func silence() { _ = descriptor.read() }
}
