import Foundation
import HubProcess
import HubSettings
import HubWire
import Testing

@testable import HubCore

/// A hub with all kinds of faulty plugins and a good one.
@Suite(.serialized) struct ZooTests {
    private static let policy = LifecyclePolicy(
        firstPause: 50, longestPause: 400, healthyAfter: 60_000, crashLimit: 3, crashWindow: 120_000, startLimit: 5_000,
        silenceLimit: 2_000, hopelessPause: 1_000, stopGrace: .milliseconds(700), killGrace: .milliseconds(300),
        memoryInterval: 100)

    /// The expected final state of each plugin in `hub status`, and words of its line.
    private static let expected: [(animal: String, states: Set<String>, words: [String])] = [
        ("crash", ["quarantined"], ["exited with code 3", "3 crashes", "hub logs crash", "hub release crash"]),
        ("hang", ["quarantined"], ["did not greet the hub within 5 s", "hub release hang"]),
        ("nothing", ["quarantined"], ["before it greeted the hub", "hub release nothing"]),
        ("garbled", ["failed"], ["it printed", "hub apply"]),
        ("flood", ["quarantined"], ["fell silent", "hub release flood"]),
        ("leak", ["quarantined"], ["MiB of memory, more than its memory_limit of 64 MiB", "hub release leak"]),
        ("hoard", ["quarantined"], ["MiB of memory, more than its memory_limit of 64 MiB", "hub release hoard"]),
        ("clog", ["quarantined"], ["MiB of memory, more than its memory_limit of 64 MiB", "hub release clog"]),
        ("deaf", ["running"], []),
        ("loud", ["running"], []),
        ("parent", ["quarantined"], ["exited with code 1", "hub release parent"]),
        ("rude", ["quarantined"], ["did not greet the hub", "hub release rude"]),
        ("frozen", ["quarantined"], ["fell silent", "hub release frozen"]),
        ("picky", ["failed", "starting"], ["found errors in its settings"]),
        ("good", ["running"], []),
    ]

    @Test func `faulty plugins do not affect a good one, and status has a line for each of them`() async throws {
        let folder = try Folder()
        let given = folder.path + "/given"
        let path = folder.path + "/hub.conf"
        try configuration(folder, given: given).write(toFile: path, atomically: true, encoding: .utf8)
        let loader = ConfigurationLoader(
            path: path, environment: .process(), programPath: Programs.path("hub"), patience: .seconds(60))
        let checked = await loader.load()
        #expect(checked.loaded.refusedInstances == ["garbled"], "\(checked.loaded.problems)")
        var policy = SessionPolicy()
        policy.heartbeat = Heartbeat(interval: 500, timeout: 3_000)
        let before = (memory: ProcessMemory.residentBytes() ?? 0, files: try openFiles())
        let hub = try await RunningHub(checked, policy: policy, lifePolicy: Self.policy, in: folder)
        let watcher = Watcher(hub)

        var missing = ["all"]
        do {
            try await eventually(within: .seconds(120), "every plugin has its expected state") {
                let plugins = try await watcher.status()["plugins"].array
                missing = Self.missing(plugins)
                return missing.isEmpty
            }
        } catch {
            Issue.record("\(error): \(missing)")
        }
        // Status is answered quickly all the time. The limit is generous, because no test may depend on the machine's speed.
        #expect(await watcher.slowest < .seconds(10))
        // The good plugin still sends records at the end.
        let seen = try await watcher.status()["records"].int ?? 0
        try await eventually("the good plugin stores more records") {
            try await watcher.status()["records"].int ?? 0 >= seen + 200
        }
        let memory = (ProcessMemory.residentBytes() ?? 0) - before.memory
        #expect(memory < 300 << 20, "\(memory >> 20) MiB")
        let files = try openFiles() - before.files
        #expect(files < 100, "\(files)")
        let children = try await hub.told("parent", "../../logs/parent.log")
        #expect(children.contains("ended") && children.contains("processes that it left behind"))

        let stopBegan = ContinuousClock.now
        try await hub.stop()
        #expect(ContinuousClock.now - stopBegan < .seconds(20))
        #expect(OrphanProcesses(door: hub.hub.endpoints.pluginDoor).find().isEmpty)

        // Each confirmed record of the good plugin is stored once. Unconfirmed ones wait in its spool.
        try await withHub(Setting(), in: folder) { hub in
            let peer = try await hub.client("reader")
            let keys = try await peer.all(#""sources":["example-source"]"#).records.compactMap { $0["key"].string }
            let lines = try String(contentsOfFile: given, encoding: .utf8).split(separator: "\n")
            #expect(Set(keys).count == keys.count && keys.count >= 200 && keys.count <= lines.count)
            for (key, line) in zip(keys, lines) { #expect(line == "{\"key\":\"\(key)\"}") }
        }
    }

    /// The plugins that have not reached their expected state yet, with their current state.
    private static func missing(_ plugins: [JSON]) -> [String] {
        let states = Dictionary(plugins.map { ($0["name"].string ?? "", $0) }, uniquingKeysWith: { $1 })
        return expected.compactMap { name, allowed, words in
            guard let plugin = states[name] else { return name }
            let (state, advice) = (plugin["state"].string ?? "", plugin["advice"].string ?? "")
            return allowed.contains(state) && words.allSatisfy(advice.contains) ? nil : "\(name) \(state) \(advice)"
        }
    }

    private func openFiles() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
    }

    private func configuration(_ folder: Folder, given: String) throws -> String {
        var text = """
            [hub]
            data = "\(folder.data)"
            run = "\(folder.run)"
            [person.me]
            [plugin.good]
            executable = "\(Programs.path("example-source"))"
            count = 1000000
            rate = 200
            batch = 5
            given = "\(given)"

            """
        for (name, _, _) in Self.expected where name != "good" {
            let link = "\(folder.path)/zoo-\(name)"
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: Programs.path("zoo"))
            text += "[plugin.\(name)]\nexecutable = \"\(link)\"\nmemory_limit = \"64MiB\"\n"
        }
        return text
    }
}

/// Polls the status, and logs in again if the hub ended its session: on a busy machine it may be silent for three seconds.
private actor Watcher {
    private let hub: RunningHub
    private var peer: Peer?
    /// The longest time until an answer.
    private(set) var slowest = Duration.zero

    init(_ hub: RunningHub) { self.hub = hub }

    func status() async throws -> JSON {
        if let peer {
            let began = ContinuousClock.now
            await peer.say("QUERY", #"{"id":1,"want":"status"}"#)
            if let answer = await peer.nextIfAny(within: .seconds(20)), answer.verb == "RESULT" {
                slowest = max(slowest, ContinuousClock.now - began)
                return answer.body["status"]
            }
            await peer.close()
        }
        peer = nil
        let other = try await hub.client("watcher")
        peer = other
        return try await status()
    }
}
