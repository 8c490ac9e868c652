import HubSettings

/// What a hub may hold of the machine: memory and file descriptors.
///
/// libzmq hides one growth, an unfinished multipart message, and aborts when it cannot accept a connection; nothing else bounds these.
struct ResourceWatch: Sendable {
    private let keeper: ConfigurationKeeper
    private let door: Door

    init(_ keeper: ConfigurationKeeper, _ door: Door) { (self.keeper, self.door) = (keeper, door) }

    /// Leaves cleanly at `memory_limit`, and when the file descriptors are nearly used up.
    ///
    /// Before that, what comes from other machines is sent away: it may be the cause, and the hub's own machine should not pay for it.
    /// - Returns: why it left; `nil` when `leaving` came first.
    func run(until leaving: Flag, leave: @Sendable () -> Void) async -> HubError? {
        var turn = 0
        while !leaving.isRaised {
            let limit = turn % 8 == 0 ? await keeper.configuration.hub.memoryLimit : nil
            if let most = ProcessDescriptors.limit, let open = ProcessDescriptors.lowestFree, open > most / 2 {
                await door.relieveNetwork(open: open, of: most)
            }
            if let pressure = memoryPressure(limit) { await door.restNetwork(because: pressure) }
            // Connections come faster than memory grows.
            if let shortage = descriptorShortage() ?? memoryShortage(limit) {
                leave()
                return shortage
            }
            turn += 1
            await leaving.wait(upTo: .milliseconds(250))
        }
        return nil
    }

    /// Why what comes from other machines is sent away for a while; `nil` while there is enough for all.
    private func memoryPressure(_ limit: ByteSize?) -> String? {
        guard let limit, let resident = ProcessMemory.residentBytes(), resident > Int64(limit.bytes) / 4 * 3 else {
            return nil
        }
        return "the hub holds \(resident) bytes, of memory_limit = \(limit.bytes)"
    }

    private func memoryShortage(_ limit: ByteSize?) -> HubError? {
        guard let limit = limit?.bytes, let resident = ProcessMemory.residentBytes() else {
            return nil
        }
        guard resident > Int64(limit) else { return nil }
        return HubError(
            .memory,
            "the hub held \(resident) bytes, more than memory_limit = \(limit) bytes, and left; start it again")
    }

    private func descriptorShortage() -> HubError? {
        guard let limit = ProcessDescriptors.limit, let open = ProcessDescriptors.lowestFree,
            open > limit - limit / 4
        else { return nil }
        return HubError(
            .memory,
            "the hub had \(open) files and connections open, of \(limit) that the system allows (ulimit -n), and left; find out which program connects so often, and start the hub again"
        )
    }
}
