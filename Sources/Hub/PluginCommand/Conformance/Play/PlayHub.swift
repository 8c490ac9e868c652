import Foundation
import HubClient
import HubWire
import PluginTesting
import Samples
import ZeroMQ

/// The hub of one play, and the client beside it.
package actor PlayHub {
    package nonisolated let door: String
    package nonisolated let feed: String
    private let folder: String
    private let hub: FakeHub
    private let patience: Duration
    private var client: PlayClient?
    /// The number of records that another source has given.
    private var given = 0
    private var restores = 0
    private let heard: @Sendable (String) -> Void

    /// Opens a door and a feed in a new folder.
    ///
    /// - Parameters:
    ///   - patience: how long to wait for an expected event.
    ///   - heard: called with each line that the client prints.
    package init(patience: Duration, heard: @escaping @Sendable (String) -> Void = { _ in }) async throws {
        // Short: a socket's path has at most 107 bytes.
        folder = "/tmp/hub-play-\(UUID().uuidString.prefix(13))"
        (door, feed) = ("ipc://\(folder)/door", "ipc://\(folder)/feed")
        (self.patience, self.heard) = (patience, heard)
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        do {
            var behaviour = FakeHub.Behaviour()
            // Bound the memory that a client's records can take.
            (behaviour.publishes, behaviour.maximumRecords) = (true, 1_000_000)
            // A client must notice soon that its session was forgotten.
            behaviour.heartbeat = Heartbeat(interval: 500, timeout: 2_000)
            hub = try FakeHub(door: door, feed: feed, context: try Context(), behaviour: behaviour)
            try await hub.start()
        } catch {
            try? FileManager.default.removeItem(atPath: folder)
            throw error
        }
    }

    /// Kills the client if it still runs, and removes the folder.
    package func close() async {
        client?.signal(SIGKILL)
        await hub.vanish()
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// The current value of a counter.
    package func value(_ count: PlayStep.Count) async -> Int {
        switch count {
        case .hellos: await hub.hellos.count
        case .queries: await hub.queries.count
        case .wants: await hub.timesWanted.values.reduce(0, +)
        case .answers: await hub.deliveries.count { $0.report != nil }
        case .events: await hub.events.count
        case .lives: await hub.lives.count
        case .pings: await hub.pings
        case .pongs: await hub.pongs
        case .byes: await hub.byes
        case .batches: await hub.batches
        case .records: await hub.held.count
        case .duplicates: await hub.duplicates
        case .delivered:
            await hub.deliveries.reduce(0) { sum, delivery in
                sum + (delivery.report?.results.count { if case .delivered = $0 { true } else { false } } ?? 0)
            }
        case .violations: await hub.violations.count
        case .printed: client?.printed ?? 0
        }
    }

    /// The client's violations of the protocol, a sentence each.
    package var violations: [String] { get async { await hub.violations } }

    /// Plays all lines and stops at the first that fails; starts the client before the first line that involves it.
    ///
    /// - Parameters:
    ///   - client: its command and arguments; empty if a person starts it.
    ///   - input: the text for its stdin.
    /// - Throws: ``PluginError`` if there is no such program.
    package func run(
        _ steps: [(line: String, step: PlayStep)], client command: [String], input: String
    ) async throws -> Play.Outcome {
        for place in 0...steps.count {
            if client == nil, !command.isEmpty, place == steps.count || !steps[place].step.isBeforeClient {
                client = try PlayClient(command, door: door, feed: feed, input: input, heard: heard)
            }
            guard place < steps.count else { break }
            let (line, step) = steps[place]
            if let seen = try await run(step) {
                let more = await violations.prefix(5).map { "against the protocol: \($0)" }
                let errors = client?.errors.map { "the client said: \($0)" } ?? []
                return .failed(line: line, seen: seen + more + errors)
            }
        }
        return .held
    }

    /// Runs one line.
    ///
    /// - Returns: the observations if it failed; `nil` if it passed.
    package func run(_ step: PlayStep) async throws -> [String]? {
        switch step {
        case .wait(let count, let number): return await wait(for: count, number)
        case .expect(let count, let number):
            let value = await value(count)
            return value == number ? nil : ["\(count.rawValue): \(value), and not \(number)"]
        case .pause(let milliseconds): try await Task.sleep(for: .milliseconds(milliseconds))
        case .exit(let ending): return await exit(ending)
        case .end:
            guard let client else { return nil }
            client.signal(SIGTERM)
            if await client.code(within: .seconds(5)) == nil { return ["5 s after SIGTERM it still runs"] }
        case .give(let number, let type):
            await hub.give(Play.records(number, type: type, of: "another", after: given))
            given += number
        case .deliver(let number, let type): return await deliver(number, type)
        case .restore(let number):
            restores += 1
            await hub.restore(losing: number, epoch: "restor\("abcdefgh".dropFirst((restores - 1) % 8).prefix(1))2")
            try await hub.start()
        case .back: try await hub.start()
        case .kill: await hub.vanish()
        case .forget: await hub.forgetSessions()
        case .ping: await hub.send(.ping(.emptyObject))
        case .pulse: await hub.publishPulse()
        case .stop: await hub.sendStop(reason: "a play")
        case .silent, .mute, .answer, .fail, .reject, .refuse, .credit, .newer, .drop: await behave(step)
        }
        return nil
    }

    private func behave(_ step: PlayStep) async {
        await hub.change { behaviour in
            switch step {
            case .silent: behaviour.answers = false
            case .mute: behaviour.losesAnswers = true
            case .answer: (behaviour.answers, behaviour.losesAnswers) = (true, false)
            case .fail(let number): behaviour.storeErrors = number
            case .reject(let number):
                // Reject the same records when they come again.
                let turned = AwaitableValue<Set<RecordIdentity>>([])
                behaviour.rejects = { record in
                    if !turned.value.contains(record.identity), turned.value.count < number {
                        turned.change { $0.insert(record.identity) }
                    }
                    return turned.value.contains(record.identity) ? (.value, reason: "a play rejects this one") : nil
                }
            case .refuse(let code): behaviour.refusal = WireError(code, "a play refuses this one", closed: true)
            case .credit(let credit): behaviour.credit = credit
            case .newer: behaviour.addsUnknownMembers = true
            case .drop(let number): behaviour.drops = number
            default: break
            }
        }
    }

    private func wait(for count: PlayStep.Count, _ number: Int) async -> [String]? {
        let deadline = ContinuousClock.now + patience
        var end: ContinuousClock.Instant?
        while true {
            let value = await value(count)
            if value >= number { return nil }
            // Its last messages and lines may arrive after its end.
            if end == nil, client?.hasEnded ?? false { end = .now + .seconds(2) }
            guard ContinuousClock.now < min(deadline, end ?? deadline) else {
                let found = "\(count.rawValue): \(value), and not \(number)"
                guard end != nil, let code = await client?.code(within: .zero) else {
                    return ["\(found), after \(patience.components.seconds) s"]
                }
                return ["\(found); the client has ended with exit code \(code)"]
            }
            try? await Task.sleep(for: .milliseconds(10))
        }
    }

    private func exit(_ ending: PlayStep.Ending) async -> [String]? {
        guard let client else { return nil }
        guard let code = await client.code(within: patience) else {
            return ["it still runs after \(patience.components.seconds) s"]
        }
        let isRight =
            switch ending {
            case .any: true
            case .failure: code != 0
            case .code(let asked): code == asked
            }
        return isRight ? nil : ["it ended with exit code \(code)"]
    }

    private func deliver(_ number: Int, _ name: String) async -> [String]? {
        guard let want = await hub.wants.keys.sorted().first, let type = TypeRegistry.standard.resolve(name) else {
            return ["no subscription is open"]
        }
        let records = Play.records(number, type: name, of: "another", after: given)
        given += number
        let person = Person(uid: "6f1c2a9e5b7d4c30", name: "me")
        let stored = records.enumerated().map { place, record in
            let number = Int64(given + place + 1)
            return StoredRecord(
                record: record, number: number, sequence: number, assignment: .person(person), type: type.id)
        }
        return await hub.deliver(stored, to: want) == nil ? ["its credit does not cover \(number) records"] : nil
    }
}

extension PlayStep {
    /// Whether it changes only the hub and expects nothing of a client.
    fileprivate var isBeforeClient: Bool {
        switch self {
        case .wait, .expect, .exit, .end, .back, .pause, .deliver, .ping, .stop: false
        default: true
        }
    }
}
