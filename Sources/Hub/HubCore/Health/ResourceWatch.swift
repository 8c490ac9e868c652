import CLinux
import Foundation
import HubSettings
import HubWire
import Logging
import Synchronization

/// Watches the resources that the hub holds: memory and file descriptors.
///
/// libzmq does not report one kind of growth, an unfinished multipart message, and aborts if it cannot accept a connection; no other limit
/// bounds these. The watch runs on a separate thread: it must not wait for parts that may be busy because of the shortage.
final class ResourceWatch: Sendable {
    private let keeper: ConfigurationManager
    private let door: Door
    private let committer: Committer
    private let logger: Logger
    /// Ends the process if it cannot end in order.
    private let endAtOnce: (@Sendable () -> Void)?
    /// Bytes at which the hub ends; `Int.max` for no limit.
    private let limit = Atomic(Int.max)
    private let hasEnded = Atomic(false)

    /// The interval while little is held, and while much is: in the latter, a fast peer makes the hub hold a few megabytes more.
    private static let (calm, busy) = (Duration.milliseconds(250), Duration.milliseconds(20))
    /// Minimum time between two requests to the door for relief.
    private static let patience = Duration.seconds(1)

    init(
        _ keeper: ConfigurationManager, _ door: Door, _ committer: Committer, endAtOnce: (@Sendable () -> Void)?,
        logger: Logger
    ) {
        (self.keeper, self.door, self.committer, self.logger) = (keeper, door, committer, logger)
        self.endAtOnce = endAtOnce
    }

    /// Ends the hub in order at `memory_limit` or when file descriptors run out; gives free memory back to the system.
    ///
    /// Before that, it disconnects other machines: they may be the cause, and the hub's own machine should not suffer.
    /// - Returns: why the hub ended; `nil` if `leaving` came first.
    func run(until leaving: Latch, leave: @escaping @Sendable () -> Void) async -> HubError? {
        let (shortages, shortage) = AsyncStream<HubError>.makeStream()
        await followLimit()
        Thread.detachNewThread { [self] in
            if let found = watch(leave) { shortage.yield(found) }
            shortage.finish()
        }
        while !leaving.isRaised {
            await leaving.wait(upTo: .seconds(2))
            await followLimit()
        }
        hasEnded.store(true, ordering: .relaxed)
        for await found in shortages { return found }
        return nil
    }

    private func followLimit() async {
        let bytes = await keeper.configuration.hub.memoryLimit?.bytes
        limit.store(bytes.map { Int(clamping: $0) } ?? .max, ordering: .relaxed)
    }

    // MARK: - On the thread

    private func watch(_ leave: () -> Void) -> HubError? {
        var memory = MemoryReturn()
        var (shortage, asked): (HubError?, ContinuousClock.Instant?) = (nil, nil)
        while !hasEnded.load(ordering: .relaxed) {
            let limit = limit.load(ordering: .relaxed)
            let resident = Int(clamping: ProcessMemory.residentBytes() ?? 0)
            if shortage == nil, let found = descriptorShortage() ?? memoryShortage(resident, limit) {
                shortage = found
                leave()
            }
            // The cause of the growth may also block an orderly end; records with a STORED are safe.
            if resident - limit > limit / 16, let endAtOnce {
                logger.critical(
                    "memory grows while the hub stops: it ends at once",
                    metadata: ["bytes": "\(resident)", "memory_limit": "\(limit)"])
                endAtOnce()
            }
            if asked.map({ $0.duration(to: .now) > Self.patience }) ?? true, requestMemoryReturn(resident, limit) {
                asked = .now
            }
            memory.look(at: resident, isIdle: committer.isIdle)
            Thread.sleep(forTimeInterval: (resident > limit / 2 ? Self.busy : Self.calm) / .seconds(1))
        }
        return shortage
    }

    /// Asks the door to disconnect other machines if resources are short.
    private func requestMemoryReturn(_ resident: Int, _ limit: Int) -> Bool {
        if let most = ProcessDescriptors.limit, let open = ProcessDescriptors.lowestFree, open > most / 2 {
            Task { [door] in await door.network.relieve(open: open, of: most) }
            return true
        }
        guard resident > limit / 4 * 3 else { return false }
        let reason = "the hub holds \(resident) bytes, of memory_limit = \(limit)"
        Task { [door] in await door.network.pause(because: reason) }
        return true
    }

    private func memoryShortage(_ resident: Int, _ limit: Int) -> HubError? {
        guard resident > limit else { return nil }
        return HubError(
            .memory,
            "the hub held \(resident) bytes, more than memory_limit = \(limit) bytes, and stopped; start it again")
    }

    private func descriptorShortage() -> HubError? {
        guard let limit = ProcessDescriptors.limit, let open = ProcessDescriptors.lowestFree,
            open > limit - limit / 4
        else { return nil }
        return HubError(
            .memory,
            "the hub had \(open) files and connections open, of \(limit) that the system allows (ulimit -n), and stopped; find out which program connects so often, and start the hub again"
        )
    }
}

/// Gives free memory back to the system after a burst; the C library would keep it.
private struct MemoryReturn {
    /// The minimum held so far: below it there is nothing to give back.
    private var least = Int.max
    /// Bytes that stayed resident after the last trim without being allocated, such as the program's own.
    private var unused = 0
    private var triedAt: ContinuousClock.Instant?

    /// The growth that makes a trim worth its cost.
    private static let worth = 16 << 20
    private static let interval = Duration.seconds(5)

    mutating func look(at resident: Int, isIdle: Bool) {
        least = min(least, resident)
        guard isIdle, resident > least + Self.worth,
            triedAt.map({ $0.duration(to: .now) > Self.interval }) ?? true
        else { return }
        triedAt = .now
        // Messages for a peer that has left are freed seconds later, so every look compares again.
        guard resident - ProcessMemory.allocatedBytes() > unused + Self.worth else { return }
        malloc_trim(0)
        let after = Int(clamping: ProcessMemory.residentBytes() ?? 0)
        (least, unused) = (min(least, after), after - ProcessMemory.allocatedBytes())
    }
}
