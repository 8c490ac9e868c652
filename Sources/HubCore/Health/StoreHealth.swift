import HubSessions
import HubStore
import HubWire
import Logging
import Samples

/// The room on the store's disk, and what the service manager is told.
extension Door {
    /// Takes note of the room, says what changed, and finds out whether a store that did not work does again.
    func look(at room: StoreSpace?) async {
        if let room, let change = roomWatch.look(room, at: facts.storePath) {
            if change.isGood {
                logger.notice("\(change.text)")
            } else {
                logger.warning("\(change.text)")
            }
            readSubscriptions()
            let body = SpaceNotice(
                level: change.isGood ? "notice" : "warning", subject: "store", text: change.text,
                time: facts.clock.time.text)
            publish(.notice, RawJSON(encoding: body).bytes, to: .owner)
        }
        await lookAtCheckpoint()
        // Sources try again by themselves; without any, nobody would learn that there is room again.
        guard storeFault != nil, (try? await store.checkWritable()) != nil else { return }
        recovered()
    }

    /// Tries again what failed at a commit, and says when it fails and when it works again.
    private func lookAtCheckpoint() async {
        if store.checkpointFault != nil { try? await store.checkpoint() }
        let fault = store.checkpointFault
        guard (fault != nil) != hasToldOfCheckpoint else { return }
        hasToldOfCheckpoint = fault != nil
        if let warning = checkpointWarning {
            logger.error("\(warning)")
        } else {
            logger.notice("the store's log can be brought into its file again")
        }
    }

    /// What will become a failure, and what to do.
    var storeWarning: String? {
        let warnings = [checkpointWarning, roomWatch.warning(facts.storePath)].compactMap { $0 }
        return warnings.isEmpty ? nil : warnings.joined(separator: "; ")
    }

    private var checkpointWarning: String? {
        store.checkpointFault.map {
            "what is confirmed is safe in the log beside the store, but the log grows, for it cannot be brought into the file: \($0.message)"
        }
    }

    /// One line for the service manager, which also proves that the poll loop turns.
    func serviceStatus() -> String {
        if let storeFault { return "the store does not work: \(storeFault.message)" }
        if let warning = storeWarning { return warning }
        let enabled = facts.plugins.filter(\.enabled)
        let alive = enabled.count { ledger[$0.name].sessions > 0 }
        return "newest sequence \(store.head); \(alive) of \(enabled.count) plugins alive"
    }
}

private struct SpaceNotice: Encodable {
    let level, subject, text, time: String
}
