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
            One of the three has noted the year before, with holes; the gap-filler makes a
            weight for every day of it, and the exporter sends them to a stand-in for
            exist.io on this machine, whose page shows them.

            The story tells what happens and what the hub decides; the account at the end
            compares what each scale says it was told with what the store holds, and each
            day at Exist with what it has to be. All lives in a folder that goes away then.

            Examples:
              hub demo                       a month in about two minutes
              hub demo --days 10 --for 20    less of it
              hub demo --stay                then look around, until Ctrl-C
              hub demo --keep ./demo         keeps hub.conf and the store
              hub demo --json | jq .scales   the account as JSON

            Exit codes: 0 every weigh-in is stored once, with the right person or in the
            inbox, and every day is right; 1 something does not add up, or no scale was
            stepped on; 71 something could not be started.
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
    @Flag(help: "When the month is over, keep hub and Exist running until Ctrl-C, in real time.")
    var stay = false
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
        // Both are there before the hub, whose hub.conf says where. They end with this program, and earlier where all goes well.
        let exist = try ExistStandIn(for: plan.year.person, state: directory.existState, clock: clock)
        let network = try ScaleProcess(
            .hs5, link: ["--listen", "udp://127.0.0.1:0"], clock: clock, zone: DemoCalendar.zone,
            more: ["--users", ""])
        let result: Result<Void, any Error>
        do {
            let stage = DemoStage(
                plan: plan, directory: directory, rate: rate, network: network, exist: exist,
                story: DemoStory(plan, isAside: json) { interruption.release() },
                networkAddress: try await network.address(),
                account: .init(address: try await exist.service().address, person: exist.person))
            result = .success(try await play(stage, clock, seconds, interruption))
        } catch {
            result = .failure(error)
        }
        await network.end()
        await exist.end()
        try result.get()
    }

    private func play(_ stage: DemoStage, _ clock: String, _ seconds: Int, _ interruption: Interruption) async throws {
        let greeting = DemoGreeting(
            program: CommandLine.arguments[0], directory: stage.directory, plan: stage.plan, seconds: seconds,
            page: stage.account.address)
        try stage.write(clock: clock)
        await stage.story.say(greeting.first)
        let end = try await stage.play(interruption)
        try await show(end, stage.story, greeting)
        if stay { try await stage.stay(end.calendar, greeting, interruption) }
        if keep != nil {
            try stage.write(clock: nil, isOver: true)
            await stage.story.say(greeting.last)
        }
        if !end.account.addsUp { throw ExitCode(HubExit.notWell.rawValue) }
    }

    private func show(_ end: DemoScene.End, _ story: DemoStory, _ greeting: DemoGreeting) async throws {
        let colours = !json && Terminal.hasColours
        let devices = DeviceText.lines(end.devices, colours: colours)
        await story.say(["", "The scales, as hub status shows them:", ""] + devices + [""])
        let account = end.account.lines(colours: colours)
        if json { try Output.json(try JSON.line(end.account)) } else { await story.say(account) }
    }
}
