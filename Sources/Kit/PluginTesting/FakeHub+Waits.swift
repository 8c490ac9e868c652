public import HubWire

extension FakeHub {
    /// The held records, as soon as there are `count`.
    @discardableResult
    public func records(_ count: Int) async -> [Held] {
        await wait { $0.held.count >= count }
        return held
    }

    @discardableResult
    public func hellos(_ count: Int) async -> [Hello] {
        await wait { $0.hellos.count >= count }
        return hellos
    }

    @discardableResult
    public func events(_ count: Int) async -> [DeviceEvent] {
        await wait { $0.events.count >= count }
        return events
    }

    @discardableResult
    public func lives(_ count: Int) async -> [LiveValue] {
        await wait { $0.lives.count >= count }
        return lives
    }

    /// Returns when `count` batches have arrived, answered or not.
    public func batches(_ count: Int) async { await wait { $0.batches >= count } }
    public func pings(_ count: Int) async { await wait { $0.pings >= count } }
    public func pongs(_ count: Int) async { await wait { $0.pongs >= count } }
    public func byes(_ count: Int) async { await wait { $0.byes >= count } }

    /// Returns when `isMet` is true, which is checked after every message, or when the task is cancelled, for example by a time limit.
    public func wait(until isMet: @escaping @Sendable (isolated FakeHub) -> Bool) async {
        if isMet(self) { return }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if Task.isCancelled { return continuation.resume() }
                watchers.append((isMet, continuation))
            }
        } onCancel: {
            Task { await self.giveUpWaiting() }
        }
    }

    /// Ends all waits, although their conditions are not met.
    public func giveUpWaiting() {
        for watcher in watchers { watcher.continuation.resume() }
        watchers = []
    }

    func notifyWatchers() {
        let met = watchers.filter { $0.isMet(self) }
        guard !met.isEmpty else { return }
        watchers.removeAll { $0.isMet(self) }
        for watcher in met { watcher.continuation.resume() }
    }
}
