import Foundation

/// Another machine: a network namespace of the kernel, with a wire to this one.
public final class OtherMachine: Sendable {
    /// This machine's address on the wire.
    public let here: String
    private let name: String

    /// Why there can be none here; nil where there can.
    public static let obstacle: String? = {
        guard geteuid() == 0 else {
            return "only root can make a network namespace; run the tests as root for these"
        }
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

    // The wire goes with the namespace that holds one end of it.
    deinit { try? Self.ip("netns", "delete", name) }

    /// Starts a program there.
    public func start(_ words: [String], _ environment: [String: String] = [:]) throws -> ChildProcess {
        try ChildProcess("/usr/bin/env", ["ip", "netns", "exec", name] + words, environment: environment)
    }

    /// Cuts the wire, so that nothing comes through and neither side is told, or joins it again.
    public func setWire(isWhole: Bool) throws {
        try Self.ip("-n", name, "link", "set", name + "b", isWhole ? "up" : "down")
    }

    private static func ip(_ words: String...) throws {
        if let said = Tool.failure("ip", words) {
            throw Refused(description: "ip \(words.joined(separator: " ")): \(said)")
        }
    }
}
