import HubClient
import HubWire

/// The hub of a demonstration, a separate process that runs `hub run` from the folder of this program.
final class DemoHub: Sendable {
    /// The part of `hub status` that the demonstration needs.
    struct Status: Decodable, Sendable {
        struct Plugin: Decodable, Sendable {
            var name: String
            var alive: Bool
            var lastError, advice: String?
        }
        struct Device: Decodable, Sendable {
            var instance: String
            var connected: Bool?
        }
        /// The time of the hub's clock, RFC 3339.
        var time: String
        var plugins: [Plugin]
        var devices: [Device]

        /// The problems of plugins, one sentence each.
        var problems: [String] {
            plugins.compactMap { plugin in
                let said = plugin.advice ?? (plugin.alive ? nil : plugin.lastError)
                return plugin.alive && plugin.advice == nil
                    ? nil : "\(plugin.name) is not well: \(said ?? "it does not run")"
            }
        }
    }

    let endpoints: OwnerEndpoints
    private let directory: DemoDirectory
    private let program: HelperProcess

    /// Starts the hub and returns when it is ready; its log goes to stderr.
    ///
    /// - Parameter ended: called when the hub has ended, for any reason.
    init(_ directory: DemoDirectory, ended: @escaping @Sendable () -> Void) async throws {
        let state = AwaitableValue((isReady: false, hasEnded: false))
        (self.directory, endpoints) = (directory, OwnerEndpoints(run: directory.path + "/run"))
        program = try HelperProcess(
            "hub", ["run", "--config", directory.configuration, "--until-eof"], hearsErrors: true
        ) { line in
            switch line {
            case nil:
                state.change { $0.hasEnded = true }
                ended()
            case let line? where line.hasPrefix("hub: ready: "): state.change { $0.isReady = true }
            case let line?: Terminal.say(line)
            }
        }
        await state.wait(upTo: .seconds(60)) { $0.isReady || $0.hasEnded }
        guard state.value.isReady else {
            await program.end()
            throw Failure(.system, "the demonstration's hub did not start")
        }
    }

    /// Ends the hub in order, with time for its plugins to finish.
    func end() async { await program.end(patience: .seconds(30)) }

    func status() async throws -> Status {
        let door = endpoints.door
        return try await blocking {
            try JSON.answer(Status.self, try DoorClient(endpoint: door, command: "demo").ask(.status))
        }
    }

    /// The output of another command of `hub`.
    func lines(of command: String) async throws -> [String] {
        let said = AwaitableValue((lines: [String](), hasEnded: false))
        let program = try HelperProcess("hub", [command, "--config", directory.configuration]) { line in
            said.change { said in
                if let line { said.lines.append(line) } else { said.hasEnded = true }
            }
        }
        await said.wait(upTo: .seconds(10)) { $0.hasEnded }
        await program.end()
        return said.value.lines
    }
}
