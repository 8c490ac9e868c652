import ArgumentParser
import Dispatch
import FoundationEssentials
import ScaleFrames
import ScaleSimulation

import Glibc

struct HS3Command: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hs3",
        abstract: "An iHealth HS3: weight only, a memory of 200 weighings, a serial link.",
        discussion: """
            Try it:
              hub-scale-sim hs3 --listen tcp://127.0.0.1:4711 --memory 3 --play 10

            The first line on stdout is the address for a host; what happens follows,
            a line each (--json: an object each; --wire: also every byte). Commands are
            read from stdin while it is open:

            \(SimulatorCommand.help.split(separator: "\n").map { "  \($0)" }.joined(separator: "\n"))

            Faults (--fault NAME or NAME=N, any number of them):

            \(FaultOption.all.map { HS3Command.row($0) }.joined(separator: "\n"))

            The scale's zone is that of the environment (TZ). It stays powered when a
            host goes, and serves the next.

            Exit codes: 0 ended by quit, SIGTERM, SIGINT, --exit-when-done or --until-eof;
            64 wrong option; 65 wrong script; 69 the link cannot be opened.
            """)

    @Option(help: ArgumentHelp("Let hosts dial in; port 0 is any free one.", valueName: "tcp://HOST:PORT|unix:///PATH"))
    var listen: String?
    @Option(
        help: ArgumentHelp(
            "Dial a host, again every second until it answers.", valueName: "tcp://HOST:PORT|unix:///PATH"))
    var connect: String?
    @Flag(help: "Be a serial device; the address is its path.")
    var pty = false

    @Option(
        help: ArgumentHelp(
            "Twelve hex digits, the Bluetooth address. Only shown: the wire does not carry it. (default: 020000003001)",
            valueName: "hex"))
    var deviceId: String?
    @Option(
        help: ArgumentHelp(
            "This many invented weighings in the memory, one each morning. More than 200 is a fault.", valueName: "n"))
    var memory = 0
    @Option(help: ArgumentHelp("A JSON file: memory, events with their times, faults.", valueName: "file"))
    var script: String?
    @Option(help: ArgumentHelp("Weigh this often by itself, once a session has opened.", valueName: "n"))
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
        help: ArgumentHelp("How hours of weighings are written: sdk12 (the default) or raw24.", valueName: "mode"),
        transform: HS3Command.choice)
    var hourMode = HS3HourMode.sdk12
    @Option(
        help: ArgumentHelp("How the hour of the clock is written: bcd24 (the default) or bcd12.", valueName: "mode"),
        transform: HS3Command.choice)
    var clockMode = HS3ClockMode.bcd24
    @Option(help: ArgumentHelp("After how long an unacknowledged frame is repeated.", valueName: "duration"))
    var repeatAfter = "4.8s"
    @Option(
        help: ArgumentHelp(
            "Dates from the system, or from a clock that starts at an instant and runs at a rate.",
            valueName: "system|START@RATE"))
    var clock = "system"

    @Flag(help: "End once everything planned has happened and is acknowledged.")
    var exitWhenDone = false
    @Flag(help: "End when stdin does: for a scale that shall not outlive whoever started it.")
    var untilEof = false
    @Flag(help: "A JSON object per line.")
    var json = false
    @Flag(help: "Show every byte on the link.")
    var wire = false

    enum Dates: String, ExpressibleByArgument { case daily, now }

    static func row(_ fault: (name: String, value: String, standard: Int?)) -> String {
        let name = fault.name + (fault.standard == nil ? "=n" : "[=n]")
        let padding = String(repeating: " ", count: max(1, 17 - name.count))
        return "  \(name)\(padding)\(fault.value)" + (fault.standard.map { " (n: \($0))" } ?? "")
    }

    func run() throws {
        do {
            let output = EventOutput(json: json, wire: wire)
            let simulator = try ScaleSimulator(try options()) { output.write($0) }
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
                HS3Command.readCommands(for: simulator)
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

    private static func choice<Value: RawRepresentable & CaseIterable>(_ text: String) throws -> Value
    where Value.RawValue == String {
        if let value = Value(rawValue: text) { return value }
        let all = Value.allCases.map(\.rawValue).joined(separator: ", ")
        throw ValidationError("'\(text)' is none of \(all)")
    }

    private func link() throws -> ScaleSimulator.Link {
        switch (listen, connect, pty) {
        case (let address?, nil, false): .listen(try LinkAddress(address))
        case (nil, let address?, false): .connect(try LinkAddress(address))
        case (nil, nil, true): .pty
        default: throw SimulatorError(.usage, "give exactly one of --listen, --connect and --pty")
        }
    }

    private func options() throws -> ScaleSimulator.Options {
        let clock = try SimulationClock(clock)
        var profile = HS3Device.Profile()
        (profile.hourMode, profile.clockMode) = (hourMode, clockMode)
        profile.skewSeconds = try Duration.signedSeconds(skew)
        profile.repeatAfter = try Duration.parse(repeatAfter)
        guard (0...255).contains(memory), (0...100_000).contains(play) else {
            throw SimulatorError(.usage, "--memory takes 0 to 255 weighings, --play 0 to 100000")
        }
        profile.memoryLimit = max(200, memory)

        var (plan, held, faults): ([PlannedCommand], [HS3RecordKey], [FaultOption]) = ([], [], [])
        var identity = deviceId
        if let script {
            let story = try read(script)
            (plan, held, faults) = (story.events, story.memory, story.faults)
            identity = identity ?? story.deviceId
            if skew == "0s" { profile.skewSeconds = story.clockSkewSeconds }
        }
        var series = WeighingSeries(seed: seed)
        let days = series.mornings(memory + (dates == .daily ? play : 0), before: clock.wall)
        held += days.prefix(memory).compactMap {
            HS3Record($0.time, tenthsOfKilogram: $0.tenthsOfKilogram, mode: hourMode)?.key
        }
        let pause = try Duration.parse(every)
        for place in 0..<play {
            let command: SimulatorCommand =
                if dates == .daily, memory + place < days.count {
                    .stepOn(tenthsOfKilogram: days[memory + place].tenthsOfKilogram, at: days[memory + place].time)
                } else {
                    .stepOn(tenthsOfKilogram: series.next(), at: nil)
                }
            plan.append(PlannedCommand(after: pause * (place + 1), command: command))
        }
        let device = HS3Device(profile: profile, memory: held, seed: seed)
        var options = ScaleSimulator.Options(link: try link(), device: device)
        if let identity { options.deviceId = try ScaleSimulator.Options.deviceId(identity) }
        for fault in faults { options.add(fault) }
        for name in fault { options.add(try FaultOption(name)) }
        (options.clock, options.endsWhenDone) = (clock, exitWhenDone)
        options.plan = plan.sorted { $0.after < $1.after }
        return options
    }

    private func read(_ path: String) throws -> SimulatorScript {
        guard access(path, R_OK) == 0 else {
            throw SimulatorError(.script, "\(path): cannot be read: \(String(cString: strerror(errno)))")
        }
        let data: Data
        do { data = try Data(contentsOf: URL(filePath: path)) } catch {
            throw SimulatorError(.script, "\(path): cannot be read, is it a file? (\(error))")
        }
        return try SimulatorScript(json: data, file: path, hourMode: hourMode)
    }

    /// Returns at the end of stdin, which by itself is not the end of the scale: a service manager gives none.
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
