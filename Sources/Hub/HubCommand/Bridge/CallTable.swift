import HubWire
import JSON
import PluginKit
import Synchronization

/// Commands that are open with the program.
final class CallTable: Sendable {
    private struct Call {
        let tell: WireCommand.Teller
        let waiter: CheckedContinuation<CommandOutcome.Content, Never>
    }
    private let state = Mutex((last: 0, open: [Int: Call](), isOver: false))

    /// Hands a command to the program, and returns the program's outcome.
    func run(_ command: WireCommand, _ output: LineWriter) async -> CommandOutcome.Content {
        let number = state.withLock { state in
            state.last += 1
            return state.last
        }
        let line = JSONTree.object([
            .init("command", JSONTree(number)), .init("name", .text(command.name)),
            .init("args", JSONTree(command.arguments.bytes) ?? .object([])), .init("dryRun", .truth(command.isDryRun)),
        ])
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    if !state.isOver, !Task.isCancelled {
                        state.open[number] = Call(tell: command.tell, waiter: continuation)
                        return false
                    }
                    return true
                }
                guard !isOver else { return continuation.resume(returning: Self.ended) }
                Task { [self] in
                    do { try await output.write([line]) } catch { finish(number, Self.ended) }
                }
            }
        } onCancel: {
            finish(number, .cancelled)
            Task { try? await output.write([.object([.init("cancel", JSONTree(number))])]) }
        }
    }

    private static let ended = CommandOutcome.Content.failed(
        code: "lost", reason: "the plugin's program has ended; a part may have been done")

    private func finish(_ number: Int, _ content: CommandOutcome.Content) {
        state.withLock { $0.open.removeValue(forKey: number) }?.waiter.resume(returning: content)
    }

    /// Fails all open commands, because the program has ended.
    func end() {
        let open = state.withLock { state in
            state.isOver = true
            defer { state.open = [:] }
            return state.open.values
        }
        for call in open { call.waiter.resume(returning: Self.ended) }
    }

    /// - Returns: a message if the answer is invalid.
    func answer(_ text: RawJSON, line: Int) -> String? {
        guard let answer = JSONTree(text.bytes), let number = answer["command"]?.integer else {
            return "line \(line): command: expected the number that the command had"
        }
        guard let call = state.withLock({ $0.open[number] }) else {
            return "line \(line): command \(number) is not open: it was answered or cancelled"
        }
        switch answer["outcome"]?.text {
        case "done": finish(number, .done(result: answer["result"].map { RawJSON(trusted: $0.bytes) }))
        case "failed":
            finish(
                number,
                .failed(
                    code: answer["code"]?.text ?? "failed",
                    reason: answer["reason"]?.text ?? "the program said failed, without a reason"))
        case "cancelled": finish(number, .cancelled)
        case nil where answer["done"]?.integer != nil:
            call.tell(answer["done"]?.integer ?? 0, answer["total"]?.integer, answer["text"]?.text)
        default: return "line \(line): outcome: expected done, failed or cancelled; or done, a number, for progress"
        }
        return nil
    }
}
