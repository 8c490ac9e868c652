import Foundation
import HubWire
import Logging

extension PluginRunner {
    /// Starts to serve the author's commands.
    func serveCommands(_ context: PluginContext) async {
        let commands = Dictionary(P.commands.map { ($0.declaration.name, $0) }, uniquingKeysWith: { first, _ in first })
        await context.link.startServing { [plugin, logger] request, ticket in
            guard case .run(_, let name, let arguments, let isDryRun, let deadline) = request.content else {
                return .cancelled
            }
            guard let command = commands[name] else {
                let names = commands.keys.sorted().joined(separator: ", ")
                let known = names.isEmpty ? "it has none" : "it has \(names)"
                return .failed(code: "command", reason: "\(P.manifest.name) has no command \"\(name)\"; \(known)")
            }
            // The hub has checked the arguments against the manifest of the program that was installed when it read `hub.conf`.
            let check = ArgumentCheck(json: arguments.bytes, declarations: command.declaration.arguments)
            guard check.problems.isEmpty else {
                return .failed(code: "command", reason: "args: \(check.problems.joined(separator: "; "))")
            }
            guard !isDryRun || command.declaration.canDryRun else {
                return .failed(code: "command", reason: "\(name) has no dry run")
            }
            let teller = LatestProgress { teller in
                Task { await context.link.tell(teller, ticket) }
            }
            let call = CommandCall(
                hub: context, arguments: PluginSettings(check.values), isDryRun: isDryRun,
                deadline: deadline.map { .now + .milliseconds($0) }, ticket: ticket, teller: teller)
            return await Self.outcome(of: command, plugin, call, logger)
        }
    }

    private static func outcome(
        of command: Command<P>, _ plugin: P, _ call: CommandCall, _ logger: Logger
    ) async -> CommandOutcome.Content {
        do {
            return .done(result: try await command.run(plugin, call))
        } catch is CancellationError {
            return .cancelled
        } catch let failure as CommandFailure {
            return .failed(code: failure.code, reason: failure.message)
        } catch {
            logger.error(
                "a command failed",
                metadata: ["command": "\(command.declaration.name)", "plugin.error": "\(error)"])
            return .failed(code: "failed", reason: "\(error)")
        }
    }
}
