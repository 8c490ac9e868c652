import Glibc

/// Free ports of this machine for programs that a test starts.
public enum FreePort {
    /// A port of 127.0.0.1 at which no program listens.
    public static func next() throws(Tool.Missing) -> Int {
        let bound = try Loopback.bind()
        close(bound.descriptor)
        return Int(bound.port)
    }
}
