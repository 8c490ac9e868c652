import Glibc

/// TCP sockets at 127.0.0.1.
public enum Loopback {
    /// A socket with this port, or a free one, at which it does not listen yet.
    public static func bind(_ port: UInt16 = 0) throws(Tool.Missing) -> (descriptor: Int32, port: UInt16) {
        let descriptor = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        try call(descriptor, "127.0.0.1", port) { Glibc.bind(descriptor, $0, $1) }
        var (address, size) = (sockaddr_in(), socklen_t(MemoryLayout<sockaddr_in>.size))
        withUnsafeMutablePointer(to: &address) {
            _ = $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
        }
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }

    /// A socket that listens at this port, or a free one.
    public static func listen(_ port: UInt16 = 0) throws(Tool.Missing) -> (descriptor: Int32, port: UInt16) {
        let bound = try bind(port)
        guard Glibc.listen(bound.descriptor, 64) == 0 else {
            close(bound.descriptor)
            throw Tool.Missing(description: "a socket at port \(bound.port) cannot listen")
        }
        return bound
    }

    /// A socket that is connected to this port.
    ///
    /// - Parameter source: the address of this machine from which the connection comes.
    public static func connect(_ port: UInt16, from source: String = "127.0.0.1") throws(Tool.Missing) -> Int32 {
        let descriptor = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        try call(descriptor, source, 0) { Glibc.bind(descriptor, $0, $1) }
        try call(descriptor, "127.0.0.1", port) { Glibc.connect(descriptor, $0, $1) }
        return descriptor
    }

    /// Calls a function with an address; if it fails, closes the socket.
    private static func call(
        _ descriptor: Int32, _ host: String, _ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) throws(Tool.Missing) {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        inet_pton(AF_INET, host, &address.sin_addr)
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else {
            let reason = String(cString: strerror(errno))
            close(descriptor)
            throw Tool.Missing(description: "\(host):\(port): \(reason)")
        }
    }
}
