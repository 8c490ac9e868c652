import ArgumentParser
import Foundation
import HubClient
import HubWire

struct StopCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stop", abstract: "End the running hub in order.",
        discussion: """
            Asks the hub of this hub.conf to end, and waits until it has ended: plugins
            finish, and all that was accepted is stored. Under systemd it stays ended until
            systemctl, or the next start of the machine, starts it.

            Examples:
              hub stop
              hub stop --config /etc/health-hub/hub.conf

            Exit codes: 0 it has ended; 69 no hub answers; 75 it has not ended within a
            minute; 77 it belongs to another user.
            """)

    @OptionGroup var options: ConfigurationOptions

    /// Plugins have five seconds, and a slow disk may need longer for the last commit.
    private static let patience = Duration.seconds(60)

    /// Whether a process still runs; a zombie does not count.
    private static func runs(_ process: pid_t) -> Bool {
        guard let words = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
            let state = words.suffix(from: words.lastIndex(of: ")") ?? words.startIndex).dropFirst(2).first
        else { return false }
        return state != "Z"
    }

    func run() throws {
        let endpoint = try options.endpoints().door
        let process = UnixSocket.listener(endpoint)
        let door = try DoorClient(endpoint: endpoint, command: "stop")
        _ = try door.run(OwnCommands.Stop())
        let deadline = ContinuousClock.now + StopCommand.patience
        // The socket goes first and the process last: only then is everything stored and the folder free for another hub.
        while UnixSocket.presence(endpoint) == .listening || process.map(StopCommand.runs) ?? false {
            guard ContinuousClock.now < deadline else {
                let name = process.map { " (process \($0))" } ?? ""
                throw Failure(.tryAgain, "the hub\(name) has not ended within a minute; its log says why")
            }
            usleep(20_000)
        }
        try Output.print("the hub has ended")
    }
}
