package import HubClient
package import HubWire

/// A whole hub in a separate process, for one plugin.
package final class HubInstance: Sendable {
    package let endpoints: OwnerEndpoints
    private let instance: String
    private let program: HelperProcess

    /// Starts it and returns when it is ready.
    ///
    /// - Parameters:
    ///   - configuration: the path of its `hub.conf`, which has one plugin.
    ///   - run: the folder of its sockets, as in `hub.conf`.
    ///   - instance: the instance of the plugin.
    ///   - said: called with each line of its log.
    ///   - ended: called when it ends without being asked.
    package init(
        configuration: String, run: String, instance: String, said: @escaping @Sendable (String) -> Void = { _ in },
        ended: @escaping @Sendable () -> Void = {}
    ) async throws {
        let state = AwaitableValue((isReady: false, hasEnded: false))
        (self.instance, endpoints) = (instance, OwnerEndpoints(run: run))
        program = try HelperProcess("hub", ["run", "--config", configuration, "--until-eof"], hearsErrors: true) {
            line in
            switch line {
            case nil:
                let wasReady = state.value.isReady
                state.change { $0.hasEnded = true }
                if wasReady { ended() }
            case let line? where line.hasPrefix("hub: ready: "): state.change { $0.isReady = true }
            case let line?: said(line)
            }
        }
        await state.wait(upTo: .seconds(60)) { $0.isReady || $0.hasEnded }
        guard state.value.isReady else {
            await program.end(patience: .zero)
            throw Failure(.system, "the hub did not start")
        }
    }

    /// Ends it in order; a plugin that does not end in time is killed with it.
    package func end() async { await program.end(patience: .milliseconds(1_500)) }

    /// Kills every such hub at once, as a second Ctrl-C does.
    package static func killAll() { HelperProcess.killAll() }

    /// Kills it as `kill -9` does.
    package func kill() async { await program.kill() }

    /// Has the hub apply its settings, and returns its report.
    package func apply() async throws -> ApplyReport {
        let door = endpoints.door
        return try await blocking {
            // The hub runs the programs to read their manifests; one that hangs has ten seconds.
            let client = try DoorClient(endpoint: door, command: "apply", patience: .seconds(60))
            return try client.run(OwnCommands.Apply()).result
        }
    }

    /// Restarts the plugin, as `hub restart` does.
    package func restart() async throws {
        let (door, instance) = (endpoints.door, instance)
        try await blocking {
            _ = try DoorClient(endpoint: door, command: "restart").run(OwnCommands.Restart(instance: instance))
        }
    }
}
