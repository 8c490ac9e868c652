import DoorPeer
import Foundation
import HubProcess
import TortureDiary

/// The world of one round: a hub with its own disk, four sources, three sinks and a follower of the feed.
///
/// Most of them write a diary and do all that plugins may do. Two are plugins that people use (``PlatinumPlugins``): the judge compares
/// their input with their output.
///
/// The hub starts one source and one sink, confined as usual. One of each runs outside, at the owner's door. One source is on another machine
/// and has a key.
final class Scene {
    static let hub = "hub"
    static let children = ["source-inside", "sink-inside"] + PlatinumPlugins.names
    static let guests = ["source-outside", "sink-outside", "source-remote"]
    static let sources = ["source-inside", "source-outside", "source-remote"]
    /// The sinks and the types that each wants; `nil` for all.
    static let sinks: [(name: String, types: [String]?)] = [("sink-inside", nil), ("sink-outside", ["stepCount"])]

    let host: HubHost
    let journal = Journal()
    let platinum: PlatinumPlugins
    /// `nil` if no disk can be mounted, or no network namespace can be made.
    let disk: Disk?
    let machine: OtherMachine?
    private(set) var programs: [String: Kept] = [:]
    private(set) var takebacks: [Takeback] = []
    /// Errors that were found before the verdict.
    private(set) var findings: [String] = []
    private let hubFaults, guestFaults: Faults
    /// The lines of the fault files, by the name of the fault.
    private var told: [String: [String]] = ["log": ["synced hub.sqlite-wal"]]
    private var toldGuests: [String: [String]] = [:]
    /// The current epoch of the store.
    private(set) var epoch = ""

    /// An error that no schedule explains: the round cannot go on.
    struct Broken: Error, CustomStringConvertible {
        let description: String
        init(_ description: String) { self.description = description }
    }

    /// The pace of a source, in milliseconds between two calls.
    private static let pace = 60

    init(seed: UInt64) async throws {
        let path = "/tmp/hub-\(UInt32.random(in: 0 ... .max))"
        machine = OtherMachine.obstacle == nil ? try OtherMachine() : nil
        let network = "tcp://\(machine?.here ?? "127.0.0.1"):\(Int.random(in: 20_000..<30_000))"
        func child(_ name: String) -> String {
            """
            [plugin.\(name)]
            executable = "\(Programs.path(Self.program(name)))"
            \(Self.settings(path, name, seed))
            """
        }
        platinum = try await PlatinumPlugins(in: path)
        host = try HubHost(
            at: path, hub: "tcp = \"\(network)\"",
            plugins: ["source-inside", "sink-inside"].map(child).joined(separator: "\n") + """

                \(platinum.sections)
                [plugin.source-remote]
                remote = true
                kind = "torture-source"
                grants = { write = ["stepCount", "flightsClimbed"] }
                """)
        hubFaults = Faults(in: host.folder, name: "hub.faults")
        guestFaults = Faults(in: host.folder, name: "guests.faults")
        disk = Disk.obstacle == nil ? try Disk(at: path + "/data", image: path + "/disk", megabytes: 96) : nil
        try FileManager.default.createDirectory(atPath: path + "/signs", withIntermediateDirectories: false)
        for guest in Self.guests { try host.folder.write(Self.settings(path, guest, seed), to: "\(guest).conf") }

        try hubFaults.begin(told.flatMap(\.value))
        let (configuration, faults) = (host.configuration, hubFaults.variables)
        keep(Self.hub) { try ChildProcess("hub", ["run", "--config", configuration], environment: faults) }
        try await beginHub()
        for guest in Self.guests { try await begin(guest) }
        // A version that is superseded before a subscription exists was never wanted, so the sources begin only after the subscriptions.
        guard await poll(within: .seconds(20), until: { (try? status(within: .seconds(5)))?.sinks.count == 3 }) else {
            throw Broken("the sinks did not connect within 20 s")
        }
        try sign("begin")
        try platinum.begin()
    }

    private static func program(_ name: String) -> String {
        if let program = PlatinumPlugins.program(name) { return program }
        return name.hasPrefix("source") ? "torture-source" : "torture-sink"
    }

    private static func settings(_ folder: String, _ name: String, _ seed: UInt64) -> String {
        let common = "diary = \"\(folder)/\(name).diary\"\nsigns = \"\(folder)/signs\"\n"
        let source = common + "seed = \(Int32(truncatingIfNeeded: seed))\npace = \(pace)\n"
        return switch name {
        case "source-inside", "source-remote": source + "direct = true\n"
        case "source-outside": source
        case "sink-inside": common + "delay = 40\n"
        default: common + "delay = 2\nfailing = true\ntypes = [\"stepCount\"]\n"
        }
    }

    private func keep(_ name: String, _ launch: @escaping @Sendable () throws -> ChildProcess) {
        programs[name] = Kept(name, journal, launch)
    }

    private func begin(_ guest: String) async throws {
        let folder = host.folder.path
        var words = [
            Programs.path(Self.program(guest)), "--run", "--settings", "\(folder)/\(guest).conf", "--state",
            "\(folder)/\(guest)",
        ]
        if guest == "source-remote" {
            let key = try await host.command("keys", "new", guest)
            guard key.status == 0 else { throw Broken("hub keys new: \(key.errors)") }
            let file = try host.folder.write(key.lines.joined(separator: "\n"), to: "\(guest).key")
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
            words += ["--key", file]
        } else {
            words += ["--door", door, "--instance", guest]
        }
        let (line, machine, faults) = (words, guest == "source-remote" ? machine : nil, guestFaults.variables)
        keep(guest) {
            try machine?.start(line, faults) ?? ChildProcess(line[0], Array(line.dropFirst()), environment: faults)
        }
        programs[guest]?.begin()
    }

    // MARK: - Paths

    var data: String { host.folder.path + "/data" }
    var door: String { host.door }
    /// The file in which the shim notes the length of the store's log at its last flush.
    var flushedLength: String { host.folder.path + "/hub.faults.synced" }
    func diary(_ name: String) -> String { "\(host.folder.path)/\(name).diary" }

    func needDisk() throws -> Disk {
        guard let disk else { throw NotPossible(Disk.obstacle ?? "") }
        return disk
    }

    func needMachine() throws -> OtherMachine {
        guard let machine else { throw NotPossible(OtherMachine.obstacle ?? "") }
        return machine
    }

    private func sign(_ name: String) throws { try host.folder.write("", to: "signs/\(name)") }

    /// Adds a finding; the round goes on.
    func find(_ text: String) { findings.append(text) }

    // MARK: - Faults

    /// Sets the faults of the hub under one name; an empty list removes them.
    func tellHub(_ name: String, _ lines: [String]) throws {
        told[name] = lines
        try hubFaults.begin(told.sorted { $0.key < $1.key }.flatMap(\.value))
    }

    /// The same for the programs that the hub does not start.
    func tellGuests(_ name: String, _ lines: [String]) throws {
        toldGuests[name] = lines
        try guestFaults.begin(toldGuests.sorted { $0.key < $1.key }.flatMap(\.value))
    }

    /// Ends the hub, runs `body`, and starts the hub again.
    func withoutHub(isOrderly: Bool = false, _ body: () async throws -> Void) async throws {
        guard let hub = programs[Self.hub] else { return }
        if isOrderly { await hub.end() } else { hub.kill() }
        defer { hub.begin() }
        guard await hub.goes(within: 20) else { throw Broken("the hub did not end within 20 s") }
        try await body()
    }

    /// Puts the store back to an earlier state, and reads how the hub reports that.
    ///
    /// - Parameters:
    ///   - since: everything that was confirmed before this time is still there.
    ///   - isProvable: whether the hub can know that something is missing.
    func takeBack(
        since: Int64, isProvable: Bool, isOrderly: Bool = false, _ why: String, _ body: () async throws -> Void
    ) async throws {
        try await withoutHub(isOrderly: isOrderly, body)
        try await beginHub()
        let status = try await hubStatus()
        let isTold = status.epoch != epoch
        if isProvable, isTold, status.store.warning?.contains("records are missing") != true {
            find("after \(why) the hub has a new epoch, but no warning of missing records: \(status.store)")
        }
        journal.note("\(why): \(epoch)-… became \(status.epoch)-\(status.head)", Self.hub)
        // If the hub reports nothing, it must not have lost anything.
        guard isTold || !isProvable else { return }
        takebacks.append(Takeback(since: since, until: millisecondsNow(), why: why, before: epoch, after: status.epoch))
        epoch = status.epoch
    }

    /// Starts the hub and returns when it is ready.
    func beginHub() async throws {
        guard let hub = programs[Self.hub] else { return }
        hub.begin()
        // A stopped hub would continue only when that fault is lifted.
        hub.process?.signal(SIGCONT)
        journal.note("continue", Self.hub)
        guard await hub.says("ready", within: 20) else {
            throw Broken("the hub was not ready within 20 s: \(hub.lives.last?.said.suffix(5) ?? [])")
        }
        if epoch.isEmpty { epoch = try await hubStatus().epoch }
    }

    private func hubStatus() async throws -> StatusSample {
        var status: StatusSample?
        _ = await poll(within: .seconds(15)) {
            status = try? self.status(within: .seconds(2))
            return status != nil
        }
        guard let status else { throw Broken("the hub did not answer within 15 s") }
        return status
    }

    // MARK: - Processes

    /// Makes the hub start a plugin at once that it would start only after a while.
    func release(_ child: String) async throws {
        guard let process = programs[Self.hub]?.process, !Self.isStopped(process.pid) else { return }
        // There may be nothing to release. A hub that cannot answer starts the plugin itself later.
        let release = try ChildProcess("hub", ["release", child], environment: ["HUB_CONF": host.configuration])
        if await !poll(within: .seconds(3), until: { !release.isRunning }) { await release.killAndWait() }
    }

    /// The process of a plugin that the hub has started, by its number on this machine.
    func pid(ofChild name: String) -> pid_t? {
        let program = Data(Self.program(name).utf8)
        let state = Data("HUB_STATE=\(data)/plugins/\(name)".utf8)
        let processes = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return processes.lazy.compactMap { pid_t($0) }.first { pid in
            guard let words = FileManager.default.contents(atPath: "/proc/\(pid)/cmdline"),
                let first = words.split(separator: 0).first, first.suffix(program.count) == program
            else { return false }
            return FileManager.default.contents(atPath: "/proc/\(pid)/environ")?.range(of: state) != nil
        }
    }

    static func isStopped(_ pid: pid_t) -> Bool {
        (try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8))?.contains(") T ") == true
    }

    // MARK: - The end

    /// Makes the sources finish and the sinks stop failing; returns when nothing is left to do, or after `limit`.
    func finish(within limit: Duration) async throws {
        for program in programs.values { program.begin() }
        try platinum.finish()
        try sign("finish")
        for child in Self.children { try await release(child) }
        _ = try await poll(within: limit, until: isDone)
    }

    private func isDone() throws -> Bool {
        for name in Self.sources {
            guard try Diary<SourceLine>.lines(diary(name)).last?.event == .finished else { return false }
        }
        guard let status = try? status(within: .seconds(2)), status.sinks.count == 3 else { return false }
        let readings = status.accounts.first { $0.instance == PlatinumPlugins.source }?.stored ?? 0
        guard readings >= platinum.readings.count else { return false }
        return status.sinks.allSatisfy { $0.pending == 0 && $0.retrying == 0 }
    }

    func status(within patience: Duration) throws -> StatusSample {
        try DoorPeer(door, instance: "torture", #","mode":"once""#, patience: patience).ask(
            "\"want\":\"status\"", "status")
    }

    /// Ends all programs and returns their exit codes.
    func end() async -> [String: Int] {
        var ends: [String: Int] = [:]
        for name in Self.guests + [Self.hub] { ends[name] = await programs[name]?.end() }
        return ends
    }
}
