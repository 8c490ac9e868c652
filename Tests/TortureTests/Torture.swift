import Foundation
import DoorPeer
import HubProcess
import Seeds
import Synchronization
import TortureDiary

/// A hub, two sources, two sinks, and somebody who kills and stops them at random.
///
/// One source and one sink are started by the hub, as `hub.conf` says; the others come from outside, over the owner's door.
final class Torture {
    let host: HubHost
    private var chance: SeededGenerator
    private let seed: UInt64
    /// Milliseconds from call to call of a source.
    private let pace: Int
    /// The hub and what came from outside.
    private var processes: [String: ChildProcess] = [:]
    private var due: [(at: Int64, what: Due)] = []
    /// Those that are stopped now, and from when on.
    private var stopped: [String: pid_t?] = [:]
    private(set) var disturbances: [Disturbance] = []

    private enum Due {
        case start(String)
        case resume(String)
        /// Of a plugin that the hub would start again only after a while, or not at all.
        case release(String)
    }

    static let hub = "hub"
    static let children = ["source-inside", "sink-inside"]
    static let guests = ["source-outside", "sink-outside"]

    /// - Parameter seconds: how long it will be tortured; longer is slower, so that what has to be judged stays bounded.
    init(seed: UInt64, seconds: Int) async throws {
        self.seed = seed
        chance = SeededGenerator(seed: seed)
        pace = 60 * max(1, seconds / 300)
        let path = "/tmp/hub-\(UInt32.random(in: 0 ... .max))"
        // Not confined: they are signalled by the numbers that their diaries have, which would be those of their namespaces.
        host = try HubHost(
            at: path,
            plugins: """
                [plugin.source-inside]
                executable = "\(Programs.path("torture-source"))"
                confine = false
                \(Self.settings(path, "source-inside", seed, pace))
                direct = true

                [plugin.sink-inside]
                executable = "\(Programs.path("torture-sink"))"
                confine = false
                \(Self.settings(path, "sink-inside", seed, pace))

                """)
        for guest in Self.guests {
            _ = try host.folder.write(Self.settings(path, guest, seed, pace), to: "\(guest).conf")
        }
        for name in [Self.hub] + Self.guests { try await start(name) }
        // What is superseded before a subscription exists was never wanted: the sources begin after that.
        while (try? status(within: .seconds(5)))?.sinks.count != 2 { try await Task.sleep(for: .milliseconds(20)) }
        _ = try host.folder.write("", to: "begin")
    }

    private static func settings(_ folder: String, _ name: String, _ seed: UInt64, _ pace: Int) -> String {
        let common = "diary = \"\(folder)/\(name).diary\"\nfinish = \"\(folder)/finish\"\n"
        return switch name {
        case "source-inside", "source-outside":
            common + "begin = \"\(folder)/begin\"\nseed = \(Int32(truncatingIfNeeded: seed))\npace = \(pace)\n"
        case "sink-inside": common + "delay = 40\n"
        default: common + "delay = 2\nfailing = true\ntypes = [\"stepCount\"]\n"
        }
    }

    var door: String { host.environment["HUB_DOOR"] ?? "" }
    func diary(_ name: String) -> String { "\(host.folder.path)/\(name).diary" }

    // MARK: - Torture

    /// Disturbs for so many seconds; afterwards all run.
    func run(seconds: Int) async throws {
        let end = millisecondsNow() + Int64(seconds) * 1_000
        while millisecondsNow() < end {
            let pause = Int64.random(in: 20...700, using: &chance)
            let next = min(millisecondsNow() + pause, due.map(\.at).min() ?? .max, end)
            try await Task.sleep(for: .milliseconds(max(0, next - millisecondsNow())))
            try await doWhatIsDue(until: millisecondsNow())
            if Int.random(in: 0..<2, using: &chance) == 0 { try await disturb(isLong: seconds >= 120) }
        }
        try await doWhatIsDue(until: .max)
        for name in Self.children { try await release(name) }
    }

    private func disturb(isLong: Bool) async throws {
        // The hub twice: everything hangs on it.
        let all = [Self.hub, Self.hub] + Self.children + Self.guests
        guard let victim = all.randomElement(using: &chance) else { return }
        let isStop = Int.random(in: 0..<5, using: &chance) < 2
        let later = Int64.random(in: 10...800, using: &chance)
        guard isAlive(victim) else { return }
        if isStop {
            guard stopped[victim] == nil else { return }
            // Now and then for longer than a session may be silent.
            let isVeryLong = isLong && Int.random(in: 0..<40, using: &chance) == 0
            let time = isVeryLong ? 24_000 : Int64.random(in: 20...2_500, using: &chance)
            stopped[victim] = .some(pid(of: victim))
            note("stop", victim)
            signal(victim, SIGSTOP)
            due.append((millisecondsNow() + time, .resume(victim)))
        } else {
            note("kill -9", victim)
            if let process = processes[victim] { await process.killAndWait() } else { signal(victim, SIGKILL) }
            stopped[victim] = nil
            due.append((millisecondsNow() + later, Self.children.contains(victim) ? .release(victim) : .start(victim)))
        }
    }

    private func note(_ what: String, _ victim: String) {
        disturbances.append(Disturbance(at: millisecondsNow(), victim: victim, what: what))
    }

    private func doWhatIsDue(until time: Int64) async throws {
        let now = due.filter { $0.at <= time }.sorted { $0.at < $1.at }
        due.removeAll { $0.at <= time }
        for (_, what) in now {
            switch what {
            case .start(let name):
                note("start", name)
                try await start(name)
            case .resume(let name):
                guard let pid = stopped.removeValue(forKey: name) else { continue }
                note("continue", name)
                if let process = processes[name] {
                    process.signal(SIGCONT)
                } else if let pid, isOurs(pid) {
                    kill(pid, SIGCONT)
                }
            case .release(let name): try await release(name)
            }
        }
    }

    private func start(_ name: String) async throws {
        guard name == Self.hub else {
            let conf = "\(host.folder.path)/\(name).conf"
            let program = Programs.path(name.hasPrefix("source") ? "torture-source" : "torture-sink")
            processes[name] = try ChildProcess(
                program,
                [
                    "--run", "--settings", conf, "--door", door, "--instance", name, "--state",
                    "\(host.folder.path)/\(name)",
                ])
            return
        }
        // Now and then it is killed before it is ready.
        if Int.random(in: 0..<5, using: &chance) == 0 {
            let early = try ChildProcess("hub", ["run", "--config", host.configuration])
            try await Task.sleep(for: .milliseconds(Int64.random(in: 0...150, using: &chance)))
            await early.killAndWait()
            note("kill -9", name)
        }
        processes[name] = try await host.start()
    }

    private func release(_ name: String) async throws {
        guard processes[Self.hub]?.isRunning == true, stopped[Self.hub] == nil else { return }
        // There may be nothing to release.
        _ = try await host.command("release", name)
    }

    // MARK: - Processes

    private func isAlive(_ name: String) -> Bool {
        processes[name].map(\.isRunning) ?? (pid(of: name) != nil)
    }

    private func signal(_ name: String, _ number: CInt) {
        if let process = processes[name] {
            process.signal(number)
        } else if let pid = pid(of: name) {
            kill(pid, number)
        }
    }

    /// The process of a child of the hub, as its diary says.
    private func pid(of name: String) -> pid_t? {
        let pid: pid_t? =
            name.hasPrefix("source")
            ? (try? Diary<SourceLine>.lines(diary(name)))?.last { $0.event == .started }?.pid
            : (try? Diary<SinkLine>.lines(diary(name)))?.last { $0.event == .started }?.pid
        return pid.flatMap { isOurs($0) ? $0 : nil }
    }

    /// Whether it is still the process that it was: numbers come again.
    private func isOurs(_ pid: pid_t) -> Bool {
        guard let environment = FileManager.default.contents(atPath: "/proc/\(pid)/environ") else { return false }
        return environment.range(of: Data(host.folder.path.utf8)) != nil
    }

    // MARK: - The end

    /// Has the sources come to their end and the sinks fail no more; returns when nothing is left to do, or after `limit`.
    func finish(within limit: Duration) async throws {
        _ = try host.folder.write("", to: "finish")
        let end = ContinuousClock.now + limit
        while ContinuousClock.now < end {
            if try isDone() { return }
            try await Task.sleep(for: .milliseconds(200))
        }
    }

    private func isDone() throws -> Bool {
        for name in ["source-inside", "source-outside"] {
            guard try Diary<SourceLine>.lines(diary(name)).last?.event == .finished else { return false }
        }
        guard let status = try? status(within: .seconds(2)), status.sinks.count == 2 else { return false }
        let versions = Int64(Checker(try evidence([])).said.values.reduce(0) { $0 + $1.count })
        return status.head >= versions && status.sinks.allSatisfy { $0.pending == 0 && $0.retrying == 0 }
    }

    func status(within patience: Duration) throws -> StatusSample {
        try DoorPeer(door, instance: "torture", #","mode":"once""#, patience: patience).ask(
            "\"want\":\"status\"", "status")
    }

    /// Ends those from outside, then the hub; how each ended.
    func end() async -> [String: Int] {
        var ends: [String: Int] = [:]
        for name in Self.guests + [Self.hub] {
            processes[name]?.signal(SIGTERM)
            ends[name] = await processes[name]?.waitForExit()
        }
        return ends
    }

    // MARK: - Evidence

    func evidence(_ sightings: [Sighting]) throws -> Evidence {
        var evidence = Evidence()
        (evidence.disturbances, evidence.sightings) = (disturbances, sightings)
        for name in ["source-inside", "source-outside"] {
            evidence.sources[name] = try Diary<SourceLine>.lines(diary(name))
        }
        evidence.sinks["sink-inside"] = .init(lines: try Diary<SinkLine>.lines(diary("sink-inside")))
        evidence.sinks["sink-outside"] = .init(
            lines: try Diary<SinkLine>.lines(diary("sink-outside")), types: ["stepCount"])
        return evidence
    }

    /// The whole story of every record, and the accounts, asked at the door.
    func askAll(_ evidence: inout Evidence) throws {
        let door = try DoorPeer(door, instance: "torture", #","mode":"once""#, patience: .seconds(30))
        let status = try door.ask("\"want\":\"status\"", "status", as: StatusSample.self)
        evidence.last = status
        var cursor = "\(status.epoch)-0"
        while true {
            let page = try JSONDecoder().decode(
                Page.self, from: try door.ask("\"want\":\"records\",\"since\":\"\(cursor)\""))
            for record in page.records {
                evidence.stories.append(
                    try door.ask("\"want\":\"trace\",\"number\":\(record.number)", "trace"))
            }
            cursor = page.cursor
            if page.next == nil { return }
        }
    }

    private struct Page: Decodable {
        struct Record: Decodable { var number: Int64 }
        var records: [Record]
        var next: String?
        var cursor: String
    }
}

/// Asks for the accounts again and again while everything else happens.
final class Watcher: Sendable {
    private let state = Mutex((sightings: [Sighting](), isOver: false, hasEnded: false))

    /// - Parameter door: the owner's endpoint.
    init(_ door: String) {
        Thread.detachNewThread { [self] in
            while !state.withLock(\.isOver) {
                let asked = millisecondsNow()
                let status = try? DoorPeer(door, instance: "torture", #","mode":"once""#, patience: .seconds(1)).ask(
                    "\"want\":\"status\"", "status", as: StatusSample.self)
                if let status {
                    let sighting = Sighting(asked: asked, answered: millisecondsNow(), status: status)
                    state.withLock { $0.sightings.append(sighting) }
                }
                Thread.sleep(forTimeInterval: 0.2)
            }
            state.withLock { $0.hasEnded = true }
        }
    }

    /// What was seen; returns when nothing more is asked.
    func end() async throws -> [Sighting] {
        state.withLock { $0.isOver = true }
        while !state.withLock(\.hasEnded) { try await Task.sleep(for: .milliseconds(20)) }
        return state.withLock(\.sightings)
    }
}
