import FoundationEssentials
import Logging
import Platform
import Synchronization

/// Keeps the state of devices from one run of the hub to the next: `devices.json` in the data directory, mode 0600.
///
/// A scale sleeps all day, so its last report is all there is until the next weighing. The first change is on the disk within a moment,
/// later changes at most once a second, and the last one when the hub stops.
final class DeviceMemory: Sendable {
    private struct State {
        /// The table that is not on the disk yet.
        var table: DeviceTable?
        /// Whether it should be written soon.
        var isDue = false
        var waiting: CheckedContinuation<Void, Never>?
        /// Whether the failure to write was logged.
        var hasFailed = false
    }
    private let path: String
    private let logger: Logger
    private let state = Mutex(State())

    private static let pause = Duration.seconds(1)

    init(data: String, logger: Logger) { (path, self.logger) = ("\(data)/devices.json", logger) }

    /// The table of the last run; empty if it cannot be read, because devices report everything again.
    func read() -> [String: [String: DeviceTable.Entry]] {
        guard let file = FileManager.default.contents(atPath: path) else { return [:] }
        do {
            return try JSONDecoder().decode([String: [String: DeviceTable.Entry]].self, from: file)
        } catch {
            logger.warning(
                "the list of known devices cannot be read, and is discarded", metadata: ["file": "\(path)"])
            return [:]
        }
    }

    /// Notes a change; returns at once.
    ///
    /// - Parameter mayWait: whether the change may be written with the next one, or when the hub stops.
    func note(_ table: DeviceTable, mayWait: Bool) {
        let waiting: CheckedContinuation<Void, Never>? = state.withLock { state in
            state.table = table
            if mayWait { return nil }
            state.isDue = true
            defer { state.waiting = nil }
            return state.waiting
        }
        waiting?.resume()
    }

    /// Writes noted changes until `leaving` is raised.
    func run(until leaving: Latch) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [self] in
                await leaving.wait()
                wake()
            }
            while !leaving.isRaised {
                await change(orUp: leaving)
                write()
                await leaving.wait(upTo: Self.pause)
            }
        }
    }

    /// Writes the noted changes that are not on the disk yet; blocks.
    ///
    /// A failed write is retried: by ``run(until:)`` a moment later, and when the hub stops.
    func write() {
        let noted = state.withLock { state in
            state.isDue = false
            return state.table.take()
        }
        guard let table = noted else { return }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        do {
            try PrivateFile.write(Array(try encoder.encode(table.memory)), to: path)
            state.withLock { $0.hasFailed = false }
        } catch {
            let isNews = state.withLock { state in
                // Kept for the next attempt; a table that was noted meanwhile is newer.
                state.table = state.table ?? table
                state.isDue = true
                defer { state.hasFailed = true }
                return !state.hasFailed
            }
            guard isNews else { return }
            logger.warning("the list of known devices cannot be saved", metadata: ["error": "\(error)"])
        }
    }

    private func change(orUp leaving: Latch) async {
        await withCheckedContinuation { continuation in
            let isDue = state.withLock { state in
                guard !state.isDue, !leaving.isRaised else { return true }
                state.waiting = continuation
                return false
            }
            if isDue { continuation.resume() }
        }
    }

    private func wake() {
        state.withLock { state in
            defer { state.waiting = nil }
            return state.waiting
        }?.resume()
    }
}
