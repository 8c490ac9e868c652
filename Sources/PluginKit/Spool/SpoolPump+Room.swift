import HubWire
import Logging
import Synchronization

/// Whether the spool is full, and whether the hub knows.
struct Fullness {
    var isFull = false
    var isTold = false
    var message = ""
    /// ``SpoolPump/removals`` before the spool was found full.
    var removals = 0
}

/// The spool at its bound.
extension SpoolPump {
    /// A source could not give because of the bound; the hub's people are told, at the next WELCOME if it is away.
    ///
    /// - Parameter removals: what ``removals`` was before.
    func isFull(_ message: String, after removals: Int) {
        if !fullness.isFull { logger.error("the spool is full", metadata: ["spool.error": "\(message)"]) }
        fullness.isFull = true
        fullness.message = message
        fullness.removals = removals
        tellFullness()
    }

    func tellFullness() {
        guard fullness.isFull, !fullness.isTold, outlet.session != nil else { return }
        fullness.isTold = true
        guard let event = try? DeviceEvent("spool-full", severity: .error, text: fullness.message) else { return }
        outlet.sendIfReady(.event(event))
    }

    /// Something could be spooled.
    func hasRoomAgain() {
        guard fullness.isFull else { return }
        fullness = Fullness()
        if let event = try? DeviceEvent("error", isResolved: true) { outlet.sendIfReady(.event(event)) }
    }

    /// Returns when something has left the spool since it was found full, or the plugin is to stop.
    func waitForRoom() async {
        guard !outlet.isStopping else { return }
        // There has been room since: that was perhaps the last time that anything left.
        if fullness.isFull, fullness.removals != removals.load(ordering: .relaxed) { return }
        await withCheckedContinuation { roomWaiters.append($0) }
    }

    func endWaits() {
        let waiters = roomWaiters
        roomWaiters = []
        for waiter in waiters { waiter.resume() }
    }
}
