package import HubWire
import Samples
import Synchronization

/// Gives records as text, in groups: for ``PluginContext``, and for a program that relays the records of others.
extension HubLink {
    /// Puts groups into the spool; when the call returns, they are on the disk.
    ///
    /// - Parameters:
    ///   - changes: state to save in the same commit; `nil` removes a key.
    ///   - noting: receives the records' numbers in the spool before any of them is sent.
    /// - Throws: ``GiveError``; nothing of the call was saved then.
    package nonisolated func give(
        _ groups: [[[UInt8]]], saving changes: [String: StateValue?] = [:], in state: PluginState,
        noting: @escaping @Sendable (Range<Int64>) -> Void = { _ in }
    ) async throws(GiveError) {
        let removals = spool.removals.load(ordering: .relaxed)
        do {
            try await state.transaction { transaction in
                noting(try transaction.spool(groups))
                for (key, value) in changes { try transaction.set(key, to: value) }
            }
        } catch let error as PluginStateError {
            switch error.code {
            case .full:
                await spool.isFull(error.message, after: removals)
                throw GiveError(.full, error.message)
            case .invalid: throw GiveError(.invalid, error.message)
            default: throw GiveError(.storage, error.message)
            }
        } catch {
            preconditionFailure("a transaction of PluginState throws PluginStateError: \(type(of: error))")
        }
        await spool.hasGrown()
    }

    /// Gives groups without the spool and waits for the hub's answer to each record, like ``PluginContext/store(_:isBackfill:)-([Record],_)``.
    package nonisolated func store(
        _ groups: GroupedRecords, isBackfill: Bool = false, storePatience: Int64? = nil
    ) async throws(GiveError) -> [RecordResult] {
        try await storeCalls.store(groups, isBackfill: isBackfill, storePatience: storePatience)
    }

    /// Returns when a record has left the full spool, or when the program has to stop.
    package nonisolated func waitForRoom() async { await spool.waitForRoom() }

    /// Sends LIVE or EVENT; drops it while the hub is away.
    package nonisolated func pass(_ message: ClientMessage) async { await sendIfReady(message) }
}
