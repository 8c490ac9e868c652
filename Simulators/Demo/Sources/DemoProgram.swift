import ArgumentParser
import Foundation
import HubClient
import HubWire

/// The program `hub-demo`, which `hub demo` runs.
@main
struct DemoProgram: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hub demo",
        abstract: "A month of three people and three scales, here in this terminal.",
        discussion: """
            Everything is real but the scales. Simulated scales use the protocols of an
            iHealth HS3, HS4 and HS5, their connectors are separate processes, and the hub
            stores each weigh-in before it confirms it. Scales get out of reach and send
            their memory later, links are cut, batteries run low, guests and a cat step on.
            One of the three people has records of the year before, with gaps. The
            gap-filler makes a weight for every day of it, and the exporter sends them to a
            stand-in for exist.io on this machine, whose page shows them.

            A link leads a browser to the page of the hub, with the values of each person,
            the inbox, the scales and the plugins; the story says when to look where.

            The story shows the events and the hub's decisions. The account at the end
            compares the log of each scale with the store, and each day at Exist with the
            expected value. All files are in a folder that is removed at the end.

            Examples:
              hub demo                       a month in about two minutes
              hub demo --days 10 --for 20    less of it
              hub demo --stay                then look around, until Ctrl-C
              hub demo --keep ./demo         keeps hub.conf and the store
              hub demo --json | jq .scales   the account as JSON

            Exit codes: 0 every weigh-in is stored once, with the right person or in the
            inbox, every day is right, and every plugin is well; 1 something does not add
            up, or no scale was stepped on; 71 something could not be started.
            """,
        version: ProductVersion.current)

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp(
            "The time for the whole demo, if the machine is fast enough; by default 4 seconds a day.",
            valueName: "seconds"))
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
    @Option(
        help: ArgumentHelp(
            "A file that reports the build of Exist's part, which is then shown after the month.",
            visibility: .hidden))
    var building: String?

    /// Each failure becomes a line on stderr and an exit code of `hub`.
    static func main() async {
        // A closed reader then shows as an error of write(2), which ends the program in order.
        signal(SIGPIPE) { _ in }
        do {
            let demo = try parse()
            try await demo.run()
        } catch let failure as Failure {
            Terminal.complain(failure.message)
            Foundation.exit(failure.exit.rawValue)
        } catch is OutputClosed {
            Foundation.exit(0)
        } catch  where exitCode(for: error) == .failure && !(error is ExitCode) {
            Terminal.complain("an error of the demonstration itself, please report it: \(error)")
            Foundation.exit(HubExit.fault.rawValue)
        } catch {
            exit(withError: error)
        }
    }

    func validate() throws {
        if let duration, !(1...86_400).contains(duration) { throw ValidationError("--for takes 1 to 86400 seconds.") }
        if !(1...DemoTime.longest).contains(days) {
            throw ValidationError("--days takes 1 to \(DemoTime.longest).")
        }
    }

    func run() async throws {
        let directory =
            try keep.map { path throws(Failure) in try DemoDirectory.kept(path) } ?? DemoDirectory.temporary()
        // At the second Ctrl-C. The children of the hub see the end of their stdin.
        let interruption = Interruption {
            HelperProcess.killAll()
            directory.remove()
        }
        defer { directory.remove() }
        let plan = DemoLife.plan(days: days, seed: seed)
        let seconds = duration ?? 4 * days
        let rate = (Double(days) * 86_400 / Double(seconds)).rounded()
        let clock = DemoCalendar.setting(rate: rate)
        let network = try ScaleProcess(
            .hs5, link: ["--listen", "udp://127.0.0.1:0"], clock: clock, zone: DemoCalendar.zone,
            more: ["--users", ""])
        var stage = DemoSetup(
            plan, directory, rate: rate, network: network,
            story: DemoStory(plan, isAside: json) { interruption.release() }, page: try DemoPage(),
            build: building.map { DemoBuild(path: $0) })
        let result: Result<Void, any Error>
        do { result = .success(try await play(&stage, clock, seconds, interruption)) } catch {
            result = .failure(error)
        }
        await network.end()
        await stage.exist?.end()
        try result.get()
    }

    private func play(
        _ stage: inout DemoSetup, _ clock: String, _ seconds: Int, _ interruption: Interruption
    ) async throws {
        var greeting = DemoGreeting(
            program: CommandLine.arguments[0], directory: stage.directory, plan: stage.plan, seconds: seconds,
            stays: stay)
        if building == nil {
            greeting.page = try await stage.openExist(clock)
            try await stage.page.open()
        }
        try await stage.write(clock: clock)
        var end = try await stage.play(interruption, greeting: greeting.first)
        await stage.story.say(["", "The scales, as hub device shows them:", ""] + end.devices + [""])
        let colours = !json && Terminal.hasColours
        if !json { await stage.story.say(end.account.lines(colours: colours)) }
        if let building {
            // By now the scales' weigh-ins have been checked.
            try await send(&end, DemoBuild(path: building), &stage, &greeting, interruption)
            if !json, end.account.exist != nil { await stage.story.say(end.account.dayLines(colours: colours)) }
        }
        if json { try Output.json(try JSON.line(end.account)) }
        if stay { try await stage.stay(end.calendar, greeting, interruption) }
        if keep != nil {
            try await stage.write(clock: nil, isOver: true)
            await stage.story.say(greeting.last)
        }
        if !end.account.addsUp { throw ExitCode(HubExit.unhealthy.rawValue) }
    }

    /// Sends the days to Exist after the month, once the programs are built; skipped after Ctrl-C.
    private func send(
        _ end: inout DemoScene.End, _ build: DemoBuild, _ stage: inout DemoSetup, _ greeting: inout DemoGreeting,
        _ interruption: Interruption
    ) async throws {
        end.calendar = end.calendar.going(at: 1)
        guard interruption.renew() else { return }
        await stage.story.say([
            "", "Its days go to Exist as soon as that is built; until then the hub runs on, without scales:",
        ])
        guard try await stage.wait(for: build, end.calendar, interruption) else { return }
        greeting.page = try await stage.openExist(end.calendar.clock)
        await stage.story.say(greeting.existing)
        if let days = try await stage.send(end.records, from: end.calendar, interruption) { end.account.add(days) }
    }
}
