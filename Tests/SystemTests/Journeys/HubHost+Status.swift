import Foundation
import HubClient
import HubProcess
import HubWire

extension HubHost {
    /// The hub's status, asked without the program `hub`, which takes longer to start than the hub takes for hundreds of records.
    func status<Status: Decodable & Sendable>(as type: Status.Type = Status.self) async throws -> Status {
        let door = door
        return try await blocking {
            let status = try DoorClient(endpoint: door, command: "status").ask(.status)
            return try JSONDecoder().decode(Status.self, from: Data(status.text.utf8))
        }
    }

    /// The variables of a `hub login` that opens no browser, or this one.
    func withoutBrowser(but browser: String = "") -> [String: String] {
        environment.merging(["BROWSER": browser, "DISPLAY": "", "WAYLAND_DISPLAY": ""]) { $1 }
    }

    /// Begins `hub login`, and returns the address of the page that it shows.
    func beginLogIn(
        _ instance: String, _ arguments: [String] = [], browser: String = ""
    ) async throws -> (login: ChildProcess, url: String) {
        let login = try ChildProcess(
            "hub", ["login", instance] + arguments, environment: withoutBrowser(but: browser))
        guard let line = await login.errorLines(count: 1, where: { $0.hasPrefix("  http") }).first else {
            throw NoPage(errors: login.errorLines)
        }
        // The port is open before the address is shown.
        return (login, String(line.dropFirst(2)))
    }
}

struct NoPage: Error, CustomStringConvertible {
    let errors: [String]
    var description: String { "hub login: \(errors.joined(separator: "\n"))" }
}
