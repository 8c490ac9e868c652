import ArgumentParser
import Foundation
import Glibc

/// `make torture`: runs rounds of faults, each from its own seed, and prints the result of each.
@main struct Command: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hub-torture",
        abstract: "Injects the faults of a machine into a hub and checks the result.",
        discussion: """
            Each round has its own hub, sources, sinks and follower, in a folder below /tmp, and takes ten to
            twenty seconds. One source is made by hub plugin new, in Swift, and one sink is hub-json-lines. As root, a round also has its own disk and network; otherwise their faults are left out.
            A failed round keeps its folder. The exit code is 1 if a round failed.
            """)

    @Option(help: "The number of rounds.") var rounds = 10
    @Option(help: "The seed of the first round; each later round has the next number. Random if not given.") var seed:
        UInt64?
    @Flag(help: "Only print the schedule of the faults.") var schedule = false
    @Flag(help: "Keep the folder of each round.") var keep = false

    @Flag(help: ArgumentHelp("Plant a loss that no hub can find, instead of all faults.", visibility: .hidden))
    var plant = false

    func validate() throws {
        guard rounds > 0 else { throw ValidationError("--rounds takes a number from 1.") }
    }

    func run() async throws {
        let first = seed ?? .random(in: 1..<1_000_000) * UInt64(Schedule.roundsForAll)
        let seeds = (0..<UInt64(rounds)).map { first &+ $0 }
        if schedule {
            for seed in seeds { print((["seed \(seed)"] + Schedule(seed: seed).lines).joined(separator: "\n  ")) }
            return
        }
        try OwnMounts.enter()
        print("torture: \(rounds) rounds, seeds \(first) to \(seeds.last ?? first)")
        if let obstacle = Disk.obstacle { print("torture: faults of the disk itself are left out: \(obstacle)") }
        var summary = Summary()
        let began = ContinuousClock.now
        for (index, seed) in seeds.enumerated() {
            let result = await Round(schedule: plant ? Schedule(planted: seed) : Schedule(seed: seed)).run(isKept: keep)
            summary.add(result)
            let left = began.duration(to: .now) / Double(index + 1) * (rounds - index - 1) / .seconds(60)
            print("\(index + 1)/\(rounds) \(result.line), \(Int(left.rounded())) min left")
            for line in result.complaint { print(line) }
            fflush(nil)
        }
        await PlatinumPlugins.cleanUp()
        print(summary.text)
        guard summary.failed.isEmpty else { throw ExitCode(1) }
    }
}

extension Round.Result {
    var line: String {
        """
        \(findings.isEmpty ? "held  " : "BROKEN") seed \(seed): \(faults.joined(separator: " ")), \(disturbances) disturbances, \
        \(records) records, \(deliveries) deliveries, confirmed again within \(String(format: "%.1f", Double(slowest) / 1_000)) s; \
        \(String(format: "%.1f", seconds)) s
        """
    }

    /// The findings, where to look, and how to repeat the round.
    var complaint: [String] {
        guard !findings.isEmpty else { return [] }
        // A loss tells more than its consequences.
        let worst = findings.filter { $0.hasPrefix("LOST") } + findings.filter { !$0.hasPrefix("LOST") }
        return worst.prefix(6).map { "    \($0)" } + [
            "    \(findings.count) findings, kept in \(folder ?? "no folder"); repeat with: make torture SEED=\(seed) ROUNDS=1"
        ]
    }
}

/// The totals of all rounds.
struct Summary {
    private(set) var rounds = 0
    private(set) var failed: [UInt64] = []
    private var faults: [String: Int] = [:]
    private var records = 0
    private var deliveries = 0
    private var blows = 0
    private var slowest: Int64 = 0

    mutating func add(_ result: Round.Result) {
        rounds += 1
        if !result.findings.isEmpty { failed.append(result.seed) }
        for fault in result.faults where !fault.hasPrefix("(") { faults[fault, default: 0] += 1 }
        (records, deliveries) = (records + result.records, deliveries + result.deliveries)
        (blows, slowest) = (blows + result.disturbances, max(slowest, result.slowest))
    }

    var text: String {
        """
        torture: \(rounds - failed.count) of \(rounds) rounds held; \(records) records, \(deliveries) deliveries, \(blows) disturbances
        faults: \(faults.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", "))
        longest time until the hub confirmed again: \(String(format: "%.1f", Double(slowest) / 1_000)) s
        """
            + (failed.isEmpty
                ? "" : "\nbroken: \(failed.map { "make torture SEED=\($0) ROUNDS=1" }.joined(separator: "\n        "))")
    }
}

/// A mount namespace for the torture, so that none of its mounts remains however it ends.
enum OwnMounts {
    private static let sign = "HUB_TORTURE_HAS_OWN_MOUNTS"

    /// Starts this program again in such a namespace; returns there, or if none can be made.
    static func enter() throws {
        guard Disk.obstacle == nil, getenv(sign) == nil else { return }
        setenv(sign, "1", 1)
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let words = ["unshare", "--mount", program] + CommandLine.arguments.dropFirst()
        var pointers: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        execvp("unshare", &pointers)
        throw Scene.Broken("unshare --mount cannot be started: \(String(cString: strerror(errno)))")
    }
}
