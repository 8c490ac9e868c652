package import Glibc

/// The address of a socket, in the form that the socket calls need.
package struct SocketAddress: Sendable, Hashable {
    /// A `sockaddr_in`, or the equivalent structure of another address family.
    private let bytes: [UInt8]

    init(bytes: [UInt8]) { self.bytes = bytes }

    /// - Parameters: both in host order.
    package init(ip: UInt32, port: UInt16) {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr = in_addr(s_addr: ip.bigEndian)
        bytes = withUnsafeBytes(of: address) { Array($0) }
    }

    /// - Parameter path: at most 107 bytes, because the last of the 108 is the terminating zero.
    package init(unix path: String) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(107)) }
        bytes = withUnsafeBytes(of: address) { Array($0) }
    }

    /// All addresses of a host, at least one; looking up a name blocks.
    ///
    /// - Throws: the reason with the host's name, after `prefix`.
    package static func all(
        of host: String, _ port: UInt16, _ kind: __socket_type = SOCK_STREAM, family: Int32 = AF_UNSPEC,
        isPassive: Bool = false, prefix: String = ""
    ) throws(ScaleLinkError) -> [SocketAddress] {
        var hints = addrinfo()
        (hints.ai_flags, hints.ai_family) = (isPassive ? AI_PASSIVE : 0, family)
        hints.ai_socktype = Int32(kind.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let answer = getaddrinfo(host, String(port), &hints, &list)
        defer { list.map(freeaddrinfo) }
        var (found, next) = ([SocketAddress](), list)
        while let info = next?.pointee {
            if let address = info.ai_addr {
                let bytes = UnsafeRawBufferPointer(start: address, count: Int(info.ai_addrlen))
                found.append(SocketAddress(bytes: Array(bytes)))
            }
            next = info.ai_next
        }
        guard answer == 0, !found.isEmpty else {
            throw ScaleLinkError(.refused, "\(prefix)\(host): \(String(cString: gai_strerror(answer)))")
        }
        return found
    }

    /// The result of a call that writes an address, and that address.
    package static func written(
        by call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int
    ) -> (result: Int, address: SocketAddress) {
        var (storage, size) = (sockaddr_storage(), socklen_t(MemoryLayout<sockaddr_storage>.size))
        let result = withUnsafeMutablePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { call($0, &size) }
        }
        let bytes = withUnsafeBytes(of: storage) { Array($0.prefix(Int(size))) }
        return (result, SocketAddress(bytes: result < 0 ? [] : bytes))
    }

    /// The port of a bound socket; `nil` if it has none.
    package static func port(of number: Int32) -> UInt16? {
        let (result, address) = written { Int(getsockname(number, $0, $1)) }
        guard result == 0, [AF_INET, AF_INET6].contains(address.family) else { return nil }
        // The port is in bytes 2 and 3 in the addresses of both families.
        return UInt16(address.bytes[2]) << 8 | UInt16(address.bytes[3])
    }

    var family: Int32 { bytes.count < 2 ? AF_UNSPEC : Int32(bytes[0]) | Int32(bytes[1]) << 8 }

    /// The address of a Bluetooth device; `nil` for any other address.
    var bluetooth: BluetoothAddress? { family == Bluetooth.family ? BluetoothAddress(socketAddress: bytes) : nil }

    package func use<Result>(_ call: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        // Copied into aligned storage, because an array's bytes may be unaligned.
        var storage = sockaddr_storage()
        withUnsafeMutableBytes(of: &storage) { $0.copyBytes(from: bytes) }
        return withUnsafePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { call($0, socklen_t(bytes.count)) }
        }
    }

    /// A new non-blocking socket of this address's family; −1 with `errno` on failure.
    package func socket(_ kind: __socket_type = SOCK_STREAM) -> Int32 {
        LinkDescriptor.socket(family, kind, family == Bluetooth.family ? Bluetooth.rfcomm : 0)
    }
}
