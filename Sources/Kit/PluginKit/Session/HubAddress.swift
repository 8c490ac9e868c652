import Foundation
import Glibc

/// The address of the hub's door and the log-in for it.
package struct HubAddress: Sendable {
    /// The log-in for a door that requires one (Protocol §2).
    package enum LogIn: Sendable {
        /// For a plugin that the hub has started: PLAIN.
        case token(instance: String, token: String)
        /// For a plugin on another machine: CURVE.
        case key(HubKey)
    }

    /// A ZeroMQ endpoint.
    package var door: String
    /// `nil` on the owner's endpoint, which needs no log-in.
    package var logIn: LogIn?

    package init(door: String, logIn: LogIn? = nil) {
        (self.door, self.logIn) = (door, logIn)
    }

    /// The owner's door, if `eval "$(hub status --env)"` has set it in the shell that starts this program.
    static func ofShell(_ environment: [String: String] = ProcessInfo.processInfo.environment) -> HubAddress? {
        guard environment["HUB_INSTANCE"] == nil, let door = environment["HUB_DOOR"], !door.isEmpty else { return nil }
        return HubAddress(door: door)
    }
}

/// The data that the hub passes to a plugin that it starts (Protocol §2).
package struct Launch {
    package var address: HubAddress
    package var instance: String
    package var stateDirectory: String

    /// Reads the environment and, for a launched plugin, the token from stdin; returns `nil` if the hub did not start this process.
    /// - Throws: ``PluginFailure`` if the launch data is incomplete.
    package static func read() throws -> Launch? { try read(ProcessInfo.processInfo.environment) }

    static func read(_ environment: [String: String]) throws -> Launch? {
        // `hub status --env` sets HUB_DOOR in a shell, too; it is the owner's door then (``HubAddress/ofShell(_:)``).
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

    /// Reads the first line byte by byte, because the code that watches for the end of stdin reads the rest.
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

/// Calls `read`, which the members of that name hide.
private func systemRead(_ descriptor: CInt, _ bytes: UnsafeMutableRawPointer, _ count: Int) -> Int {
    read(descriptor, bytes, count)
}
