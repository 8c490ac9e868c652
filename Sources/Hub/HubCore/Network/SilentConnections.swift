#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Finds network connections without proof: they have sent too few bytes for a greeting with a key.
///
/// libzmq cannot end one connection of a socket, and keeps each for some seconds. But its connections are sockets of this process: if the
/// hub shuts one down (shutdown(2)), libzmq assumes that the peer has ended it, and releases it.
enum SilentConnections {
    /// The bytes that a client sends before libzmq knows its identity: 64 bytes of ZMTP's greeting, and with CURVE at least 202 of HELLO and
    /// 259 of INITIATE (ZMTP 3.1, RFC 26).
    static func bytesOfProof(isInsecure: Bool) -> UInt64 { isInsecure ? 64 + 1 : 64 + 202 + 259 }

    /// Ends such connections, the longest silent first.
    ///
    /// - Parameters:
    ///   - ports: the local ports of the connections.
    ///   - proof: a connection that has received fewer bytes counts as unproved.
    ///   - count: the maximum number of connections to end.
    /// - Returns: the number of connections that were ended.
    static func end(on ports: Set<UInt16>, proof: UInt64, count: Int) -> Int {
        guard count > 0 else { return 0 }
        let silent = ProcessDescriptors.open.compactMap { descriptor -> (descriptor: CInt, silence: UInt32)? in
            guard let port = localPort(of: descriptor), ports.contains(port), let state = State(of: descriptor),
                state.isEstablished, state.received < proof
            else { return nil }
            return (descriptor, state.silence)
        }
        let ended = silent.sorted { $0.silence > $1.silence }.prefix(count)
        for connection in ended { shutdown(connection.descriptor, CInt(SHUT_RDWR)) }
        return ended.count
    }

    /// `nil` if the descriptor is not a TCP socket.
    private static func localPort(of descriptor: CInt) -> UInt16? {
        var address = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
        }
        guard result == 0, [AF_INET, AF_INET6].contains(CInt(address.ss_family)) else { return nil }
        // Both families have the port in the same place, behind the family.
        return withUnsafeBytes(of: &address) { UInt16(bigEndian: $0.loadUnaligned(fromByteOffset: 2, as: UInt16.self)) }
    }

    /// The kernel's data about a TCP connection (`struct tcp_info` of linux/tcp.h, which the Glibc module has in an older form).
    private struct State {
        let isEstablished: Bool
        /// Milliseconds since the last bytes came, or since the connection was made.
        let silence: UInt32
        let received: UInt64

        init?(of descriptor: CInt) {
            #if os(Linux)
                var bytes = [UInt8](repeating: 0, count: 256)
                var size = socklen_t(bytes.count)
                guard getsockopt(descriptor, CInt(IPPROTO_TCP), TCP_INFO, &bytes, &size) == 0, size >= 136 else {
                    return nil
                }
                isEstablished = bytes[0] == 1
                (silence, received) = bytes.withUnsafeBytes {
                    (
                        $0.loadUnaligned(fromByteOffset: 52, as: UInt32.self),
                        $0.loadUnaligned(fromByteOffset: 128, as: UInt64.self)
                    )
                }
            #else
                return nil
            #endif
        }
    }
}
