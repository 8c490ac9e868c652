import ArgumentParser
import Foundation
import HubCore
import HubSettings
import HubWire
import Synchronization

struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "A simulated scale, a hub and a subscriber, here in this terminal.",
        discussion: """
            Everything is real but the scale: it speaks the dialogue of an iHealth HS3 over
            TCP, the plugin is a process of its own, the hub stores each weight before it
            confirms it. All lives in a folder that goes away at the end.

            Examples:
              hub demo                       until Ctrl-C
              hub demo --for 30              ends by itself
              hub demo --keep ./demo         keeps hub.conf and the store

            Exit codes: 0 every weight that was played is stored, once; 1 something does
            not add up, or the scale was never read; 71 something could not be started.
            """)

    @Option(name: .customLong("for"), help: ArgumentHelp("End after so many seconds.", valueName: "seconds"))
    var duration: Int?
    @Option(help: ArgumentHelp("Which weights are invented.", valueName: "n"))
    var seed: UInt64 = 1
    @Option(help: ArgumentHelp("Use this new folder, and keep it.", valueName: "folder"))
    var keep: String?

    /// Weighings that are in the memory of the scale before anybody listens.
    private static let memory = 12
    private static let pause = 0.8

    func validate() throws {
        if let duration, !(1...86_400).contains(duration) { throw ValidationError("--for takes 1 to 86400 seconds.") }
    }

    func run() async throws {
        let directory =
            try keep.map { path throws(Failure) in try DemoDirectory.kept(path) } ?? DemoDirectory.temporary()
        let scale = Mutex<ScaleProcess?>(nil)
        let interruption = Interruption { directory.remove() }  // The scale and the plugins see their stdin end.
        defer {
            scale.withLock { $0?.end() }
            directory.remove()
        }
        let plays = duration.map { min(5_000, Int(Double($0) / DemoCommand.pause) + 1) } ?? 3_600
        let (memory, pause, seed) = (DemoCommand.memory, DemoCommand.pause, seed)
        let process = try await blocking {
            try ScaleProcess(memory: memory, play: plays, every: "\(pause)s", seed: seed)
        }
        scale.withLock { $0 = process }
        try directory.write(scale: process.tally.address ?? "", device: "020000003001")
        let account = try await play(directory, process, interruption)
        try Output.print(account.line)
        if !account.addsUp { throw ExitCode(HubExit.notWell.rawValue) }
    }

    private func play(
        _ directory: DemoDirectory, _ scale: ScaleProcess, _ interruption: Interruption
    ) async throws -> DemoAccount {
        let checked = await ConfigurationLoader(path: directory.configuration, programPath: Program.path).load()
        guard let configuration = checked.loaded.configuration, !checked.loaded.problems.hasErrors else {
            let report = CheckReport(file: directory.configuration, checked.loaded, faults: checked.faults)
            throw Failure(
                .system, "the demonstration's own hub.conf does not work:\n\(report.lines.joined(separator: "\n"))")
        }
        let running = try RunningHub(checked, configuration)
        let endpoints = OwnerEndpoints(configuration.hub)
        let listener = DemoListener()
        let outcome = Mutex<HubStatus.AccountStatus?>(nil)
        let (duration, keeps) = (duration, keep != nil)
        try await running.run(interruption) {
            let greeting = DemoGreeting(
                program: CommandLine.arguments[0], directory: directory, endpoints: endpoints,
                scale: scale.tally.address ?? "",
                ends: duration, keeps: keeps)
            do {
                for line in greeting.lines { try Output.print(line) }
                try await blocking { try listener.run(endpoints) }
            } catch {
                if !(error is ReaderGone) { Terminal.complain("\(error)") }
                interruption.release()
            }
        } end: {
            await DemoCommand.wait(duration, interruption)
            let account = try? await blocking { DemoCommand.settle(scale, endpoints) }
            outcome.withLock { $0 = account ?? nil }
            listener.stop()
        }
        return DemoAccount(scale.tally, outcome.withLock { $0 }, stoppedCleanly: true)
    }

    private static func wait(_ seconds: Int?, _ interruption: Interruption) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await interruption.wait() }
            if let seconds {
                group.addTask {
                    try? await Task.sleep(for: .seconds(seconds))
                    interruption.release()
                }
            }
            await group.next()
            group.cancelAll()
        }
    }

    /// Ends the scale between two weighings, and waits until what it has handed over has come through the plugin's spool, at most ten seconds.
    private static func settle(_ scale: ScaleProcess, _ endpoints: OwnerEndpoints) -> HubStatus.AccountStatus? {
        let patience = ContinuousClock.now + .seconds(2)
        while !scale.tally.isSettled, ContinuousClock.now < patience { usleep(20_000) }
        scale.end()
        let expected = scale.tally.handedOver
        let deadline = ContinuousClock.now + .seconds(10)
        var account: HubStatus.AccountStatus?
        repeat {
            guard let door = try? DoorClient(endpoint: endpoints.door, command: "demo"),
                let accounts = try? JSON.answer([HubStatus.AccountStatus].self, try door.ask(.accounts))
            else { return account }
            account = accounts.first { $0.instance == "ihealth-hs3" }
            if let account, account.stored + account.rejected >= expected { return account }
            usleep(50_000)  // The plugin sends in its own time; the deadline above bounds the wait.
        } while ContinuousClock.now < deadline
        return account
    }
}
