import Foundation

/// The host names of a stand-in: any address, `localhost`, the machine's own name, and the name it listens at.
///
/// Another site can make its own name resolve to this address (DNS rebinding), and the browser would then give the answers to that site. Such a
/// name appears in `Host` and is refused.
struct OwnNames: Sendable {
    private let names: Set<String>

    /// - Parameter host: the listening address.
    init(listeningAt host: String) {
        var buffer = [CChar](repeating: 0, count: 256)
        var machine = ""
        if gethostname(&buffer, buffer.count - 1) == 0 {
            machine = String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        }
        names = Set(["localhost", host, machine, machine + ".local"].map { $0.lowercased() }).subtracting([
            "", ".local",
        ])
    }

    /// - Parameter field: the value of `Host`, with or without a port.
    func include(_ field: String) -> Bool {
        var name = field.lowercased()[...]
        if name.first == "[" {
            guard let end = name.firstIndex(of: "]") else { return false }
            return Self.isAddress(name[name.index(after: name.startIndex)..<end])
        }
        if let colon = name.lastIndex(of: ":") { name = name[..<colon] }
        if name.last == "." { name.removeLast() }
        return names.contains(String(name)) || Self.isAddress(name)
    }

    private static func isAddress(_ text: Substring) -> Bool {
        var bytes = in6_addr()
        return inet_pton(AF_INET, String(text), &bytes) == 1 || inet_pton(AF_INET6, String(text), &bytes) == 1
    }
}
