import Logging
import Synchronization

/// The hub's results for the records of a batch.
struct BatchAnswer: Sendable {
    var stored: [Int64] = []
    var duplicate: [Int64] = []
    var refusals: [SpoolRefusal] = []
    /// Microseconds since 1970.
    var time: Int64
}

/// Writes the hub's answers to the spool.
extension SpoolPump {
    func settle(_ answer: BatchAnswer) {
        answers.append(answer)
        settleAll()
    }

    private func settleAll() {
        guard let state, settling == nil, !answers.isEmpty else { return }
        settling = Task { await self.settleAll(in: state) }
    }

    private func settleAll(in state: PluginState) async {
        while !answers.isEmpty {
            let due = answers
            do {
                try await state.transaction { transaction in
                    for answer in due {
                        try transaction.remove(answer.stored, as: .stored)
                        try transaction.remove(answer.duplicate, as: .duplicate)
                        try transaction.refuse(answer.refusals, at: answer.time)
                    }
                }
            } catch {
                settling = nil
                return failed(error) { $0.settleAll() }
            }
            hasFailed = false
            answers.removeFirst(due.count)
            removals.wrappingAdd(1, ordering: .relaxed)
            endWaits()
            pump()
        }
        settling = nil
        outlet.spoolHasChanged()
    }
}
