import Glibc

/// Free ports of this machine for programs that a test starts.
public enum FreePort {
    /// A port of 127.0.0.1 at which no program listens.
    public static func next() throws(Tool.Missing) -> Int {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 ? getsockname(descriptor, $0, &size) : -1
            }
        }
        guard result == 0 else { throw Tool.Missing(description: "no port is free at 127.0.0.1") }
        return Int(UInt16(bigEndian: address.sin_port))
    }
}
