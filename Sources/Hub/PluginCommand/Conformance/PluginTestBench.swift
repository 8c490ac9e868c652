import Foundation
import HubClient
import HubCore
import HubWire
import PluginTesting
import Samples
import Synchronization
import ZeroMQ

/// One plugin beside a hub that a rule controls, with a state directory that outlives the plugin's processes.
final class PluginTestBench: Sendable {
    let hub: FakeHub
    let trial: PluginProbe
    /// The settings, and the answers of the program about itself.
    let checked: CheckedConfiguration
    let subject: PluginUnderTest
    let scratch: String
    /// By account, as after log-ins.
    let tokens: [String: RawJSON]
    private let standIn: SimulatorProcess?
    private let token = (0..<32).map { _ in String("0123456789abcdef".randomElement() ?? "0") }.joined()
    private let context: Context
    private let lives = Mutex<[TestedProcess]>([])

    /// - Parameters:
    ///   - known: the answers that the program gave for an earlier stage; without them it is asked.
    ///   - behaviour: the behaviour of the hub from its first message on.
    init(
        _ subject: PluginUnderTest, knowing known: CheckedConfiguration?,
        _ behaviour: @Sendable (inout FakeHub.Behaviour) -> Void = { _ in }
    ) async throws {
        // Short: a socket's path has at most 107 bytes.
        let scratch = "/tmp/hub-test-\(UUID().uuidString.prefix(13))"
        for folder in ["", "/state", "/tmp"] {
            try FileManager.default.createDirectory(
                atPath: scratch + folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        }
        (self.subject, self.scratch) = (subject, scratch)
        do {
            standIn = try subject.simulator.map { try SimulatorProcess($0, scratch: scratch) }
            tokens = try (standIn?.tokens ?? [:]).mapValues { text in
                guard let token = RawJSON(text) else {
                    throw PluginError("the simulator's \(SimulatorProcess.tokenMark)… is not JSON")
                }
                return token
            }
            let file = "\(scratch)/hub.conf"
            try subject.configuration(scratch, standIn?.values ?? [:]).write(
                toFile: file, atomically: true, encoding: .utf8)
            checked = await ConfigurationLoader(path: file, programPath: HubProgram.path)
                .load(asksPlugins: known == nil, knowing: known)
            trial = try PluginProbe(checked, subject.name)
            context = try Context()
            var first = FakeHub.Behaviour()
            first.settings = trial.settings
            // Bound the memory that a hostile plugin's records can take.
            first.maximumRecords = 100_000
            behaviour(&first)
            hub = try FakeHub(
                door: "ipc://\(scratch)/door", feed: "ipc://\(scratch)/feed", context: context, behaviour: first,
                logIn: .init(instance: subject.name, token: token))
            for (account, token) in tokens { await hub.setToken(token, of: account) }
            await hub.keep(subject.records)
            try await hub.start()
        } catch {
            try? FileManager.default.removeItem(atPath: scratch)
            throw error
        }
    }

    /// Kills its processes and removes its folder.
    func close() async {
        for life in lives.withLock(\.self) { await life.kill() }
        await hub.vanish()
        standIn?.end()
        try? FileManager.default.removeItem(atPath: scratch)
    }

    /// The lines that its processes have printed.
    var printed: [String] {
        lives.withLock(\.self).indices.flatMap { number in
            ((try? String(contentsOfFile: "\(scratch)/\(number).log", encoding: .utf8)) ?? "").split(separator: "\n")
                .compactMap { LogLine(reading: $0) }.filter { $0.from != .hub }.map(\.text)
        }
    }

    /// Starts a process.
    ///
    /// - Parameter stop: the time between the end of its stdin and SIGTERM.
    func start(stop: Duration = .seconds(5)) -> TestedProcess {
        let number = lives.withLock(\.count)
        let place = PluginProbe.Place(
            door: "ipc://\(scratch)/door", feed: "ipc://\(scratch)/feed", state: "\(scratch)/state",
            temporary: "\(scratch)/tmp", log: "\(scratch)/\(number).log", token: token)
        let life = TestedProcess(trial, in: place, stop: stop)
        lives.withLock { $0.append(life) }
        return life
    }

    /// Deletes the plugin's state directory.
    func forget() throws {
        try FileManager.default.removeItem(atPath: "\(scratch)/state")
        try FileManager.default.createDirectory(
            atPath: "\(scratch)/state", withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }

    /// Waits until the hub has received nothing new for ``PluginUnderTest/settle``.
    func settle(atLeast count: Int = 0) async {
        let deadline = ContinuousClock.now + subject.patience
        var (known, since) = (-1, ContinuousClock.now)
        while ContinuousClock.now < deadline {
            let batches = await hub.batches
            if batches != known { (known, since) = (batches, .now) }
            let isEnough = await hub.held.count >= count
            if isEnough, known > 0 || count == 0, ContinuousClock.now - since > subject.settle { return }
            try? await Task.sleep(for: .milliseconds(50))
        }
    }

    /// Waits until these records have come, or nothing more comes, and reports the missing ones.
    func missing(_ records: Set<RecordIdentity>) async -> [String] {
        _ = await comes { hub in records.isSubset(of: hub.held.map(\.record.identity)) }
        let lost = records.subtracting(await hub.held.map(\.record.identity))
        guard let one = lost.first else { return [] }
        return ["\(lost.count) of \(records.count) records are missing, such as \(one.words)"]
    }

    /// Waits until the hub reaches a state, and returns whether it did in time.
    func comes(within limit: Duration? = nil, _ isMet: @escaping @Sendable (isolated FakeHub) -> Bool) async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask { [hub] in
                await hub.wait(until: isMet)
                return !Task.isCancelled
            }
            group.addTask {
                try? await Task.sleep(for: limit ?? self.subject.patience)
                return false
            }
            let first = await group.next() ?? false
            group.cancelAll()
            return first
        }
    }
}

/// One process of a plugin.
final class TestedProcess: Sendable {
    fileprivate struct Times {
        var isAsked: ContinuousClock.Instant?
        var hasEnded: ContinuousClock.Instant?
        var pid: Int?
    }

    private let end = ProcessEnd()
    private let stop: Duration
    private let task: Task<ProcessEnding, Never>
    private let pids = AsyncStream<Int>.makeStream()
    private let times: Times.Box

    init(_ trial: PluginProbe, in place: PluginProbe.Place, stop: Duration) {
        let (end, news, box) = (end, pids.continuation, Times.Box())
        (times, self.stop) = (box, stop)
        task = Task {
            let ending = await trial.run(in: place, stop: stop, end: end) { news.yield($0) }
            box.change { $0.hasEnded = .now }
            news.finish()
            return ending
        }
    }

    /// `nil` if it was not started.
    var pid: Int? {
        get async {
            if let pid = times.now.pid { return pid }
            for await pid in pids.stream {
                times.change { $0.pid = pid }
                return pid
            }
            return nil
        }
    }

    var hasEnded: Bool { times.now.hasEnded != nil }

    /// Whether it ended before it was due for a signal.
    var endsByItself: Bool {
        let times = times.now
        guard let end = times.hasEnded else { return false }
        return times.isAsked.map { end - $0 < stop } ?? true
    }

    /// Ends its stdin, as the end of the hub does; after its patience it gets SIGTERM.
    func endInput() {
        times.change { $0.isAsked = $0.isAsked ?? .now }
        end.wish()
    }

    /// Kills it, as a power cut does.
    func kill() async {
        if !hasEnded, let pid = await pid { Glibc.kill(pid_t(pid), SIGKILL) }
        end.hurry()
        _ = await ending()
    }

    @discardableResult
    func ending() async -> ProcessEnding { await task.value }

    /// Waits for it to end on its own; after the limit, ends it and returns `nil`.
    func ends(within limit: Duration) async -> ProcessEnding? {
        await withTaskGroup(of: ProcessEnding?.self) { group in
            group.addTask { [task] in await task.value }
            group.addTask {
                try? await Task.sleep(for: limit)
                return nil
            }
            let first = await group.next() ?? nil
            if first == nil { end.hurry() }
            group.cancelAll()
            return first
        }
    }

    /// Sends STOP and ends its stdin, as the hub does to end a plugin.
    @discardableResult
    func stop(_ hub: FakeHub) async -> ProcessEnding {
        await hub.sendStop()
        endInput()
        return await ending()
    }
}

extension TestedProcess.Times {
    fileprivate final class Box: Sendable {
        private let times = Mutex(TestedProcess.Times())
        var now: TestedProcess.Times { times.withLock(\.self) }
        func change(_ body: (inout TestedProcess.Times) -> Void) { times.withLock { body(&$0) } }
    }
}
