import HubWire
import Logging
import Synchronization

/// Whether the spool is full, and whether the hub has been notified.
struct SpoolFillState {
    var isFull = false
    var isTold = false
    var message = ""
    /// ``SpoolPump/removals`` before the spool was found full.
    var removals = 0
}

/// Handles a full spool.
extension SpoolPump {
    /// Notes that a source could not give records because the spool is full, and reports it to the hub, at the next WELCOME if the hub is away.
    ///
    /// - Parameter removals: the value of ``removals`` before the attempt.
    func isFull(_ message: String, after removals: Int) {
        if !fullness.isFull { logger.error("the spool is full", metadata: ["spool.error": "\(message)"]) }
        fullness.isFull = true
        fullness.message = message
        fullness.removals = removals
        reportFullness()
    }

    func reportFullness() {
        guard fullness.isFull, !fullness.isTold, outlet.session != nil else { return }
        fullness.isTold = true
        guard let event = try? DeviceEvent("spool-full", severity: .error, text: fullness.message) else { return }
        outlet.sendIfReady(.event(event))
    }

    /// Clears the fullness, because records could be spooled.
    func hasRoomAgain() {
        guard fullness.isFull else { return }
        fullness = SpoolFillState()
        if let event = try? DeviceEvent("error", isResolved: true) { outlet.sendIfReady(.event(event)) }
    }

    /// Returns when a record has left the spool since it was found full, or when the plugin has to stop.
    func waitForRoom() async {
        guard !outlet.isStopping else { return }
        // A record has left since then, and it may have been the last one to leave.
        if fullness.isFull, fullness.removals != removals.load(ordering: .relaxed) { return }
        await withCheckedContinuation { roomWaiters.append($0) }
    }

    func endWaits() {
        let waiters = roomWaiters
        roomWaiters = []
        for waiter in waiters { waiter.resume() }
    }
}
