import DoorPeer
import Foundation
import HubProcess
import Synchronization

/// The environment of an attack: its hub, its size and its findings.
final class Scene: Sendable {
    /// Whether the attack should take only seconds: sizes are smaller then, and times are not judged.
    let isQuick: Bool
    private let notes = Mutex<[Finding]>([])

    init(isQuick: Bool) { self.isQuick = isQuick }

    var findings: [Finding] { notes.withLock { $0 } }

    /// Chooses one of two sizes.
    func size(_ full: Int, quick: Int) -> Int { isQuick ? quick : full }

    func note(_ what: String, _ value: Double, _ unit: String, atMost: Double? = nil, isTime: Bool = false) {
        notes.withLock { $0.append(Finding(what: what, value: value, unit: unit, atMost: atMost, isTime: isTime)) }
    }

    /// Records how often something happened that must not happen; repeated calls are added up.
    func expectNone(_ what: String, _ count: Int) {
        notes.withLock { notes in
            if let index = notes.firstIndex(where: { $0.what == what && $0.atMost == 0 }) {
                notes[index].value += Double(count)
            } else {
                notes.append(Finding(what: what, value: Double(count), unit: "", atMost: 0, isTime: false))
            }
        }
    }

    /// The `memory_limit` of every attacked hub, in MiB.
    static let memoryLimit = 256.0

    /// Runs a hub during `body`.
    func withHub<Value>(_ body: (HubHost, ChildProcess) async throws -> Value) async throws -> Value {
        let host = try HubHost(hub: #"memory_limit = "\#(Int(Scene.memoryLimit))MiB""#)
        let hub = try await host.start()
        let value = try await body(host, hub)
        hub.signal(SIGTERM)
        expectNone("the hub did not exit with code 0", await hub.waitForExit() == 0 ? 0 : 1)
        return value
    }

    /// Waits up to `seconds` until `isSo`.
    ///
    /// - Returns: the seconds that it took; `nil` if it did not happen.
    func wait(upTo seconds: Double, until isSo: () throws -> Bool) async throws -> Double? {
        let begin = ContinuousClock.now
        while try !isSo() {
            guard begin.duration(to: .now) < .seconds(seconds) else { return nil }
            try await Task.sleep(for: .milliseconds(50))
        }
        return begin.duration(to: .now) / .seconds(1)
    }

}

extension HubHost {
    var feed: String { environment["HUB_FEED"] ?? "" }
}

extension ChildProcess {
    var residentMiB: Double { Double(residentBytes ?? 0) / 1_048_576 }
    /// The memory without the pages of its program and libraries.
    var ownMiB: Double { Double(ownBytes ?? 0) / 1_048_576 }
}

/// The quantiles of a list of milliseconds.
struct Quantiles {
    private let sorted: [Double]

    init(_ values: [Double]) { sorted = values.sorted() }

    func at(_ share: Double) -> Double {
        sorted.isEmpty ? 0 : sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]
    }
}

/// The peak memory of a hub while it is watched.
final class MostMemory: Sendable {
    private let watch: Task<Double, Never>

    init(of hub: ChildProcess) {
        watch = Task {
            var most = hub.residentMiB
            while !Task.isCancelled {
                try? await Task.sleep(for: .milliseconds(20))
                most = max(most, hub.residentMiB)
            }
            return most
        }
    }

    /// Stops watching and returns the peak in MiB.
    func end() async -> Double {
        watch.cancel()
        return await watch.value
    }
}

extension Scene {
    /// Expects that the hub gives memory back after a burst, when all programs have left.
    func expectMemoryBack(_ hub: ChildProcess) async throws {
        // A debug build has twice as many pages of program code, which are no memory that the hub holds.
        let (most, name) = isQuick ? (44.0, "own memory") : (80, "memory")
        func held() -> Double { isQuick ? hub.ownMiB : hub.residentMiB }
        let seconds = try await wait(upTo: 30) { held() < most }
        note("\(name) afterwards", held(), "MiB", atMost: most)
        if let seconds { note("time until below \(Int(most)) MiB", seconds, "s", atMost: 30, isTime: true) }
    }
}

/// A flag that is set once and can be read by other threads.
final class Latch: Sendable {
    private let closed = Atomic(false)
    var isClosed: Bool { closed.load(ordering: .relaxed) }
    func close() { closed.store(true, ordering: .relaxed) }
}
