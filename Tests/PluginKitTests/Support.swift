import Foundation
import HubWire
import PluginKit
import PluginTesting
import Samples
import Synchronization
import Testing
import ZeroMQ

/// A source whose work is a closure of the test.
struct ScriptedSource: SourcePlugin {
    static let manifest = Manifest(
        name: "scripted", summary: "Runs a closure of the test.", version: "1.0", writes: ["weight"],
        settings: [.init("address", .string(), help: "Address of the device.")])

    var work: @Sendable (PluginContext) async throws -> Void = { _ in }

    init() {}
    init(_ work: @escaping @Sendable (PluginContext) async throws -> Void) { self.work = work }

    func run(_ hub: PluginContext) async throws { try await work(hub) }
    func once(_ hub: PluginContext) async throws { try await work(hub) }
}

extension PluginContext {
    /// Sample `number` of a test.
    func sample(_ number: Int, group: String? = nil) throws -> Sample {
        try Sample(
            source: source(device: "d"), key: #require(RecordKey("key-\(number)")), type: .weight,
            value: .quantity(70 + Double(number % 100) / 10, unit: "kg"),
            start: Timestamp(microseconds: Int64(1_700_000_000 + number) * 1_000_000, offsetMinutes: 60), group: group)
    }

    func samples(_ range: Range<Int>) throws -> [Sample] { try range.map { try sample($0) } }
}

/// A place with a fake hub, started unless the test asks otherwise.
struct Scene {
    let place: TestPlace
    let hub: FakeHub

    init(starting: Bool = true, _ change: (inout FakeHub.Behaviour) -> Void = { _ in }) async throws {
        place = try TestPlace()
        var behaviour = FakeHub.Behaviour()
        change(&behaviour)
        hub = try FakeHub(door: place.door, context: place.context, behaviour: behaviour)
        if starting { try await hub.start() }
    }

    /// Starts a source that does this work, and then waits until it is stopped.
    func run(
        settings: PluginSettings? = PluginSettings(), limits: PluginState.Limits = .init(),
        _ work: @escaping @Sendable (PluginContext) async throws -> Void = { _ in }
    ) -> PluginRun {
        let source = ScriptedSource { hub in
            try await work(hub)
            await hub.untilStopped()
        }
        return PluginRun(source, at: place, settings: settings, limits: limits)
    }

    /// Starts a source that does this work, and returns when the work is done or has failed.
    func complete(_ work: @escaping @Sendable (PluginContext) async throws -> Void) async -> PluginRun {
        let isDone = Gate()
        let run = run { hub in
            do { try await work(hub) } catch { Issue.record(error) }
            await isDone.open()
        }
        await isDone.wait()
        return run
    }

    /// Starts a source that does nothing, and returns it with its context.
    func context() async throws -> (run: PluginRun, hub: PluginContext) {
        let shared = Mutex<PluginContext?>(nil)
        let run = await complete { hub in shared.withLock { $0 = hub } }
        return (run, try #require(shared.withLock { $0 }))
    }

    /// Stops the plugin, and checks that it kept to the protocol and that the spool has `pending` records.
    @discardableResult func end(
        _ run: PluginRun, _ expected: PluginExit = .done, pending: Int64 = 0,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> SpoolCounters {
        run.stop()
        let exit = await run.end()
        #expect(exit == expected, sourceLocation: sourceLocation)
        let violations = await hub.violations
        #expect(violations == [], sourceLocation: sourceLocation)
        await hub.vanish()
        let state = try PluginState(directory: place.state)
        let counters = try await state.counters()
        #expect(counters.pending == pending, sourceLocation: sourceLocation)
        try state.close()
        return counters
    }

    /// The keys of the records that the hub has.
    func keys() async -> [String] { await hub.held.compactMap(\.key) }
}

extension FakeHub.Held {
    var key: String? {
        if case .sample(let sample) = record { sample.key.text } else { nil }
    }
}

extension CommandOutcome.Content {
    /// The code of a failure; `nil` for other outcomes.
    var failureCode: String? { if case .failed(let code, _) = self { code } else { nil } }
}

/// A gate that opens once and counts the tasks that come to it; lets a test wait without sleeping.
actor Gate {
    private(set) var arrivals = 0
    private var isOpen = false
    private var waiters: [CheckedContinuation<Void, Never>] = []
    private var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

    func open() {
        isOpen = true
        for waiter in waiters { waiter.resume() }
        waiters = []
    }

    func wait() async {
        arrivals += 1
        for watcher in watchers where watcher.count <= arrivals { watcher.continuation.resume() }
        watchers.removeAll { $0.count <= arrivals }
        if !isOpen { await withCheckedContinuation { waiters.append($0) } }
    }

    /// Returns when this number of tasks have come to the gate.
    func arrivals(_ count: Int) async {
        if arrivals < count { await withCheckedContinuation { watchers.append((count, $0)) } }
    }
}
