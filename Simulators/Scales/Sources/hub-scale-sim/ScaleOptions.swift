import ArgumentParser
import Dispatch
import FoundationEssentials
import ScaleProtocols
import ScaleStandIns
import ScaleSimulation

import Glibc

/// The command line options of all simulated scales.
struct ScaleOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Let hosts come; port 0 is any free one.", valueName: "ADDRESS"))
    var listen: String?
    @Option(help: ArgumentHelp("Dial a host, again every second until it answers.", valueName: "ADDRESS"))
    var connect: String?
    @Flag(help: "Be a serial device; the address is its path.")
    var pty = false

    @Option(
        help: ArgumentHelp(
            "Twelve hex digits, the scale's Bluetooth or WiFi address.", valueName: "hex"))
    var deviceId: String?
    @Option(
        help: ArgumentHelp(
            "This many invented weighings in the memory, one each morning. More than 200 simulates a fault."))
    var memory = 0
    @Option(help: ArgumentHelp("A JSON file: memory, events with their times, faults.", valueName: "file"))
    var script: String?
    @Option(help: ArgumentHelp("Weigh n times without a command, once a session has opened.", valueName: "n"))
    var play = 0
    @Option(help: ArgumentHelp("Time between two of them.", valueName: "duration"))
    var every = "2s"
    @Option(
        help: ArgumentHelp("How they are dated: daily (one a morning, up to today) or now.", valueName: "daily|now"))
    var dates = Dates.daily
    @Option(help: ArgumentHelp("Fixes everything that is invented.", valueName: "n"))
    var seed: UInt64 = 1

    @Option(help: ArgumentHelp("Make something go wrong; may be repeated.", valueName: "name[=n]"))
    var fault: [String] = []
    @Option(help: ArgumentHelp("The clock of the scale is ahead by this much.", valueName: "±duration"))
    var skew = "0s"
    @Option(
        help: ArgumentHelp(
            "Dates from the system, or from a clock that starts at an instant and runs at a rate.",
            valueName: "system|START@RATE"))
    var clock = "system"

    @Flag(help: "End once everything planned has happened and is acknowledged.")
    var exitWhenDone = false
    @Flag(help: "End when stdin does: for a scale that must not outlive the program that started it.")
    var untilEof = false
    @Flag(help: "A JSON object per line.")
    var json = false
    @Flag(help: "Show every byte on the link.")
    var wire = false

    enum Dates: String, ExpressibleByArgument { case daily, now }

    /// The invented or scripted events, for any scale.
    struct Story {
        var held: [StandInWeighing] = []
        var plan: [PlannedCommand] = []
        var faults: [String] = []
        var deviceId: String?
        var skewSeconds = 0
        var clock = SimulationClock.system
    }

    /// - Throws: ``SimulatorError``; its kind is usage for mistakes of the user.
    func story(users: [UInt32] = []) throws -> Story {
        guard (0...255).contains(memory), (0...100_000).contains(play) else {
            throw SimulatorError(.usage, "--memory takes 0 to 255 weighings, --play 0 to 100000")
        }
        var story = Story()
        story.clock = try SimulationClock(clock)
        story.skewSeconds = try ValueParser.signedSeconds(skew)
        if let script {
            let written = try SimulatorScript(json: try ScaleOptions.bytes(of: script), file: script)
            (story.plan, story.held, story.faults) = (written.events, written.weighings, written.faults)
            story.deviceId = written.deviceId
            if skew == "0s" { story.skewSeconds = written.clockSkewSeconds }
        }
        story.deviceId = deviceId ?? story.deviceId
        var series = WeighingSeries(seed: seed)
        let days = series.mornings(memory + (dates == .daily ? play : 0), before: story.clock.wall)
        for (place, day) in days.prefix(memory).enumerated() {
            let user = users.isEmpty ? nil : users[place % users.count]
            story.held.append(
                StandInWeighing(tenthsOfKilogram: day.tenthsOfKilogram, user: user, time: day.time))
        }
        let pause = try ValueParser.duration(every)
        for place in 0..<play {
            let command: SimulatorCommand =
                if dates == .daily, memory + place < days.count {
                    .stepOn(tenthsOfKilogram: days[memory + place].tenthsOfKilogram, at: days[memory + place].time)
                } else {
                    .stepOn(tenthsOfKilogram: series.next(), at: nil)
                }
            story.plan.append(PlannedCommand(after: pause * (place + 1), command: command))
        }
        story.plan.sort { $0.after < $1.after }
        story.faults += fault
        return story
    }

    static func bytes(of path: String) throws -> Data {
        guard access(path, R_OK) == 0 else {
            throw SimulatorError(.script, "\(path): cannot be read: \(String(cString: strerror(errno)))")
        }
        do { return try Data(contentsOf: URL(filePath: path)) } catch {
            throw SimulatorError(.script, "\(path): cannot be read, is it a file? (\(error))")
        }
    }

    /// The link of a scale that uses a stream.
    func stream() throws -> ScaleSimulator.Link {
        switch (listen, connect, pty) {
        case (let address?, nil, false): .listen(try LinkAddress(address))
        case (nil, let address?, false): .connect(try LinkAddress(address))
        case (nil, nil, true): .pty
        default: throw SimulatorError(.usage, "give exactly one of --listen, --connect and --pty")
        }
    }

    /// Runs a scale until it ends.
    func run(_ make: () throws -> ScaleSimulator.Options) throws {
        do {
            let output = EventOutput(json: json, wire: wire)
            let simulator = try ScaleSimulator(try make()) { output.write($0) }
            // Ignored as signals, so that only the sources below see them.
            for number in [SIGTERM, SIGINT, SIGPIPE] { signal(number, SIG_IGN) }
            let sources = [SIGTERM, SIGINT].map { number in
                let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
                source.setEventHandler { simulator.stop() }
                source.resume()
                return source
            }
            let endsWithStdin = untilEof
            DispatchQueue.global().async {
                ScaleOptions.readCommands(for: simulator)
                if endsWithStdin { simulator.stop() }
            }
            try withExtendedLifetime(sources) { try simulator.run() }
        } catch let error as SimulatorError where error.kind == .usage {
            throw ValidationError(error.description)
        } catch let error as SimulatorError {
            EventOutput.complain(error.description)
            throw ExitCode(error.kind.rawValue)
        }
    }

    /// The simulator's options from a scale and its story.
    func options(
        _ link: ScaleSimulator.Link, _ device: any ScaleStandIn, _ story: Story
    ) throws -> ScaleSimulator.Options {
        var options = ScaleSimulator.Options(link: link, device: device)
        if let identity = story.deviceId { options.deviceId = try ScaleSimulator.Options.deviceId(identity) }
        for name in story.faults { options.add(try FaultOption(name, of: type(of: device).kind)) }
        (options.clock, options.endsWhenDone) = (story.clock, exitWhenDone)
        options.plan = story.plan
        return options
    }

    /// Returns at the end of stdin, which does not end the scale, because a service manager provides no stdin.
    private static func readCommands(for simulator: ScaleSimulator) {
        while let line = readLine() {
            do {
                if let command = try SimulatorCommand(line: line) { simulator.submit(command) }
            } catch {
                EventOutput.complain("\(error)")
            }
        }
    }
}
