import Foundation
import Glibc

/// Where the hub's door is, and how to get in.
package struct HubAddress: Sendable {
    /// How to get in where a log-in is asked for (Protocol §2).
    package enum LogIn: Sendable {
        /// A plugin that the hub has started: PLAIN.
        case token(instance: String, token: String)
        /// A plugin on another machine: CURVE.
        case key(HubKey)
    }

    /// An endpoint as ZeroMQ writes it.
    package var door: String
    /// Nil on the owner's endpoint.
    package var logIn: LogIn?

    package init(door: String, logIn: LogIn? = nil) {
        (self.door, self.logIn) = (door, logIn)
    }

    /// The owner's door, where `eval "$(hub status --env)"` has named it in the shell that starts this program.
    static func ofShell(_ environment: [String: String] = ProcessInfo.processInfo.environment) -> HubAddress? {
        guard environment["HUB_INSTANCE"] == nil, let door = environment["HUB_DOOR"], !door.isEmpty else { return nil }
        return HubAddress(door: door)
    }
}

/// What the hub hands to a plugin that it starts (Protocol §2).
package struct Launch {
    package var address: HubAddress
    package var instance: String
    package var stateDirectory: String

    /// Reads the environment and, on a launch, the token from stdin; nil when the hub did not start this process.
    /// - Throws: ``PluginFailure`` when only a part is there.
    package static func read() throws -> Launch? { try read(ProcessInfo.processInfo.environment) }

    static func read(_ environment: [String: String]) throws -> Launch? {
        // A shell that asked `hub status --env` has HUB_DOOR too, which is the owner's then (``HubAddress/ofShell(_:)``).
        guard let instance = environment["HUB_INSTANCE"] else { return nil }
        guard let door = environment["HUB_DOOR"], let state = environment["HUB_STATE"] else {
            throw PluginFailure(
                .usage,
                "HUB_INSTANCE is set, but HUB_DOOR or HUB_STATE is not: the hub sets all of them; by hand unset it and use --instance and --door"
            )
        }
        guard let token = readToken(from: STDIN_FILENO), !token.isEmpty else {
            throw PluginFailure(
                .usage,
                "HUB_INSTANCE is set, but the first line on stdin holds no launch token; by hand unset it and use --instance and --door"
            )
        }
        return Launch(
            address: HubAddress(door: door, logIn: .token(instance: instance, token: token)), instance: instance,
            stateDirectory: state)
    }

    /// The first line, read byte by byte, because what follows is for the code that watches for the end of stdin.
    private static func readToken(from descriptor: CInt) -> String? {
        var line: [UInt8] = []
        while line.count <= 255 {
            var byte: UInt8 = 0
            switch systemRead(descriptor, &byte, 1) {
            case 1 where byte == UInt8(ascii: "\n"): return String(validating: line, as: UTF8.self)
            case 1: line.append(byte)
            case -1 where errno == EINTR: continue
            default: return nil
            }
        }
        return nil
    }
}

/// `read`, which the members of that name hide.
private func systemRead(_ descriptor: CInt, _ bytes: UnsafeMutableRawPointer, _ count: Int) -> Int {
    read(descriptor, bytes, count)
}
