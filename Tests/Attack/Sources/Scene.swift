import DoorPeer
import Foundation
import HubProcess
import Synchronization

/// What an attack works with: a hub, its size, and what it finds.
final class Scene: Sendable {
    /// Whether it is to be done in seconds; the figures are smaller then, and times are not judged.
    let isQuick: Bool
    private let notes = Mutex<[Finding]>([])

    init(isQuick: Bool) { self.isQuick = isQuick }

    var findings: [Finding] { notes.withLock { $0 } }

    /// The one of two sizes.
    func size(_ full: Int, quick: Int) -> Int { isQuick ? quick : full }

    func note(_ what: String, _ value: Double, _ unit: String, atMost: Double? = nil, isTime: Bool = false) {
        notes.withLock {
            $0.append(Finding(what: what, value: value, unit: unit, atMost: atMost, isTime: isTime))
        }
    }

    /// Something that must not have happened; where it is said more than once, in all.
    func expectNone(_ what: String, _ count: Int) {
        notes.withLock { notes in
            if let index = notes.firstIndex(where: { $0.what == what && $0.atMost == 0 }) {
                notes[index].value += Double(count)
            } else {
                notes.append(Finding(what: what, value: Double(count), unit: "", atMost: 0, isTime: false))
            }
        }
    }

    /// MiB, of every hub that is attacked.
    static let memoryLimit = 256.0

    /// A hub, for the length of `body`.
    func withHub<Value>(_ body: (HubHost, ChildProcess) async throws -> Value) async throws -> Value {
        let host = try HubHost(hub: #"memory_limit = "\#(Int(Scene.memoryLimit))MiB""#)
        let hub = try await host.start()
        let value = try await body(host, hub)
        hub.signal(SIGTERM)
        expectNone("the hub did not end in good order", await hub.waitForExit() == 0 ? 0 : 1)
        return value
    }

    /// Waits until `isSo`, at most so many seconds.
    ///
    /// - Returns: the seconds that it took; `nil` where it did not become so.
    func wait(upTo seconds: Double, until isSo: () throws -> Bool) async throws -> Double? {
        let begin = ContinuousClock.now
        while try !isSo() {
            guard begin.duration(to: .now) < .seconds(seconds) else { return nil }
            try await Task.sleep(for: .milliseconds(50))
        }
        return begin.duration(to: .now) / .seconds(1)
    }

    /// Does blocking work on a thread of its own.
    func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
        }
    }
}

extension HubHost {
    var door: String { environment["HUB_DOOR"] ?? "" }
    var feed: String { environment["HUB_FEED"] ?? "" }
}

extension ChildProcess {
    var residentMiB: Double { Double(residentBytes ?? 0) / 1_048_576 }
    /// Without the pages of its program and libraries.
    var ownMiB: Double { Double(ownBytes ?? 0) / 1_048_576 }
}

/// The 99th percentile and the middle of milliseconds.
struct Quantiles {
    private let sorted: [Double]

    init(_ values: [Double]) { sorted = values.sorted() }

    func at(_ share: Double) -> Double {
        sorted.isEmpty ? 0 : sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]
    }
}

/// The most memory that a hub held while it was looked at.
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

    /// In MiB.
    func end() async -> Double {
        watch.cancel()
        return await watch.value
    }
}

extension Scene {
    /// After a burst, with every program gone.
    func expectMemoryBack(_ hub: ChildProcess) async throws {
        // A program that was not built for release has twice as many pages of its own, which are no memory that it holds.
        let (most, name) = isQuick ? (44.0, "memory of its own") : (80, "memory")
        func held() -> Double { isQuick ? hub.ownMiB : hub.residentMiB }
        let seconds = try await wait(upTo: 30) { held() < most }
        note("\(name) afterwards", held(), "MiB", atMost: most)
        if let seconds { note("under \(Int(most)) MiB again after", seconds, "s", atMost: 30, isTime: true) }
    }
}

/// Closes once; asked from another thread.
final class Latch: Sendable {
    private let closed = Atomic(false)
    var isClosed: Bool { closed.load(ordering: .relaxed) }
    func close() { closed.store(true, ordering: .relaxed) }
}
