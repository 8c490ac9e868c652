import Foundation

/// Another machine: a network namespace of the kernel, connected to this machine by a virtual wire.
public final class OtherMachine: Sendable {
    /// This machine's address on the wire.
    public let here: String
    private let name: String

    /// Why this machine can have no such namespace; `nil` if it can.
    public static let obstacle: String? = {
        guard geteuid() == 0 else { return "only root can make a network namespace; run the tests as root for these" }
        do { _ = try OtherMachine() } catch { return "no network namespace can be made here: \(error)" }
        return nil
    }()

    struct Refused: Error, CustomStringConvertible { let description: String }

    public init() throws {
        let number = Int.random(in: 0..<16_384)
        let net = "10.\(200 + number % 50).\(number / 64 % 256)"
        let (four, hub, far) = (number % 64 * 4, "hubt\(number)a", "hubt\(number)b")
        (name, here) = ("hubt\(number)", "\(net).\(four + 1)")
        try Self.ip("netns", "add", name)
        do {
            try Self.ip("link", "add", hub, "type", "veth", "peer", "name", far, "netns", name)
            try Self.ip("addr", "add", "\(here)/30", "dev", hub)
            try Self.ip("link", "set", hub, "up")
            try Self.ip("-n", name, "addr", "add", "\(net).\(four + 2)/30", "dev", far)
            try Self.ip("-n", name, "link", "set", far, "up")
            try Self.ip("-n", name, "link", "set", "lo", "up")
        } catch {
            try? Self.ip("netns", "delete", name)
            throw error
        }
    }

    // The namespace holds one end of the wire, so the wire disappears with it.
    deinit { try? Self.ip("netns", "delete", name) }

    /// Starts a program on the other machine.
    public func start(_ words: [String], _ environment: [String: String] = [:]) throws -> ChildProcess {
        try ChildProcess("/usr/bin/env", ["ip", "netns", "exec", name] + words, environment: environment)
    }

    /// Connects the wire, or cuts it: then nothing passes, and neither side gets an error.
    public func setWire(isWhole: Bool) throws {
        try Self.ip("-n", name, "link", "set", name + "b", isWhole ? "up" : "down")
    }

    private static func ip(_ words: String...) throws {
        if let said = Tool.failure("ip", words) {
            throw Refused(description: "ip \(words.joined(separator: " ")): \(said)")
        }
    }
}
