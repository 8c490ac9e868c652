import ArgumentParser
import Foundation
import HubCore
import HubSettings
import Synchronization

struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "A month of three people and three scales, here in this terminal.",
        discussion: """
            Everything is real but the scales: simulated ones speak the dialogues of an
            iHealth HS3, HS4 and HS5, their connectors are processes of their own, the hub
            stores each weigh-in before it confirms it. Scales get out of reach and give
            their memory later, links are cut, batteries run low, guests and a cat step on.

            The story tells what happens and what the hub decides; the account at the end
            compares what each scale says it was told with what the store holds. All lives
            in a folder that goes away then.

            Examples:
              hub demo                       a month in about two minutes
              hub demo --days 10 --for 20    less of it
              hub demo --keep ./demo         keeps hub.conf and the store
              hub demo --json | jq .scales   the account as JSON

            Exit codes: 0 every weigh-in is stored once, with the right person or in the
            inbox; 1 something does not add up, or no scale was stepped on; 71 something
            could not be started.
            """)

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp("How long all of it takes, if the machine can; 4 seconds a day.", valueName: "seconds"))
    var duration: Int?
    @Option(help: ArgumentHelp("How many days of the month.", valueName: "n"))
    var days = DemoTime.longest
    @Option(help: ArgumentHelp("Which month is invented; the same seed, the same month.", valueName: "n"))
    var seed: UInt64 = 1
    @Option(help: ArgumentHelp("Use this new folder, and keep it.", valueName: "folder"))
    var keep: String?
    @Flag(help: "One JSON document, the account; the story goes to stderr.")
    var json = false

    func validate() throws {
        if let duration, !(1...86_400).contains(duration) { throw ValidationError("--for takes 1 to 86400 seconds.") }
        if !(1...DemoTime.longest).contains(days) {
            throw ValidationError("--days takes 1 to \(DemoTime.longest).")
        }
    }

    func run() async throws {
        let directory =
            try keep.map { path throws(Failure) in try DemoDirectory.kept(path) } ?? DemoDirectory.temporary()
        let interruption = Interruption { directory.remove() }  // The scales and the plugins see their stdin end.
        defer { directory.remove() }
        let plan = DemoLife.plan(days: days, seed: seed)
        let seconds = duration ?? 4 * days
        let rate = (Double(days) * 86_400 / Double(seconds)).rounded()
        let clock = DemoCalendar.setting(rate: rate)
        let network = try ScaleProcess(
            .hs5, link: ["--listen", "udp://127.0.0.1:0"], clock: clock, zone: DemoCalendar.zone,
            more: ["--users", ""])
        let story = DemoStory(plan, isAside: json) { interruption.release() }
        let greeting = DemoGreeting(
            program: CommandLine.arguments[0], directory: directory, plan: plan, seconds: seconds)
        do {
            let address = try await network.address()
            try directory.write(plan.household, clock: clock, network: address)
            await story.say(greeting.first)
            let end = try await play(plan, directory, rate, network, story, interruption)
            if keep != nil { try directory.write(plan.household, clock: nil, network: address) }
            try await show(end, story, greeting)
            if !end.account.addsUp { throw ExitCode(HubExit.notWell.rawValue) }
        } catch {
            await network.end()
            throw error
        }
    }

    private func play(
        _ plan: DemoPlan, _ directory: DemoDirectory, _ rate: Double, _ network: ScaleProcess, _ story: DemoStory,
        _ interruption: Interruption
    ) async throws -> DemoScene.End {
        let checked = await ConfigurationLoader(path: directory.configuration, programPath: Program.path).load()
        guard let configuration = checked.loaded.configuration, !checked.loaded.problems.hasErrors,
            checked.faults.isEmpty
        else {
            let report = CheckReport(file: directory.configuration, checked.loaded, faults: checked.faults)
            throw Failure(
                .system, "the demonstration's own hub.conf does not work:\n\(report.lines.joined(separator: "\n"))")
        }
        let running = try RunningHub(checked, configuration)
        let scene = DemoScene(
            plan: plan, directory: directory, rate: rate, endpoints: OwnerEndpoints(configuration.hub),
            network: network, story: story, interruption: interruption)
        let outcome = Mutex<Result<DemoScene.End, any Error>?>(nil)
        try await running.run(interruption) {
        } end: {
            await running.hub.waitUntilReady()
            let result: Result<DemoScene.End, any Error>
            do { result = .success(try await scene.play()) } catch { result = .failure(error) }
            outcome.withLock { $0 = result }
            interruption.release()
        }
        guard let result = outcome.withLock(\.self) else { throw Failure(.fault, "the demonstration did not begin") }
        return try result.get()
    }

    private func show(_ end: DemoScene.End, _ story: DemoStory, _ greeting: DemoGreeting) async throws {
        let colours = !json && Terminal.hasColours
        let devices = DeviceText.lines(end.devices, colours: colours)
        await story.say(["", "The scales, as hub status shows them:", ""] + devices + [""])
        let account = end.account.lines(colours: colours)
        if json { try Output.print(try JSON.line(end.account)) } else { await story.say(account) }
        if keep != nil { await story.say(greeting.last) }
    }
}
